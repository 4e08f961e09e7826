package import Basics
package import Gateway

/// The gateway's waiting questions, and the questions that ended recently.
package typealias QuestionRegister = WaitingRegister<Question>

extension WaitingRegister<Question> {
    /// - Parameter own: the name under which Ladle is connected.
    package mutating func resolved(_ event: QuestionEvent, own: String, now: Timestamp) -> [Question] {
        guard let id = event.id, let record = record(id), record.item.isPending else { return [] }
        let time = event.time ?? now
        let reported = QuestionAnswer(reported: event.answers, to: record.item)
        let isOwnName = event.resolvedBy == own
        let other: Approval.Via? = event.resolvedBy == nil ? nil : .other
        let sent = [record.attempt].compactMap(\.self) + record.lost
        switch event.status {
        case "expired": return end(id, .expired, by: "timeout", at: time)
        case "cancelled":
            let ours = sent.first { $0.choice.parts == nil && (isOwnName || event.resolvedBy == nil) }
            let name = ours?.sender ?? event.resolvedBy
            return end(id, .cancelled, .cancel, by: name, at: time, via: ours == nil ? other : .ladle)
        case nil where reported == nil && record.attempt == nil: return end(id, .unknown, at: time)
        default: break
        }
        let answers = sent.filter { $0.choice.parts != nil }
        var ours = answers.first { $0.choice.mark == reported?.mark && (isOwnName || event.resolvedBy == nil) }
        // The gateway may leave the answer out, or mask a secret.
        let isVeiled = reported == nil || record.item.parts.contains(where: \.isSecret)
        if ours == nil, isOwnName, isVeiled { ours = answers.first }
        if let ours { return end(id, .answered, ours.choice, by: ours.sender, at: time, via: .ladle) }
        // The reply to our own answer will say more.
        if event.resolvedBy == nil, isVeiled, record.attempt != nil { return [] }
        return end(id, .answered, reported, by: event.resolvedBy, at: time, via: other)
    }

    package mutating func answered(_ id: String, attempt: Int, _ answer: Answer, now: Timestamp) -> [Question] {
        guard let (sent, _) = take(attempt: attempt, of: id) else { return [] }
        switch answer {
        case .accepted:
            let state: Question.State = sent.choice.parts == nil ? .cancelled : .answered
            return end(id, state, sent.choice, by: sent.sender, at: now, via: .ladle)
        case .refused(.gone): return endMissing(id, at: now)
        case .refused(.resolved): return end(id, .unknown, at: now)
        case .nothing, .refused(.otherForm): break
        // A secret stays in memory no longer than necessary.
        case .lost: lost([sent], of: id)
        }
        return []
    }

    /// Ends questions whose time is over.
    /// - Parameter canList: whether the gateway can be asked now.
    package mutating func tick(now: Timestamp, canList: Bool) -> [Question] {
        endOverdue(now: now) { _ in canList }
    }
}
