import Access
import Basics
package import EventLog
package import EventLoops
import Exchanges

/// Fans events out. An event is encoded once a format, the events of one turn leave in one write a subscriber, and a slow
/// reader has a bounded backlog of its own, so that nobody waits for it.
package final class EventHub: TurnEndWork {
    package struct Counters: Sendable {
        package var events: UInt64 = 0
        package var deliveries: UInt64 = 0
        package var cut: UInt64 = 0
        package var opened: UInt64 = 0
        package var recovered: UInt64 = 0
        package var resets: UInt64 = 0
    }

    /// Per subscriber, in bytes, socket buffer not counted: some seconds of a busy gateway.
    package let bufferLimit: Int
    /// The newest durable event handed to subscribers.
    package private(set) var last: EventID
    package private(set) var counters = Counters()
    private var groups: [SubscriberGroup.Key: SubscriberGroup] = [:]
    private var dirty: [SubscriberGroup] = []
    private var subscribers: [ObjectIdentifier: Subscriber] = [:]
    private var heartbeats: [Int: TimerID] = [:]
    private var nextAlone: UInt64 = 0
    private var waiters: [UInt64: (HubEvent) -> Void] = [:]
    private var nextWaiter: UInt64 = 0

    package init(last: EventID, bufferLimit: Int) {
        self.last = last
        self.bufferLimit = bufferLimit
    }

    package var count: Int { subscribers.count }

    // MARK: Events in

    /// Durable events come here once their row is committed, in the order of their numbers.
    package func deliver(_ event: HubEvent, on loop: isolated EventLoop) {
        counters.events &+= 1
        if let id = event.id { last = id }
        for group in groups.values {
            guard Subscriber.admits(event, filter: group.filter, caller: group.caller) else { continue }
            for subscriber in group.behind { keep(event, for: subscriber, on: loop) }
            guard !group.members.isEmpty else { continue }
            if group.batch.isEmpty {
                if dirty.isEmpty { loop.whenTurnEnds(self) }
                dirty.append(group)
            }
            group.batch.append(contentsOf: event.bytes(in: group.key.format))
        }
        for waiter in waiters.values { waiter(event) }
    }

    /// Calls for every event until removed: long polls and `wait` look for theirs.
    package func observe(_ body: @escaping (HubEvent) -> Void) -> UInt64 {
        nextWaiter += 1
        waiters[nextWaiter] = body
        return nextWaiter
    }

    package func stopObserving(_ id: UInt64) {
        waiters[id] = nil
    }

    package func turnEnded(on loop: isolated EventLoop) {
        let work = dirty
        dirty.removeAll(keepingCapacity: true)
        for group in work { flush(group, on: loop) }
    }

    private func flush(_ group: SubscriberGroup, on loop: isolated EventLoop) {
        let batch = group.batch
        group.batch = []
        // Copies: a peer found gone leaves the group while it is walked.
        let members = group.members
        counters.deliveries &+= UInt64(members.count)
        if let form = group.key.form {
            let targets = group.targets
            let framed = form == .chunk ? Self.chunk(of: batch) : batch
            let span = framed.span
            for place in targets.indices {
                let outcome = targets[place].take(span, on: loop)
                if outcome == .written { continue }
                if case .waiting = outcome { members[place].exchange.outletWaits(on: loop) }
                settle(outcome, members[place], of: group, on: loop)
            }
        } else {
            let span = batch.span
            for subscriber in members {
                settle(subscriber.exchange.write(span, on: loop), subscriber, of: group, on: loop)
            }
        }
        if group.batch.isEmpty {
            group.batch = batch
            group.batch.removeAll(keepingCapacity: true)
        }
    }

    private static func chunk(of bytes: [UInt8]) -> [UInt8] {
        Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + [0x0D, 0x0A]
    }

    // MARK: Slow readers

    private func settle(
        _ outcome: WriteOutcome,
        _ subscriber: Subscriber,
        of group: SubscriberGroup,
        on loop: isolated EventLoop
    ) {
        switch outcome {
        case .written: break
        case .waiting: group.fallBehind(subscriber)
        case .full, .gone: cut(subscriber, on: loop)
        }
    }

    private func keep(_ event: HubEvent, for subscriber: Subscriber, on loop: isolated EventLoop) {
        if subscriber.backlog.count > subscriber.backlogStart, let last = subscriber.backlog.last,
            let joined = last.joined(with: event, at: loop.wallClock)
        {
            subscriber.backlog[subscriber.backlog.count - 1] = joined
            subscriber.backlogBytes += joined.data.count - last.data.count
        } else {
            subscriber.backlog.append(event)
            subscriber.backlogBytes += event.data.count
        }
        // Deferred, because the caller walks the group.
        if subscriber.backlogBytes + subscriber.exchange.waitingBytes > bufferLimit {
            subscriber.phase = .over
            subscriber.backlog = []
            subscriber.backlogBytes = 0
            let bound = LoopBound(subscriber, on: loop)
            let hub = LoopBound(self, on: loop)
            loop.post { loop in
                if let subscriber = bound.value(on: loop) { hub.value(on: loop)?.cut(subscriber, on: loop) }
            }
        }
    }

    private func drained(_ subscriber: Subscriber, on loop: isolated EventLoop) {
        guard subscriber.isBehind, subscriber.phase == .live else { return }
        while subscriber.backlogStart < subscriber.backlog.count {
            let event = subscriber.backlog[subscriber.backlogStart]
            subscriber.backlogStart += 1
            subscriber.backlogBytes -= event.data.count
            counters.deliveries &+= 1
            switch subscriber.exchange.write(event.bytes(in: subscriber.format), on: loop) {
            case .written: continue
            case .waiting: return
            case .full, .gone: return cut(subscriber, on: loop)
            }
        }
        subscriber.backlog = []
        subscriber.backlogStart = 0
        subscriber.group?.catchUp(subscriber)
    }

    /// The reader comes back with its last id and misses nothing inside the window.
    private func cut(_ subscriber: Subscriber, on loop: isolated EventLoop) {
        guard subscribers[ObjectIdentifier(subscriber)] != nil else { return }
        counters.cut &+= 1
        remove(subscriber)
        subscriber.exchange.abort(on: loop)
    }

    // MARK: Subscribers

    /// Takes a stream in; it gets live events once it calls `goLive`.
    package func add(_ subscriber: Subscriber, on loop: isolated EventLoop) {
        counters.opened &+= 1
        subscribers[ObjectIdentifier(subscriber)] = subscriber
        subscriber.exchange.limitWaiting(to: bufferLimit)
        subscriber.exchange.gone = { [weak self, weak subscriber] in
            if let subscriber { self?.remove(subscriber) }
        }
        armHeartbeat(subscriber.heartbeatSeconds, on: loop)
    }

    /// From here on it gets what is delivered; the caller has sent everything up to `last`.
    package func goLive(_ subscriber: Subscriber, on loop: isolated EventLoop) {
        guard subscriber.phase == .replaying else { return }
        subscriber.phase = .live
        subscriber.isBehind = subscriber.exchange.waitingBytes > 0
        let form = subscriber.exchange.outlet?.form
        subscriber.exchange.drained = { [weak self, weak subscriber] in
            if let subscriber { self?.drained(subscriber, on: loop) }
        }
        var alone: UInt64?
        if subscriber.remaining != nil {
            nextAlone += 1
            alone = nextAlone
        }
        let key = SubscriberGroup.Key(
            types: subscriber.filter.types,
            session: subscriber.filter.session,
            run: subscriber.filter.run,
            format: subscriber.format,
            form: form,
            sessions: subscriber.caller.sessions,
            alone: alone
        )
        let group = groups[key] ?? SubscriberGroup(key: key, first: subscriber)
        // Bytes gathered before it came are not its own.
        if !group.batch.isEmpty { flush(group, on: loop) }
        groups[key] = group
        group.add(subscriber)
    }

    package func remove(_ subscriber: Subscriber) {
        subscriber.phase = .over
        guard subscribers.removeValue(forKey: ObjectIdentifier(subscriber)) != nil else { return }
        subscriber.ended?()
        subscriber.ended = nil
        guard let group = subscriber.group else { return }
        group.remove(subscriber)
        if group.isEmpty { groups[group.key] = nil }
    }

    /// Ends streams in an orderly way after a last event of their own.
    package func end(
        where isMeant: (Subscriber) -> Bool = { _ in true },
        with event: (Subscriber) -> HubEvent,
        on loop: isolated EventLoop
    ) {
        for subscriber in subscribers.values where isMeant(subscriber) {
            _ = subscriber.exchange.write(event(subscriber).bytes(in: subscriber.format), on: loop)
            remove(subscriber)
            subscriber.exchange.end(on: loop)
        }
    }

    package func recordResume(recovered: Bool) {
        if recovered { counters.recovered &+= 1 } else { counters.resets &+= 1 }
    }

    // MARK: Heartbeats

    /// One timer for all streams of one interval.
    private func armHeartbeat(_ seconds: Int, on loop: isolated EventLoop) {
        guard heartbeats[seconds] == nil else { return }
        heartbeats[seconds] = loop.after(milliseconds: Int64(seconds) * 1000) { [weak self] in
            guard let self else { return }
            self.heartbeats[seconds] = nil
            self.beat(seconds, on: loop)
        }
    }

    private func beat(_ seconds: Int, on loop: isolated EventLoop) {
        var isNeeded = false
        var gone: [Subscriber] = []
        for subscriber in subscribers.values where subscriber.heartbeatSeconds == seconds {
            isNeeded = true
            guard !subscriber.isBehind, subscriber.phase == .live else { continue }
            let bytes = subscriber.format.heartbeat(asEvent: subscriber.heartbeatAsEvent, at: loop.wallClock)
            switch subscriber.exchange.write(bytes, on: loop) {
            case .written: continue
            case .waiting: subscriber.group?.fallBehind(subscriber)
            case .full, .gone: gone.append(subscriber)
            }
        }
        for subscriber in gone { cut(subscriber, on: loop) }
        if isNeeded { armHeartbeat(seconds, on: loop) }
    }
}
