/// The waits between attempts.
struct RetrySchedule {
    var policy: OutboxPolicy

    /// The wait after the given number of attempts; nil if that was the last. The gateway's requested wait applies if
    /// it is longer. `vary` is in -1...1.
    func delay(afterAttempts attempts: Int, retryAfterMs: Int64?, vary: Double) -> Int64? {
        guard attempts < policy.maxAttempts else { return nil }
        var planned = planned(afterAttempts: attempts)
        if policy.jitter > 0 {
            planned += Int64(Double(planned) * min(policy.jitter, 0.1) * max(-1, min(1, vary)))
        }
        return min(max(planned, retryAfterMs ?? 0), max(policy.longestDelayMs, planned))
    }

    /// The rest of a stored wait. The wall clock may have jumped meanwhile, so the rest is never longer than the whole
    /// wait.
    func remaining(until dueMs: Int64, attempts: Int, wallMs: Int64) -> Int64 {
        let longest = max(planned(afterAttempts: attempts), policy.longestDelayMs)
        return max(0, min(dueMs - wallMs, longest))
    }

    private func planned(afterAttempts attempts: Int) -> Int64 {
        guard let last = policy.scheduleMs.last else { return 0 }
        let index = max(0, attempts - 1)
        return index < policy.scheduleMs.count ? policy.scheduleMs[index] : last
    }
}
