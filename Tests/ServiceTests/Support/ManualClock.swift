import Basics
import EventLoops
import Synchronization

/// Time that passes only when a test says so.
final class ManualClock: Sendable {
    static let start = Timestamp(milliseconds: 1_795_000_000_000)
    private static let monotonicStart: UInt64 = 1_000_000_000_000

    private let elapsed = Mutex<UInt64>(0)
    private let stepMs = Mutex<Int64>(0)
    private let wallStart: Timestamp

    init(wallStart: Timestamp = start) {
        self.wallStart = wallStart
    }

    var monotonic: UInt64 { Self.monotonicStart + elapsed.withLock { $0 } }
    var elapsedMs: Int64 { Int64(elapsed.withLock { $0 } / 1_000_000) }
    var wall: Timestamp { wallStart.adding(milliseconds: elapsedMs + stepMs.withLock { $0 }) }

    var loopClock: LoopClock {
        LoopClock(monotonic: { self.monotonic }, wall: { self.wall })
    }

    /// Sets the wall clock, as a person might.
    func set(forwardMs: Int64) { stepMs.withLock { $0 += forwardMs } }

    /// Moves to a later monotonic time; an earlier one changes nothing.
    func move(to monotonic: UInt64) {
        elapsed.withLock { $0 = max($0, monotonic - Self.monotonicStart) }
    }
}
