package import Basics
import CSystem
package import POSIX

/// The owner of a descriptor that a loop watches.
package protocol Pollable: AnyObject {
    func ready(_ readiness: Readiness, on loop: isolated EventLoop)
}

/// Gathers work during a turn and does it once at the turn's end, if possible in one write.
package protocol TurnEndWork: AnyObject {
    func turnEnded(on loop: isolated EventLoop)
}

/// Work that stopped part-way so that other work gets its turn, and continues later.
package protocol YieldedWork: AnyObject {
    func goOn(on loop: isolated EventLoop)
}

/// The slot of a watched descriptor. The generation separates late events of an old owner from those of the new owner.
package struct Registration: Sendable, Hashable {
    fileprivate let slot: UInt32
    fileprivate let generation: UInt32
    fileprivate var token: UInt64 { UInt64(generation) << 32 | UInt64(slot) }
}

/// An event loop as an actor. The compiler keeps its listeners, connections, timers, link and hub here, because they
/// are plain non-Sendable objects. `LoopExecutor` drives the loop.
package actor EventLoop {
    private struct Slot {
        var owner: (any Pollable)?
        var generation: UInt32 = 0
    }

    private static let eventsPerWait = 256
    /// The size of one read of one connection, and so the largest piece a handler gets at once.
    package static let readBufferSize = 64 << 10
    /// Room for the plaintext of one read and of a TLS record begun before it.
    package static let plainBufferSize = readBufferSize + (16 << 10)
    /// Long work should yield after this many nanoseconds of a turn: enough for dozens of small requests, and short
    /// beside the delay of any network.
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
    /// Yielded work, and the part of it that is due in this round, stored in reverse order.
    private var yielded: [any YieldedWork] = []
    private var round: [any YieldedWork] = []
    private var isStopping = false
    /// Flows that have something to do now: begun or answered, and not yet going on. Tests with their own clock wait for them.
    package internal(set) var flowsInMotion = 0

    /// Shared by all connections of the loop, because each read is consumed before the next one.
    package let readBuffer = ByteStore(count: readBufferSize)
    /// The decrypted bytes of one read, with the record that the read completes. Allocated only if TLS is used.
    private(set) lazy var plainBuffer = ByteStore(count: Self.plainBufferSize)

    /// In monotonic nanoseconds, read once a turn.
    package private(set) var now: UInt64
    /// The wall clock, read once a turn.
    package private(set) var wallClock: Timestamp
    /// The origin of `now`; nil if unknown.
    package var clockEpoch: String? { clock.epoch }

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

    /// Ends the loop after the current turn. Work posted before still runs; later work runs directly on the queue.
    package func stop() {
        isStopping = true
    }

    /// Enters work from any thread, in order; the work runs on the loop.
    package nonisolated func post(_ work: @escaping @Sendable (isolated EventLoop) -> Void) {
        executor.submit(.post { self.assumeIsolated { work($0) } })
    }

    // MARK: Timers. Their work runs on this loop; closures that name the `isolated` loop are checked against it.

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

    /// The number of timers that have not fired yet.
    package var armedTimers: Int { timers.count }

    /// The time of the next timer on the monotonic clock. Tests with their own clock step from one timer to the next.
    package var nextDeadline: UInt64? { timers.nextDeadline() }

    /// Requests one call at the end of this turn. Each request adds one call.
    package func whenTurnEnds(_ work: any TurnEndWork) {
        atTurnEnd.append(work)
    }

    /// True if the turn has lasted so long that the current work should yield. Reads the clock, so ask only between
    /// pieces of work.
    package var isTurnLong: Bool { clock.monotonic() &- now > Self.longTurn }

    /// Continues the work in a later turn: one piece of yielded work a turn, in the order of the requests, after all
    /// ready events.
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

    /// Call this before the descriptor is closed.
    package func forget(_ registration: Registration, of descriptor: borrowing Descriptor) {
        poller.remove(descriptor.number)
        let slot = Int(registration.slot)
        guard slots[slot].generation == registration.generation else { return }
        slots[slot].owner = nil
        slots[slot].generation &+= 1
        freeSlots.append(registration.slot)
    }

    // MARK: The turn

    /// - Returns: the wake-up time on the monotonic clock; nil once the loop has ended.
    private func turn(mayBlock: Bool) -> UInt64? {
        if isStopping { return end() }
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
        return isStopping ? end() : now
    }

    /// Releases the work that will never run: most of it holds the loop, which would otherwise never be freed.
    private func end() -> UInt64? {
        timers = TimerQueue()
        atTurnEnd = []
        (yielded, round) = ([], [])
        return nil
    }

    private func deliver(_ event: cs_event) {
        let slot = Int(event.token & 0xFFFF_FFFF)
        guard slot < slots.count, slots[slot].generation == UInt32(event.token >> 32) else { return }
        slots[slot].owner?.ready(Readiness(rawValue: event.ready), on: self)
    }

    /// Work requested here runs in the next turn, which does not wait, so that two pieces of work requesting each other
    /// cannot hold the loop.
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
