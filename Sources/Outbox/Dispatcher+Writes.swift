import Basics

/// Changes on their way to disk, and what follows when one is there or could not get there.
extension Dispatcher {
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
                // Never written, never sent: the entry is as before and its turn comes again, or the next look.
                slots[id]?.pending = nil
                leaveWire(id)
                lookAgain(id)
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
            if entry.state == .queued { slots[id]?.targetChange = nil }
            if let detail = slots[id]?.targetChange { return apply(.routeChanged(detail: detail), to: id) }
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
}
