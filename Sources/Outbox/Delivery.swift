import Basics

/// The delivery of one entry, from its acceptance to its final state.
///
/// At most one change of the entry is on its way to disk. Its consequences follow once the disk has it; other inputs
/// wait until then.
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
        /// Monotonic time of the next attempt, if the change sets one.
        var dueAtMs: Int64?
    }

    private enum Continuation: Equatable {
        case nothing
        case dispatch(isRepeat: Bool)
        case answer(CommandToken)
    }

    /// The entry as it is on disk.
    private(set) var entry: OutboxEntry
    private var pending: Pending?
    private var deferred: [Input] = []
    /// The dispatch whose outcome is pending.
    private var attempt: AttemptID?
    /// Monotonic time of the next attempt; nil for as soon as the entry's turn comes.
    private var dueAtMs: Int64?
    /// Monotonic time of the first dispatch under the present key, if this process made it.
    private var dispatchedAtMs: Int64?
    /// The gateway showed that it has the message before its answer to the dispatch came.
    private var isTaken = false
    /// Its run has begun, so it is refused no more.
    private var hasRunBegun = false
    /// The connection over which a failed dispatch was not counted as an attempt.
    private var freeOver: Int64?
    /// A reconnect moved the attempt before its scheduled time.
    private var wasBroughtForward = false
    private var search = HistorySearch()
    /// The time until which a delivered entry waits for the run that really answers it (protocol 3, busy session).
    private var awaitsRunUntilMs: Int64?
    /// The entry's own run was seen to end, perhaps before the acknowledgement is on disk.
    private var hasRunEnded = false
    /// The change of the session since the dispatch: an entry that has not arrived lost its target.
    private var targetChange: String?

    init(entry: OutboxEntry) {
        self.entry = entry
        self.entry.text = nil
    }

    private var id: String { entry.id }
    var queue: QueueKey { QueueKey(session: entry.session, isControl: entry.kind.usesControlQueue) }
    /// The entry as it will be once the disk has it. Decisions about order use this.
    var current: OutboxEntry { pending?.change.entry ?? entry }
    var isWriting: Bool { pending != nil }
    /// Whether a timer for this entry still has a purpose.
    var isAwaited: Bool { dueAtMs != nil || search.nextMs != nil || awaitsRunUntilMs != nil }
    /// Whether the dispatcher may forget the entry.
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

    /// Continues an entry that a new process found on disk.
    mutating func resume(hasRunEnded ended: Bool, _ context: inout DispatcherContext) {
        if ended { hasRunEnded = true }
        if let change = context.rules.resumed(entry, now: context.wall) {
            write(change, &context)
        } else if entry.state == .retrying, let due = context.dueMs(entry) {
            wait(untilMs: due, &context)
        }
    }

    /// Puts the entry into its queue, or into the calendar until its `notBefore`. In the queue its order of acceptance
    /// decides its place: an entry for tomorrow does not hold up today's.
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

    /// Handles an input, now or after the current write.
    mutating func receive(_ input: Input, _ context: inout DispatcherContext) {
        guard pending == nil else {
            // Every event of a run brings the same proof; one of a kind is enough.
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
            // The row does not show how far the run is.
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
            context.refusesRuns = true
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

    /// The report of a dispatch. The entry is settled only after the current write, but the wire is free at once.
    mutating func receive(_ outcome: AttemptOutcome, of attempt: AttemptID, _ context: inout DispatcherContext) {
        if self.attempt == attempt { context.queues.leaveWire(id) }
        receive(.outcome(attempt, outcome), &context)
    }

    /// Ends the dispatch in progress, if any: its outcome no longer matters.
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
        // Too late to end the attempt, but the acknowledgement still shows that the gateway has the message.
        guard case .acknowledged = outcome, attempt.key == entry.upstreamKey, entry.state == .unconfirmed,
            let change = context.rules.taken(entry, now: context.wall)
        else { return }
        noteRun(outcome, &context)
        write(change, &context)
    }

    /// Whether the attempt is not counted: while entries wait for the link, a dispatch without a connection is not
    /// their failure. Only once per connection, since one that accepts no frames must not be tried for ever.
    private mutating func isFree(_ outcome: AttemptOutcome, _ context: DispatcherContext) -> Bool {
        guard case .notDispatched = outcome else { return false }
        if wasBroughtForward { return true }
        guard context.policy.offline == .hold, freeOver != context.connection else { return false }
        freeOver = context.connection
        return true
    }

    /// After an acknowledgement the session has a run, even before the change is on disk.
    private func noteRun(_ outcome: AttemptOutcome, _ context: inout DispatcherContext) {
        guard case .acknowledged(let answer) = outcome, !answer.status.isOfEarlierRun else { return }
        noteRun(id: answer.runID, &context)
    }

    /// Records that the gateway has the entry's message, and perhaps still works on it.
    private func noteRun(id: String? = nil, _ context: inout DispatcherContext) {
        guard entry.kind.startsRun, !hasRunEnded, gatewayProcess(context) != .other else { return }
        context.heard(id ?? entry.runID ?? entry.upstreamKey, in: entry.session)
    }

    /// Carries out a person's command: its answer waits for the disk, a refusal does not.
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

    /// Ends this entry because a newer one with the same coalescing key waits.
    mutating func supersede(coalescingKey: String, _ context: inout DispatcherContext) {
        guard pending == nil, entry.state.isWaiting, entry.coalescingKey == coalescingKey else { return }
        write(context.rules.superseded(entry, now: context.wall), &context)
    }

    // MARK: Sending

    /// Sends the entry, if nothing else holds it back, when its turn in the queue has come.
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

    /// 2026.6.11 writes the row of a message that it refuses to run, and may process that row after a restart. So the
    /// history is searched for the row before the message goes out under its new key.
    private mutating func mustLookFirst(_ context: inout DispatcherContext) -> Bool {
        guard entry.kind.startsRun, entry.wasRefused, !search.hasLooked(over: context.connection) else { return false }
        if search.isIdle, search.nextMs == nil { context.looks.want(id) }
        return true
    }

    /// Writes `sending`; the dispatch follows that write.
    private mutating func send(isRepeat: Bool, _ context: inout DispatcherContext) {
        hasRunEnded = false
        isTaken = false
        hasRunBegun = false
        if entry.firstDispatchAt == nil { dispatchedAtMs = context.now.monotonicMs }
        let uptime = context.gatewayAge.uptimeMs(at: context.now)
        let change = context.rules.dispatching(entry, now: context.wall, uptimeMs: uptime)
        write(change, then: .dispatch(isRepeat: isRepeat), &context)
    }

    // MARK: Its run

    mutating func runBegan(_ run: String, _ context: inout DispatcherContext) {
        guard !hasRunBegun, current.goes(by: run) else { return }
        hasRunBegun = true
        context.queues.markChanged(queue)
    }

    mutating func runEnded(_ run: String) {
        noteEnd(of: run)
        awaitsRunUntilMs = nil
    }

    /// The gateway put the message behind another run. The entry is kept even if it is delivered before the answer
    /// comes: its row gets the id of the run that answers it.
    mutating func runDeferred(_ run: String, _ context: inout DispatcherContext) {
        let until = context.now.monotonicMs + context.policy.runPatienceMs
        // The phase is reported repeatedly; the existing timer will find the later time.
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

    /// A gateway process that acknowledged the entry still has it; another process knows only what is on disk.
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

    /// A current look gets no report. If the link was lost before an attempt that was moved forward got its turn, its
    /// old wait applies again.
    mutating func linkLost(_ context: inout DispatcherContext) {
        search.linkLost()
        guard wasBroughtForward, nextDueMs == nil, current.state == .retrying, let due = context.dueMs(current)
        else { return }
        wasBroughtForward = false
        pending?.dueAtMs = due
        if pending == nil { wait(untilMs: due, &context) }
    }

    /// Makes the head of a queue due now if it waits only because there was no link. The next attempt is not counted if
    /// its frame cannot be written either.
    mutating func retryAfterReconnect(_ now: Moment) {
        guard current.state == .retrying, current.lastClass == .notDispatched, pending?.then ?? .nothing == .nothing,
            let due = nextDueMs, due > now.monotonicMs
        else { return }
        forgetWait()
        wasBroughtForward = true
    }

    /// Makes the entry due, since the fault it waits for is gone.
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

    /// Until when a gateway at rest may refuse this message, which it acknowledged; nil where it does not, or where that time is over.
    /// A later message of the session would run before it.
    func lateRefusalMs(_ context: DispatcherContext) -> Int64? {
        guard context.link.facts?.refusesLate == true, !hasRunBegun, let sent = dispatchedAtMs,
            !context.isBusy(queue.session, besides: entry.runID ?? entry.upstreamKey)
        else {
            return nil
        }
        let until = sent + context.policy.lateRefusalMs
        return context.now.monotonicMs < until ? until : nil
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

    /// Looks again later at an entry in doubt, after an inconclusive step.
    private mutating func lookAgain(_ context: inout DispatcherContext) {
        if entry.state == .unconfirmed { look(afterMs: context.policy.failedLooksMs.first, &context) }
    }

    /// Starts the entry's look, now that one of the limited places is free.
    mutating func startLook(_ context: inout DispatcherContext) {
        guard context.isOnline, search.isIdle, !entry.state.isWaiting || entry.wasRefused else { return }
        guard pending == nil else { return look(afterMs: context.policy.failedLooksMs.first, &context) }
        guard let ask = search.begin(entry.state) else { return }
        follow(ask, &context)
    }

    /// - Parameter key: the entry's key when the look began.
    mutating func scanned(
        _ scan: ScanID,
        key: String,
        _ report: ScanReport,
        _ context: inout DispatcherContext
    ) {
        guard search.end(scan) else { return }
        if let proof = report.proof { return receive(.proof(key: key, proof), &context) }
        // The current change may not reach the disk.
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
            // Our clocks may have been set or stopped; the gateway's uptime is unaffected.
            leastSinceDispatchMs: passed.map { min($0.lowerBound, growth ?? .max) },
            mostSinceDispatchMs: passed.map { max($0.upperBound, growth ?? 0) },
            // After a reset, a gateway that lacks the message would put it into the new session.
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
        // Waiting commands are answered with the final state; other inputs change nothing.
        if isOver { deferred.removeAll { $0.token == nil } }
        drainDeferred(&context)
    }

    /// Handles a failed write.
    mutating func notWritten(_ write: PersistID, _ problem: StoreError, _ context: inout DispatcherContext) {
        guard let failed = pending, failed.id == write else { return }
        if let until = context.writes.failed(atMs: context.now.monotonicMs) {
            context.timers.wake(.storage, atMs: until)
        }
        switch failed.then {
        case .dispatch:
            // Nothing was written or sent: the entry is unchanged and gets another turn or look.
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

    /// Repeats a failed write, since the disk may work again.
    func writeAgain(_ write: PersistID, _ context: inout DispatcherContext) {
        guard let pending, pending.id == write else { return }
        context.order(.persist(write, pending.change))
    }

    /// Ends the delivery because another writer changed the row, and the disk's state decides. Returns the inputs that
    /// still wait.
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

    /// The steps after a change is on disk.
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

    /// Handles a monotonic timer, which may have lost its purpose.
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

    /// Handles a calendar timer.
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
    /// The token of a command, to which the answer belongs.
    var token: CommandToken? {
        switch self {
        case .cancel(_, _, let token), .retry(_, let token): token
        default: nil
        }
    }
}
