/// Counts events against a rate. The caller passes the time in monotonic nanoseconds.
struct TokenBucket {
    private let rate: HTTP2Limits.Rate
    private var tokens: UInt64
    private var refilled: UInt64?

    init(_ rate: HTTP2Limits.Rate) {
        self.rate = rate
        tokens = rate.burst
    }

    /// False when the rate is exceeded.
    mutating func take(now: UInt64) -> Bool {
        let nanosecondsPerToken = 1_000_000_000 / max(rate.perSecond, 1)
        let since = refilled ?? now
        let earned = now > since ? (now - since) / nanosecondsPerToken : 0
        tokens = min(rate.burst, tokens + min(earned, rate.burst))
        // A partly earned token carries over, unless the bucket is full.
        refilled = tokens == rate.burst ? now : since + earned * nanosecondsPerToken
        guard tokens > 0 else { return false }
        tokens -= 1
        return true
    }
}
