import Basics

/// Entries that may have arrived: looking, repeating, deciding.
extension Dispatcher {
    mutating func wantScan(_ id: String) {
        guard link.facts != nil, slots[id]?.scan == nil else { return }
        slots[id]?.lookAtMs = nil
        wantedScans.append(id)
    }

    mutating func look(_ id: String, afterMs wait: Int64?) {
        guard let wait else { return }
        let at = now.monotonicMs + wait
        slots[id]?.lookAtMs = at
        wakes.insert(.entry(id), at: at)
    }

    /// Nothing is under way that would clear the doubt about it.
    mutating func lookAgain(_ id: String) {
        if slots[id]?.entry.state == .unconfirmed { look(id, afterMs: policy.reconcileChecksMs.first) }
    }

    mutating func startScans() {
        while scans.count < Self.parallelScans, let id = wantedScans.popFirst() {
            startScan(id)
        }
    }

    private mutating func startScan(_ id: String) {
        guard link.facts != nil, let slot = slots[id], slot.scan == nil else { return }
        guard slot.pending == nil else {
            look(id, afterMs: policy.reconcileChecksMs.first)
            return
        }
        switch slot.entry.state {
        case .unconfirmed:
            guard !isForAnotherGateway(slot.entry) else { return }
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
        scans[scan] = id
        slots[id]?.scan = scan
        let since = entry.firstDispatchAt ?? entry.createdAt
        actions.append(.scan(ScanOrder(id: scan, entry: entry, depth: depth, since: since)))
    }

    mutating func scanned(_ scan: ScanID, _ report: ScanReport) {
        guard let id = scans.removeValue(forKey: scan), slots[id]?.scan == scan else { return }
        slots[id]?.scan = nil
        if let proof = report.proof {
            apply(.proof(proof), to: id)
            return
        }
        guard let slot = slots[id] else { return }
        // What is being written may not get there.
        guard slot.pending == nil else { return lookAgain(id) }
        switch slot.entry.state {
        case .unconfirmed:
            var reconciliation = slot.reconciliation
            let ask = reconciliation.received(report, situation(of: slot.entry), policy: policy)
            slots[id]?.reconciliation = reconciliation
            follow(ask, id: id)
        case .accepted:
            // The gateway has acknowledged it and is still the same; its row may come late. Look again, less often.
            let checks = slot.proofChecks + 1
            slots[id]?.proofChecks = checks
            look(
                id,
                afterMs: policy.proofChecksMs.isEmpty
                    ? nil
                    : policy.proofChecksMs[
                        min(checks, policy.proofChecksMs.count - 1)
                    ]
            )
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
            guard let facts = link.facts, storageHoldUntilMs == nil, !isOnWire(slot.lane) else {
                look(id, afterMs: policy.reconcileChecksMs.first)
                return
            }
            onWire.insert(id)
            send(slot.entry, facts, isRepeat: true)
        case .settleAbsent:
            let change =
                slot.targetChange.map { rules.targetChanged(slot.entry, now: wall, detail: $0) }
                ?? rules.absent(slot.entry, now: wall, vary: vary())
            write(change, for: id)
        case .lookAgain(let wait):
            look(id, afterMs: wait)
        }
    }

    private func situation(of entry: OutboxEntry) -> Reconciliation.Situation {
        let since = entry.firstDispatchAt.map { now.wallMs - $0.milliseconds }
        let grown = gatewayGrowth(since: entry)
        return Reconciliation.Situation(
            mayOnlyBeProven: entry.isSlashCommand || policy.ambiguous == .hold,
            isSameProcess: isSameProcess(grownMs: grown, sinceMs: since),
            // Our clock may have been set back meanwhile, the gateway's age cannot; one that went back proves nothing.
            sinceFirstDispatchMs: since.map { $0 < 0 ? -1 : max($0, grown ?? 0) } ?? -1,
            // A gateway that had not got it would take it into the new session.
            hasAttemptsLeft: entry.attemptCount < policy.maxAttempts && slots[entry.id]?.targetChange == nil
        )
    }

    /// The reported uptimes may be off by what their frames took; a gateway does not start twice in this time.
    private static let uptimeToleranceMs: Int64 = 2_000

    /// By how much the gateway's uptime is larger than at the first dispatch.
    private func gatewayGrowth(since entry: OutboxEntry) -> Int64? {
        guard let facts = link.facts, let then = entry.dispatchUptimeMs else { return nil }
        return gatewayUptimeMs(facts).map { $0 - then }
    }

    /// The gateway has run on since the first dispatch: its uptime grew by the time that passed.
    private func isSameProcess(grownMs: Int64?, sinceMs: Int64?) -> Bool {
        guard let grownMs, let sinceMs, sinceMs >= 0 else { return false }
        return grownMs >= 0 && grownMs >= sinceMs - Self.uptimeToleranceMs
    }

    private func isForAnotherGateway(_ entry: OutboxEntry) -> Bool {
        guard let meant = entry.gatewayIdentity, let found = link.facts?.identity else { return false }
        return meant != found
    }
}
