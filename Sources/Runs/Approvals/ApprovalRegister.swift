package import Basics
package import Gateway

/// The approvals of the gateway by id: those that wait, and those that ended of late. Events, lists and answers go in; each approval
/// comes out twice, when it is asked for and when it ends. No I/O and no clock: times are the gateway's.
///
/// An end is told as it is known. Where nothing shows how it ended, the state is `unknown`.
package struct ApprovalRegister: Sendable {
    private struct Record {
        var approval: Approval
        /// Since it was seen last nothing about it can have been missed.
        var isCertain: Bool
        /// The number of the list that has to show it; what came behind the question need not be in the answer.
        var seen: Int
        /// Our decision that is on its way, or whose answer was lost.
        var sent: Approval.Decision?
        /// Who gave it.
        var sender: String?
        /// The number of the call under way.
        var attempt: Int?
        var hasRunEnded = false
        /// The gateway said that it stops, while nothing had been missed.
        var wasWaitingAtShutdown = false
    }

    /// What a decision comes to before anything is sent.
    package enum Start: Sendable, Equatable {
        case notFound
        case ended(Approval)
        case tooLate(Approval)
        case notOffered([Approval.Decision])
        /// Another one is on its way; its end decides.
        case underWay
        case send(Approval, attempt: Int)
    }

    /// The gateway's answer to a decision.
    package enum Answer: Sendable, Equatable {
        case accepted
        case refused(ApprovalRefusal)
        /// Nothing came of it, and the approval waits as before.
        case nothing
        /// Nobody knows whether it arrived.
        case lost
    }

    private var records: [String: Record] = [:]
    /// Ids of the ended ones, the oldest first.
    private var ended: [String] = []
    private var lists = 0
    private var attempts = 0
    private var isStopping = false

    package init() {}

    // MARK: Reading

    /// The oldest first.
    package var pending: [Approval] {
        records.values.map(\.approval).filter(\.isPending).sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
    }

    package subscript(id: String) -> Approval? { records[id]?.approval }

    /// Those that ended of late.
    package var recent: [Approval] { ended.compactMap { records[$0]?.approval } }

    /// When `tick` has something to do.
    package var nextEnd: Timestamp? {
        records.values.filter { $0.approval.isPending && $0.attempt == nil }.map(\.approval.expiresAt).min()?
            .adding(milliseconds: ApprovalLimits.graceMs)
    }

    // MARK: Asked for

    /// Takes up what an earlier process left waiting. Much may have happened since.
    package mutating func restore(_ approvals: [Approval]) {
        for approval in approvals where approval.isPending && records[approval.id] == nil {
            records[approval.id] = Record(approval: approval, isCertain: false, seen: lists)
        }
    }

    /// The same question may come as an event, in lists, and again.
    package mutating func requested(_ approval: Approval, now: Timestamp) -> [Approval] {
        var news: [Approval] = []
        if let known = records[approval.id] {
            if !approval.differs(from: known.approval) {
                guard known.approval.isPending else { return [] }
                records[approval.id]?.isCertain = true
                records[approval.id]?.seen = lists
                return []
            }
            if known.approval.isPending { news += end(approval.id, .unknown, at: now) }
            ended.removeAll { $0 == approval.id }
        }
        let waiting = pending
        if waiting.count >= ApprovalLimits.pending, let oldest = waiting.first {
            news += end(oldest.id, .unknown, at: now)
        }
        records[approval.id] = Record(approval: approval, isCertain: true, seen: lists)
        return news + [approval]
    }

    // MARK: Decisions of others

    /// - Parameters:
    ///   - name: of the client that decided.
    ///   - own: the name under which Ladle is connected.
    package mutating func resolved(
        _ id: String,
        _ text: String?,
        by name: String?,
        own: String,
        at time: Timestamp
    ) -> [Approval] {
        guard let record = records[id], record.approval.isPending else { return [] }
        guard let decision = text.flatMap({ Approval.Decision(rawValue: $0) }) else {
            let isOver = time >= record.approval.expiresAt.adding(milliseconds: -ApprovalLimits.endingMs)
            return text == nil && isOver ? end(id, .expired, by: "timeout", at: time) : end(id, .unknown, at: time)
        }
        let isOurs = record.sent == decision && (name == nil || name == own)
        return end(
            id,
            decision == .deny ? .denied : .allowed,
            decision,
            by: isOurs ? record.sender : name,
            at: time,
            via: isOurs ? .ladle : .other
        )
    }

    // MARK: Our decisions

    /// - Parameter sender: its name.
    package mutating func decide(
        _ id: String,
        _ decision: Approval.Decision,
        by sender: String,
        now: Timestamp
    ) -> Start {
        guard let record = records[id] else { return .notFound }
        let approval = record.approval
        guard approval.isPending else { return .ended(approval) }
        guard approval.decisions.contains(decision) else { return .notOffered(approval.decisions) }
        if record.attempt != nil { return .underWay }
        let last = approval.expiresAt.adding(milliseconds: -ApprovalLimits.marginMs)
        guard now < last else { return .tooLate(approval) }
        attempts += 1
        records[id]?.sent = decision
        records[id]?.sender = sender
        records[id]?.attempt = attempts
        return .send(approval, attempt: attempts)
    }

    package mutating func answered(_ id: String, attempt: Int, _ answer: Answer, now: Timestamp) -> [Approval] {
        guard let record = records[id], record.attempt == attempt else { return [] }
        records[id]?.attempt = nil
        guard record.approval.isPending, let decision = record.sent else { return [] }
        switch answer {
        case .accepted:
            let state: Approval.State = decision == .deny ? .denied : .allowed
            return end(id, state, decision, by: record.sender, at: now, via: .ladle)
        case .refused(.gone):
            let isOver = now >= record.approval.expiresAt.adding(milliseconds: -ApprovalLimits.endingMs)
            return isOver && record.isCertain
                ? end(id, .expired, by: "timeout", at: now) : end(id, .unknown, at: now)
        case .refused(.resolved): return end(id, .unknown, at: now)
        case .refused(.runAborted): return end(id, .cancelled, at: now)
        case .refused(.alwaysUnavailable):
            records[id]?.approval.decisions.removeAll { $0 == .allowAlways }
            records[id]?.sent = nil
        case .nothing: if record.isCertain { records[id]?.sent = nil }
        case .lost: records[id]?.isCertain = false
        }
        return []
    }

    // MARK: The link

    /// From here on decisions of others can be missed.
    package mutating func mayHaveMissed() {
        for id in records.keys where records[id]?.approval.isPending == true { records[id]?.isCertain = false }
    }

    /// The gateway says that it stops. What waits then ends with its process.
    package mutating func gatewayStops() {
        for (id, record) in records { records[id]?.wasWaitingAtShutdown = record.isCertain }
        isStopping = true
    }

    /// - Parameter isSameProcess: as before; nil where that cannot be known.
    /// - Parameter hasList: the gateway can be asked what waits.
    package mutating func linkOpened(isSameProcess: Bool?, hasList: Bool, now: Timestamp) -> [Approval] {
        defer { isStopping = false }
        if isSameProcess != false || !isStopping {
            for id in records.keys { records[id]?.wasWaitingAtShutdown = false }
        }
        guard isSameProcess == false, !hasList else { return [] }
        // They were in that process's memory.
        return pending.flatMap { end($0.id, stateOfMissing($0.id), at: now) }
    }

    /// The number to give with the answer of a list that is asked for now.
    package mutating func askList() -> Int {
        lists += 1
        return lists
    }

    /// What waits on the gateway. An approval that is not listed does not wait any more.
    package mutating func listed(
        _ approvals: [Approval],
        of kind: Approval.Kind,
        asked number: Int,
        now: Timestamp
    ) -> [Approval] {
        var news: [Approval] = []
        let shown = Set(approvals.map(\.id))
        for approval in pending where approval.kind == kind && !shown.contains(approval.id) {
            guard let record = records[approval.id], record.seen < number, record.attempt == nil else { continue }
            news += end(approval.id, stateOfMissing(approval.id), at: now)
        }
        for approval in approvals {
            news += requested(approval, now: now)
            // It still waits, so a decision whose answer was lost did not arrive.
            if records[approval.id]?.attempt == nil { records[approval.id]?.sent = nil }
        }
        return news
    }

    private func stateOfMissing(_ id: String) -> Approval.State {
        guard let record = records[id], record.sent == nil else { return .unknown }
        return record.wasWaitingAtShutdown || (record.hasRunEnded && record.isCertain) ? .cancelled : .unknown
    }

    /// True where one of its approvals still waits: the list tells whether the gateway keeps it.
    package mutating func runEnded(_ run: String) -> Bool {
        var isAffected = false
        for (id, record) in records where record.approval.isPending && record.approval.runID == run {
            records[id]?.hasRunEnded = true
            isAffected = true
        }
        return isAffected
    }

    // MARK: Time

    package mutating func tick(now: Timestamp) -> [Approval] {
        pending.flatMap { approval -> [Approval] in
            guard let record = records[approval.id], record.attempt == nil,
                now >= approval.expiresAt.adding(milliseconds: ApprovalLimits.graceMs)
            else { return [] }
            return record.isCertain && record.sent == nil
                ? end(approval.id, .expired, by: "timeout", at: approval.expiresAt)
                : end(approval.id, .unknown, at: now)
        }
    }

    // MARK: Ends

    private mutating func end(
        _ id: String,
        _ state: Approval.State,
        _ decision: Approval.Decision? = nil,
        by name: String? = nil,
        at time: Timestamp,
        via: Approval.Via? = nil
    ) -> [Approval] {
        guard var record = records[id], record.approval.isPending else { return [] }
        record.approval.end(state, decision, by: name, at: time, via: via)
        records[id] = record
        ended.append(id)
        if ended.count > ApprovalLimits.ended { records[ended.removeFirst()] = nil }
        return [record.approval]
    }
}
