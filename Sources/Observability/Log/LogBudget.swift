/// Limits log lines that strangers can cause, so that a flood of bad requests is not a flood of lines. Lines over the
/// limit are counted.
package struct LogBudget: Sendable {
    private let burst: UInt64
    private let interval: UInt64
    /// Monotonic nanoseconds when the bucket is full again.
    private var fullAt: UInt64 = 0
    package private(set) var suppressed: UInt64 = 0

    package init(burst: UInt64 = 200, perSecond: UInt64 = 20) {
        self.burst = burst
        interval = 1_000_000_000 / perSecond
    }

    /// - Returns: nil if this line is over the limit, otherwise the number of lines left out before it.
    package mutating func take(now: UInt64) -> UInt64? {
        let from = max(fullAt, now)
        guard from - now <= (burst - 1) &* interval else {
            suppressed &+= 1
            return nil
        }
        fullAt = from &+ interval
        defer { suppressed = 0 }
        return suppressed
    }
}
