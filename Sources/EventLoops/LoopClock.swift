package import Basics
import POSIX

/// Where a loop reads the time: the system's clocks, or a clock that a test moves by hand.
package struct LoopClock: Sendable {
    /// Monotonic nanoseconds.
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
