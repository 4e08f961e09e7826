package import Basics
import CSystem
package import POSIX

/// Something that owns a descriptor watched by a loop.
package protocol Pollable: AnyObject {
    func ready(_ readiness: Readiness, on loop: isolated EventLoop)
}

/// Something that gathers work during a turn and does it once at the turn's end, in one write where it can.
package protocol TurnEndWork: AnyObject {
    func turnEnded(on loop: isolated EventLoop)
}

/// Something that stopped in the middle of much work so that others get their turn, and goes on later.
package protocol YieldedWork: AnyObject {
    func goOn(on loop: isolated EventLoop)
}

/// The place of a watched descriptor; its generation tells an old owner's late event from the new owner's.
package struct Registration: Sendable, Hashable {
    fileprivate let slot: UInt32
    fileprivate let generation: UInt32
    fileprivate var token: UInt64 { UInt64(generation) << 32 | UInt64(slot) }
}

/// An event loop as an actor: everything that sits on it (listeners, connections, timers, the link, the hub) is a plain
/// non-Sendable object which the compiler keeps here. See `LoopExecutor` for what drives it.
package actor EventLoop {
    private struct Slot {
        var owner: (any Pollable)?
        var generation: UInt32 = 0
    }

    private static let eventsPerWait = 256
    /// One read of one connection; also the largest piece a handler sees at once.
    package static let readBufferSize = 64 << 10
    /// A read, and a TLS record before it.
    package static let plainBufferSize = readBufferSize + (16 << 10)
    /// After so long in one turn whoever has much to do should stop: dozens of small requests, and little beside the way
    /// over any network.
    private static let longTurn: UInt64 = 200_000

    private nonisolated let executor: LoopExecutor
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    private nonisolated let poller: Poller
    private let clock: LoopClock
    private var events = [cs_event](repeating: cs_event(), count: eventsPerWait)
    private var slots: [Slot] = []
    private var freeSlots: [UInt32] = []
    private var timers = TimerQueue<() -> Void>()
    private var armedDeadline: UInt64?
    private var atTurnEnd: [any TurnEndWork] = []
    /// Those who yielded, and those of them whose turns come first, the next one last.
    private var yielded: [any YieldedWork] = []
    private var round: [any YieldedWork] = []
    private var isStopping = false

    /// Shared by all connections of the loop: a read is used up before the next one.
    let readBuffer = ByteStore(count: readBufferSize)
    /// For what a read decrypts to, with the record it may bring to an end; made where there is TLS.
    private(set) lazy var plainBuffer = ByteStore(count: Self.plainBufferSize)

    /// Monotonic nanoseconds, read once a turn.
    package private(set) var now: UInt64
    /// Wall clock, read once a turn.
    package private(set) var wallClock: Timestamp

    package init(label: String = "ladle.loop", clock: LoopClock = .system) throws(SystemError) {
        let poller = try Poller()
        self.poller = poller
        self.clock = clock
        now = clock.monotonic()
        wallClock = clock.wall()
        executor = LoopExecutor(label: label) { poller.ring() }
    }

    package nonisolated func start() {
        executor.start { drive in self.assumeIsolated { loop in drive { mayBlock in loop.turn(mayBlock: mayBlock) } } }
    }

    /// Ends after the turn under way. What was posted before still runs; later work runs on the bare queue.
    package func stop() {
        isStopping = true
    }

    /// Ordered entry from any thread; the work runs on the loop.
    package nonisolated func post(_ work: @escaping @Sendable (isolated EventLoop) -> Void) {
        executor.submit(.post { self.assumeIsolated { work($0) } })
    }

    // MARK: Timers. The work runs on this loop; a closure that names the `isolated` loop it was made with is checked to.

    @discardableResult
    package func after(
        milliseconds: Int64,
        _ work: @escaping () -> Void
    ) -> TimerID {
        let (nanoseconds, isTooLong) = UInt64(clamping: milliseconds).multipliedReportingOverflow(by: 1_000_000)
        return after(nanoseconds: isTooLong ? .max : nanoseconds, work)
    }

    @discardableResult
    package func after(
        nanoseconds: UInt64,
        _ work: @escaping () -> Void
    ) -> TimerID {
        let (deadline, isNever) = now.addingReportingOverflow(nanoseconds)
        return timers.add(deadline: isNever ? .max : deadline, work)
    }

    package func cancel(_ id: TimerID) {
        timers.cancel(id)
    }

    /// Timers still to come.
    package var armedTimers: Int { timers.count }

    /// When the next timer is due, on the monotonic clock; tests with a clock of their own step from one to the next.
    package var nextDeadline: UInt64? { timers.nextDeadline() }

    /// Asks for one call at the end of this turn; each call of this adds one.
    package func whenTurnEnds(_ work: any TurnEndWork) {
        atTurnEnd.append(work)
    }

    /// Whether others have waited for this turn's end long enough. Reads the clock: ask between pieces of work only.
    package var isTurnLong: Bool { clock.monotonic() &- now > Self.longTurn }

    /// The rest of some work, in a later turn: one such a turn, in the order of asking and behind everything that is ready.
    package func yield(_ work: any YieldedWork) {
        yielded.append(work)
    }

    // MARK: Descriptors

    package func watch(
        _ descriptor: borrowing Descriptor,
        for interest: Readiness,
        owner: any Pollable
    ) throws(SystemError) -> Registration {
        let slot = freeSlots.popLast() ?? UInt32(slots.count)
        if slot == slots.count { slots.append(Slot()) }
        let registration = Registration(slot: slot, generation: slots[Int(slot)].generation)
        do throws(SystemError) {
            try poller.add(descriptor.number, token: registration.token, interest: interest)
        } catch {
            freeSlots.append(slot)
            throw error
        }
        slots[Int(slot)].owner = owner
        return registration
    }

    package func change(_ registration: Registration, of descriptor: borrowing Descriptor, to interest: Readiness) {
        poller.change(descriptor.number, token: registration.token, interest: interest)
    }

    /// Before the descriptor is closed.
    package func forget(_ registration: Registration, of descriptor: borrowing Descriptor) {
        poller.remove(descriptor.number)
        let slot = Int(registration.slot)
        guard slots[slot].generation == registration.generation else { return }
        slots[slot].owner = nil
        slots[slot].generation &+= 1
        freeSlots.append(registration.slot)
    }

    // MARK: The turn

    /// - Returns: when it woke, on the monotonic clock; nil at the end.
    private func turn(mayBlock: Bool) -> UInt64? {
        if isStopping { return nil }
        armTimer()
        let count = poller.wait(into: &events, block: mayBlock && atTurnEnd.isEmpty && yielded.isEmpty && round.isEmpty)
        now = clock.monotonic()
        wallClock = clock.wall()
        for index in 0..<count {
            let event = events[index]
            if event.token == cs_token_timer {
                armedDeadline = nil
            } else if event.token != cs_token_bell {
                deliver(event)
            }
        }
        while let work = timers.popDue(now: now) { work() }
        if round.isEmpty, !yielded.isEmpty {
            swap(&round, &yielded)
            round.reverse()
        }
        round.popLast()?.goOn(on: self)
        endTurn()
        return isStopping ? nil : now
    }

    private func deliver(_ event: cs_event) {
        let slot = Int(event.token & 0xFFFF_FFFF)
        guard slot < slots.count, slots[slot].generation == UInt32(event.token >> 32) else { return }
        slots[slot].owner?.ready(Readiness(rawValue: event.ready), on: self)
    }

    /// Work asked for here runs in this turn too, but each round once, so that two such works cannot hold the loop.
    private func endTurn() {
        guard !atTurnEnd.isEmpty else { return }
        let works = atTurnEnd
        atTurnEnd.removeAll(keepingCapacity: true)
        for work in works { work.turnEnded(on: self) }
    }

    private func armTimer() {
        let deadline = timers.nextDeadline()
        guard deadline != armedDeadline else { return }
        armedDeadline = deadline
        let time = clock.monotonic()
        poller.arm(nanoseconds: deadline.map { $0 > time ? $0 - time : 1 })
    }
}

private let cs_token_bell = UInt64.max
private let cs_token_timer = UInt64.max - 1
