package import Basics

/// A span of time within which something must have been written, on one clock. Two clocks never agree to the millisecond, so each rule
/// that compares times names the window that it allows.
package struct ClockWindow: Sendable, Equatable {
    package let from: Timestamp
    package let to: Timestamp

    package init(from: Timestamp, to: Timestamp) {
        self.from = from
        self.to = max(from, to)
    }

    package func contains(_ time: Timestamp) -> Bool { from <= time && time <= to }
}
