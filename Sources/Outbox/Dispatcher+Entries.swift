import Basics

/// Entries: what concerns one, its writes, and what follows when a write is on disk.
extension Dispatcher {
    // MARK: Admission

    mutating func admit(_ entry: OutboxEntry) {
        guard slots[entry.id] == nil, !entry.state.isFinal else { return }
        slots[entry.id] = DispatcherSlot(entry: entry)
        calendar.insert(entry.id, at: entry.expiresAt.milliseconds)
        guard entry.kind.isKnown || entry.state.isTerminal else {
            write(rules.failedWithout(attempt: entry, now: wall, fault: .unsupported(entry.kind)), for: entry.id)
            return
        }
        supersede(by: entry)
        enterLane(entry.id)
        if entry.state == .unconfirmed { wantScan(entry.id) }
    }

    /// Only the newest of several waiting changes of one field is worth sending.
    private mutating func supersede(by entry: OutboxEntry) {
        guard let key = entry.coalescingKey, entry.state == .queued else { return }
        let lane = LaneKey(session: entry.session, isControl: entry.kind.usesControlLane)
        for place in lanes[lane]?.places ?? [] where place.ordinal < entry.ordinal {
            guard let older = slots[place.id], older.pending == nil, older.entry.state.isWaiting,
                older.entry.coalescingKey == key
            else { continue }
            write(rules.superseded(older.entry, now: wall), for: place.id)
        }
    }

    /// Puts an entry into its lane, or into the calendar until its `notBefore`. It then stands where its order of
    /// acceptance puts it: an entry for tomorrow does not hold up today's.
    mutating func enterLane(_ id: String) {
        guard let slot = slots[id], !slot.current.state.isTerminal else { return }
        if slot.current.state == .queued, let start = slot.entry.notBefore, start.milliseconds > now.wallMs {
            calendar.insert(id, at: start.milliseconds)
            return
        }
        lanes[slot.lane, default: LaneQueue()].insert(id, ordinal: slot.entry.ordinal)
        readyLanes.append(slot.lane)
    }

    private mutating func leaveLane(_ slot: DispatcherSlot) {
        lanes[slot.lane]?.remove(ordinal: slot.entry.ordinal)
        if lanes[slot.lane]?.isEmpty == true { lanes[slot.lane] = nil }
        readyLanes.append(slot.lane)
    }

    // MARK: Inputs about one entry

    /// Carries out an input about an entry, now or when the write under way is done.
    mutating func apply(_ input: DispatcherSlot.Deferred, to id: String) {
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
        case .proof(let proof):
            guard let change = rules.proven(entry, by: proof, now: wall) else { return }
            leaveWire(id)
            slots[id]?.attempt = nil
            write(change, for: id)
        case .adopt(let run):
            slots[id]?.awaitsRunUntilMs = nil
            write(rules.adopted(entry, run: run, now: wall), for: id)
        case .routeChanged(let detail):
            guard entry.state.isWaiting else { return }
            write(rules.targetChanged(entry, now: wall, detail: detail), for: id)
        case .linkLost:
            guard entry.state == .accepted else { return }
            let fault = OutboxFault.noAnswer("the link was lost before its arrival was shown")
            write(rules.unconfirmed(entry, now: wall, fault: fault, attempted: false), for: id)
        case .cancel(let force, let version, let token):
            cancel(entry, force: force, expectedVersion: version, token)
        case .retry(let version, let token):
            retry(entry, expectedVersion: version, token)
        }
    }

    mutating func outcomeCame(_ attempt: AttemptID, _ outcome: AttemptOutcome) {
        if slots[attempt.entry]?.attempt == attempt { leaveWire(attempt.entry) }
        apply(.outcome(attempt, outcome), to: attempt.entry)
    }

    private mutating func settle(_ slot: DispatcherSlot, _ attempt: AttemptID, _ outcome: AttemptOutcome) {
        let entry = slot.entry
        if slot.attempt == attempt, entry.state == .sending {
            slots[entry.id]?.attempt = nil
            slots[entry.id]?.isKicked = false
            noteRun(slot, outcome)
            let change = rules.settle(entry, outcome, now: wall, wasKicked: slot.isKicked, vary: vary())
            write(change, for: entry.id)
            return
        }
        // A late answer: too late to end the attempt, but an acknowledgement still says that the gateway has it.
        guard case .acknowledged = outcome, attempt.key == entry.upstreamKey, entry.state == .unconfirmed,
            let change = rules.proven(entry, by: .gatewayReceipt, now: wall)
        else { return }
        write(change, for: entry.id)
    }

    /// From the acknowledgement on the session has a run, also while that is still on its way to disk.
    private mutating func noteRun(_ slot: DispatcherSlot, _ outcome: AttemptOutcome) {
        guard case .acknowledged(let answer) = outcome, answer.status != .finished, slot.entry.kind.startsRun,
            !slot.hasRunEnded
        else { return }
        runs[slot.entry.session, default: [:]][answer.runID ?? slot.entry.upstreamKey] = now.monotonicMs
    }

    private mutating func cancel(
        _ entry: OutboxEntry,
        force: Bool,
        expectedVersion: Int64?,
        _ token: CommandToken
    ) {
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
            let change = try rules.retry(
                entry,
                expectedVersion: expectedVersion,
                gatewayIdentity: link.facts?.identity,
                now: wall
            )
            write(change, for: entry.id, then: .answer(token))
        } catch {
            actions.append(.answer(token, .failure(error)))
        }
    }

    // MARK: Writes

    mutating func write(
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

    mutating func written(_ write: PersistID) {
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

    mutating func notWritten(_ write: PersistID, _ failure: PersistFailure) {
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
                // Never written, never sent: the entry is as before and its turn comes again.
                slots[id]?.pending = nil
                leaveWire(id)
                drainDeferred(id)
            case .answer(let token):
                slots[id]?.pending = nil
                actions.append(.answer(token, .failure(.storage(problem))))
                drainDeferred(id)
            case .nothing:
                // What happened has happened; it is handed in until the disk takes it.
                slots[id]?.pending?.isStalled = true
                writes[write] = id
                stalledWrites.append(write)
                refuseCommands(id, .storage(problem))
            }
        }
    }

    /// Someone else wrote the row. Its state on disk is the truth.
    private mutating func replace(_ id: String, with current: OutboxEntry?, _ pending: DispatcherSlot.Pending) {
        if case .answer(let token) = pending.then {
            let refusal = current.map { OutboxRefusal.staleVersion(current: $0.version) } ?? .notFound
            actions.append(.answer(token, .failure(refusal)))
        }
        leaveWire(id)
        let former = slots.removeValue(forKey: id)
        if let former { leaveLane(former) }
        if let current { admit(current) }
        carryOut(former?.deferred ?? [], on: id)
    }

    private mutating func holdStorage() {
        let waits = Self.storageWaitsMs
        let wait = waits[min(storageFailures, waits.count - 1)]
        storageFailures += 1
        let until = now.monotonicMs + wait
        guard (storageHoldUntilMs ?? 0) < until else { return }
        storageHoldUntilMs = until
        wakes.insert(.storage, at: until)
    }

    mutating func storageMayWork() {
        storageHoldUntilMs = nil
        let stalled = stalledWrites
        stalledWrites.removeAll()
        for write in stalled {
            guard let id = writes[write], let pending = slots[id]?.pending, pending.id == write else { continue }
            slots[id]?.pending?.isStalled = false
            actions.append(.persist(write, pending.change))
        }
        for lane in lanes.keys.sorted() { readyLanes.append(lane) }
    }

    // MARK: What follows a write

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
            if let due = pending.dueAtMs { wait(id, until: due) }
            enterLane(id)
            if before?.isTerminal == true { calendar.insert(id, at: entry.expiresAt.milliseconds) }
        case .accepted:
            slots[id]?.proofChecks = 0
            look(id, afterMs: policy.proofChecksMs.first)
        case .unconfirmed:
            enterLane(id)
            if before != .unconfirmed { wantScan(id) }
        case .delivered, .cancelled:
            leaveLane(slot)
            if slot.awaitsRunUntilMs == nil { retire(id) }
        case .failed, .expired:
            leaveLane(slot)
        }
        readyLanes.append(slot.lane)
    }

    /// Final, and no longer in our care: what was asked of it meanwhile is answered by what it has become.
    private mutating func retire(_ id: String) {
        guard let slot = slots.removeValue(forKey: id) else { return }
        for input in slot.deferred {
            switch input {
            case .cancel(let force, let version, let token):
                cancel(slot.entry, force: force, expectedVersion: version, token)
            case .retry(let version, let token): retry(slot.entry, expectedVersion: version, token)
            case .outcome, .proof, .adopt, .routeChanged, .linkLost: continue
            }
        }
    }

    /// Whoever asks for something is told now; only what has happened waits for the disk.
    private mutating func refuseCommands(_ id: String, _ refusal: OutboxRefusal) {
        let tokens = slots[id]?.deferred.compactMap(\.token) ?? []
        slots[id]?.deferred.removeAll { $0.token != nil }
        for token in tokens { actions.append(.answer(token, .failure(refusal))) }
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

    mutating func expireIfDue(_ id: String) {
        guard let slot = slots[id], slot.pending == nil, slot.entry.expiresAt.milliseconds <= now.wallMs else { return }
        switch slot.entry.state {
        case .queued, .retrying, .unconfirmed, .accepted:
            write(rules.expired(slot.entry, now: wall), for: id)
        case .sending, .delivered, .failed, .cancelled, .expired:
            return
        }
    }

    mutating func wait(_ id: String, until dueMs: Int64) {
        slots[id]?.dueAtMs = dueMs
        wakes.insert(.entry(id), at: dueMs)
    }

    mutating func leaveWire(_ id: String) {
        onWire.remove(id)
    }
}

extension DispatcherSlot.Deferred {
    var token: CommandToken? {
        switch self {
        case .cancel(_, _, let token), .retry(_, let token): token
        default: nil
        }
    }
}
