/// Lines that strangers cause: so many at once, so many a second, and the rest is counted. A flood of bad requests must
/// not become a flood of lines.
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

    /// - Returns: nil when this line is one too many, else how many were left out before it.
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
