import Basics

/// How long the gateway's process has been running, to tell whether it is still the one that a message was sent to.
struct GatewayAge: Sendable {
    /// The reported uptimes may be off by the travel time of their frames; a gateway does not start twice in this time.
    private static let toleranceMs: Int64 = 2_000

    /// From the hello.
    var uptimeMs: Int64?
    /// When the hello came, on the monotonic clock.
    var sinceMs: Int64 = 0

    func uptimeMs(at now: Moment) -> Int64? { uptimeMs.map { $0 + (now.monotonicMs - sinceMs) } }

    /// By how much the uptime has grown since the first dispatch of the entry.
    func growthMs(since entry: OutboxEntry, at now: Moment) -> Int64? {
        guard let then = entry.dispatchUptimeMs else { return nil }
        return uptimeMs(at: now).map { $0 - then }
    }

    /// The process has run on since the first dispatch: its uptime grew by the time that passed.
    func isSameProcess(growthMs: Int64?, passedMs: Int64?) -> Bool {
        guard let growthMs, let passedMs, passedMs >= 0 else { return false }
        return growthMs >= 0 && growthMs >= passedMs - Self.toleranceMs
    }
}
