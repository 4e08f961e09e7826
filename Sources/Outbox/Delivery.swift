import Basics
import Ledger

/// The delivery of one entry, from its acceptance to its final state.
///
/// Inputs become facts about the message at the gateway, and the ledger's table says by them where the message is. As long as that is in
/// doubt, the transcript is searched. At most one change of the entry is on its way to disk. Its consequences follow once the disk has it;
/// other inputs wait until then.
struct Delivery: Sendable {
    /// The entry as it is on disk.
    private(set) var entry: OutboxEntry
    private var writer = EntryWriter()
    private var run: EntryRun
    private var facts: EntryFacts
    private var doubt = EntryDoubt()
    /// The dispatch whose outcome is pending.
    private var attempt: AttemptID?
    /// Monotonic time of the next attempt; nil for as soon as the entry's turn comes.
    private var dueAtMs: Int64?
    /// The connection over which a failed dispatch was not counted as an attempt.
    private var freeOver: Int?
    /// A reconnect moved the attempt before its scheduled time.
    private var wasBroughtForward = false
    /// The reason why the entry must not go out again, in case it did not arrive.
    private var withdrawal: Withdrawal?

    init(entry: OutboxEntry) {
        self.entry = entry
        self.entry.text = nil
        run = EntryRun(entry)
        facts = EntryFacts(entry)
    }

    private var id: String { entry.id }
    var queue: QueueKey { QueueKey(session: entry.session, isControl: entry.kind.usesControlQueue) }
    /// The entry as it will be once the disk has it. Decisions about order use this.
    var current: OutboxEntry { writer.pending?.change.entry ?? entry }
    var isWriting: Bool { !writer.isIdle }
    /// Whether a timer for this entry still has a purpose.
    var isAwaited: Bool { dueAtMs != nil || doubt.nextMs != nil || run.awaitedUntilMs != nil }
    /// Whether the dispatcher may forget the entry.
    var isOver: Bool { writer.isIdle && entry.state.hasEndedForGood && run.awaitedUntilMs == nil }

    /// Monotonic time of the next attempt, as it will be once the disk has the change.
    private var nextDueMs: Int64? { writer.isIdle ? dueAtMs : writer.pending?.dueAtMs }

    // MARK: The beginning

    mutating func begin(_ context: inout DispatcherContext) {
        remindOfDeadline(&context)
        guard entry.kind.isKnown || entry.state.hasEnded else {
            let fault = OutboxFault.unsupported(entry.kind)
            return write(context.rules.failedWithout(attempt: entry, now: context.wall, fault: fault), &context)
        }
        if entry.wasRefused { context.refused.insert(id) }
        enterQueue(&context)
        doubt.heard(at: context.now)
        if entry.state == .unconfirmed { doubt.want(entry, &context) }
    }

    /// Whether later messages of the session no longer wait for this one: nothing shows what became of it, although a gateway at
    /// rest would have shown it by now.
    var letsOthersGo: Bool { current.letsOthersGo }

    /// Continues an entry that a new process found on disk.
    mutating func resume(hasRunEnded ended: Bool, _ context: inout DispatcherContext) {
        if ended { run.ended() }
        if let change = context.rules.resumed(entry, now: context.wall) {
            write(change, &context)
        } else if entry.state == .retrying, let due = context.dueMs(entry) {
            wait(untilMs: due, &context)
        }
    }

    /// Puts the entry into its queue, or into the calendar until its `notBefore`. In the queue its order of acceptance
    /// decides its place: an entry for tomorrow does not hold up today's.
    private func enterQueue(_ context: inout DispatcherContext) {
        guard !current.state.hasEnded else { return }
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
    mutating func receive(_ input: DeliveryInput, _ context: inout DispatcherContext) {
        guard writer.isIdle else { return writer.defer(input) }
        let (rules, now) = (context.rules, context.wall)
        switch input {
        case .outcome(let attempt, let outcome):
            settle(attempt, outcome, &context)
        case .taken(let key):
            guard entry.goes(by: key) else { return }
            hear(&context)
            let isNews = follow(.taken, &context)
            if isNews || [.sending, .accepted].contains(entry.state) { run.markBusy(entry, &context) }
            run.taken(entry, context)
        case .proof(let key, let proof, let joined):
            prove(key, by: proof, joined: joined, &context)
        case .continued(let key, let answer):
            guard entry.goes(by: key), entry.mayHaveArrived else { return }
            run.answered()
            if entry.state == .delivered {
                if entry.runID != answer { write(rules.adopted(entry, run: answer, now: now), &context) }
                return
            }
            facts.rowFound(entry, .history)
            follow(.proof(.history, run: answer), &context)
        case .refusedByRun(let key, let fault):
            guard entry.goes(by: key), [.sending, .accepted, .unconfirmed].contains(entry.state) else { return }
            let isDraining = fault == .draining
            facts.take(.ended(.key(entry.keyGeneration), isDraining ? .injected : .refused))
            if isDraining { context.drains(fault.detail) }
            guard follow(.refusal(fault), &context) else { return }
            run.ended()
            if fault.code == OutboxFault.sessionConflictCode { context.refuses(entry.session) }
            context.ended(entry.upstreamKey, in: entry.session)
        case .withdrawn(let reason):
            facts.want(.stop)
            if withdrawal == nil || withdrawal == .stopped { withdrawal = reason }
            follow(.withdrawal(withdrawal ?? reason), &context)
        case .mayRunAgain:
            guard withdrawal == .stopped else { return }
            withdrawal = nil
            facts.want(.run)
        case .nothingToStop(let key):
            if entry.goes(by: key) { facts.take(.stopAnswered(key: entry.keyGeneration, stopped: false)) }
        case .linkOpened:
            linkOpened(&context)
        case .command(let command, let version, let token):
            carryOut(command, expectedVersion: version, token, &context)
        }
    }

    /// The table's word on the facts.
    private func decision(_ context: DispatcherContext) -> Decision { facts.decision(context.traits) }

    /// Writes the entry as the table says, if the disk has it otherwise.
    /// - Returns: whether it writes a change.
    @discardableResult
    private mutating func follow(_ sign: OutboxSign, _ context: inout DispatcherContext) -> Bool {
        let decision = decision(context)
        let sign = sign == .facts ? withdrawal.map(OutboxSign.withdrawal) ?? sign : sign
        let (now, vary) = (context.wall, context.vary())
        guard let change = context.rules.shown(entry, as: decision, by: sign, now: now, vary: vary) else {
            return false
        }
        // The answer to the frame on the wire no longer matters.
        if entry.state == .sending { endAttempt(&context) }
        if decision.told?.kind == .unknown { facts.take(.told(Statement(.unknown), number: 1)) }
        write(change, &context)
        return true
    }

    private mutating func prove(
        _ key: String,
        by proof: OutboxProof,
        joined: String?,
        _ context: inout DispatcherContext
    ) {
        guard entry.goes(by: key), entry.mayHaveArrived else { return }
        facts.rowFound(entry, proof, joined != nil ? .joined : nil)
        let sign = joined.map { OutboxSign.joined(proof, run: $0) } ?? .proof(proof, run: nil)
        guard follow(sign, &context) else { return }
        if joined != nil {
            runEnded(entry.upstreamKey)
            return context.ended(entry.upstreamKey, in: entry.session)
        }
        guard proof != .runEnd else { return }
        // The row does not show how far the run is.
        run.markBusy(entry, &context)
        run.markInterrupted(entry, &context)
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

    private mutating func settle(_ attempt: AttemptID, _ outcome: AttemptOutcome, _ context: inout DispatcherContext) {
        if self.attempt == attempt, entry.state == .sending {
            self.attempt = nil
            let isFree = isFree(outcome, context)
            wasBroughtForward = false
            run.markBusy(entry, after: outcome, &context)
            run.answered(entry, outcome, context)
            note(outcome, &context)
            let (rules, now, vary) = (context.rules, context.wall, context.vary())
            let place = entry.kind.isIdempotent ? outcome.placeOfControl : decision(context).place
            let change = rules.settle(entry, outcome, at: place, now: now, isFree: isFree, vary: vary)
            return write(change, &context)
        }
        // Too late to end the attempt, but the acknowledgement still shows that the gateway has the message.
        guard case .acknowledged = outcome, attempt.key == entry.upstreamKey, entry.state == .unconfirmed else {
            return
        }
        run.markBusy(entry, after: outcome, &context)
        hear(&context)
        follow(.taken, &context)
    }

    /// Keeps the answer to a dispatch as a fact.
    private mutating func note(_ outcome: AttemptOutcome, _ context: inout DispatcherContext) {
        switch outcome {
        case .acknowledged(let answer):
            context.took()
            if answer.status.isOfEarlierRun {
                doubt.rowShouldBeThere()
                run.ended()
            }
            facts.answered(entry, answer.fact(of: entry.upstreamKey))
            // The first dispatch was answered as a whole: a stop word starts no run.
            if answer.status == .finished, entry.isFirstUnderKey {
                facts.take(.ended(.key(entry.keyGeneration), .answered))
            }
        case .rejected(let rejection) where entry.isRepeatInDoubt:
            facts.unsent(entry)
            if rejection.reason == .paused { context.paused(rejection.message, forMs: rejection.retryAfterMs) }
            doubt.repeatRefused(pauseMs: context.rules.pause(after: rejection, of: entry, vary: context.vary()))
        case .rejected(let rejection) where rejection.reason == .paused:
            context.paused(rejection.message, forMs: rejection.retryAfterMs)
            facts.unsent(entry)
        case .notDispatched:
            doubt.repeatNotSent()
            facts.unsent(entry)
        case .noAnswer: facts.unanswered()
        case .rejected: facts.answered(entry, .refused)
        }
        doubt.heard(at: context.now)
    }

    /// The gateway showed over the present connection that it has the message.
    private mutating func hear(_ context: inout DispatcherContext) {
        guard entry.mayHaveArrived else { return }
        if ![.sending, .accepted].contains(entry.state) {
            facts.connected(.same)
            doubt.heard(at: context.now)
        }
        facts.taken(entry)
    }

    /// Whether a dispatch without a connection is not counted: entries that wait for the link are not at fault. Only
    /// once per connection, so that a connection that accepts no frames is not tried for ever.
    private mutating func isFree(_ outcome: AttemptOutcome, _ context: DispatcherContext) -> Bool {
        guard case .notDispatched = outcome else { return false }
        if wasBroughtForward { return true }
        guard context.policy.offline == .hold, freeOver != context.connection else { return false }
        freeOver = context.connection
        return true
    }

    /// Carries out a person's command: its answer waits for the disk, a refusal does not.
    private mutating func carryOut(
        _ command: OutboxCommand,
        expectedVersion: Int64?,
        _ token: CommandToken,
        _ context: inout DispatcherContext
    ) {
        do throws(OutboxRefusal) {
            guard let change = try command.change(of: entry, expectedVersion: expectedVersion, now: context.wall) else {
                return context.answer(token, .success(entry))
            }
            write(change, then: .answer(token), &context)
        } catch {
            context.answer(token, .failure(error))
        }
    }

    /// Ends this entry because a newer one with the same coalescing key waits.
    mutating func supersede(coalescingKey: String, _ context: inout DispatcherContext) {
        guard writer.isIdle, entry.state.isWaiting, entry.coalescingKey == coalescingKey else { return }
        write(context.rules.superseded(entry, now: context.wall), &context)
    }

    // MARK: Sending

    /// Sends the entry, if nothing else holds it back, when its turn in the queue has come.
    mutating func takeTurn(_ context: inout DispatcherContext) {
        guard entry.expiresAt.milliseconds > context.now.wallMs else {
            return write(context.rules.expired(entry, now: context.wall), &context)
        }
        if let due = dueAtMs, due > context.now.monotonicMs { return }
        guard !context.writes.isResting, !context.pause.isUnderWay else { return }
        switch context.link {
        case .online(let profile, _, _):
            if !queue.isControl {
                guard !context.mustWaitForRun(queue, entry, profile),
                    context.queues.takeRoomOnWire(id, queue)
                else { return }
            }
            send(&context)
        case .offline(let detail):
            guard context.policy.offline == .count else { return }
            let (now, vary) = (context.wall, context.vary())
            write(context.rules.unreachable(entry, now: now, detail: detail, vary: vary), &context)
        case .connecting, .blocked:
            return
        }
    }

    /// Writes `sending`; the dispatch follows that write.
    private mutating func send(_ context: inout DispatcherContext) {
        run.dispatching(entry, context)
        let uptime = context.process?.ageMs(atMonotonic: context.now.monotonicMs)
        let skew = context.now.gatewaySkewMs
        let change = context.rules.dispatching(entry, now: context.wall, uptimeMs: uptime, skewMs: skew)
        write(change, then: .dispatch, &context)
    }

    // MARK: Its run

    mutating func runBegan(_ id: String) {
        guard current.goes(by: id) else { return }
        facts.take(.began(.key(current.keyGeneration)))
        run.began(id)
    }

    mutating func runEnded(_ id: String) {
        if current.goes(by: id) { run.ended() }
        run.answered()
    }

    /// The gateway put the message behind another run. The entry is kept even if it is delivered before the answer
    /// comes: its row gets the id of the run that answers it.
    mutating func runDeferred(_ id: String, _ context: inout DispatcherContext) {
        run.await(entry: entry.id, &context)
        if current.goes(by: id) { facts.take(.ended(.key(current.keyGeneration), .empty)) }
        receive(.taken(key: id), &context)
    }

    mutating func runContinued(_ id: String, as answer: String, _ context: inout DispatcherContext) {
        if current.goes(by: id) { run.ended() }
        receive(.continued(key: id, as: answer), &context)
    }

    /// A run of the session has ended. It may have answered a message that the gateway had refused, so the transcript is searched.
    mutating func otherRunEnded(_ context: inout DispatcherContext) {
        doubt.wantNewer(entry, &context)
    }

    // MARK: The link

    /// If the process that acknowledged the entry still runs, it still has the message, unless it restarted inside itself. Another
    /// process knows only the rows on its disk.
    private mutating func linkOpened(_ context: inout DispatcherContext) {
        guard context.isOnline else { return }
        facts.connected(run.gatewayProcess(entry, context))
        doubt.connected(at: context.now)
        if follow(.facts, &context) { return }
        if entry.state == .accepted { run.markBusy(entry, &context) }
        doubt.want(entry, &context)
    }

    /// The current search gets no report. An attempt that was moved forward, but not made, gets its old wait back.
    mutating func linkLost(_ context: inout DispatcherContext) {
        doubt.linkLost()
        guard wasBroughtForward, nextDueMs == nil, current.state == .retrying, let due = context.dueMs(current)
        else { return }
        wasBroughtForward = false
        if writer.isIdle { wait(untilMs: due, &context) } else { writer.setDue(due) }
    }

    /// Makes the head of a queue due now if it waits only because there was no link. The next attempt is not counted if
    /// its frame cannot be written either.
    mutating func retryAfterReconnect(_ now: Moment) {
        guard current.state == .retrying, current.lastClass == .notDispatched,
            writer.pending?.then ?? .nothing == .nothing, let due = nextDueMs, due > now.monotonicMs
        else { return }
        forgetWait()
        wasBroughtForward = true
    }

    private mutating func forgetWait() {
        dueAtMs = nil
        writer.setDue(nil)
    }

    // MARK: Doubt

    /// Starts the entry's search, now that one of the limited places is free.
    mutating func startSearch(_ context: inout DispatcherContext) {
        guard context.isOnline, doubt.isIdle, entry.isLookedFor else { return }
        guard writer.isIdle else { return doubt.lookAgain(id, &context) }
        doubt.start(entry, knowing: facts.knowledge, &context)
    }

    /// - Parameter key: the entry's key when the search began.
    mutating func searched(_ number: SearchID, key: String, _ report: SearchReport, _ context: inout DispatcherContext)
    {
        guard let knew = doubt.end(number) else { return }
        defer { doubt.startNewer(entry, &context) }
        if let proof = report.proof {
            return receive(.proof(key: key, proof, joined: report.row?.joinedRun), &context)
        }
        // The write of the current change may still fail.
        guard writer.isIdle else { return doubt.lookAgain(id, &context) }
        guard !report.hasFailed else { return doubt.searchFailed(entry, &context) }
        context.pages += 1
        facts.read(report, number: context.pages, knew: knew)
        if doubt.isQuiet(entry, context), !mayStillRepeat(context) { facts.waited() }
        if !follow(report.receipt == .queued ? .taken : .facts, &context) { goOn(&context) }
    }

    /// Takes the table's next step for an entry that stays as it is after a page of the transcript that does not show it.
    private mutating func goOn(_ context: inout DispatcherContext) {
        guard [.accepted, .unconfirmed].contains(entry.state) else { return }
        let next = decision(context).next
        // The next search shows whether the gateway has dropped it.
        if next == .discard { context.order(.discard(entry)) }
        guard next == .repeatKey, mayRepeat(context) else {
            return doubt.foundNothing(entry, isFresh: facts.hasFreshPage, &context)
        }
        guard !context.writes.isResting, !context.queues.isOnWire(queue) else { return doubt.lookAgain(id, &context) }
        doubt.repeats()
        context.queues.enterWire(id, queue)
        send(&context)
    }

    /// Whether a repeat of the key may still decide. It does not where a page has what was to be seen, and another row of the table fits.
    private func mayStillRepeat(_ context: DispatcherContext) -> Bool {
        mayRepeat(context) && (!facts.hasFreshPage || decision(context).next == .repeatKey)
    }

    private func mayRepeat(_ context: DispatcherContext) -> Bool {
        entry.state == .unconfirmed && !doubt.hasRepeated && context.rules.mayBeSentAgain(entry) && withdrawal == nil
            && run.mayRepeat(entry, context)
            && entry.attemptCount < context.policy.maxAttempts && entry.expiresAt > context.wall
    }

    // MARK: Writes

    /// Writes a change, unless one is on its way. A message that ends before its run began has no run to name.
    private mutating func write(
        _ change: OutboxChange,
        then: EntryWriter.Continuation = .nothing,
        _ context: inout DispatcherContext
    ) {
        var change = change
        if [.failed, .cancelled, .expired].contains(change.entry.state), run.begun != change.entry.runID {
            change.entry.runID = nil
        }
        writer.write(change, then: then, &context)
    }

    mutating func written(_ write: PersistID, _ context: inout DispatcherContext) {
        guard let done = writer.end(write) else { return }
        context.writes.succeeded()
        carryOn(after: done, &context)
        // Waiting commands still get an answer; other inputs change nothing any more.
        if isOver { writer.keepOnlyCommands() }
        drainDeferred(&context)
    }

    /// Handles a failed write.
    mutating func notWritten(_ write: PersistID, _ problem: StoreError, _ context: inout DispatcherContext) {
        guard let failed = writer.end(write) else { return }
        if let until = context.writes.failed(atMs: context.now.monotonicMs) {
            context.timers.wake(.storage, atMs: until)
        }
        switch failed.then {
        case .dispatch:
            // Nothing was written or sent: the entry is unchanged and gets another turn or search.
            doubt.repeatNotSent()
            context.queues.leaveWire(id)
            if entry.state == .unconfirmed { doubt.lookAgain(id, &context) }
            drainDeferred(&context)
        case .answer(let token):
            context.answer(token, .failure(.storage(problem)))
            drainDeferred(&context)
        case .nothing:
            // The outcome is a fact, so its write is repeated until it succeeds. A person's command is refused at once.
            writer.stall(failed, &context)
            for token in writer.takeCommands() { context.answer(token, .failure(.storage(problem))) }
        }
    }

    /// Repeats a failed write, since the disk may work again.
    func writeAgain(_ write: PersistID, _ context: inout DispatcherContext) {
        writer.writeAgain(write, &context)
    }

    /// Ends the delivery because another writer changed the row, and the disk's state decides. Returns the inputs that
    /// still wait.
    mutating func giveWay(
        to current: OutboxEntry?,
        _ write: PersistID,
        _ context: inout DispatcherContext
    ) -> [DeliveryInput]? {
        guard let lost = writer.end(write) else { return nil }
        if case .answer(let token) = lost.then {
            let refusal = current.map { OutboxRefusal.staleVersion(current: $0.version) } ?? .notFound
            context.answer(token, .failure(refusal))
        }
        context.queues.leaveWire(id)
        leaveQueue(&context)
        return writer.takeDeferred()
    }

    /// The steps after a change is on disk.
    private mutating func carryOn(after done: EntryWriter.Change, _ context: inout DispatcherContext) {
        let before = entry.state
        entry = done.change.entry
        if case .answer(let token) = done.then { context.answer(token, .success(entry)) }
        dueAtMs = nil
        doubt.forgetNext()
        if entry.wasRefused { context.refused.insert(id) } else { context.refused.remove(id) }
        switch entry.state {
        case .sending:
            guard case .dispatch = done.then else { return }
            let attempt = AttemptID(entry: id, number: Int(entry.version), key: entry.upstreamKey)
            self.attempt = attempt
            facts.sent(entry)
            context.order(.dispatch(DispatchOrder(attempt: attempt, entry: entry)))
        case .queued, .retrying:
            doubt.settled()
            if entry.state == .queued, before != .sending { withdrawal = nil }
            facts.startAnew(entry)
            if entry.firstDispatchAt == nil { context.runs.absent(entry.run, in: entry.session) }
            if withdrawal != nil {
                facts.want(.stop)
                if follow(.facts, &context) { return }
            }
            if let due = done.dueAtMs { wait(untilMs: due, &context) }
            enterQueue(&context)
            if before.hasEnded { remindOfDeadline(&context) }
        case .accepted:
            remindOfDeadline(&context)
            doubt.wait(doubt.accepted(policy: context.policy), id, &context)
        case .unconfirmed:
            if before != .unconfirmed { doubt.startAnew() }
            remindOfDeadline(&context)
            enterQueue(&context)
            guard letsOthersGo else {
                if before != .unconfirmed { doubt.want(entry, &context) }
                break
            }
            doubt.wait(doubt.pauseAfterNothing(entry.state, context.policy), id, &context)
        case .delivered, .cancelled, .failed, .expired:
            leaveQueue(&context)
            // A later message may have been answered already, and the gateway reads this one with it.
            if entry.wasRefused, before != .failed { doubt.want(entry, &context) }
        }
        context.queues.markChanged(queue)
    }

    private mutating func drainDeferred(_ context: inout DispatcherContext) {
        for input in writer.takeDeferred() { receive(input, &context) }
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
        run.wake(entry: id, &context)
        if doubt.isDue(context.now) {
            doubt.want(entry, &context)
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
        guard writer.isIdle, context.rules.deadline(of: entry).milliseconds <= context.now.wallMs else { return }
        switch entry.state {
        case .queued, .retrying, .unconfirmed, .accepted:
            write(context.rules.expired(entry, now: context.wall), &context)
        case .sending, .delivered, .failed, .cancelled, .expired:
            return
        }
    }
}
