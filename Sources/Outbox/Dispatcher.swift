import Basics

/// Decides what happens to every entry that is not final: a pure machine over inputs and clocks. Each entry has a
/// `Delivery`; the dispatcher holds the state between entries: turns, the link and the start.
///
/// Two promises hold by construction. No command reaches the link before `sending` is on disk, because a dispatch is
/// the continuation of that write. And no change is shown before it is on disk, because events are written with it;
/// during an entry's write, later inputs wait.
package struct Dispatcher: Sendable {
    private var deliveries: [String: Delivery] = [:]
    private var context: DispatcherContext
    private var startup = DispatcherStartup()

    /// - Parameter seed: used only for the jitter.
    package init(policy: OutboxPolicy = OutboxPolicy(), seed: UInt64 = 0) {
        context = DispatcherContext(rules: OutboxRules(policy: policy), seed: seed)
    }

    package var rules: OutboxRules { context.rules }

    /// The reason why the waiting entries of a session do not move. It is not stored with each of them.
    package func blockedReason(session: String) -> String? {
        if let fault = startup.fault { return "the waiting entries could not be read: \(fault)" }
        let holds = context.policy.offline == .hold
        return switch context.link {
        case .blocked(let reason): reason
        case .offline(let detail): holds ? "gateway offline: \(detail)" : nil
        case .connecting: holds ? "connecting to the gateway" : nil
        case .online where context.pause.isUnderWay:
            "the gateway takes nothing for the moment: \(context.pause.detail ?? "it is paused")"
        case .online: reasonOfSession(session)
        }
    }

    private func reasonOfSession(_ session: String) -> String? {
        if context.isRefusing(session) { return OutboxFault.refusing }
        let queue = QueueKey(session: session, isControl: false)
        let first = context.queues.places(in: queue).first { deliveries[$0.id]?.letsOthersGo == false }
            .flatMap { deliveries[$0.id]?.current }
        // A message that waits for its turn does not wait for itself.
        let own = first.flatMap { $0.state.isWaiting ? $0.run : nil }
        if context.waitsForInterruptedRun(session, besides: own) {
            return "the gateway was restarted during a run of this session and may go on with it"
        }
        if let first, first.state == .unconfirmed {
            return "it is not known whether the message before, \(first.id), arrived;"
                + " a minute without a run in this session decides"
        }
        guard context.waitsForRun(session, besides: own) else { return nil }
        return "a run of this session goes on; the message follows when it has ended"
    }

    /// Whether there is a session to which the gateway would acknowledge a message without running it.
    package var refusesSome: Bool { context.refusesSome }

    package func isRefusing(_ session: String) -> Bool { context.isRefusing(session) }

    /// Whether the connected gateway lets the sender choose what becomes of a message to a busy session.
    package var takesQueueModes: Bool { context.takesQueueModes }

    /// The number of entries that are not final.
    package var count: Int { deliveries.count }

    package func entry(id: String) -> OutboxEntry? { deliveries[id]?.entry }

    /// The entries of the session that have not ended, in order of acceptance.
    package func entries(of session: String) -> [OutboxEntry] {
        deliveries.values.map(\.entry).filter { $0.session.isSameText(as: session) }.sorted { $0.ordinal < $1.ordinal }
    }

    // MARK: Inputs

    package mutating func receive(_ input: DispatcherInput, now: Moment) -> [DispatcherAction] {
        context.now = now
        let (inputs, orders) = startup.take(input)
        for order in orders { context.order(order) }
        for input in inputs { handle(input) }
        while let key = context.queues.next() {
            if let id = candidate(in: key) { deliveries[id]?.takeTurn(&context) }
        }
        while let id = context.searches.next() { deliveries[id]?.startSearch(&context) }
        if let action = context.timers.rearm(now) { context.order(action) }
        return context.takeOrders()
    }

    private mutating func handle(_ input: DispatcherInput) {
        switch input {
        case .loaded(let entries): load(entries)
        case .loadFailed: break
        case .enqueued(let entry): admit(entry)
        case .link(let condition): linkChanged(to: condition)
        case .persisted(let write):
            if let id = context.writes.finish(write) { with(id) { $0.written(write, &$1) } }
        case .persistFailed(let write, .storage(let problem)):
            if let id = context.writes.finish(write) { with(id) { $0.notWritten(write, problem, &$1) } }
        case .persistFailed(let write, .moved(let current)):
            if let id = context.writes.finish(write) { replace(id, with: current, write) }
        case .outcome(let attempt, let outcome):
            if outcome.isNothingToStop, let run = deliveries[attempt.entry]?.entry.stoppedRun {
                apply(.nothingToStop(key: run), toEntryOf: run)
            }
            with(attempt.entry) { $0.receive(outcome, of: attempt, &$1) }
        case .run(let session, let run, let phase): runChanged(session: session, run: run, phase: phase)
        case .taken(let key): apply(.taken(key: key), toEntryOf: key)
        case .evidence(let key, let proof, let run): apply(.proof(key: key, proof, joined: run), toEntryOf: key)
        case .refusedByRun(let key, let fault): apply(.refusedByRun(key: key, fault), toEntryOf: key)
        case .refuses(let session): context.refuses(session)
        case .refusesNoMore: context.refusesNoMore()
        case .refusesQueueModes: context.refusesQueueModes()
        case .paused(let detail): context.paused(detail, forMs: nil)
        case .goesOn: context.goesOn()
        case .searched(let number, let report):
            if let search = context.searches.finish(number) {
                with(search.entry) { $0.searched(number, key: search.key, report, &$1) }
            }
        case .routeChanged(let session, let detail):
            applyInOrder(.withdrawn(.targetChanged(detail: detail))) {
                session?.isSameText(as: $0.entry.session) ?? true
            }
        case .stopped(let run): apply(.withdrawn(.stopped), toEntryOf: run)
        case .mayRunAgain(let run): apply(.mayRunAgain, toEntryOf: run)
        case .nothingToStop(let run): apply(.nothingToStop(key: run), toEntryOf: run)
        case .cancel(let id, let force, let version, let token):
            give(.command(.cancel(force: force), expectedVersion: version, token), to: id)
        case .retry(let id, let version, let token):
            give(.command(.retry, expectedVersion: version, token), to: id)
        case .tick: context.timers.fired()
        }
        takeDue()
    }

    /// Lets an entry's delivery act, and drops the delivery if that ended it.
    private mutating func with(_ id: String, _ act: (inout Delivery, inout DispatcherContext) -> Void) {
        guard let index = deliveries.index(forKey: id) else { return }
        act(&deliveries.values[index], &context)
        guard deliveries.values[index].isOver else { return }
        deliveries.remove(at: index)
        context.refused.remove(id)
    }

    private mutating func apply(_ input: DeliveryInput, toEntryOf key: some StringProtocol) {
        with(OutboxEntry.entryID(ofKey: key)) { $0.receive(input, &$1) }
    }

    /// Applies the input to some entries in order of acceptance.
    private mutating func applyInOrder(_ input: DeliveryInput, to isAffected: (Delivery) -> Bool) {
        let affected = deliveries.values.filter(isAffected).map(\.entry)
        for entry in affected.sorted(by: { $0.ordinal < $1.ordinal }) { with(entry.id) { $0.receive(input, &$1) } }
    }

    /// Gives an input to an entry; a command for an entry that is not here is refused.
    private mutating func give(_ input: DeliveryInput, to id: String) {
        if let token = input.token, deliveries[id] == nil { return context.answer(token, .failure(.notFound)) }
        with(id) { $0.receive(input, &$1) }
    }

    // MARK: Entries that come and go

    private mutating func load(_ entries: [OutboxEntry]) {
        for entry in entries where !entry.state.hasEndedForGood {
            admit(entry)
            let hasEnded = startup.endedRuns.contains(entry.run)
            with(entry.id) { $0.resume(hasRunEnded: hasEnded, &$1) }
        }
        if context.isOnline { linkOpened() }
    }

    private mutating func admit(_ entry: OutboxEntry) {
        guard deliveries[entry.id] == nil, !entry.state.hasEndedForGood else { return }
        deliveries[entry.id] = Delivery(entry: entry)
        supersede(by: entry)
        with(entry.id) { $0.begin(&$1) }
        if let run = entry.stoppedRun { apply(.withdrawn(.stopped), toEntryOf: run) }
    }

    /// Of several waiting commands of one sender with one coalescing key only the newest is sent. A sender may take only
    /// its own command back.
    private mutating func supersede(by entry: OutboxEntry) {
        guard let key = entry.coalescingKey, entry.state == .queued, entry.kind.isKnown,
            let queue = deliveries[entry.id]?.queue
        else { return }
        for place in context.queues.places(in: queue) where place.ordinal < entry.ordinal {
            guard deliveries[place.id]?.entry.owner == entry.owner else { continue }
            deliveries[place.id]?.supersede(coalescingKey: key, &context)
        }
    }

    /// Continues from a row that another writer changed.
    private mutating func replace(_ id: String, with current: OutboxEntry?, _ write: PersistID) {
        guard let deferred = deliveries[id]?.giveWay(to: current, write, &context) else { return }
        deliveries[id] = nil
        if let current { admit(current) }
        for input in deferred { give(input, to: id) }
    }

    // MARK: Turns

    /// The entry whose turn it is, unless an earlier entry must go first.
    private mutating func candidate(in queue: QueueKey) -> String? {
        // Checked for the whole queue: an entry whose `notBefore` has come, or that a person retries, may precede the
        // one on the wire.
        guard !context.queues.isOnWire(queue) else { return nil }
        if let id = joining(queue) { return id }
        for place in context.queues.places(in: queue) {
            guard let delivery = deliveries[place.id] else { continue }
            switch delivery.current.state {
            case .queued, .retrying:
                return delivery.isWriting ? nil : place.id
            case .accepted:
                if context.policy.ordering == .strict { return nil }
            case .unconfirmed where delivery.letsOthersGo:
                break
            case .sending, .unconfirmed:
                return nil
            case .delivered, .failed, .cancelled, .expired:
                // The entry is being written and then leaves the queue. Until then no later entry passes it.
                if delivery.isWriting { return nil }
            }
        }
        return nil
    }

    /// The first message that goes into the run at work. It passes the messages that wait for the end of that run.
    private func joining(_ queue: QueueKey) -> String? {
        guard !queue.isControl, context.hasRunToJoin(queue.session) else { return nil }
        return context.queues.places(in: queue).first { place in
            guard let delivery = deliveries[place.id], !delivery.isWriting else { return false }
            return delivery.current.mode == .sayNow && delivery.current.state.isWaiting
        }?.id
    }

    private mutating func runChanged(session: String, run: String, phase: RunPhase) {
        let owner = OutboxEntry.entryID(ofKey: run)
        switch phase {
        case .active:
            context.heard(run, in: session)
            with(owner) { delivery, _ in delivery.runBegan(run) }
        case .interrupted: context.interrupted(run, in: session)
        case .ended:
            context.ended(run, in: session)
            with(owner) { delivery, _ in delivery.runEnded(run) }
            for id in context.refused where deliveries[id]?.entry.session.isSameText(as: session) == true {
                with(id) { $0.otherRunEnded(&$1) }
            }
        case .deferred:
            context.heard(run, in: session)
            with(owner) { $0.runDeferred(run, &$1) }
        case .continued(let answer):
            context.heard(answer, in: session)
            context.ended(run, in: session)
            with(owner) { $0.runContinued(run, as: answer, &$1) }
        }
    }

    // MARK: The link

    private mutating func linkChanged(to condition: LinkCondition) {
        let wasOnline = context.isOnline
        context.linkChanged(to: condition)
        if wasOnline {
            for id in Array(deliveries.keys) { deliveries[id]?.linkLost(&context) }
        }
        if context.isOnline { linkOpened() }
    }

    private mutating func linkOpened() {
        for queue in Array(context.queues.keys) {
            // An accepted entry keeps its place, but later entries do not wait for it.
            let places = context.queues.places(in: queue)
            let head = places.first { deliveries[$0.id].map { $0.current.state != .accepted } ?? false }
            if let head { deliveries[head.id]?.retryAfterReconnect(context.now) }
        }
        // Entries that may have arrived over an earlier connection, of this process or the previous one.
        applyInOrder(.linkOpened) { $0.current.isLookedFor }
    }

    // MARK: Time

    private mutating func takeDue() {
        while let wake = context.timers.popWake(context.now) {
            switch wake {
            case .entry(let id): with(id) { $0.wake(&$1) }
            case .queue(let queue): context.queues.markChanged(queue)
            case .storage: storageMayWork()
            case .pause: context.pauseMayBeOver()
            }
        }
        while let id = context.timers.popDate(context.now) { with(id) { $0.dateHasCome(&$1) } }
        let deliveries = deliveries
        context.timers.trim(entries: deliveries.count) { id in
            deliveries[id] != nil
        } isAwaited: { id in
            deliveries[id]?.isAwaited ?? false
        }
    }

    private mutating func storageMayWork() {
        guard let stalled = context.writes.resume(atMs: context.now.monotonicMs) else { return }
        for (write, id) in stalled { deliveries[id]?.writeAgain(write, &context) }
        context.queues.markAllChanged()
    }
}
