package import Basics
import POSIX

/// The clocks of a loop: the system's clocks, or clocks that a test sets by hand.
package struct LoopClock: Sendable {
    /// In monotonic nanoseconds.
    let monotonic: @Sendable () -> UInt64
    let wall: @Sendable () -> Timestamp
    /// The origin of `monotonic`: two processes with the same epoch may compare its times. Nil if unknown.
    let epoch: String?

    package init(
        monotonic: @escaping @Sendable () -> UInt64,
        wall: @escaping @Sendable () -> Timestamp,
        epoch: String? = nil
    ) {
        self.monotonic = monotonic
        self.wall = wall
        self.epoch = epoch
    }

    package static let system = LoopClock(
        monotonic: { HostClock.monotonicNanoseconds },
        wall: { Timestamp(milliseconds: HostClock.wallMilliseconds) },
        epoch: HostClock.boot
    )
}
