package import Basics
package import Gateway

/// The gateway's waiting approvals, and the approvals that ended recently, by id. Events, lists and answers go in. Each approval
/// comes out twice, when it is asked for and when it ends. The register does no I/O and has no clock: times are the gateway's.
///
/// If nothing shows how an approval ended, its state is `unknown`.
package struct ApprovalRegister: Sendable {
    private struct Record {
        var approval: Approval
        /// Ladle cannot have missed anything about the approval since it was last reported.
        var isCertain: Bool
        /// The number of the last list that was asked for before the approval was reported. Later lists have to show it.
        var seen: Int
        /// Our decision that has no answer yet.
        var attempt: Attempt?
        /// The senders of decisions that got no answer, by decision. One of these decisions may have arrived.
        var lost: [Approval.Decision: String] = [:]
        /// How many lists had been asked for when the last decision was lost.
        var lostAt = 0
        /// How many lists had been asked for when the approval's run ended.
        var runEndedAt: Int?
        /// The approval was certainly waiting when the gateway announced its stop.
        var wasWaitingAtShutdown = false
        /// When to look whether the approval's time is over.
        var lookAt: Timestamp
        /// A list was asked for because the approval's time should be over.
        var isAsked = false
        /// A list showed the approval after its time.
        var waitsLonger = false

        init(_ approval: Approval, isCertain: Bool, seen: Int) {
            self.approval = approval
            self.isCertain = isCertain
            self.seen = seen
            lookAt = approval.expiresAt.adding(milliseconds: ApprovalLimits.graceMs)
        }

        /// The gateway reports again that the approval waits.
        mutating func waitsStill(_ again: Approval, in list: Int, now: Timestamp) {
            isCertain = true
            seen = list
            if again.isEndReported || approval.expiresAt <= now { approval.expiresAt = again.expiresAt }
            approval.isEndReported = again.isEndReported
            isAsked = false
            lookAt = approval.expiresAt.adding(milliseconds: ApprovalLimits.graceMs)
            guard lookAt <= now else { return }
            waitsLonger = true
            lookAt = now.adding(milliseconds: ApprovalLimits.againMs)
        }

        /// If the approval has ended, its time was over: Ladle missed no decision of others, and lost none of its own.
        var endsWithItsTime: Bool { isCertain && approval.isEndReported && lost.isEmpty && !waitsLonger }
    }

    private struct Attempt {
        let number: Int
        let decision: Approval.Decision
        let sender: String
    }

    /// The result of a decision before anything is sent.
    package enum Start: Sendable, Equatable {
        case notFound
        case ended(Approval)
        case tooLate(Approval)
        case notOffered([Approval.Decision])
        /// Another decision of ours has no answer yet.
        case underWay(Approval)
        case send(Approval, attempt: Int)
    }

    /// The gateway's answer to a decision.
    package enum Answer: Sendable, Equatable {
        case accepted
        case refused(ApprovalRefusal)
        /// The decision had no effect, and the approval still waits.
        case nothing
        /// The answer was lost, so the decision may have arrived.
        case lost
    }

    private var records: [String: Record] = [:]
    /// Ids of ended approvals, the oldest first.
    private var ended: [String] = []
    /// Approvals that ended before these, by id, and their ids, the oldest first.
    private var past: [String: Approval.Question] = [:]
    private var pastIDs: [String] = []
    private var lists = 0
    private var attempts = 0
    private var isStopping = false
    private var wantsList = false
    /// The gateway has more waiting approvals than the register takes.
    package private(set) var isOverfull = false

    package init() {}

    // MARK: Reading

    /// The oldest first.
    package var pending: [Approval] {
        records.values.map(\.approval).filter(\.isPending).sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
    }

    package subscript(id: String) -> Approval? { records[id]?.approval }

    /// Approvals that ended a short time ago.
    package var recent: [Approval] { ended.compactMap { records[$0]?.approval } }

    /// When `tick` has something to do.
    package var nextEnd: Timestamp? {
        records.values.filter { $0.approval.isPending && $0.attempt == nil }.map(\.lookAt).min()
    }

    // MARK: Asked for

    /// Takes the waiting and the ended approvals of an earlier process of Ladle. The waiting ones may have ended since.
    package mutating func restore(_ approvals: [Approval], ended: [Approval.Question] = []) {
        for question in ended { forget(question) }
        for approval in approvals where approval.isPending && records[approval.id] == nil {
            records[approval.id] = Record(approval, isCertain: false, seen: lists)
        }
    }

    /// Whether this approval waits or has ended, as far as the register remembers.
    package func knows(_ id: String) -> Bool { records[id] != nil || past[id] != nil }

    /// Takes a request. The same request may come as an event, in lists, and repeatedly.
    package mutating func requested(_ approval: Approval, now: Timestamp) -> [Approval] {
        let id = approval.id
        var news: [Approval] = []
        if let known = records[id] {
            if !approval.differs(from: known.approval) {
                guard known.approval.isPending else { return [] }
                records[id]?.waitsStill(approval, in: lists, now: now)
                return []
            }
            if known.approval.isPending { news += end(id, .unknown, at: now) }
            ended.removeAll { $0 == id }
            records[id] = nil
            forget(known.approval.question)
        } else if let known = past[id] {
            let isSame = known.commandSHA256 == approval.commandSHA256 && known.session == approval.session
            if isSame, !approval.isCreatedAtReported || known.createdAt == approval.createdAt { return [] }
        }
        // The records that are not ended wait.
        guard records.count - ended.count < ApprovalLimits.pending else {
            isOverfull = true
            return news
        }
        records[id] = Record(approval, isCertain: true, seen: lists)
        return news + [approval]
    }

    // MARK: Decisions of others

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
        guard let record = records[id], record.approval.isPending else { return [] }
        guard let decision = text.flatMap({ Approval.Decision(rawValue: $0) }) else {
            let isOver = text == nil && isEnding(record.approval, at: time)
            return isOver ? end(id, .expired, by: "timeout", at: time) : end(id, .unknown, at: time)
        }
        let underWay = record.attempt.flatMap { $0.decision == decision ? $0.sender : nil }
        let sender = underWay ?? record.lost[decision]
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

    private func isEnding(_ approval: Approval, at time: Timestamp) -> Bool {
        approval.isEndReported && time >= approval.expiresAt.adding(milliseconds: -ApprovalLimits.endingMs)
    }

    // MARK: Our decisions

    /// - Parameter sender: the name of the caller that decides.
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
        if record.attempt != nil { return .underWay(approval) }
        let last = approval.expiresAt.adding(milliseconds: -ApprovalLimits.marginMs)
        // Only an end that the gateway reported makes a decision too late.
        guard now < last || !approval.isEndReported || record.waitsLonger else { return .tooLate(approval) }
        attempts += 1
        records[id]?.attempt = Attempt(number: attempts, decision: decision, sender: sender)
        return .send(approval, attempt: attempts)
    }

    package mutating func answered(_ id: String, attempt: Int, _ answer: Answer, now: Timestamp) -> [Approval] {
        guard let record = records[id], let sent = record.attempt, sent.number == attempt else { return [] }
        records[id]?.attempt = nil
        guard record.approval.isPending else { return [] }
        switch answer {
        case .accepted:
            let state: Approval.State = sent.decision == .deny ? .denied : .allowed
            return end(id, state, sent.decision, by: sent.sender, at: now, via: .ladle)
        case .refused(.gone):
            return record.endsWithItsTime && isEnding(record.approval, at: now)
                ? end(id, .expired, by: "timeout", at: now) : end(id, .unknown, at: now)
        case .refused(.resolved): return end(id, .unknown, at: now)
        case .refused(.runAborted): return end(id, .cancelled, at: now)
        case .refused(.alwaysUnavailable): records[id]?.approval.decisions.removeAll { $0 == .allowAlways }
        case .nothing: break
        case .lost:
            records[id]?.isCertain = false
            records[id]?.lost[sent.decision] = sent.sender
            records[id]?.lostAt = lists
        }
        return []
    }

    // MARK: The link

    /// Ladle may miss decisions of other clients from now on.
    package mutating func mayHaveMissed() {
        for id in records.keys where records[id]?.approval.isPending == true { records[id]?.isCertain = false }
    }

    /// The gateway announces its stop. Approvals that wait then end with its process.
    package mutating func gatewayStops() {
        for (id, record) in records { records[id]?.wasWaitingAtShutdown = record.isCertain }
        isStopping = true
    }

    /// - Parameter isSameProcess: whether the gateway's process is that of the last connection; nil if that is not known.
    /// - Parameter hasList: whether the gateway has a list of waiting approvals.
    package mutating func linkOpened(isSameProcess: Bool?, hasList: Bool, now: Timestamp) -> [Approval] {
        defer { isStopping = false }
        if isSameProcess != false || !isStopping {
            for id in records.keys { records[id]?.wasWaitingAtShutdown = false }
        }
        guard isSameProcess == false, !hasList else { return [] }
        // The process that is gone had its approvals in memory only.
        return pending.flatMap { endMissing($0.id, at: now) }
    }

    /// Numbers a list that is asked for now. The caller gives the number again with the list.
    package mutating func askList() -> Int {
        lists += 1
        wantsList = false
        isOverfull = false
        return lists
    }

    /// Whether a list has to be asked for; true once for each reason.
    package mutating func takeListRequest() -> Bool {
        defer { wantsList = false }
        return wantsList
    }

    /// Takes the gateway's list of waiting approvals. An approval that is missing from it has ended.
    /// - Parameter unread: ids of rows that could not be read.
    package mutating func listed(
        _ approvals: [Approval],
        unread: Set<String> = [],
        of kind: Approval.Kind,
        asked number: Int,
        now: Timestamp
    ) -> [Approval] {
        var news: [Approval] = []
        let shown = unread.union(approvals.map(\.id))
        for id in missing(from: shown, of: kind, asked: number) { news += endMissing(id, at: now) }
        for approval in approvals {
            news += requested(approval, now: now)
            guard let record = records[approval.id] else { continue }
            // The approval still waits, so a decision whose answer was lost did not arrive.
            if record.attempt == nil, record.lostAt < number { records[approval.id]?.lost = [:] }
            // The gateway keeps the approval although the run has ended.
            if let end = record.runEndedAt, end < number { records[approval.id]?.runEndedAt = nil }
        }
        return news
    }

    /// Ids of waiting approvals that are missing from a list.
    package func missing(from shown: Set<String>, of kind: Approval.Kind, asked number: Int) -> [String] {
        records.values.filter {
            let approval = $0.approval
            return approval.isPending && approval.kind == kind && !shown.contains(approval.id) && $0.seen < number
                && $0.attempt == nil
        }.map(\.approval.id).sorted()
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

    private mutating func endMissing(_ id: String, at now: Timestamp) -> [Approval] {
        guard let record = records[id], record.lost.isEmpty else { return end(id, .unknown, at: now) }
        if record.wasWaitingAtShutdown || (record.runEndedAt != nil && record.isCertain) {
            return end(id, .cancelled, at: now)
        }
        guard record.endsWithItsTime, isEnding(record.approval, at: now) else { return end(id, .unknown, at: now) }
        return end(id, .expired, by: "timeout", at: record.approval.expiresAt)
    }

    /// - Returns: whether an approval of the run still waits. A list then shows whether the gateway keeps the approval.
    package mutating func runEnded(_ run: String) -> Bool {
        var isAffected = false
        for (id, record) in records where record.approval.isPending && record.approval.runID == run {
            records[id]?.runEndedAt = lists
            isAffected = true
        }
        return isAffected
    }

    // MARK: Time

    /// Ends approvals whose time is over. A gateway with a list is asked first, because our clock may be wrong.
    /// - Parameter listed: the kinds of approvals for which the gateway can be asked for a list now.
    package mutating func tick(now: Timestamp, listed: Set<Approval.Kind> = []) -> [Approval] {
        var news: [Approval] = []
        for approval in pending {
            guard let record = records[approval.id], record.attempt == nil, now >= record.lookAt else { continue }
            if listed.contains(approval.kind), !record.isAsked {
                records[approval.id]?.isAsked = true
                records[approval.id]?.lookAt = now.adding(milliseconds: ApprovalLimits.askingMs)
                wantsList = true
            } else if record.endsWithItsTime {
                news += end(approval.id, .expired, by: "timeout", at: approval.expiresAt)
            } else {
                news += end(approval.id, .unknown, at: now)
            }
        }
        return news
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
        if ended.count > ApprovalLimits.ended, let oldest = records.removeValue(forKey: ended.removeFirst()) {
            forget(oldest.approval.question)
        }
        return [record.approval]
    }

    private mutating func forget(_ question: Approval.Question) {
        if past.updateValue(question, forKey: question.id) == nil { pastIDs.append(question.id) }
        if pastIDs.count > ApprovalLimits.past { past[pastIDs.removeFirst()] = nil }
    }
}
