package import Basics
package import Gateway

/// The questions of the gateway by id: those that wait, and those that ended of late. Events, lists and answers go in; each
/// question comes out twice, when it is asked and when it ends. No I/O and no clock: times are the gateway's.
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
        /// Since it was seen last nothing about it can have been missed.
        var isCertain = true
        /// The number of the list that has to show it; what came behind the question need not be in the answer.
        var seen: Int
        /// Our answer that is on its way.
        var attempt: Sent?
        /// Our last answer that may have arrived, and the lists that were asked for before it.
        var lost: (sent: Sent, lists: Int)?
        /// Lists that were asked for before its run ended.
        var runEndedAt: Int?
        /// When its time should be over.
        var lookAt: Timestamp
        /// A list was asked for then.
        var isAsked = false
        /// A list showed it after its time.
        var waitsLonger = false
        /// Of the answer by which it ended.
        var mark: Int?

        init(_ question: Question, seen: Int) {
            self.question = question
            self.seen = seen
            lookAt = question.expiresAt.adding(milliseconds: ApprovalLimits.graceMs)
        }

        /// The gateway says again that it waits.
        mutating func waitsStill(_ again: Question, in list: Int, now: Timestamp) {
            isCertain = true
            seen = list
            if again.isEndTold || question.expiresAt <= now { question.expiresAt = again.expiresAt }
            isAsked = false
            lookAt = question.expiresAt.adding(milliseconds: ApprovalLimits.graceMs)
            guard lookAt <= now else { return }
            waitsLonger = true
            lookAt = now.adding(milliseconds: ApprovalLimits.againMs)
        }

        var endsWithItsTime: Bool { isCertain && question.isEndTold && lost == nil && !waitsLonger }
    }

    /// The result of an answer before anything is sent.
    package enum Start: Sendable {
        case notFound
        /// - Parameter isSame: by this answer.
        case ended(Question, isSame: Bool)
        case tooLate(Question)
        /// Another one is on its way; its end decides.
        case underWay(Question)
        case send(Question, attempt: Int)
    }

    /// The gateway's answer to an answer.
    package enum Reply: Sendable, Equatable {
        case accepted
        case refused(QuestionRefusal)
        /// Nothing came of it, and the question waits as before.
        case nothing
        /// Nobody knows whether it arrived.
        case lost
    }

    private var records: [String: Record] = [:]
    /// Ids of the ended ones, the oldest first.
    private var ended: [String] = []
    private var lists = 0
    private var attempts = 0
    private var wantsList = false
    /// The gateway holds more than is kept.
    package private(set) var isOverfull = false

    package init() {}

    // MARK: Reading

    /// The newest first, those that wait and those that ended of late.
    package var all: [Question] {
        records.values.map(\.question).sorted { ($0.createdAt, $0.id) > ($1.createdAt, $1.id) }
    }

    package subscript(id: String) -> Question? { records[id]?.question }

    /// When `tick` has something to do.
    package var nextEnd: Timestamp? { waiting.filter { $0.attempt == nil }.map(\.lookAt).min() }

    private var waiting: [Record] { records.values.filter(\.question.isPending) }

    // MARK: Asked

    /// The same question may come as an event, in lists, and again.
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
        // The others have ended.
        guard records.count - ended.count < QuestionLimits.pending else {
            isOverfull = true
            return news
        }
        records[id] = Record(question, seen: lists)
        return news + [question]
    }

    // MARK: Ends that the gateway tells

    /// - Parameter own: the name under which Ladle is connected.
    package mutating func resolved(_ event: QuestionEvent, own: String, now: Timestamp) -> [Question] {
        guard let id = event.id, let record = records[id], record.question.isPending else { return [] }
        let time = event.time ?? now
        let told = QuestionAnswer(told: event.answers, to: record.question)
        let isOwnName = event.resolvedBy == own
        let sent = [record.attempt, record.lost?.sent].compactMap(\.self)
        switch event.status {
        case "expired": return end(id, .expired, by: "timeout", at: time)
        case "cancelled":
            let ours = sent.first { $0.answer.parts == nil && (isOwnName || event.resolvedBy == nil) }
            return end(id, .cancelled, .cancel, by: ours?.sender ?? event.resolvedBy, at: time, isOurs: ours != nil)
        case nil where told == nil && record.attempt == nil: return end(id, .unknown, at: time)
        default: break
        }
        let answers = sent.filter { $0.answer.parts != nil }
        var ours = answers.first { $0.answer.mark == told?.mark && (isOwnName || event.resolvedBy == nil) }
        // The answer may be left out, or a secret be masked.
        let isVeiled = told == nil || record.question.parts.contains(where: \.isSecret)
        if ours == nil, isOwnName, isVeiled { ours = answers.first }
        if let ours { return end(id, .answered, ours.answer, by: ours.sender, at: time, isOurs: true) }
        // The reply to our own answer tells more.
        if event.resolvedBy == nil, isVeiled, record.attempt != nil { return [] }
        return end(id, .answered, told, by: event.resolvedBy, at: time)
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
        // An end that the gateway did not tell keeps nobody from asking it.
        guard now < last || !question.isEndTold || record.waitsLonger else { return .tooLate(question) }
        attempts += 1
        records[id]?.attempt = Sent(number: attempts, answer: answer, sender: sender)
        return .send(question, attempt: attempts)
    }

    /// How an answer stands to a question that has ended.
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

    /// From here on ends can be missed.
    package mutating func mayHaveMissed() {
        for id in records.keys where records[id]?.question.isPending == true { records[id]?.isCertain = false }
    }

    /// The gateway that is connected now has no questions.
    package mutating func endAll(now: Timestamp) -> [Question] {
        waiting.flatMap { end($0.question.id, .unknown, at: now) }
    }

    /// The number to give with the answer of a list that is asked for now.
    package mutating func askList() -> Int {
        lists += 1
        wantsList = false
        isOverfull = false
        return lists
    }

    /// True once for each time that a list has to tell what still waits.
    package mutating func takeListWish() -> Bool {
        defer { wantsList = false }
        return wantsList
    }

    /// Takes the gateway's list of waiting questions. A question that is missing from it has ended.
    /// - Parameter unread: ids of rows that do not tell what they ask.
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
            // It still waits, so an answer whose reply was lost did not arrive.
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

    /// True where one of its questions still waits: the list tells whether the gateway keeps it.
    package mutating func runEnded(_ run: String) -> Bool {
        let affected = waiting.filter { $0.question.runID == run }
        for record in affected { records[record.question.id]?.runEndedAt = lists }
        return !affected.isEmpty
    }

    // MARK: Time

    /// The gateway decides whether the time of a question is over: our clock may be wrong.
    /// - Parameter canList: the gateway can be asked now.
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
        let isTold = state == .answered || state == .cancelled
        let via: Approval.Via? = isOurs ? .ladle : isTold && name != nil ? .other : nil
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
