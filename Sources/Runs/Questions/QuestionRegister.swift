package import Basics
package import Gateway

/// The gateway's waiting questions, and the questions that ended recently, by id. Events, lists and answers go in. Each question
/// comes out twice, when it is asked and when it ends. The register does no I/O and has no clock: times are the gateway's.
///
/// If nothing shows how a question ended, its state is `unknown`.
package struct QuestionRegister: Sendable {
    private struct Sent {
        let number: Int
        let answer: QuestionAnswer
        let sender: String
    }

    private struct Record {
        var question: Question
        /// Ladle cannot have missed anything about the question since it was last reported.
        var isCertain = true
        /// The number of the last list that was asked for before the question was reported. Later lists have to show it.
        var seen: Int
        /// Our answer that has no reply yet.
        var attempt: Sent?
        /// Our last answer whose reply was lost, and how many lists had been asked for then. The answer may have arrived.
        var lost: (sent: Sent, lists: Int)?
        /// How many lists had been asked for when the question's run ended.
        var runEndedAt: Int?
        /// When to look whether the question's time is over.
        var lookAt: Timestamp
        /// A list was asked for because the question's time should be over.
        var isAsked = false
        /// A list showed the question after its time.
        var waitsLonger = false
        /// The hash of the answer that ended the question.
        var mark: Int?

        init(_ question: Question, seen: Int) {
            self.question = question
            self.seen = seen
            lookAt = question.expiresAt.adding(milliseconds: ApprovalLimits.graceMs)
        }

        /// The gateway reports again that the question waits.
        mutating func waitsStill(_ again: Question, in list: Int, now: Timestamp) {
            isCertain = true
            seen = list
            if again.isEndReported || question.expiresAt <= now { question.expiresAt = again.expiresAt }
            isAsked = false
            lookAt = question.expiresAt.adding(milliseconds: ApprovalLimits.graceMs)
            guard lookAt <= now else { return }
            waitsLonger = true
            lookAt = now.adding(milliseconds: ApprovalLimits.againMs)
        }

        var endsWithItsTime: Bool { isCertain && question.isEndReported && lost == nil && !waitsLonger }
    }

    /// The result of an answer before anything is sent.
    package enum Start: Sendable {
        case notFound
        /// - Parameter isSame: whether this answer ended the question.
        case ended(Question, isSame: Bool)
        case tooLate(Question)
        /// Another answer of ours has no reply yet.
        case underWay(Question)
        case send(Question, attempt: Int)
    }

    /// The gateway's reply to an answer.
    package enum Reply: Sendable, Equatable {
        case accepted
        case refused(QuestionRefusal)
        /// The answer had no effect, and the question still waits.
        case nothing
        /// The reply was lost, so the answer may have arrived.
        case lost
    }

    private var records: [String: Record] = [:]
    /// Ids of ended questions, the oldest first.
    private var ended: [String] = []
    private var lists = 0
    private var attempts = 0
    private var wantsList = false
    /// The gateway has more waiting questions than the register takes.
    package private(set) var isOverfull = false

    package init() {}

    // MARK: Reading

    /// The waiting and the recently ended questions, the newest first.
    package var all: [Question] {
        records.values.map(\.question).sorted { ($0.createdAt, $0.id) > ($1.createdAt, $1.id) }
    }

    package subscript(id: String) -> Question? { records[id]?.question }

    /// When `tick` has something to do.
    package var nextEnd: Timestamp? { waiting.filter { $0.attempt == nil }.map(\.lookAt).min() }

    private var waiting: [Record] { records.values.filter(\.question.isPending) }

    // MARK: Asked

    /// Takes a question. The same question may come as an event, in lists, and repeatedly.
    package mutating func requested(_ question: Question, now: Timestamp) -> [Question] {
        let id = question.id
        var news: [Question] = []
        if let known = records[id] {
            if !question.differs(from: known.question) {
                if known.question.isPending { records[id]?.waitsStill(question, in: lists, now: now) }
                return []
            }
            if known.question.isPending { news += end(id, .unknown, at: now) }
            ended.removeAll { $0 == id }
            records[id] = nil
        }
        // The records that are not ended wait.
        guard records.count - ended.count < QuestionLimits.pending else {
            isOverfull = true
            return news
        }
        records[id] = Record(question, seen: lists)
        return news + [question]
    }

    // MARK: Ends that the gateway reports

    /// - Parameter own: the name under which Ladle is connected.
    package mutating func resolved(_ event: QuestionEvent, own: String, now: Timestamp) -> [Question] {
        guard let id = event.id, let record = records[id], record.question.isPending else { return [] }
        let time = event.time ?? now
        let reported = QuestionAnswer(reported: event.answers, to: record.question)
        let isOwnName = event.resolvedBy == own
        let sent = [record.attempt, record.lost?.sent].compactMap(\.self)
        switch event.status {
        case "expired": return end(id, .expired, by: "timeout", at: time)
        case "cancelled":
            let ours = sent.first { $0.answer.parts == nil && (isOwnName || event.resolvedBy == nil) }
            return end(id, .cancelled, .cancel, by: ours?.sender ?? event.resolvedBy, at: time, isOurs: ours != nil)
        case nil where reported == nil && record.attempt == nil: return end(id, .unknown, at: time)
        default: break
        }
        let answers = sent.filter { $0.answer.parts != nil }
        var ours = answers.first { $0.answer.mark == reported?.mark && (isOwnName || event.resolvedBy == nil) }
        // The gateway may leave the answer out, or mask a secret.
        let isVeiled = reported == nil || record.question.parts.contains(where: \.isSecret)
        if ours == nil, isOwnName, isVeiled { ours = answers.first }
        if let ours { return end(id, .answered, ours.answer, by: ours.sender, at: time, isOurs: true) }
        // The reply to our own answer will say more.
        if event.resolvedBy == nil, isVeiled, record.attempt != nil { return [] }
        return end(id, .answered, reported, by: event.resolvedBy, at: time)
    }

    // MARK: Our answers

    package mutating func answer(
        _ id: String,
        _ answer: QuestionAnswer,
        by sender: String,
        now: Timestamp
    ) -> Start {
        guard let record = records[id] else { return .notFound }
        let question = record.question
        guard question.isPending else { return ended(question, answer) }
        if record.attempt != nil { return .underWay(question) }
        let last = question.expiresAt.adding(milliseconds: -ApprovalLimits.marginMs)
        // Only an end that the gateway reported makes an answer too late.
        guard now < last || !question.isEndReported || record.waitsLonger else { return .tooLate(question) }
        attempts += 1
        records[id]?.attempt = Sent(number: attempts, answer: answer, sender: sender)
        return .send(question, attempt: attempts)
    }

    /// The result of an answer to a question that has ended.
    package func ended(_ question: Question, _ answer: QuestionAnswer?) -> Start {
        guard question.state != .expired else { return .tooLate(question) }
        return .ended(question, isSame: answer != nil && records[question.id]?.mark == answer?.mark)
    }

    package mutating func answered(_ id: String, attempt: Int, _ reply: Reply, now: Timestamp) -> [Question] {
        guard let record = records[id], let sent = record.attempt, sent.number == attempt else { return [] }
        records[id]?.attempt = nil
        guard record.question.isPending else { return [] }
        switch reply {
        case .accepted:
            let state: Question.State = sent.answer.parts == nil ? .cancelled : .answered
            return end(id, state, sent.answer, by: sent.sender, at: now, isOurs: true)
        case .refused(.gone): return endMissing(id, at: now)
        case .refused(.resolved): return end(id, .unknown, at: now)
        case .nothing, .refused(.otherForm): return []
        case .lost:
            records[id]?.isCertain = false
            records[id]?.lost = (sent, lists)
            return []
        }
    }

    // MARK: The link

    /// Ladle may miss ends of questions from now on.
    package mutating func mayHaveMissed() {
        for id in records.keys where records[id]?.question.isPending == true { records[id]?.isCertain = false }
    }

    /// Ends all questions, because the gateway that is connected now has none.
    package mutating func endAll(now: Timestamp) -> [Question] {
        waiting.flatMap { end($0.question.id, .unknown, at: now) }
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

    /// Takes the gateway's list of waiting questions. A question that is missing from it has ended.
    /// - Parameter unread: ids of rows that could not be read.
    package mutating func listed(
        _ questions: [Question],
        unread: Set<String> = [],
        asked number: Int,
        now: Timestamp
    ) -> [Question] {
        var news: [Question] = []
        let shown = unread.union(questions.map(\.id))
        for record in waiting where !shown.contains(record.question.id) {
            guard record.seen < number, record.attempt == nil else { continue }
            news += endMissing(record.question.id, at: now)
        }
        for question in questions {
            news += requested(question, now: now)
            guard let record = records[question.id] else { continue }
            // The question still waits, so an answer whose reply was lost did not arrive.
            if record.attempt == nil, let lost = record.lost, lost.lists < number { records[question.id]?.lost = nil }
            if let end = record.runEndedAt, end < number { records[question.id]?.runEndedAt = nil }
        }
        return news
    }

    private mutating func endMissing(_ id: String, at now: Timestamp) -> [Question] {
        guard let record = records[id], record.lost == nil, record.isCertain else { return end(id, .unknown, at: now) }
        if record.runEndedAt != nil { return end(id, .cancelled, at: now) }
        let isOver = now >= record.question.expiresAt.adding(milliseconds: -ApprovalLimits.endingMs)
        guard record.endsWithItsTime, isOver else { return end(id, .unknown, at: now) }
        return end(id, .expired, by: "timeout", at: record.question.expiresAt)
    }

    /// - Returns: whether a question of the run still waits. A list then shows whether the gateway keeps the question.
    package mutating func runEnded(_ run: String) -> Bool {
        let affected = waiting.filter { $0.question.runID == run }
        for record in affected { records[record.question.id]?.runEndedAt = lists }
        return !affected.isEmpty
    }

    // MARK: Time

    /// Ends questions whose time is over. The gateway is asked first, because our clock may be wrong.
    /// - Parameter canList: whether the gateway can be asked now.
    package mutating func tick(now: Timestamp, canList: Bool) -> [Question] {
        var news: [Question] = []
        for record in waiting where record.attempt == nil && now >= record.lookAt {
            let id = record.question.id
            if canList, !record.isAsked {
                records[id]?.isAsked = true
                records[id]?.lookAt = now.adding(milliseconds: ApprovalLimits.askingMs)
                wantsList = true
            } else {
                news += endMissing(id, at: now)
            }
        }
        return news
    }

    // MARK: Ends

    private mutating func end(
        _ id: String,
        _ state: Question.State,
        _ answer: QuestionAnswer? = nil,
        by name: String? = nil,
        at time: Timestamp,
        isOurs: Bool = false
    ) -> [Question] {
        guard var record = records[id], record.question.isPending else { return [] }
        let isByPerson = state == .answered || state == .cancelled
        let via: Approval.Via? = isOurs ? .ladle : isByPerson && name != nil ? .other : nil
        record.question.end(state, answer?.byPart, by: name, at: time, via: via)
        record.mark = answer?.mark
        record.attempt = nil
        record.lost = nil
        records[id] = record
        ended.append(id)
        if ended.count > QuestionLimits.ended { records[ended.removeFirst()] = nil }
        return [record.question]
    }
}
