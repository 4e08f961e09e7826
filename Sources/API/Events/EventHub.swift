package import Access
import Basics
package import EventLoops
package import EventStream
package import Server
package import Service

/// Fans events out. An event is encoded once per format, the events of one turn leave in one write per subscriber, and
/// each slow reader has its own bounded backlog, so that it delays nobody else.
package final class EventHub: TurnEndWork {
    package struct Counters: Sendable {
        package var events: UInt64 = 0
        package var deliveries: UInt64 = 0
        package var cut: UInt64 = 0
        package var opened: UInt64 = 0
        package var recovered: UInt64 = 0
        package var resets: UInt64 = 0
    }

    /// The backlog limit per subscriber, in bytes, without the socket buffer: some seconds of a busy gateway's events.
    package let bufferLimit: Int
    /// The newest durable event handed to subscribers.
    package private(set) var last: EventID
    package private(set) var counters = Counters()
    package private(set) var count = 0
    private let open: OpenRequests
    private let audience: Audience
    private var groups: [SubscriberGroup.Key: SubscriberGroup] = [:]
    private var dirty: [SubscriberGroup] = []
    private var heartbeats: [Int: TimerID] = [:]
    /// Timers of streams with a time limit.
    private var timeouts: [ObjectIdentifier: TimerID] = [:]
    private var nextAlone: UInt64 = 0
    private var waiters: [UInt64: (StreamEvent) -> Void] = [:]
    private var nextWaiter: UInt64 = 0

    /// - Parameter open: releases the slot of each stream that ends.
    /// - Parameter audience: counts the open streams by filter.
    package init(last: EventID, bufferLimit: Int, open: OpenRequests, audience: Audience) {
        self.last = last
        self.open = open
        self.audience = audience
        self.bufferLimit = bufferLimit
    }

    // MARK: Events in

    /// The log of a leader begins at this position, for this host: what the streams here have had may be of another log.
    func begin(at position: EventID, on loop: isolated EventLoop) {
        end(
            with: { .shutdown(reason: "log_changed", retryMilliseconds: .random(in: 100...1000), at: loop.wallClock) },
            on: loop
        )
        last = position
    }

    /// Delivers an event. Durable events arrive once their row is committed, in the order of their numbers.
    package func deliver(_ event: StreamEvent, on loop: isolated EventLoop) {
        guard event.isLong else { return deliverOne(event, on: loop) }
        for piece in event.pieces { deliverOne(piece, on: loop) }
    }

    private func deliverOne(_ event: StreamEvent, on loop: isolated EventLoop) {
        counters.events &+= 1
        if let id = event.id { last = id }
        let encoded = EncodedEvent(event)
        for group in groups.values {
            guard !(group.members.isEmpty && group.behind.isEmpty), group.plan.admits(event), countDown(group) else {
                continue
            }
            let encoded = event.type == "link" ? EncodedEvent(event.shown(to: group.plan.caller)) : encoded
            for subscriber in group.behind { keep(encoded, for: subscriber, on: loop) }
            guard !group.members.isEmpty else { continue }
            if group.batch.isEmpty {
                if dirty.isEmpty { loop.whenTurnEnds(self) }
                dirty.append(group)
            }
            group.batch.append(contentsOf: encoded.bytes(in: group.plan.format))
        }
        for waiter in waiters.values { waiter(event) }
    }

    /// False when a stream with an event limit has had its last event.
    private func countDown(_ group: SubscriberGroup) -> Bool {
        guard let remaining = group.remaining else { return true }
        guard remaining > 0 else { return false }
        group.remaining = remaining - 1
        return true
    }

    /// Calls `body` for every event until removed. Long polls and `wait` use it to find theirs.
    package func observe(_ body: @escaping (StreamEvent) -> Void) -> UInt64 {
        nextWaiter += 1
        waiters[nextWaiter] = body
        return nextWaiter
    }

    func stopObserving(_ id: UInt64) {
        waiters[id] = nil
    }

    // MARK: Events out

    package func turnEnded(on loop: isolated EventLoop) {
        let work = dirty
        dirty.removeAll(keepingCapacity: true)
        for group in work { flush(group, on: loop) }
    }

    /// Sends the batch to the present members, before any member joins or falls behind.
    private func flush(_ group: SubscriberGroup, on loop: isolated EventLoop) {
        let batch = group.batch
        guard !batch.isEmpty else { return }
        group.batch = []
        counters.deliveries &+= UInt64(group.members.count)
        fanOut(batch, to: group, on: loop)
        if group.remaining == 0 {
            for subscriber in group.members { finish(subscriber, on: loop) }
        }
        if group.batch.isEmpty {
            group.batch = batch
            group.batch.removeAll(keepingCapacity: true)
        }
    }

    private func fanOut(_ bytes: [UInt8], to group: SubscriberGroup, on loop: isolated EventLoop) {
        // A copy, because a disconnected peer leaves the group during the loop.
        let members = group.members
        guard let form = group.key.form else {
            let span = bytes.span
            for subscriber in members { settle(subscriber.exchange.write(span, on: loop), subscriber, on: loop) }
            return
        }
        let targets = group.targets
        let framed = form.framed(bytes)
        let span = framed.span
        for place in targets.indices {
            let outcome = targets[place].take(span, on: loop)
            if outcome == .written { continue }
            if case .waiting = outcome { members[place].exchange.directTargetWaits(on: loop) }
            settle(outcome, members[place], on: loop)
        }
    }

    private func settle(_ outcome: WriteOutcome, _ subscriber: Subscriber, on loop: isolated EventLoop) {
        switch outcome {
        case .written: break
        case .waiting: if subscriber.standing == .caughtUp { subscriber.group.place(subscriber, as: .behind) }
        case .full, .gone: cut(subscriber, on: loop)
        }
    }

    // MARK: Slow readers

    private func keep(_ event: EncodedEvent, for subscriber: Subscriber, on loop: isolated EventLoop) {
        let backlog = subscriber.backlog ?? Backlog()
        subscriber.backlog = backlog
        backlog.append(event, joining: subscriber.group.remaining == nil, on: loop)
        // Checked at once: with a later cut, newer events could still reach the reader before it, after a gap.
        let unsent = backlog.isBeginning ? 0 : subscriber.exchange.waitingBytes
        if backlog.bytes + unsent > bufferLimit { cut(subscriber, on: loop) }
    }

    func drained(_ subscriber: Subscriber, on loop: isolated EventLoop) {
        guard subscriber.standing == .behind else { return }
        while let event = subscriber.backlog?.next() {
            counters.deliveries &+= 1
            switch subscriber.exchange.write(event.bytes(in: subscriber.plan.format), on: loop) {
            case .written: continue
            case .waiting: return
            case .full, .gone: return cut(subscriber, on: loop)
            }
        }
        subscriber.backlog = nil
        if subscriber.group.remaining == 0 { return finish(subscriber, on: loop) }
        flush(subscriber.group, on: loop)
        subscriber.group.place(subscriber, as: .caughtUp)
    }

    /// Disconnects a slow reader. It reconnects with its last id and misses nothing inside the window.
    func cut(_ subscriber: Subscriber, on loop: isolated EventLoop) {
        guard subscriber.standing != .over else { return }
        counters.cut &+= 1
        remove(subscriber, on: loop)
        subscriber.exchange.abort(on: loop)
    }

    // MARK: Subscribers

    /// Adds a stream, which gets live events once it calls `goLive`.
    /// - Parameter limit: the number of events after which the stream ends.
    package func add(
        _ exchange: Exchange,
        _ plan: StreamPlan,
        limit: Int?,
        on loop: isolated EventLoop
    ) -> Subscriber {
        counters.opened &+= 1
        count += 1
        if limit != nil { nextAlone += 1 }
        let key = SubscriberGroup.Key(
            plan: plan,
            form: exchange.directTarget?.form,
            alone: limit == nil ? nil : nextAlone
        )
        let group = groups[key] ?? newGroup(key, remaining: limit)
        let subscriber = Subscriber(exchange, in: group)
        exchange.limitWaiting(to: bufferLimit)
        exchange.owner = subscriber
        group.place(subscriber, as: .replaying)
        armHeartbeat(plan.heartbeatSeconds, on: loop)
        return subscriber
    }

    private func newGroup(_ key: SubscriberGroup.Key, remaining: Int?) -> SubscriberGroup {
        let group = SubscriberGroup(key, in: self, remaining: remaining)
        groups[key] = group
        if key.plan.caller.sessions == nil { audience.joined(key.plan.filter) }
        return group
    }

    private func drop(_ group: SubscriberGroup) {
        groups[group.key] = nil
        if group.plan.caller.sessions == nil { audience.left(group.plan.filter) }
    }

    /// Starts live delivery, with `events` first; the caller has already sent everything up to `last`.
    func goLive(_ subscriber: Subscriber, behind events: [StreamEvent], on loop: isolated EventLoop) {
        guard subscriber.standing == .replaying else { return }
        subscriber.group.place(subscriber, as: .behind)
        if !events.isEmpty { subscriber.backlog = Backlog(events.map(EncodedEvent.init)) }
        if subscriber.exchange.waitingBytes == 0 { drained(subscriber, on: loop) }
    }

    func finish(_ subscriber: Subscriber, afterSeconds seconds: Int, on loop: isolated EventLoop) {
        guard subscriber.standing != .over else { return }
        timeouts[ObjectIdentifier(subscriber)] = loop.after(milliseconds: Int64(seconds) * 1000) {
            self.finish(subscriber, on: loop)
        }
    }

    package func remove(_ subscriber: Subscriber, on loop: isolated EventLoop) {
        guard subscriber.standing != .over else { return }
        count -= 1
        if let timeout = timeouts.removeValue(forKey: ObjectIdentifier(subscriber)) { loop.cancel(timeout) }
        let group = subscriber.group
        group.place(subscriber, as: .over)
        subscriber.backlog = nil
        subscriber.stopWaiting()
        if group.isEmpty { drop(group) }
        open.releaseSlot(of: group.plan.caller)
    }

    /// Ends one stream with an orderly close.
    package func finish(_ subscriber: Subscriber, on loop: isolated EventLoop) {
        guard subscriber.standing != .over else { return }
        remove(subscriber, on: loop)
        subscriber.exchange.end(on: loop)
    }

    /// Ends streams, each after a last event made for it.
    package func end(
        where isMeant: (Caller) -> Bool = { _ in true },
        with event: () -> StreamEvent,
        on loop: isolated EventLoop
    ) {
        for group in Array(groups.values) where isMeant(group.plan.caller) {
            flush(group, on: loop)
            for subscriber in group.all {
                _ = subscriber.exchange.write(group.plan.format.encode(event()), on: loop)
                finish(subscriber, on: loop)
            }
        }
    }

    /// The number of streams a caller has open.
    func count(of caller: Caller) -> Int {
        groups.values.reduce(0) { $0 + ($1.plan.caller == caller ? $1.all.count : 0) }
    }

    func recordResume(recovered: Bool) {
        if recovered { counters.recovered &+= 1 } else { counters.resets &+= 1 }
    }

    // MARK: Heartbeats

    /// One timer for all streams of one interval.
    private func armHeartbeat(_ seconds: Int, on loop: isolated EventLoop) {
        guard heartbeats[seconds] == nil else { return }
        // Strong: the timer may hold the last reference to a hub whose loop still runs.
        heartbeats[seconds] = loop.after(milliseconds: Int64(seconds) * 1000) {
            self.heartbeats[seconds] = nil
            self.beat(seconds, on: loop)
        }
    }

    private func beat(_ seconds: Int, on loop: isolated EventLoop) {
        for group in groups.values { flush(group, on: loop) }
        var isNeeded = false
        for group in Array(groups.values) where group.plan.heartbeatSeconds == seconds {
            isNeeded = true
            let plan = group.plan
            fanOut(plan.format.heartbeat(asEvent: plan.heartbeatAsEvent, at: loop.wallClock), to: group, on: loop)
        }
        if isNeeded { armHeartbeat(seconds, on: loop) }
    }
}
