import Basics

/// The delivery of one entry: what becomes of it from its acceptance to its final state.
///
/// The entry has one change on its way to disk at the most. What follows from that change follows when the disk has it, and
/// other inputs wait until then.
struct Delivery: Sendable {
    enum Input: Sendable, Equatable {
        case outcome(AttemptID, AttemptOutcome)
        case taken(key: String)
        case proof(key: String, OutboxProof)
        case continued(key: String, as: String)
        case refusedByRun(key: String, OutboxFault, retryAfterMs: Int64)
        case routeChanged(detail: String)
        case linkOpened
        case cancel(force: Bool, expectedVersion: Int64?, CommandToken)
        case retry(expectedVersion: Int64?, CommandToken)
    }

    /// A change on its way to disk.
    private struct Pending {
        var id: PersistID
        var change: OutboxChange
        var then: Continuation
        /// Monotonic time of the next attempt, when the change sets one.
        var dueAtMs: Int64?
    }

    private enum Continuation: Equatable {
        case nothing
        case dispatch(isRepeat: Bool)
        case answer(CommandToken)
    }

    /// As it is on disk.
    private(set) var entry: OutboxEntry
    private var pending: Pending?
    private var deferred: [Input] = []
    /// The dispatch whose outcome is awaited.
    private var attempt: AttemptID?
    /// Monotonic time of the next attempt; nil: as soon as its turn comes.
    private var dueAtMs: Int64?
    /// Monotonic time of the first dispatch under the present key, where this process made it.
    private var dispatchedAtMs: Int64?
    /// A sign of the dispatch that is out has come before its answer.
    private var isTaken = false
    /// The connection over which a dispatch that could not be written was not counted.
    private var freeOver: Int64?
    /// A reconnect made the attempt due before its time.
    private var wasBroughtForward = false
    private var search = HistorySearch()
    /// Delivered, and until then waiting for the run that really answers (protocol 3, busy session).
    private var awaitsRunUntilMs: Int64?
    /// Its own run was seen to end, perhaps before the acknowledgement is on disk.
    private var hasRunEnded = false
    /// How the session changed since the dispatch: an entry that had not arrived before has no target any more.
    private var targetChange: String?

    init(entry: OutboxEntry) {
        self.entry = entry
        self.entry.text = nil
    }

    private var id: String { entry.id }
    var queue: QueueKey { QueueKey(session: entry.session, isControl: entry.kind.usesControlQueue) }
    /// As it will be once the disk has it. Decisions about order rest on this.
    var current: OutboxEntry { pending?.change.entry ?? entry }
    var isWriting: Bool { pending != nil }
    /// A wake of the dispatcher's timers still means something to it.
    var isAwaited: Bool { dueAtMs != nil || search.nextMs != nil || awaitsRunUntilMs != nil }
    /// The dispatcher need not care for it any more.
    var isOver: Bool { pending == nil && entry.state.isFinal && awaitsRunUntilMs == nil }

    /// Monotonic time of the next attempt, as it will be once the disk has the change.
    private var nextDueMs: Int64? { pending == nil ? dueAtMs : pending?.dueAtMs }

    // MARK: Coming into care

    mutating func begin(_ context: inout DispatcherContext) {
        remindOfDeadline(&context)
        guard entry.kind.isKnown || entry.state.isTerminal else {
            let fault = OutboxFault.unsupported(entry.kind)
            return write(context.rules.failedWithout(attempt: entry, now: context.wall, fault: fault), &context)
        }
        enterQueue(&context)
        if entry.state == .unconfirmed { wantLook(&context) }
    }

    /// The entry was found on disk by a new process.
    mutating func resume(hasRunEnded ended: Bool, _ context: inout DispatcherContext) {
        if ended { hasRunEnded = true }
        if let change = context.rules.resumed(entry, now: context.wall) {
            write(change, &context)
        } else if entry.state == .retrying, let due = context.dueMs(entry) {
            wait(untilMs: due, &context)
        }
    }

    /// Puts the entry into its queue, or into the calendar until its `notBefore`. It then stands where its order of
    /// acceptance puts it: an entry for tomorrow does not hold up today's.
    private func enterQueue(_ context: inout DispatcherContext) {
        guard !current.state.isTerminal else { return }
        if current.state == .queued, let start = entry.notBefore, start.milliseconds > context.now.wallMs {
            return context.timers.remind(id, atWallMs: start.milliseconds)
        }
        context.queues.insert(id, ordinal: entry.ordinal, into: queue)
    }

    private func leaveQueue(_ context: inout DispatcherContext) {
        context.queues.remove(ordinal: entry.ordinal, from: queue)
    }

    // MARK: Inputs

    /// Carries out an input, now or when the write under way is done.
    mutating func receive(_ input: Input, _ context: inout DispatcherContext) {
        guard pending == nil else {
            // The same proof comes with every event of a run; one of a kind is enough.
            if !deferred.contains(input) { deferred.append(input) }
            return
        }
        let (rules, now) = (context.rules, context.wall)
        switch input {
        case .outcome(let attempt, let outcome):
            settle(attempt, outcome, &context)
        case .taken(let key):
            guard entry.goes(by: key) else { return }
            let change = rules.taken(entry, now: now)
            if change != nil || [.sending, .accepted].contains(entry.state) { noteRun(&context) }
            if entry.state == .sending { isTaken = true }
            if let change { write(change, &context) }
        case .proof(let key, let proof):
            guard entry.goes(by: key), let change = rules.proven(entry, by: proof, now: now) else { return }
            // The row does not say how far the run is.
            if proof != .runEnd { noteRun(&context) }
            endAttempt(&context)
            write(change, &context)
        case .continued(let key, let run):
            guard entry.goes(by: key) else { return }
            awaitsRunUntilMs = nil
            if entry.state == .delivered {
                write(rules.adopted(entry, run: run, now: now), &context)
            } else if let change = rules.proven(entry, by: .history, run: run, now: now) {
                endAttempt(&context)
                write(change, &context)
            }
        case .refusedByRun(let key, let fault, let wait):
            guard entry.goes(by: key),
                let change = rules.refusedByRun(entry, fault, retryAfterMs: wait, now: now, vary: context.vary())
            else { return }
            hasRunEnded = true
            context.ended(entry.upstreamKey, in: entry.session)
            endAttempt(&context)
            write(change, &context)
        case .routeChanged(let detail):
            guard entry.state.isWaiting else { return targetChange = detail }
            write(rules.targetChanged(entry, now: now, detail: detail), &context)
        case .linkOpened:
            linkOpened(&context)
        case .cancel(let force, let version, let token):
            carryOut(token, &context) { [entry] () throws(OutboxRefusal) in
                try rules.cancel(entry, force: force, expectedVersion: version, now: now)
            }
        case .retry(let version, let token):
            carryOut(token, &context) { [entry] () throws(OutboxRefusal) in
                try rules.retry(entry, expectedVersion: version, now: now)
            }
        }
    }

    /// The report of a dispatch. It may settle the entry only when a write is done, but the wire is free at once.
    mutating func receive(_ outcome: AttemptOutcome, of attempt: AttemptID, _ context: inout DispatcherContext) {
        if self.attempt == attempt { context.queues.leaveWire(id) }
        receive(.outcome(attempt, outcome), &context)
    }

    /// The outcome of the dispatch that is out, if one is, changes nothing any more.
    private mutating func endAttempt(_ context: inout DispatcherContext) {
        context.queues.leaveWire(id)
        attempt = nil
    }

    private mutating func settle(
        _ attempt: AttemptID,
        _ outcome: AttemptOutcome,
        _ context: inout DispatcherContext
    ) {
        if self.attempt == attempt, entry.state == .sending {
            self.attempt = nil
            let isFree = isFree(outcome, context)
            wasBroughtForward = false
            noteRun(outcome, &context)
            switch outcome {
            case .acknowledged(let answer) where answer.status.isOfEarlierRun:
                search.rowShouldBeThere()
                hasRunEnded = true
            case .notDispatched, .rejected: search.repeatFailed()
            case .acknowledged, .noAnswer: break
            }
            let change = context.rules.settle(
                entry,
                outcome,
                now: context.wall,
                isFree: isFree,
                isTaken: isTaken,
                vary: context.vary()
            )
            return write(change, &context)
        }
        // A late answer: too late to end the attempt, but an acknowledgement still says that the gateway has it.
        guard case .acknowledged = outcome, attempt.key == entry.upstreamKey, entry.state == .unconfirmed,
            let change = context.rules.taken(entry, now: context.wall)
        else { return }
        noteRun(outcome, &context)
        write(change, &context)
    }

    /// A dispatch that found no connection is no failure of the entry, where entries wait for the link. It is free once a
    /// connection: one that takes nothing at all must not be tried for ever.
    private mutating func isFree(_ outcome: AttemptOutcome, _ context: DispatcherContext) -> Bool {
        guard case .notDispatched = outcome else { return false }
        if wasBroughtForward { return true }
        guard context.policy.offline == .hold, freeOver != context.connection else { return false }
        freeOver = context.connection
        return true
    }

    /// From the acknowledgement on the session has a run, also while that is still on its way to disk.
    private func noteRun(_ outcome: AttemptOutcome, _ context: inout DispatcherContext) {
        guard case .acknowledged(let answer) = outcome, !answer.status.isOfEarlierRun else { return }
        noteRun(id: answer.runID, &context)
    }

    /// The gateway has the message of the entry, and perhaps still works on it.
    private func noteRun(id: String? = nil, _ context: inout DispatcherContext) {
        guard entry.kind.startsRun, !hasRunEnded, gatewayProcess(context) != .other else { return }
        context.heard(id ?? entry.runID ?? entry.upstreamKey, in: entry.session)
    }

    /// A person's command: its answer waits for the disk, a refusal does not.
    private mutating func carryOut(
        _ token: CommandToken,
        _ context: inout DispatcherContext,
        _ decide: () throws(OutboxRefusal) -> OutboxChange?
    ) {
        do throws(OutboxRefusal) {
            guard let change = try decide() else { return context.answer(token, .success(entry)) }
            write(change, then: .answer(token), &context)
        } catch {
            context.answer(token, .failure(error))
        }
    }

    /// A newer entry with the same coalescing key waits in the queue.
    mutating func supersede(coalescingKey: String, _ context: inout DispatcherContext) {
        guard pending == nil, entry.state.isWaiting, entry.coalescingKey == coalescingKey else { return }
        write(context.rules.superseded(entry, now: context.wall), &context)
    }

    // MARK: Sending

    /// Its turn in its queue has come.
    mutating func takeTurn(_ context: inout DispatcherContext) {
        guard entry.expiresAt.milliseconds > context.now.wallMs else {
            return write(context.rules.expired(entry, now: context.wall), &context)
        }
        if let due = dueAtMs, due > context.now.monotonicMs { return }
        guard !context.writes.isResting else { return }
        switch context.link {
        case .online(let facts):
            guard !mustLookFirst(&context) else { return }
            if !queue.isControl {
                guard !context.mustWaitForRun(queue, facts), context.queues.takeRoomOnWire(id, queue) else { return }
            }
            send(isRepeat: false, &context)
        case .offline(let detail):
            guard context.policy.offline == .count else { return }
            let (now, vary) = (context.wall, context.vary())
            write(context.rules.unreachable(entry, now: now, detail: detail, vary: vary), &context)
        case .connecting, .blocked:
            return
        }
    }

    /// 2026.6.11 writes the row of a message that it refuses to run, and may take that row up after a restart. So it is looked for
    /// before it goes out under its new key.
    private mutating func mustLookFirst(_ context: inout DispatcherContext) -> Bool {
        guard entry.kind.startsRun, entry.wasRefused, !search.hasLooked(over: context.connection) else { return false }
        if search.isIdle, search.nextMs == nil { context.looks.want(id) }
        return true
    }

    /// Writes `sending`; the dispatch follows from that write.
    private mutating func send(isRepeat: Bool, _ context: inout DispatcherContext) {
        hasRunEnded = false
        isTaken = false
        if entry.firstDispatchAt == nil { dispatchedAtMs = context.now.monotonicMs }
        let uptime = context.gatewayAge.uptimeMs(at: context.now)
        let change = context.rules.dispatching(entry, now: context.wall, uptimeMs: uptime)
        write(change, then: .dispatch(isRepeat: isRepeat), &context)
    }

    // MARK: Its run

    mutating func runEnded(_ run: String) {
        noteEnd(of: run)
        awaitsRunUntilMs = nil
    }

    /// The gateway put the message behind another run. The entry is kept also when it is delivered before the answer comes: its
    /// row takes the id of the run that answers it.
    mutating func runDeferred(_ run: String, _ context: inout DispatcherContext) {
        let until = context.now.monotonicMs + context.policy.runPatienceMs
        // The phase is reported again and again; the wake that is there finds the later time.
        if awaitsRunUntilMs == nil { context.timers.wake(.entry(id), atMs: until) }
        awaitsRunUntilMs = until
        receive(.taken(key: run), &context)
    }

    mutating func runContinued(_ run: String, as answer: String, _ context: inout DispatcherContext) {
        noteEnd(of: run)
        receive(.continued(key: run, as: answer), &context)
    }

    private mutating func noteEnd(of run: String) {
        if current.goes(by: run) { hasRunEnded = true }
    }

    // MARK: The link

    /// The gateway that acknowledged the entry still has it; another one knows only what is on disk.
    private mutating func linkOpened(_ context: inout DispatcherContext) {
        guard context.isOnline else { return }
        if entry.state == .accepted {
            guard gatewayProcess(context) == .same else {
                let change = context.rules.gatewayChanged(entry, now: context.wall)
                if let change { write(change, &context) }
                return
            }
            noteRun(&context)
        }
        wantLook(&context)
    }

    /// A look under way gets no report. The link went again before an attempt that was brought forward got its turn: the old
    /// wait counts.
    mutating func linkLost(_ context: inout DispatcherContext) {
        search.linkLost()
        guard wasBroughtForward, nextDueMs == nil, current.state == .retrying, let due = context.dueMs(current)
        else { return }
        wasBroughtForward = false
        pending?.dueAtMs = due
        if pending == nil { wait(untilMs: due, &context) }
    }

    /// The head of its queue is due now if it waits only because there was no link. The attempt that follows is not counted if
    /// it cannot be written either.
    mutating func retryAfterReconnect(_ now: Moment) {
        guard current.state == .retrying, current.lastClass == .notDispatched, pending?.then ?? .nothing == .nothing,
            let due = nextDueMs, due > now.monotonicMs
        else { return }
        forgetWait()
        wasBroughtForward = true
    }

    /// The fault that it waits for is gone.
    mutating func bringForward(faultCode: String, _ context: inout DispatcherContext) {
        guard current.state == .retrying, current.fault?.code == faultCode else { return }
        forgetWait()
        context.queues.markChanged(queue)
    }

    private mutating func forgetWait() {
        dueAtMs = nil
        pending?.dueAtMs = nil
    }

    private var firstDispatch: FirstDispatch? { FirstDispatch(of: entry, monotonicMs: dispatchedAtMs) }

    private func gatewayProcess(_ context: DispatcherContext) -> GatewayContinuity {
        firstDispatch.map { context.gatewayAge.process(since: $0, at: context.now) } ?? .unknown
    }

    // MARK: Looks into history

    private mutating func wantLook(_ context: inout DispatcherContext) {
        guard context.isOnline, search.isIdle, [.accepted, .unconfirmed].contains(entry.state) else { return }
        search.forgetNext()
        context.looks.want(id)
    }

    private mutating func look(afterMs wait: Int64?, _ context: inout DispatcherContext) {
        guard let at = search.rest(wait, from: context.now) else { return }
        context.timers.wake(.entry(id), atMs: at)
    }

    /// Looks again at an entry in doubt after a step that settled nothing.
    private mutating func lookAgain(_ context: inout DispatcherContext) {
        if entry.state == .unconfirmed { look(afterMs: context.policy.failedLooksMs.first, &context) }
    }

    /// There is room for its look.
    mutating func startLook(_ context: inout DispatcherContext) {
        guard context.isOnline, search.isIdle, !entry.state.isWaiting || entry.wasRefused else { return }
        guard pending == nil else { return look(afterMs: context.policy.failedLooksMs.first, &context) }
        guard let ask = search.begin(entry.state) else { return }
        follow(ask, &context)
    }

    /// `key` is what the entry went by when the look began.
    mutating func scanned(
        _ scan: ScanID,
        key: String,
        _ report: ScanReport,
        _ context: inout DispatcherContext
    ) {
        guard search.end(scan) else { return }
        if let proof = report.proof { return receive(.proof(key: key, proof), &context) }
        // The change under way may not get to the disk.
        guard pending == nil else { return lookAgain(&context) }
        if entry.state.isWaiting {
            guard !report.hasFailed else { return look(afterMs: context.policy.failedLooksMs.first, &context) }
            search.lookedBeforeSending(over: context.connection)
            return context.queues.markChanged(queue)
        }
        let situation = situation(context)
        if let ask = search.received(report, entry.state, situation, policy: context.policy) { follow(ask, &context) }
    }

    private mutating func follow(_ ask: Reconciliation.Ask, _ context: inout DispatcherContext) {
        switch ask {
        case .scan(let depth):
            let scan = context.looks.begin(entry)
            search.begun(scan)
            let since = entry.firstDispatchAt ?? entry.createdAt
            context.order(.scan(ScanOrder(id: scan, entry: entry, depth: depth, since: since)))
        case .repeatSameKey:
            guard context.isOnline, !context.writes.isResting, !context.queues.isOnWire(queue) else {
                search.repeatFailed()
                return look(afterMs: context.policy.failedLooksMs.first, &context)
            }
            context.queues.enterWire(id, queue)
            send(isRepeat: true, &context)
        case .settleAbsent:
            let (rules, now) = (context.rules, context.wall)
            if let targetChange { return write(rules.targetChanged(entry, now: now, detail: targetChange), &context) }
            write(rules.absent(entry, now: now, vary: context.vary()), &context)
        case .lookAgain(let wait):
            look(afterMs: wait, &context)
        }
    }

    private func situation(_ context: DispatcherContext) -> Reconciliation.Situation {
        let dispatch = firstDispatch
        let passed = dispatch?.passedMs(context.now)
        let growth = dispatch.flatMap { context.gatewayAge.growthMs(since: $0, at: context.now) }
        return Reconciliation.Situation(
            mayOnlyBeProven: entry.isSlashCommand || context.policy.ambiguous == .hold,
            process: gatewayProcess(context),
            // Our clocks may have been set, or have stood still; the gateway's age has not.
            leastSinceDispatchMs: passed.map { min($0.lowerBound, growth ?? .max) },
            mostSinceDispatchMs: passed.map { max($0.upperBound, growth ?? 0) },
            // A gateway that had not got it would take it into the new session.
            mayGoOut: entry.attemptCount < context.policy.maxAttempts && targetChange == nil
                && entry.expiresAt > context.wall,
            isBusy: context.isBusy(entry.session)
        )
    }

    // MARK: Writes

    private mutating func write(
        _ change: OutboxChange,
        then continuation: Continuation = .nothing,
        _ context: inout DispatcherContext
    ) {
        guard pending == nil else { return }
        let write = context.writes.begin(of: id)
        pending = Pending(id: write, change: change, then: continuation, dueAtMs: context.dueMs(change.entry))
        context.order(.persist(write, change))
    }

    mutating func written(_ write: PersistID, _ context: inout DispatcherContext) {
        guard let done = pending, done.id == write else { return }
        context.writes.succeeded()
        let before = entry.state
        entry = done.change.entry
        pending = nil
        follow(done, from: before, &context)
        // Commands that waited for the write that ended it are answered by its final state; the rest changes nothing.
        if isOver { deferred.removeAll { $0.token == nil } }
        drainDeferred(&context)
    }

    /// The disk did not take the change.
    mutating func notWritten(_ write: PersistID, _ problem: StoreError, _ context: inout DispatcherContext) {
        guard let failed = pending, failed.id == write else { return }
        if let until = context.writes.failed(atMs: context.now.monotonicMs) {
            context.timers.wake(.storage, atMs: until)
        }
        switch failed.then {
        case .dispatch:
            // Never written, never sent: the entry is as before and its turn comes again, or the next look.
            pending = nil
            search.repeatFailed()
            context.queues.leaveWire(id)
            lookAgain(&context)
            drainDeferred(&context)
        case .answer(let token):
            pending = nil
            context.answer(token, .failure(.storage(problem)))
            drainDeferred(&context)
        case .nothing:
            // The outcome is a fact, so its write is repeated until it succeeds. A person's command is refused at once.
            context.writes.stall(write, of: id)
            for token in deferred.compactMap(\.token) { context.answer(token, .failure(.storage(problem))) }
            deferred.removeAll { $0.token != nil }
        }
    }

    /// The disk may work again.
    func writeAgain(_ write: PersistID, _ context: inout DispatcherContext) {
        guard let pending, pending.id == write else { return }
        context.order(.persist(write, pending.change))
    }

    /// Somebody else changed the row, whose state on disk is the truth, and this ends. Gives the inputs that still wait.
    func giveWay(
        to current: OutboxEntry?,
        _ write: PersistID,
        _ context: inout DispatcherContext
    ) -> [Input]? {
        guard let pending, pending.id == write else { return nil }
        if case .answer(let token) = pending.then {
            let refusal = current.map { OutboxRefusal.staleVersion(current: $0.version) } ?? .notFound
            context.answer(token, .failure(refusal))
        }
        context.queues.leaveWire(id)
        leaveQueue(&context)
        return deferred
    }

    /// The steps that follow once a change is on disk.
    private mutating func follow(_ done: Pending, from before: OutboxState, _ context: inout DispatcherContext) {
        if case .answer(let token) = done.then { context.answer(token, .success(entry)) }
        dueAtMs = nil
        search.forgetNext()
        switch entry.state {
        case .sending:
            guard case .dispatch(let isRepeat) = done.then else { return }
            let attempt = AttemptID(entry: id, number: Int(entry.version), key: entry.upstreamKey)
            self.attempt = attempt
            context.order(.dispatch(DispatchOrder(attempt: attempt, entry: entry, isRepeat: isRepeat)))
        case .queued, .retrying:
            search.startAnew()
            if entry.state == .queued { targetChange = nil }
            if let targetChange { return receive(.routeChanged(detail: targetChange), &context) }
            if let due = done.dueAtMs { wait(untilMs: due, &context) }
            enterQueue(&context)
            if before.isTerminal { remindOfDeadline(&context) }
        case .accepted:
            remindOfDeadline(&context)
            look(afterMs: search.accepted(policy: context.policy), &context)
        case .unconfirmed:
            remindOfDeadline(&context)
            enterQueue(&context)
            if before != .unconfirmed { wantLook(&context) }
        case .delivered, .cancelled, .failed, .expired:
            leaveQueue(&context)
        }
        context.queues.markChanged(queue)
    }

    private mutating func drainDeferred(_ context: inout DispatcherContext) {
        let inputs = deferred
        deferred.removeAll()
        for input in inputs { receive(input, &context) }
        expireIfDue(&context)
    }

    // MARK: Time

    private mutating func wait(untilMs: Int64, _ context: inout DispatcherContext) {
        dueAtMs = untilMs
        context.timers.wake(.entry(id), atMs: untilMs)
    }

    /// A monotonic time that it asked for has come, or had a meaning once.
    mutating func wake(_ context: inout DispatcherContext) {
        let now = context.now.monotonicMs
        if let dueAtMs, dueAtMs <= now { context.queues.markChanged(queue) }
        if let until = awaitsRunUntilMs {
            if until <= now { awaitsRunUntilMs = nil } else { context.timers.wake(.entry(id), atMs: until) }
        }
        if search.isDue(context.now) {
            wantLook(&context)
            if entry.state.isWaiting {
                search.forgetNext()
                context.queues.markChanged(queue)
            }
        }
    }

    /// A time of the calendar has come.
    mutating func dateHasCome(_ context: inout DispatcherContext) {
        if entry.state == .queued { enterQueue(&context) }
        expireIfDue(&context)
    }

    private func remindOfDeadline(_ context: inout DispatcherContext) {
        context.timers.remind(id, atWallMs: context.rules.deadline(of: entry).milliseconds)
    }

    private mutating func expireIfDue(_ context: inout DispatcherContext) {
        guard pending == nil, context.rules.deadline(of: entry).milliseconds <= context.now.wallMs else { return }
        switch entry.state {
        case .queued, .retrying, .unconfirmed, .accepted:
            write(context.rules.expired(entry, now: context.wall), &context)
        case .sending, .delivered, .failed, .cancelled, .expired:
            return
        }
    }
}

extension Delivery.Input {
    /// The token of a command, whose sender waits for the answer.
    var token: CommandToken? {
        switch self {
        case .cancel(_, _, let token), .retry(_, let token): token
        default: nil
        }
    }
}
