import Basics

/// Whose turn it is: first in, first out in a session, one on the wire, sessions beside each other up to the cap.
extension Dispatcher {
    mutating func pump() {
        while let lane = nextLane() {
            advance(lane)
        }
        startScans()
    }

    private mutating func nextLane() -> LaneKey? {
        if let lane = readyLanes.popFirst() { return lane }
        return onWire.count < policy.parallelSessions ? lanesAtCap.popFirst() : nil
    }

    private mutating func advance(_ lane: LaneKey) {
        guard let id = candidate(in: lane), let slot = slots[id] else { return }
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
    private func candidate(in lane: LaneKey) -> String? {
        // Also one behind it: an entry whose `notBefore` has come or that a person sends again stands before it.
        guard !isOnWire(lane) else { return nil }
        for place in lanes[lane]?.places ?? [] {
            guard let slot = slots[place.id] else { continue }
            switch slot.current.state {
            case .queued, .retrying:
                return slot.pending == nil ? place.id : nil
            case .accepted:
                if policy.ordering == .strict { return nil }
            case .sending, .unconfirmed:
                return nil
            case .delivered, .failed, .cancelled, .expired:
                // On its way to disk; once there it leaves the lane. Until then its place is not passed.
                if slot.pending != nil { return nil }
            }
        }
        return nil
    }

    func isOnWire(_ lane: LaneKey) -> Bool { onWire.contains { slots[$0]?.lane == lane } }

    private mutating func dispatch(_ slot: DispatcherSlot, _ facts: LinkFacts) {
        let entry = slot.entry
        if let meant = entry.gatewayIdentity, let found = facts.identity, meant != found {
            let detail = "accepted for gateway \(meant), the link is to \(found)"
            write(rules.targetChanged(entry, now: wall, detail: detail), for: entry.id)
            return
        }
        if !slot.lane.isControl {
            guard !mustWaitForRun(entry.session, facts) else { return }
            guard onWire.count < policy.parallelSessions else {
                lanesAtCap.append(slot.lane)
                return
            }
            onWire.insert(entry.id)
        }
        send(entry, facts, isRepeat: false)
    }

    /// The write of `sending`; the dispatch follows from it.
    mutating func send(_ entry: OutboxEntry, _ facts: LinkFacts, isRepeat: Bool) {
        slots[entry.id]?.hasRunEnded = false
        let change = rules.dispatching(
            entry,
            now: wall,
            uptimeMs: gatewayUptimeMs(facts),
            gatewayIdentity: facts.identity
        )
        write(change, for: entry.id, then: .dispatch(isRepeat: isRepeat))
    }

    /// What the gateway's uptime is at this moment.
    func gatewayUptimeMs(_ facts: LinkFacts) -> Int64? {
        facts.uptimeMs.map { $0 + (now.monotonicMs - linkSinceMs) }
    }

    /// Protocol 3 answers a send into a busy session under a run of its own; so the session's run ends first.
    private mutating func mustWaitForRun(_ session: String, _ facts: LinkFacts) -> Bool {
        guard facts.protocolVersion <= 3, let active = runs[session], !active.isEmpty else { return false }
        let live = active.filter { now.monotonicMs - $0.value < policy.runPatienceMs }
        runs[session] = live.isEmpty ? nil : live
        guard let oldest = live.values.min() else { return false }
        // An end that never comes must not hold the session for ever.
        wakes.insert(.lane(LaneKey(session: session, isControl: false)), at: oldest + policy.runPatienceMs)
        return true
    }

    // MARK: Runs

    mutating func runChanged(session: String, run: String, phase: RunPhase) {
        let owner = OutboxEntry.entryID(ofKey: run)
        switch phase {
        case .active:
            runs[session, default: [:]][run] = now.monotonicMs
        case .ended:
            endRun(session: session, run: run)
            stopAwaitingRun(owner)
        case .deferred:
            runs[session, default: [:]][run] = now.monotonicMs
            awaitRun(owner)
        case .continued(let answer):
            runs[session, default: [:]][answer] = now.monotonicMs
            endRun(session: session, run: run)
        }
        apply(.proof(.runEvent), to: owner)
        if case .continued(let answer) = phase { apply(.adopt(run: answer), to: owner) }
    }

    /// It is kept although it is delivered: its row takes the id of the run that answers it.
    private mutating func awaitRun(_ id: String) {
        guard let slot = slots[id] else { return }
        let until = now.monotonicMs + policy.runPatienceMs
        slots[id]?.awaitsRunUntilMs = until
        // It is told again and again; the wake that is there finds the later time.
        if slot.awaitsRunUntilMs == nil { wakes.insert(.entry(id), at: until) }
    }

    mutating func stopAwaitingRun(_ id: String) {
        guard let slot = slots[id], slot.awaitsRunUntilMs != nil else { return }
        slots[id]?.awaitsRunUntilMs = nil
        if slot.pending == nil, slot.entry.state.isFinal { slots[id] = nil }
    }

    private mutating func endRun(session: String, run: String) {
        slots[OutboxEntry.entryID(ofKey: run)]?.hasRunEnded = true
        runs[session]?[run] = nil
        if runs[session]?.isEmpty == true { runs[session] = nil }
        readyLanes.append(LaneKey(session: session, isControl: false))
    }

    // MARK: The link

    mutating func linkChanged(to condition: LinkCondition) {
        let wasOnline = link.facts != nil
        linkIs(condition)
        if wasOnline { linkLost() }
        for lane in lanes.keys.sorted() { readyLanes.append(lane) }
        guard condition.facts != nil else { return }
        kickLanes()
        for slot in slots.values where slot.current.state == .unconfirmed { wantScan(slot.entry.id) }
    }

    /// What is alive is told before the next connection is; what was known of it is void.
    private mutating func linkLost() {
        runs.removeAll()
        for id in scans.values { slots[id]?.scan = nil }
        scans.removeAll()
        wantedScans.removeAll()
        lanesAtCap.removeAll()
        for slot in slots.values where slot.isKicked && slot.nextDueMs == nil && slot.current.state == .retrying {
            restoreWait(slot)
        }
        let accepted = slots.values.filter { $0.current.state == .accepted }
        for slot in accepted.sorted(by: { $0.entry.ordinal < $1.entry.ordinal }) {
            apply(.linkLost, to: slot.entry.id)
        }
    }

    /// The link went again before a kicked attempt got its turn: the old wait counts.
    private mutating func restoreWait(_ slot: DispatcherSlot) {
        let entry = slot.current
        guard let due = entry.nextAttemptAt?.milliseconds else { return }
        let rest = rules.schedule.remaining(until: due, attempts: entry.attemptCount, wallMs: now.wallMs)
        slots[entry.id]?.isKicked = false
        slots[entry.id]?.pending?.dueAtMs = now.monotonicMs + rest
        if slot.pending == nil { wait(entry.id, until: now.monotonicMs + rest) }
    }

    mutating func kickLanes() {
        for lane in lanes.keys { kick(lane) }
    }

    /// The head of a lane that waits only because there was no link is due now. The attempt that follows is not counted
    /// if it cannot be written either.
    private mutating func kick(_ lane: LaneKey) {
        for place in lanes[lane]?.places ?? [] {
            guard let slot = slots[place.id], slot.current.state != .accepted else { continue }
            let entry = slot.current
            guard entry.state == .retrying, entry.lastClass == .notDispatched,
                slot.pending?.then ?? .nothing == .nothing, let due = slot.nextDueMs, due > now.monotonicMs
            else { return }
            slots[place.id]?.dueAtMs = nil
            slots[place.id]?.pending?.dueAtMs = nil
            slots[place.id]?.isKicked = true
            return
        }
    }
}
