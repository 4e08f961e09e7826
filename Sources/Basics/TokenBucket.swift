/// Admits a burst at once, then a fixed number per second. The caller passes the time in monotonic nanoseconds.
package struct TokenBucket: Sendable {
    package let burst: UInt64
    /// Nanoseconds per token.
    package let interval: UInt64
    /// The time at which the bucket is full again.
    private var fullAt: UInt64 = 0

    package init(burst: UInt64, perSecond: UInt64) {
        self.burst = max(burst, 1)
        interval = 1_000_000_000 / max(perSecond, 1)
    }

    package init(burst: UInt64, perMinute: UInt64) {
        self.burst = max(burst, 1)
        interval = 60_000_000_000 / max(perMinute, 1)
    }

    /// False if the rate is exceeded.
    package mutating func take(now: UInt64) -> Bool {
        let from = max(fullAt, now)
        guard from - now <= (burst - 1) &* interval else { return false }
        fullAt = from &+ interval
        return true
    }
}
