package import Basics
import POSIX

/// The clocks of a loop: the system's clocks, or clocks that a test sets by hand.
package struct LoopClock: Sendable {
    /// In monotonic nanoseconds.
    let monotonic: @Sendable () -> UInt64
    let wall: @Sendable () -> Timestamp

    package init(monotonic: @escaping @Sendable () -> UInt64, wall: @escaping @Sendable () -> Timestamp) {
        self.monotonic = monotonic
        self.wall = wall
    }

    package static let system = LoopClock(
        monotonic: { HostClock.monotonicNanoseconds },
        wall: { Timestamp(milliseconds: HostClock.wallMilliseconds) }
    )
}
