import Basics

/// One timer for everything: ten thousand waiting entries cost a heap entry each and no wake-ups.
extension Dispatcher {
    mutating func takeDue() {
        while let wake = wakes.popDue(now.monotonicMs) {
            switch wake {
            case .entry(let id): entryIsDue(id)
            case .lane(let lane): readyLanes.append(lane)
            case .storage: if (storageHoldUntilMs ?? 0) <= now.monotonicMs { storageMayWork() }
            }
        }
        while let id = calendar.popDue(now.wallMs) {
            if slots[id]?.entry.state == .queued { enterLane(id) }
            expireIfDue(id)
        }
        trimHeaps()
    }

    private mutating func entryIsDue(_ id: String) {
        guard let slot = slots[id] else { return }
        if let due = slot.dueAtMs, due <= now.monotonicMs { readyLanes.append(slot.lane) }
        if let until = slot.awaitsRunUntilMs {
            if until <= now.monotonicMs { stopAwaitingRun(id) } else { wakes.insert(.entry(id), at: until) }
        }
        if let look = slot.lookAtMs, look <= now.monotonicMs { wantScan(id) }
    }

    /// Deadlines of entries that ended long before them would pile up for two days.
    private mutating func trimHeaps() {
        let most = 1_024 + 4 * slots.count
        if calendar.count > most {
            calendar.keep { slots[$0] != nil }
        }
        if wakes.count > most {
            wakes.keep { wake in
                if case .entry(let id) = wake {
                    slots[id].map { $0.dueAtMs != nil || $0.lookAtMs != nil || $0.awaitsRunUntilMs != nil } ?? false
                } else {
                    true
                }
            }
        }
    }

    mutating func rearm() {
        var next = wakes.next
        if let date = calendar.next {
            let rest = min(max(0, date - now.wallMs), Self.calendarLookMs)
            next = min(next ?? Int64.max, now.monotonicMs + rest)
        }
        // A timer that is a little early for the calendar is left as it is, rather than set anew with every input.
        if let armed = armedAtMs, let wanted = next, armed <= wanted, armed > now.monotonicMs { return }
        guard next != armedAtMs else { return }
        armedAtMs = next
        actions.append(.arm(atMs: next))
    }
}
