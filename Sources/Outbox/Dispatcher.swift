import Basics

/// Decides what happens to every entry that is not final: a pure machine over inputs and clocks.
///
/// Two promises hold by construction. Nothing goes to the link before the disk has `sending`, because a dispatch is the
/// continuation of that very write. And nothing is shown before it is on disk, because events are written with the
/// change; here an entry with a write under way takes no second change, later inputs wait for the first.
package struct Dispatcher: Sendable {
    package let rules: OutboxRules

    private var slots: [String: DispatcherSlot] = [:]
    private var queues = SessionQueues()
    private var runs = BusySessions()
    private var timers = DispatcherTimers()
    private var link = LinkCondition.connecting
    private var gatewayAge = GatewayAge()

    /// Entries of session queues between the decision to send and the outcome.
    private var onWire: Set<String> = []

    private var startup = DispatcherStartup()
    private var writes = DispatcherWrites()
    private var looks = HistoryLooks()
    /// Counts the connections to the gateway.
    private var connection: Int64 = 0

    private var actions: [DispatcherAction] = []
    private var now = Moment(wallMs: 0, monotonicMs: 0)
    private var random: UInt64

    /// `seed` feeds the jitter only.
    package init(policy: OutboxPolicy = OutboxPolicy(), seed: UInt64 = 0) {
        self.rules = OutboxRules(policy: policy)
        self.random = seed
    }

    /// Why waiting entries do not move; the same for all of them, so it is not stored with each.
    package var blockedReason: String? {
        if let fault = startup.fault { return "the waiting entries could not be read: \(fault)" }
        return switch link {
        case .blocked(let reason): reason
        case .offline(let detail): policy.offline == .hold ? "gateway offline: \(detail)" : nil
        case .connecting: policy.offline == .hold ? "connecting to the gateway" : nil
        case .online: nil
        }
    }

    /// Entries in care: everything not final.
    package var count: Int { slots.count }

    package func entry(id: String) -> OutboxEntry? { slots[id]?.entry }

    // MARK: Inputs

    package mutating func receive(_ input: DispatcherInput, now: Moment) -> [DispatcherAction] {
        self.now = now
        let (inputs, orders) = startup.take(input)
        actions += orders
        for input in inputs { handle(input) }
        while let key = queues.next(hasRoom: onWire.count < policy.parallelSessions) { advance(key) }
        while let id = looks.next() { startLook(id) }
        if let action = timers.rearm(now) { actions.append(action) }
        defer { actions.removeAll(keepingCapacity: true) }
        return actions
    }

    private mutating func handle(_ input: DispatcherInput) {
        switch input {
        case .loaded(let entries): load(entries)
        case .loadFailed: break
        case .enqueued(let entry): admit(entry)
        case .link(let condition): linkChanged(to: condition)
        case .persisted(let id): written(id)
        case .persistFailed(let id, let failure): notWritten(id, failure)
        case .outcome(let attempt, let outcome):
            if slots[attempt.entry]?.attempt == attempt { onWire.remove(attempt.entry) }
            apply(.outcome(attempt, outcome), to: attempt.entry)
        case .run(let session, let run, let phase): runChanged(session: session, run: run, phase: phase)
        case .taken(let key): apply(.taken(key: key), to: OutboxEntry.entryID(ofKey: key))
        case .evidence(let key, let proof): apply(.proof(key: key, proof), to: OutboxEntry.entryID(ofKey: key))
        case .refusedByRun(let key, let fault, let wait):
            apply(.refusedByRun(key: key, fault, retryAfterMs: wait), to: OutboxEntry.entryID(ofKey: key))
        case .bringForward(let code): bringForward(faultCode: code)
        case .scanned(let id, let report): scanned(id, report)
        case .routeChanged(let session, let detail): routeChanged(session: session, detail: detail)
        case .cancel(let id, let force, let version, let token):
            command(.cancel(force: force, expectedVersion: version, token), id: id, token: token)
        case .retry(let id, let version, let token):
            command(.retry(expectedVersion: version, token), id: id, token: token)
        case .tick: timers.fired()
        }
        takeDue()
    }

    private mutating func command(_ command: DispatcherSlot.Deferred, id: String, token: CommandToken) {
        guard slots[id] != nil else {
            actions.append(.answer(token, .failure(.notFound)))
            return
        }
        apply(command, to: id)
    }

    private mutating func load(_ entries: [OutboxEntry]) {
        for entry in entries where !entry.state.isFinal {
            admit(entry)
            if startup.endedRuns.contains(entry.upstreamKey) { slots[entry.id]?.hasRunEnded = true }
            if let change = rules.resumed(entry, now: wall) {
                write(change, for: entry.id)
            } else if let due = entry.nextAttemptAt?.milliseconds, entry.state == .retrying {
                let rest = rules.schedule.remaining(until: due, attempts: entry.attemptCount, wallMs: now.wallMs)
                wait(entry.id, untilMs: now.monotonicMs + rest)
            }
        }
        guard link.facts != nil else { return }
        retryNow()
        lookAfterDoubts()
    }

    private mutating func routeChanged(session: String?, detail: String) {
        let affected = slots.values.filter { session == nil || $0.entry.session == session }
        for slot in affected.sorted(by: { $0.entry.ordinal < $1.entry.ordinal }) {
            apply(.routeChanged(detail: detail), to: slot.entry.id)
        }
    }

    // MARK: One entry

    private mutating func admit(_ entry: OutboxEntry) {
        guard slots[entry.id] == nil, !entry.state.isFinal else { return }
        slots[entry.id] = DispatcherSlot(entry: entry)
        remindOfDeadline(entry)
        guard entry.kind.isKnown || entry.state.isTerminal else {
            write(rules.failedWithout(attempt: entry, now: wall, fault: .unsupported(entry.kind)), for: entry.id)
            return
        }
        supersede(by: entry)
        enterQueue(entry.id)
        if entry.state == .unconfirmed { wantLook(entry.id) }
    }

    /// Only the newest of several waiting commands with one coalescing key is worth sending.
    private mutating func supersede(by entry: OutboxEntry) {
        guard let key = entry.coalescingKey, entry.state == .queued, let queue = slots[entry.id]?.queue else { return }
        for place in queues.places(in: queue) where place.ordinal < entry.ordinal {
            guard let older = slots[place.id], older.pending == nil, older.entry.state.isWaiting,
                older.entry.coalescingKey == key
            else { continue }
            write(rules.superseded(older.entry, now: wall), for: place.id)
        }
    }

    /// Puts an entry into its queue, or into the calendar until its `notBefore`. It then stands where its order of
    /// acceptance puts it: an entry for tomorrow does not hold up today's.
    private mutating func enterQueue(_ id: String) {
        guard let slot = slots[id], !slot.current.state.isTerminal else { return }
        if slot.current.state == .queued, let start = slot.entry.notBefore, start.milliseconds > now.wallMs {
            timers.remind(id, atWallMs: start.milliseconds)
            return
        }
        queues.insert(id, ordinal: slot.entry.ordinal, into: slot.queue)
    }

    private mutating func leaveQueue(_ slot: DispatcherSlot) {
        queues.remove(ordinal: slot.entry.ordinal, from: slot.queue)
    }

    /// Carries out an input about an entry, now or when the write under way is done.
    private mutating func apply(_ input: DispatcherSlot.Deferred, to id: String) {
        guard let slot = slots[id] else { return }
        guard slot.pending == nil else {
            // The same proof comes with every event of a run; one of a kind is enough.
            if !slot.deferred.contains(input) { slots[id]?.deferred.append(input) }
            return
        }
        let entry = slot.entry
        switch input {
        case .outcome(let attempt, let outcome):
            settle(slot, attempt, outcome)
        case .taken(let key):
            guard entry.goes(by: key) else { return }
            let change = rules.taken(entry, now: wall)
            if change != nil || [.sending, .accepted].contains(entry.state) { noteRun(of: slot) }
            if entry.state == .sending { slots[id]?.isTaken = true }
            if let change { write(change, for: id) }
        case .proof(let key, let proof):
            guard entry.goes(by: key), let change = rules.proven(entry, by: proof, now: wall) else { return }
            // The row does not say how far the run is.
            if proof != .runEnd { noteRun(of: slot) }
            endAttempt(id)
            write(change, for: id)
        case .continued(let key, let run):
            guard entry.goes(by: key) else { return }
            slots[id]?.awaitsRunUntilMs = nil
            if entry.state == .delivered {
                write(rules.adopted(entry, run: run, now: wall), for: id)
            } else if let change = rules.proven(entry, by: .history, run: run, now: wall) {
                endAttempt(id)
                write(change, for: id)
            }
        case .refusedByRun(let key, let fault, let wait):
            guard entry.goes(by: key),
                let change = rules.refusedByRun(entry, fault, retryAfterMs: wait, now: wall, vary: vary())
            else { return }
            endRun(session: entry.session, run: entry.upstreamKey)
            endAttempt(id)
            write(change, for: id)
        case .routeChanged(let detail):
            guard entry.state.isWaiting else {
                slots[id]?.targetChange = detail
                return
            }
            write(rules.targetChanged(entry, now: wall, detail: detail), for: id)
        case .linkOpened:
            judge(slot)
        case .cancel(let force, let version, let token):
            cancel(entry, force: force, expectedVersion: version, token)
        case .retry(let version, let token):
            retry(entry, expectedVersion: version, token)
        }
    }

    /// The outcome of the dispatch that is out, if one is, changes nothing any more.
    private mutating func endAttempt(_ id: String) {
        onWire.remove(id)
        slots[id]?.attempt = nil
    }

    private mutating func settle(_ slot: DispatcherSlot, _ attempt: AttemptID, _ outcome: AttemptOutcome) {
        let entry = slot.entry
        if slot.attempt == attempt, entry.state == .sending {
            slots[entry.id]?.attempt = nil
            slots[entry.id]?.wasBroughtForward = false
            noteRun(slot, outcome)
            switch outcome {
            case .acknowledged(let answer) where answer.status.isOfEarlierRun:
                slots[entry.id]?.looksAtOnce = true
                slots[entry.id]?.hasRunEnded = true
            case .notDispatched, .rejected: slots[entry.id]?.reconciliation.repeatFailed()
            case .acknowledged, .noAnswer: break
            }
            let (isFree, isTaken) = (isFree(slot, outcome), slot.isTaken)
            write(
                rules.settle(entry, outcome, now: wall, isFree: isFree, isTaken: isTaken, vary: vary()),
                for: entry.id
            )
            return
        }
        // A late answer: too late to end the attempt, but an acknowledgement still says that the gateway has it.
        guard case .acknowledged = outcome, attempt.key == entry.upstreamKey, entry.state == .unconfirmed,
            let change = rules.taken(entry, now: wall)
        else { return }
        noteRun(slot, outcome)
        write(change, for: entry.id)
    }

    /// A dispatch that found no connection is no failure of the entry, where entries wait for the link. It is free once a
    /// connection: one that takes nothing at all must not be tried for ever.
    private mutating func isFree(_ slot: DispatcherSlot, _ outcome: AttemptOutcome) -> Bool {
        guard case .notDispatched = outcome else { return false }
        if slot.wasBroughtForward { return true }
        guard policy.offline == .hold, slot.freeOver != connection else { return false }
        slots[slot.entry.id]?.freeOver = connection
        return true
    }

    /// From the acknowledgement on the session has a run, also while that is still on its way to disk.
    private mutating func noteRun(_ slot: DispatcherSlot, _ outcome: AttemptOutcome) {
        guard case .acknowledged(let answer) = outcome, !answer.status.isOfEarlierRun else { return }
        noteRun(of: slot, id: answer.runID)
    }

    /// The gateway has the message of the entry, and perhaps still works on it.
    private mutating func noteRun(of slot: DispatcherSlot, id: String? = nil) {
        let entry = slot.entry
        guard entry.kind.startsRun, !slot.hasRunEnded, process(of: slot) != .other else { return }
        runs.heard(id ?? entry.runID ?? entry.upstreamKey, in: entry.session, atMs: now.monotonicMs)
    }

    private mutating func cancel(_ entry: OutboxEntry, force: Bool, expectedVersion: Int64?, _ token: CommandToken) {
        do throws(OutboxRefusal) {
            guard let change = try rules.cancel(entry, force: force, expectedVersion: expectedVersion, now: wall) else {
                actions.append(.answer(token, .success(entry)))
                return
            }
            write(change, for: entry.id, then: .answer(token))
        } catch {
            actions.append(.answer(token, .failure(error)))
        }
    }

    private mutating func retry(_ entry: OutboxEntry, expectedVersion: Int64?, _ token: CommandToken) {
        do throws(OutboxRefusal) {
            let change = try rules.retry(entry, expectedVersion: expectedVersion, now: wall)
            write(change, for: entry.id, then: .answer(token))
        } catch {
            actions.append(.answer(token, .failure(error)))
        }
    }

    // MARK: Sending

    private mutating func advance(_ queue: QueueKey) {
        guard let id = candidate(in: queue), let slot = slots[id] else { return }
        let entry = slot.entry
        guard entry.expiresAt.milliseconds > now.wallMs else {
            write(rules.expired(entry, now: wall), for: id)
            return
        }
        if let due = slot.dueAtMs, due > now.monotonicMs { return }
        guard !writes.isResting else { return }
        switch link {
        case .online(let facts):
            dispatch(slot, facts)
        case .offline(let detail):
            guard policy.offline == .count else { return }
            write(rules.unreachable(entry, now: wall, detail: detail, vary: vary()), for: id)
        case .connecting, .blocked:
            return
        }
    }

    /// The entry whose turn it is, unless one before it still has to be waited for.
    private func candidate(in queue: QueueKey) -> String? {
        // Also one behind it: an entry whose `notBefore` has come or that a person sends again stands before it.
        guard !isOnWire(queue) else { return nil }
        for place in queues.places(in: queue) {
            guard let slot = slots[place.id] else { continue }
            switch slot.current.state {
            case .queued, .retrying:
                return slot.pending == nil ? place.id : nil
            case .accepted:
                if policy.ordering == .strict { return nil }
            case .sending, .unconfirmed:
                return nil
            case .delivered, .failed, .cancelled, .expired:
                // On its way to disk; once there it leaves the queue. Until then its place is not passed.
                if slot.pending != nil { return nil }
            }
        }
        return nil
    }

    private func isOnWire(_ queue: QueueKey) -> Bool { onWire.contains { slots[$0]?.queue == queue } }

    private mutating func dispatch(_ slot: DispatcherSlot, _ facts: LinkFacts) {
        let entry = slot.entry
        if !slot.queue.isControl {
            guard !mustWaitForRun(slot.queue, facts) else { return }
            guard onWire.count < policy.parallelSessions else { return queues.markOverLimit(slot.queue) }
            onWire.insert(entry.id)
        }
        send(entry, isRepeat: false)
    }

    /// Writes `sending`; the dispatch follows from that write.
    private mutating func send(_ entry: OutboxEntry, isRepeat: Bool) {
        slots[entry.id]?.hasRunEnded = false
        slots[entry.id]?.isTaken = false
        if entry.firstDispatchAt == nil { slots[entry.id]?.dispatchedAtMs = now.monotonicMs }
        let change = rules.dispatching(entry, now: wall, uptimeMs: gatewayAge.uptimeMs(at: now))
        write(change, for: entry.id, then: .dispatch(isRepeat: isRepeat))
    }

    /// Protocol 3 answers a send into a busy session under a run of its own; so the session's run ends first.
    private mutating func mustWaitForRun(_ queue: QueueKey, _ facts: LinkFacts) -> Bool {
        guard facts.protocolVersion <= 3 else { return false }
        let until = runs.busyUntilMs(
            queue.session,
            nowMs: now.monotonicMs,
            patienceMs: policy.runPatienceMs,
            pauseMs: facts.pauseAfterRunMs
        )
        guard let until else { return false }
        timers.wake(.queue(queue), atMs: until)
        return true
    }

    // MARK: Runs

    private mutating func runChanged(session: String, run: String, phase: RunPhase) {
        let owner = OutboxEntry.entryID(ofKey: run)
        switch phase {
        case .active:
            runs.heard(run, in: session, atMs: now.monotonicMs)
        case .ended:
            endRun(session: session, run: run)
            stopAwaitingRun(owner)
        case .deferred:
            runs.heard(run, in: session, atMs: now.monotonicMs)
            awaitRun(owner)
            apply(.taken(key: run), to: owner)
        case .continued(let answer):
            runs.heard(answer, in: session, atMs: now.monotonicMs)
            endRun(session: session, run: run)
            apply(.continued(key: run, as: answer), to: owner)
        }
    }

    /// Keeps an entry also when it is delivered before: its row takes the id of the run that answers it.
    private mutating func awaitRun(_ id: String) {
        guard let slot = slots[id] else { return }
        let until = now.monotonicMs + policy.runPatienceMs
        slots[id]?.awaitsRunUntilMs = until
        // The phase is reported again and again; the wake that is there finds the later time.
        if slot.awaitsRunUntilMs == nil { timers.wake(.entry(id), atMs: until) }
    }

    private mutating func stopAwaitingRun(_ id: String) {
        guard let slot = slots[id], slot.awaitsRunUntilMs != nil else { return }
        slots[id]?.awaitsRunUntilMs = nil
        if slot.pending == nil, slot.entry.state.isFinal { slots[id] = nil }
    }

    private mutating func endRun(session: String, run: String) {
        let owner = OutboxEntry.entryID(ofKey: run)
        if slots[owner]?.current.goes(by: run) == true { slots[owner]?.hasRunEnded = true }
        runs.ended(run, in: session, atMs: now.monotonicMs, pauseMs: link.facts?.pauseAfterRunMs ?? 0)
        queues.markChanged(QueueKey(session: session, isControl: false))
    }

    // MARK: The link

    private mutating func linkChanged(to condition: LinkCondition) {
        let wasOnline = link.facts != nil
        link = condition
        gatewayAge = GatewayAge(uptimeMs: condition.facts?.uptimeMs, sinceMs: now.monotonicMs)
        if wasOnline { linkLost() }
        queues.markAllChanged()
        guard condition.facts != nil else { return }
        connection += 1
        runs.linkOpened(atMs: now.monotonicMs)
        retryNow()
        lookAfterDoubts()
    }

    /// Entries that may have arrived over an earlier connection, of this process of ours or of the one before.
    private mutating func lookAfterDoubts() {
        let doubts = slots.values.filter { [.accepted, .unconfirmed].contains($0.current.state) }
        for slot in doubts.sorted(by: { $0.entry.ordinal < $1.entry.ordinal }) {
            apply(.linkOpened, to: slot.entry.id)
        }
    }

    /// The gateway that acknowledged the entry still has it; another one knows only what is on disk.
    private mutating func judge(_ slot: DispatcherSlot) {
        guard link.facts != nil else { return }
        if slot.entry.state == .accepted {
            guard process(of: slot) == .same else {
                if let change = rules.gatewayChanged(slot.entry, now: wall) { write(change, for: slot.entry.id) }
                return
            }
            noteRun(of: slot)
        }
        wantLook(slot.entry.id)
    }

    private func process(of slot: DispatcherSlot) -> GatewayContinuity {
        FirstDispatch(slot).map { gatewayAge.process(since: $0, at: now) } ?? .unknown
    }

    /// The runs under way are reported anew with the next connection; until then nothing is known of them.
    private mutating func linkLost() {
        runs.removeAll()
        for id in looks.removeAll() { slots[id]?.scan = nil }
        queues.forgetOverLimit()
        for slot in slots.values
        where slot.wasBroughtForward && slot.nextDueMs == nil && slot.current.state == .retrying {
            restoreWait(slot)
        }
    }

    /// The link went again before an attempt that was brought forward got its turn: the old wait counts.
    private mutating func restoreWait(_ slot: DispatcherSlot) {
        let entry = slot.current
        guard let due = entry.nextAttemptAt?.milliseconds else { return }
        let rest = rules.schedule.remaining(until: due, attempts: entry.attemptCount, wallMs: now.wallMs)
        slots[entry.id]?.wasBroughtForward = false
        slots[entry.id]?.pending?.dueAtMs = now.monotonicMs + rest
        if slot.pending == nil { wait(entry.id, untilMs: now.monotonicMs + rest) }
    }

    private mutating func retryNow() {
        for queue in Array(queues.keys) { retryNow(queue) }
    }

    /// The head of a queue that waits only because there was no link is due now. The attempt that follows is not counted
    /// if it cannot be written either.
    private mutating func retryNow(_ queue: QueueKey) {
        for place in queues.places(in: queue) {
            guard let slot = slots[place.id], slot.current.state != .accepted else { continue }
            let entry = slot.current
            guard entry.state == .retrying, entry.lastClass == .notDispatched,
                slot.pending?.then ?? .nothing == .nothing, let due = slot.nextDueMs, due > now.monotonicMs
            else { return }
            slots[place.id]?.dueAtMs = nil
            slots[place.id]?.pending?.dueAtMs = nil
            slots[place.id]?.wasBroughtForward = true
            return
        }
    }

    private mutating func bringForward(faultCode: String) {
        for (id, slot) in slots where slot.current.state == .retrying && slot.current.fault?.code == faultCode {
            slots[id]?.dueAtMs = nil
            slots[id]?.pending?.dueAtMs = nil
            queues.markChanged(slot.queue)
        }
    }

    // MARK: Reconciliation: entries that may have arrived

    private mutating func wantLook(_ id: String) {
        guard link.facts != nil, let slot = slots[id], slot.scan == nil,
            [.accepted, .unconfirmed].contains(slot.entry.state)
        else { return }
        slots[id]?.lookAtMs = nil
        looks.want(id)
    }

    private mutating func look(_ id: String, afterMs wait: Int64?) {
        guard let wait else { return }
        let at = now.monotonicMs + wait
        slots[id]?.lookAtMs = at
        timers.wake(.entry(id), atMs: at)
    }

    /// Looks again at an entry in doubt after a step that settled nothing.
    private mutating func lookAgain(_ id: String) {
        if slots[id]?.entry.state == .unconfirmed { look(id, afterMs: policy.failedLooksMs.first) }
    }

    private mutating func startLook(_ id: String) {
        guard link.facts != nil, let slot = slots[id], slot.scan == nil else { return }
        guard slot.pending == nil else { return look(id, afterMs: policy.failedLooksMs.first) }
        switch slot.entry.state {
        case .unconfirmed:
            var reconciliation = slot.reconciliation
            let ask = reconciliation.begin()
            slots[id]?.reconciliation = reconciliation
            follow(ask, id: id)
        case .accepted:
            order(.complete, id: id)
        default:
            return
        }
    }

    private mutating func order(_ depth: ScanDepth, id: String) {
        guard let entry = slots[id]?.entry else { return }
        let scan = looks.begin(entry)
        slots[id]?.scan = scan
        let since = entry.firstDispatchAt ?? entry.createdAt
        actions.append(.scan(ScanOrder(id: scan, entry: entry, depth: depth, since: since)))
    }

    private mutating func scanned(_ scan: ScanID, _ report: ScanReport) {
        guard let done = looks.finish(scan), slots[done.id]?.scan == scan else { return }
        let id = done.id
        slots[id]?.scan = nil
        if let proof = report.proof {
            apply(.proof(key: done.key, proof), to: id)
            return
        }
        guard let slot = slots[id] else { return }
        // The change under way may not get to the disk.
        guard slot.pending == nil else { return lookAgain(id) }
        switch slot.entry.state {
        case .unconfirmed:
            var reconciliation = slot.reconciliation
            let ask = reconciliation.received(report, situation(of: slot), policy: policy)
            slots[id]?.reconciliation = reconciliation
            follow(ask, id: id)
        case .accepted:
            if report.hasFailed { return look(id, afterMs: policy.failedLooksMs.last) }
            // The gateway has acknowledged it and is still the same; its row may come late. Look again, less often.
            let checks = slot.proofChecks + 1
            slots[id]?.proofChecks = checks
            guard !policy.proofChecksMs.isEmpty else { return }
            look(id, afterMs: policy.proofChecksMs[min(checks, policy.proofChecksMs.count - 1)])
        default:
            return
        }
    }

    private mutating func follow(_ ask: Reconciliation.Ask, id: String) {
        guard let slot = slots[id] else { return }
        switch ask {
        case .scan(let depth):
            order(depth, id: id)
        case .repeatSameKey:
            guard link.facts != nil, !writes.isResting, !isOnWire(slot.queue) else {
                slots[id]?.reconciliation.repeatFailed()
                return look(id, afterMs: policy.failedLooksMs.first)
            }
            onWire.insert(id)
            send(slot.entry, isRepeat: true)
        case .settleAbsent:
            let change =
                slot.targetChange.map { rules.targetChanged(slot.entry, now: wall, detail: $0) }
                ?? rules.absent(slot.entry, now: wall, vary: vary())
            write(change, for: id)
        case .lookAgain(let wait):
            look(id, afterMs: wait)
        }
    }

    private func situation(of slot: DispatcherSlot) -> Reconciliation.Situation {
        let entry = slot.entry
        let dispatch = FirstDispatch(slot)
        let passed = dispatch?.passedMs(now)
        let growth = dispatch.flatMap { gatewayAge.growthMs(since: $0, at: now) }
        let process = process(of: slot)
        return Reconciliation.Situation(
            mayOnlyBeProven: entry.isSlashCommand || policy.ambiguous == .hold,
            process: process,
            // Our clocks may have been set, or have stood still; the gateway's age has not.
            leastSinceDispatchMs: passed.map { min($0.lowerBound, growth ?? .max) },
            mostSinceDispatchMs: passed.map { max($0.upperBound, growth ?? 0) },
            // A gateway that had not got it would take it into the new session.
            mayGoOut: entry.attemptCount < policy.maxAttempts && slots[entry.id]?.targetChange == nil
                && entry.expiresAt > wall,
            isBusy: runs.isBusy(entry.session, nowMs: now.monotonicMs, patienceMs: policy.runPatienceMs)
        )
    }

    // MARK: Writes

    private mutating func write(
        _ change: OutboxChange,
        for id: String,
        then continuation: DispatcherSlot.Continuation = .nothing
    ) {
        guard var slot = slots[id], slot.pending == nil else { return }
        let due = change.entry.nextAttemptAt.map { next in
            now.monotonicMs
                + rules.schedule.remaining(
                    until: next.milliseconds,
                    attempts: change.entry.attemptCount,
                    wallMs: now.wallMs
                )
        }
        actions.append(writes.begin(change, of: &slot, then: continuation, dueAtMs: due))
        slots[id] = slot
    }

    private mutating func written(_ write: PersistID) {
        guard let (id, pending) = writes.finish(write, among: slots) else { return }
        writes.succeeded()
        let before = slots[id]?.entry.state
        slots[id]?.entry = pending.change.entry
        slots[id]?.pending = nil
        follow(pending, id: id, from: before)
        drainDeferred(id)
    }

    private mutating func notWritten(_ write: PersistID, _ failure: PersistFailure) {
        guard let (id, pending) = writes.finish(write, among: slots) else { return }
        switch failure {
        case .moved(let current):
            replace(id, with: current, pending)
        case .storage(let problem):
            if let until = writes.failed(atMs: now.monotonicMs) { timers.wake(.storage, atMs: until) }
            switch pending.then {
            case .dispatch:
                // Never written, never sent: the entry is as before and its turn comes again, or the next look.
                slots[id]?.pending = nil
                slots[id]?.reconciliation.repeatFailed()
                onWire.remove(id)
                lookAgain(id)
                drainDeferred(id)
            case .answer(let token):
                slots[id]?.pending = nil
                actions.append(.answer(token, .failure(.storage(problem))))
                drainDeferred(id)
            case .nothing:
                // The outcome is a fact, so its write is repeated until it succeeds.
                writes.stall(write, of: id)
                refuseCommands(id, .storage(problem))
            }
        }
    }

    /// Somebody else changed the row. Its state on disk is the truth.
    private mutating func replace(_ id: String, with current: OutboxEntry?, _ pending: DispatcherSlot.Pending) {
        if case .answer(let token) = pending.then {
            let refusal = current.map { OutboxRefusal.staleVersion(current: $0.version) } ?? .notFound
            actions.append(.answer(token, .failure(refusal)))
        }
        onWire.remove(id)
        let former = slots.removeValue(forKey: id)
        if let former { leaveQueue(former) }
        if let current { admit(current) }
        carryOut(former?.deferred ?? [], on: id)
    }

    private mutating func storageMayWork() {
        guard let repeats = writes.resume(slots, atMs: now.monotonicMs) else { return }
        actions += repeats
        queues.markAllChanged()
    }

    /// The steps that follow once a change is on disk.
    private mutating func follow(_ pending: DispatcherSlot.Pending, id: String, from before: OutboxState?) {
        guard let slot = slots[id] else { return }
        let entry = slot.entry
        if case .answer(let token) = pending.then { actions.append(.answer(token, .success(entry))) }
        slots[id]?.dueAtMs = nil
        slots[id]?.lookAtMs = nil
        switch entry.state {
        case .sending:
            guard case .dispatch(let isRepeat) = pending.then else { return }
            let attempt = AttemptID(entry: id, number: Int(entry.version), key: entry.upstreamKey)
            slots[id]?.attempt = attempt
            actions.append(.dispatch(DispatchOrder(attempt: attempt, entry: entry, isRepeat: isRepeat)))
        case .queued, .retrying:
            slots[id]?.reconciliation = Reconciliation()
            if entry.state == .queued { slots[id]?.targetChange = nil }
            if let detail = slots[id]?.targetChange { return apply(.routeChanged(detail: detail), to: id) }
            if let due = pending.dueAtMs { wait(id, untilMs: due) }
            enterQueue(id)
            if before?.isTerminal == true { remindOfDeadline(entry) }
        case .accepted:
            remindOfDeadline(entry)
            slots[id]?.proofChecks = 0
            slots[id]?.looksAtOnce = false
            look(id, afterMs: slot.looksAtOnce ? 0 : policy.proofChecksMs.first)
        case .unconfirmed:
            remindOfDeadline(entry)
            enterQueue(id)
            if before != .unconfirmed { wantLook(id) }
        case .delivered, .cancelled:
            leaveQueue(slot)
            if slot.awaitsRunUntilMs == nil { retire(id) }
        case .failed, .expired:
            leaveQueue(slot)
        }
        queues.markChanged(slot.queue)
    }

    /// The entry is final and leaves; commands that waited for its write are answered by its final state.
    private mutating func retire(_ id: String) {
        guard let slot = slots.removeValue(forKey: id) else { return }
        for input in slot.deferred {
            switch input {
            case .cancel(let force, let version, let token):
                cancel(slot.entry, force: force, expectedVersion: version, token)
            case .retry(let version, let token): retry(slot.entry, expectedVersion: version, token)
            case .outcome, .taken, .proof, .continued, .refusedByRun, .routeChanged, .linkOpened: continue
            }
        }
    }

    private mutating func drainDeferred(_ id: String) {
        let inputs = slots[id]?.deferred ?? []
        slots[id]?.deferred.removeAll()
        carryOut(inputs, on: id)
        expireIfDue(id)
    }

    private mutating func carryOut(_ inputs: [DispatcherSlot.Deferred], on id: String) {
        for input in inputs {
            if slots[id] == nil, let token = input.token {
                actions.append(.answer(token, .failure(.notFound)))
            } else {
                apply(input, to: id)
            }
        }
    }

    /// A person's command is refused at once; only facts wait for the disk.
    private mutating func refuseCommands(_ id: String, _ refusal: OutboxRefusal) {
        let tokens = slots[id]?.deferred.compactMap(\.token) ?? []
        slots[id]?.deferred.removeAll { $0.token != nil }
        for token in tokens { actions.append(.answer(token, .failure(refusal))) }
    }

    // MARK: Time

    private mutating func wait(_ id: String, untilMs: Int64) {
        slots[id]?.dueAtMs = untilMs
        timers.wake(.entry(id), atMs: untilMs)
    }

    private mutating func takeDue() {
        while let wake = timers.popWake(now) {
            switch wake {
            case .entry(let id): entryIsDue(id)
            case .queue(let queue): queues.markChanged(queue)
            case .storage: storageMayWork()
            }
        }
        while let id = timers.popDate(now) {
            if slots[id]?.entry.state == .queued { enterQueue(id) }
            expireIfDue(id)
        }
        let slots = slots
        timers.trim(entries: slots.count) { id in
            slots[id] != nil
        } isAwaited: { id in
            slots[id]?.isAwaited ?? false
        }
    }

    private mutating func entryIsDue(_ id: String) {
        guard let slot = slots[id] else { return }
        if let due = slot.dueAtMs, due <= now.monotonicMs { queues.markChanged(slot.queue) }
        if let until = slot.awaitsRunUntilMs {
            if until <= now.monotonicMs { stopAwaitingRun(id) } else { timers.wake(.entry(id), atMs: until) }
        }
        if let look = slot.lookAtMs, look <= now.monotonicMs { wantLook(id) }
    }

    private mutating func remindOfDeadline(_ entry: OutboxEntry) {
        timers.remind(entry.id, atWallMs: rules.deadline(of: entry).milliseconds)
    }

    private mutating func expireIfDue(_ id: String) {
        guard let slot = slots[id], slot.pending == nil, rules.deadline(of: slot.entry).milliseconds <= now.wallMs
        else { return }
        switch slot.entry.state {
        case .queued, .retrying, .unconfirmed, .accepted:
            write(rules.expired(slot.entry, now: wall), for: id)
        case .sending, .delivered, .failed, .cancelled, .expired:
            return
        }
    }

    // MARK: Helpers

    private var wall: Timestamp { Timestamp(milliseconds: now.wallMs) }
    private var policy: OutboxPolicy { rules.policy }

    /// In -1...1 (SplitMix64).
    private mutating func vary() -> Double {
        guard policy.jitter > 0 else { return 0 }
        random &+= 0x9e37_79b9_7f4a_7c15
        var mixed = random
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        mixed ^= mixed >> 31
        return Double(mixed >> 11) / Double(1 << 53) * 2 - 1
    }
}
