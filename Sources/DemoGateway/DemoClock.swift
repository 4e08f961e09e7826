import Basics
import EventLoops

/// Both clocks of the gateway, and scheduled work. Only the model moves the time.
final class DemoClock {
    private(set) var now: DemoInstant
    let startedAt: DemoInstant
    private let speed: Double
    private var timers = TimerQueue<() -> Void>()

    init(_ now: DemoInstant, speed: Double) {
        self.now = now
        self.speed = speed
        startedAt = now
    }

    var wallMs: Int64 { now.wall.milliseconds }
    var uptimeMs: Int64 { Int64((now.monotonic &- startedAt.monotonic) / 1_000_000) }
    var nextDeadline: UInt64? { timers.nextDeadline() }

    func set(_ now: DemoInstant) { self.now = now }

    /// Runs all due work, including work that becomes due meanwhile.
    func runDueWork() {
        while let work = timers.popDue(now: now.monotonic) { work() }
    }

    /// Schedules work. The closure must not keep its owner alive: a released owner has nothing left to do.
    func after(ms delay: Int, _ work: @escaping () -> Void) {
        _ = timers.add(deadline: now.monotonic + UInt64(max(delay, 0)) * 1_000_000, work)
    }

    /// A script's delay at the chosen speed.
    func paced(_ delayMs: Int) -> Int {
        speed <= 0 ? 0 : Int(Double(delayMs) / speed)
    }
}
