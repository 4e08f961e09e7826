package import Basics
package import Gateway

/// The gateway's waiting approvals, and the approvals that ended recently.
package typealias ApprovalRegister = WaitingRegister<Approval>

extension WaitingRegister<Approval> {
    /// - Parameters:
    ///   - name: the client that decided.
    ///   - own: the name under which Ladle is connected.
    package mutating func resolved(
        _ id: String,
        _ text: String?,
        by name: String?,
        own: String,
        at time: Timestamp
    ) -> [Approval] {
        guard let record = record(id), record.item.isPending else { return [] }
        guard let decision = text.flatMap({ Approval.Decision(rawValue: $0) }) else {
            let isOver = text == nil && record.item.isEnding(at: time)
            return isOver ? end(id, .expired, by: "timeout", at: time) : end(id, .unknown, at: time)
        }
        let sent = record.lost + [record.attempt].compactMap(\.self)
        let sender = sent.last { $0.choice == decision }?.sender
        let isOurs = sender != nil && (name == nil || name == own)
        return end(
            id,
            decision == .deny ? .denied : .allowed,
            decision,
            by: isOurs ? sender : name,
            at: time,
            via: isOurs ? .ladle : .other
        )
    }

    package mutating func answered(_ id: String, attempt: Int, _ answer: Answer, now: Timestamp) -> [Approval] {
        guard let (sent, record) = take(attempt: attempt, of: id) else { return [] }
        switch answer {
        case .accepted:
            let state: Approval.State = sent.choice == .deny ? .denied : .allowed
            return end(id, state, sent.choice, by: sent.sender, at: now, via: .ladle)
        case .refused(.gone):
            return record.endsWithItsTime && record.item.isEnding(at: now)
                ? end(id, .expired, by: "timeout", at: now) : end(id, .unknown, at: now)
        case .refused(.resolved): return end(id, .unknown, at: now)
        case .refused(.runAborted): return end(id, .cancelled, at: now)
        case .refused(.alwaysUnavailable): change(id) { $0.decisions.removeAll { $0 == .allowAlways } }
        case .nothing: break
        case .lost: lost(record.lost.filter { $0.choice != sent.choice } + [sent], of: id)
        }
        return []
    }

    /// The gateway was asked about an approval and remembers how it ended.
    package mutating func settled(_ id: String, _ snapshot: ApprovalSnapshot, now: Timestamp) -> [Approval] {
        let time = snapshot.endedAt ?? now
        let decision = snapshot.decision.flatMap { Approval.Decision(rawValue: $0) }
        switch snapshot.status {
        case .allowed where decision != .deny: return end(id, .allowed, decision, at: time)
        case .denied: return end(id, .denied, .deny, at: time)
        case .expired: return end(id, .expired, by: "timeout", at: time)
        case .cancelled: return end(id, .cancelled, at: time)
        case .pending, .allowed, nil: return []
        }
    }

    /// Ends approvals whose time is over.
    /// - Parameter listed: the kinds of approvals for which the gateway can be asked for a list now.
    package mutating func tick(now: Timestamp, listed: Set<Approval.Kind> = []) -> [Approval] {
        endOverdue(now: now) { listed.contains($0.kind) }
    }
}
