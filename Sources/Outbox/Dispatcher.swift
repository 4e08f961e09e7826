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

    private var writes: [PersistID: String] = [:]
    private var stalledWrites: [PersistID] = []
    /// Until this monotonic time nothing is written, because the disk failed.
    private var storageHoldUntilMs: Int64?
    private var storageFailures = 0

    /// With the key that each look is for.
    private var scans: [ScanID: (id: String, key: String)] = [:]
    private var wantedScans = UniqueQueue<String>()

    private var actions: [DispatcherAction] = []
    private var now = Moment(wallMs: 0, monotonicMs: 0)
    private var lastNumber: Int64 = 0
    private var random: UInt64
    /// Inputs received before the saved entries were loaded; nil after loading.
    private var startup: StartupBuffer? = StartupBuffer()
    /// Why the saved entries could not be loaded yet.
    private var loadFault: String?

    /// Looks into history at the same time, over all sessions.
    private static let parallelScans = 4
    /// Waits after failed writes.
    private static let storageWaitsMs: [Int64] = [1_000, 2_000, 5_000, 10_000, 30_000]

    /// `seed` feeds the jitter only.
    package init(policy: OutboxPolicy = OutboxPolicy(), seed: UInt64 = 0) {
        self.rules = OutboxRules(policy: policy)
        self.random = seed
    }

    /// Why waiting entries do not move; the same for all of them, so it is not stored with each.
    package var blockedReason: String? {
        if let loadFault { return "the waiting entries could not be read: \(loadFault)" }
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

    /// Whether the entry that goes by this key is neither delivered nor terminal, so that its message may be sent again.
    /// Until the saved entries are loaded nobody knows.
    package func awaits(key: String) -> Bool {
        guard startup == nil else { return true }
        guard let entry = slots[OutboxEntry.entryID(ofKey: key)]?.current, entry.goes(by: key) else { return false }
        return !entry.state.isTerminal
    }

    // MARK: Inputs

    package mutating func receive(_ input: DispatcherInput, now: Moment) -> [DispatcherAction] {
        self.now = now
        take(input)
        while let key = queues.next(hasRoom: onWire.count < policy.parallelSessions) { advance(key) }
        startScans()
        if let action = timers.rearm(now) { actions.append(action) }
        defer { actions.removeAll(keepingCapacity: true) }
        return actions
    }

    private mutating func take(_ input: DispatcherInput) {
        guard let waiting = startup else { return handle(input) }
        switch input {
        case .loaded where waiting.hasMissed:
            // Inputs were dropped, but they are on disk: the next load brings them.
            refuseStartupCommands()
            startup = StartupBuffer()
            actions.append(.load)
        case .loaded:
            startup = nil
            loadFault = nil
            handle(input)
            for input in waiting.inputs { handle(input) }
        case .loadFailed(let detail):
            loadFault = detail
            refuseStartupCommands()
        case .cancel, .retry:
            if loadFault != nil || startup?.keep(input) == false { refuse(input.token) }
        case .enqueued, .routeChanged, .refusedByRun, .bringForward:
            _ = startup?.keep(input)
        case .taken, .evidence:
            // Entries that may have arrived are looked up in history after loading.
            break
        case .link, .run, .persisted, .persistFailed, .outcome, .scanned, .tick:
            handle(input)
        }
    }

    private mutating func refuseStartupCommands() {
        for token in startup?.takeCommands() ?? [] { refuse(token) }
    }

    private mutating func refuse(_ token: CommandToken?) {
        guard let token else { return }
        let detail = loadFault ?? "the waiting entries are still being read"
        actions.append(.answer(token, .failure(.storage(.unavailable(detail)))))
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
            if let change = rules.resumed(entry, now: wall) {
                write(change, for: entry.id)
            } else if let due = entry.nextAttemptAt?.milliseconds, entry.state == .retrying {
                let rest = rules.schedule.remaining(until: due, attempts: entry.attemptCount, wallMs: now.wallMs)
                wait(entry.id, untilMs: now.monotonicMs + rest)
            }
        }
        guard link.facts != nil else { return }
        retryNow()
        lookAfterAccepted()
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
        if entry.state == .unconfirmed { wantScan(entry.id) }
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
            if entry.state == .sending { slots[id]?.isTaken = true }
            if let change = rules.taken(entry, now: wall) { write(change, for: id) }
        case .proof(let key, let proof):
            guard entry.goes(by: key), let change = rules.proven(entry, by: proof, now: wall) else { return }
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
            let (isFree, isTaken) = (slot.wasBroughtForward, slot.isTaken)
            if case .acknowledged(let answer) = outcome, answer.status == .finished || answer.status == .failed {
                slots[entry.id]?.looksAtOnce = true
            }
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

    /// From the acknowledgement on the session has a run, also while that is still on its way to disk.
    private mutating func noteRun(_ slot: DispatcherSlot, _ outcome: AttemptOutcome) {
        guard case .acknowledged(let answer) = outcome, answer.status == .started || answer.status == .inFlight,
            slot.entry.kind.startsRun, !slot.hasRunEnded
        else { return }
        runs.heard(answer.runID ?? slot.entry.upstreamKey, in: slot.entry.session, atMs: now.monotonicMs)
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
        guard storageHoldUntilMs == nil else { return }
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
        let patience = policy.runPatienceMs
        guard let until = runs.busyUntilMs(queue.session, nowMs: now.monotonicMs, patienceMs: patience) else {
            return false
        }
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
        slots[OutboxEntry.entryID(ofKey: run)]?.hasRunEnded = true
        runs.ended(run, in: session)
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
        retryNow()
        for slot in slots.values where slot.current.state == .unconfirmed { wantScan(slot.entry.id) }
        lookAfterAccepted()
    }

    /// Entries that the gateway acknowledged over an earlier connection, of this process of ours or of the one before.
    private mutating func lookAfterAccepted() {
        let accepted = slots.values.filter { $0.current.state == .accepted }
        for slot in accepted.sorted(by: { $0.entry.ordinal < $1.entry.ordinal }) {
            apply(.linkOpened, to: slot.entry.id)
        }
    }

    /// The same gateway still has it; another one knows only what is on disk.
    private mutating func judge(_ slot: DispatcherSlot) {
        let entry = slot.entry
        guard entry.state == .accepted, let facts = link.facts else { return }
        guard process(of: slot) == .same else {
            if let change = rules.gatewayChanged(entry, now: wall) { write(change, for: entry.id) }
            return
        }
        if facts.protocolVersion <= 3, !slot.hasRunEnded {
            runs.heard(entry.runID ?? entry.upstreamKey, in: entry.session, atMs: now.monotonicMs)
        }
        wantScan(entry.id)
    }

    private func process(of slot: DispatcherSlot) -> GatewayProcess {
        gatewayAge.process(since: slot.entry, dispatchedAtMs: slot.dispatchedAtMs, at: now)
    }

    /// The runs under way are reported anew with the next connection; until then nothing is known of them.
    private mutating func linkLost() {
        runs.removeAll()
        for scan in scans.values { slots[scan.id]?.scan = nil }
        scans.removeAll()
        wantedScans.removeAll()
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

    private mutating func wantScan(_ id: String) {
        guard link.facts != nil, slots[id]?.scan == nil else { return }
        slots[id]?.lookAtMs = nil
        wantedScans.append(id)
    }

    private mutating func look(_ id: String, afterMs wait: Int64?) {
        guard let wait else { return }
        let at = now.monotonicMs + wait
        slots[id]?.lookAtMs = at
        timers.wake(.entry(id), atMs: at)
    }

    /// Looks again at an entry in doubt after a step that settled nothing.
    private mutating func lookAgain(_ id: String) {
        if slots[id]?.entry.state == .unconfirmed { look(id, afterMs: policy.reconcileChecksMs.first) }
    }

    private mutating func startScans() {
        while scans.count < Self.parallelScans, let id = wantedScans.popFirst() { startScan(id) }
    }

    private mutating func startScan(_ id: String) {
        guard link.facts != nil, let slot = slots[id], slot.scan == nil else { return }
        guard slot.pending == nil else { return look(id, afterMs: policy.reconcileChecksMs.first) }
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
        let scan = ScanID(number: nextNumber())
        scans[scan] = (id, entry.upstreamKey)
        slots[id]?.scan = scan
        let since = entry.firstDispatchAt ?? entry.createdAt
        actions.append(.scan(ScanOrder(id: scan, entry: entry, depth: depth, since: since)))
    }

    private mutating func scanned(_ scan: ScanID, _ report: ScanReport) {
        guard let (id, key) = scans.removeValue(forKey: scan), slots[id]?.scan == scan else { return }
        slots[id]?.scan = nil
        if let proof = report.proof {
            apply(.proof(key: key, proof), to: id)
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
            guard link.facts != nil, storageHoldUntilMs == nil, !isOnWire(slot.queue) else {
                look(id, afterMs: policy.reconcileChecksMs.first)
                return
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
        let passed = entry.firstDispatchAt.map { now.wallMs - $0.milliseconds }
        let growth = gatewayAge.growthMs(since: entry, at: now)
        return Reconciliation.Situation(
            mayOnlyBeProven: entry.isSlashCommand || policy.ambiguous == .hold,
            isSameProcess: process(of: slot) == .same,
            // Our clock may have been set back meanwhile, the gateway's age cannot; one that went back proves nothing.
            sinceFirstDispatchMs: passed.map { $0 < 0 ? -1 : max($0, growth ?? 0) } ?? -1,
            // A gateway that had not got it would take it into the new session.
            mayGoOut: entry.attemptCount < policy.maxAttempts && slots[entry.id]?.targetChange == nil
                && entry.expiresAt > wall
        )
    }

    // MARK: Writes

    private mutating func write(
        _ change: OutboxChange,
        for id: String,
        then continuation: DispatcherSlot.Continuation = .nothing
    ) {
        guard slots[id] != nil, slots[id]?.pending == nil else { return }
        let write = PersistID(number: nextNumber())
        let due = change.entry.nextAttemptAt.map { next in
            now.monotonicMs
                + rules.schedule.remaining(
                    until: next.milliseconds,
                    attempts: change.entry.attemptCount,
                    wallMs: now.wallMs
                )
        }
        slots[id]?.pending = DispatcherSlot.Pending(id: write, change: change, then: continuation, dueAtMs: due)
        writes[write] = id
        actions.append(.persist(write, change))
    }

    private mutating func written(_ write: PersistID) {
        guard let id = writes.removeValue(forKey: write), let pending = slots[id]?.pending, pending.id == write else {
            return
        }
        storageFailures = 0
        let before = slots[id]?.entry.state
        slots[id]?.entry = pending.change.entry
        slots[id]?.pending = nil
        follow(pending, id: id, from: before)
        drainDeferred(id)
    }

    private mutating func notWritten(_ write: PersistID, _ failure: PersistFailure) {
        guard let id = writes.removeValue(forKey: write), let pending = slots[id]?.pending, pending.id == write else {
            return
        }
        switch failure {
        case .moved(let current):
            replace(id, with: current, pending)
        case .storage(let problem):
            holdStorage()
            switch pending.then {
            case .dispatch:
                // Never written, never sent: the entry is as before and its turn comes again, or the next look.
                slots[id]?.pending = nil
                onWire.remove(id)
                lookAgain(id)
                drainDeferred(id)
            case .answer(let token):
                slots[id]?.pending = nil
                actions.append(.answer(token, .failure(.storage(problem))))
                drainDeferred(id)
            case .nothing:
                // The outcome is a fact, so its write is repeated until it succeeds.
                slots[id]?.pending?.isStalled = true
                writes[write] = id
                stalledWrites.append(write)
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

    private mutating func holdStorage() {
        let waits = Self.storageWaitsMs
        let until = now.monotonicMs + waits[min(storageFailures, waits.count - 1)]
        storageFailures += 1
        guard (storageHoldUntilMs ?? 0) < until else { return }
        storageHoldUntilMs = until
        timers.wake(.storage, atMs: until)
    }

    private mutating func storageMayWork() {
        storageHoldUntilMs = nil
        let stalled = stalledWrites
        stalledWrites.removeAll()
        for write in stalled {
            guard let id = writes[write], let pending = slots[id]?.pending, pending.id == write else { continue }
            slots[id]?.pending?.isStalled = false
            actions.append(.persist(write, pending.change))
        }
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
            if before != .unconfirmed { wantScan(id) }
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
            case .storage: if (storageHoldUntilMs ?? 0) <= now.monotonicMs { storageMayWork() }
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
        if let look = slot.lookAtMs, look <= now.monotonicMs { wantScan(id) }
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

    private mutating func nextNumber() -> Int64 {
        lastNumber += 1
        return lastNumber
    }

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
