import Basics

/// Limits log lines that strangers can cause, so that a flood of bad requests is not a flood of lines. Lines over the
/// limit are counted.
package struct LogBudget: Sendable {
    private var bucket: TokenBucket
    package private(set) var suppressed: UInt64 = 0

    package init(burst: UInt64 = 200, perSecond: UInt64 = 20) {
        bucket = TokenBucket(burst: burst, perSecond: perSecond)
    }

    /// - Returns: nil if this line is over the limit, otherwise the number of lines left out before it.
    package mutating func take(now: UInt64) -> UInt64? {
        guard bucket.take(now: now) else {
            suppressed &+= 1
            return nil
        }
        defer { suppressed = 0 }
        return suppressed
    }
}
