import Basics

/// What concerns one entry: how it comes in, where it stands, and what is asked of it.
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

    mutating func leaveLane(_ slot: DispatcherSlot) {
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
            guard entry.state == .delivered else { return stopAwaitingRun(id) }
            slots[id]?.awaitsRunUntilMs = nil
            write(rules.adopted(entry, run: run, now: wall), for: id)
        case .routeChanged(let detail):
            guard entry.state.isWaiting else {
                slots[id]?.targetChange = detail
                return
            }
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

    mutating func cancel(
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

    mutating func retry(_ entry: OutboxEntry, expectedVersion: Int64?, _ token: CommandToken) {
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

    // MARK: What waited for a write

    mutating func drainDeferred(_ id: String) {
        let inputs = slots[id]?.deferred ?? []
        slots[id]?.deferred.removeAll()
        carryOut(inputs, on: id)
        expireIfDue(id)
    }

    mutating func carryOut(_ inputs: [DispatcherSlot.Deferred], on id: String) {
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
