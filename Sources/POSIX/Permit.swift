import Synchronization

/// The right of this process to act until a moment of the boot clock. It is asked directly before each act, by the clock of that instant, so a
/// process that stood still finds it ended.
package final class Permit: Sendable {
    /// Nobody else may act before this time after the end of the permit.
    package let marginMs: Int64
    private let end = Atomic<Int64>(0)
    private let clock: @Sendable () -> Int64

    /// - Parameter clock: another one than the machine's, for tests.
    package init(marginMs: Int64, clock: @escaping @Sendable () -> Int64 = { HostClock.bootMilliseconds }) {
        self.marginMs = marginMs
        self.clock = clock
    }

    package var holds: Bool { clock() < end.load(ordering: .acquiring) }

    /// - Parameter moment: the new end, by the boot clock.
    package func limit(to moment: Int64) { end.store(moment, ordering: .releasing) }
}
