/// The facts of one turn, folded. Each fact is joined to what is known, so facts may come in any order and any number of times, before
/// and after a restart of Ladle: the same facts give the same verdict.
package struct Turn: Sendable, Hashable {
    package struct Attempt: Sendable, Hashable, Comparable {
        package let key: Int
        package let contact: Int

        package static func < (left: Attempt, right: Attempt) -> Bool {
            (left.key, left.contact) < (right.key, right.contact)
        }
    }

    private var sent: Set<Attempt> = []
    private var unsent: Set<Attempt> = []
    private var answers: [Attempt: Fact.Answer] = [:]
    private var stops: Set<Attempt> = []
    private var stopped: Set<Int> = []
    private var notStopped: Set<Int> = []
    private var began: Set<Fact.RunName> = []
    private var ends: [Fact.RunName: Fact.End] = [:]
    private var rows: [String: Fact.Row] = [:]
    private var page: Fact.Page?
    private var contacts: [Int: Continuity] = [:]
    private var waited: Set<Int> = []
    private var will = Numbered(Fact.Will.run)
    private var told = Numbered<Statement?>(nil)

    /// Of two values the one with the higher number counts.
    private struct Numbered<Value: Sendable & Hashable>: Sendable, Hashable {
        private(set) var value: Value
        private var number = 0

        init(_ value: Value) { self.value = value }

        mutating func set(_ value: Value, _ number: Int) {
            if number > self.number { (self.value, self.number) = (value, number) }
        }
    }

    package init(_ facts: some Sequence<Fact> = []) {
        for fact in facts { take(fact) }
    }

    // MARK: Facts

    package mutating func take(_ fact: Fact) {
        switch fact {
        case .sent(let key, let contact): sent.insert(Attempt(key: key, contact: contact))
        case .unsent(let key, let contact): unsent.insert(Attempt(key: key, contact: contact))
        case .will(let value, let number): will.set(value, number)
        case .stopSent(let key, let contact): stops.insert(Attempt(key: key, contact: contact))
        case .answered(let key, let contact, let answer):
            let attempt = Attempt(key: key, contact: contact)
            answers[attempt] = max(answers[attempt] ?? answer, answer)
        case .stopAnswered(let key, let wasStopped):
            if wasStopped { stopped.insert(key) } else { notStopped.insert(key) }
        case .began(let run): began.insert(run)
        case .ended(let run, let end): ends[run] = max(ends[run] ?? end, end)
        case .row(let row): rows[row.identity] = rows[row.identity]?.joined(row) ?? row
        case .page(let page): if page.number > self.page?.number ?? 0 { self.page = page }
        case .contact(let number, let continuity): contacts[number] = max(contacts[number] ?? continuity, continuity)
        case .waited(let contact): waited.insert(contact)
        case .told(let statement, let number): told.set(statement, number)
        }
    }

    // MARK: Reading

    /// The last frame that may have arrived.
    package var newest: Attempt? { sent.subtracting(unsent).max() }

    /// The gateway's best answer to the newest frame, and the last contact over which it showed that.
    private func answer(to newest: Attempt) -> (best: Fact.Answer, lastContact: Int)? {
        let own = answers.filter { $0.key.key == newest.key && $0.key.contact >= newest.contact }
        guard let best = own.values.max(), let last = own.keys.map(\.contact).max() else { return nil }
        return (best, last)
    }

    /// The present contact.
    private var contact: Int { max(contacts.keys.max() ?? 0, newest?.contact ?? 0) }

    /// The answers that are known now. They are kept with a page that is asked for now, because the page can confirm only these.
    package var knowledge: Fact.Knowledge {
        var known: Fact.Knowledge = []
        if let newest, answer(to: newest) != nil { known.insert(.answer) }
        if wasStopped { known.insert(.stopped) }
        if let newest, notStopped.contains(newest.key) { known.insert(.nothingToStop) }
        return known
    }

    /// The gateway dropped every frame of the turn for a run with equal words. Rows with these words are that run's.
    package var wasAlwaysDropped: Bool {
        let keys = Dictionary(grouping: sent.subtracting(unsent), by: \.key)
        return !keys.isEmpty && keys.values.allSatisfy { $0.contains { answers[$0] == .dropped } }
    }

    /// Whether a stop of the newest frame is still to be sent over the present contact.
    package var awaitsStop: Bool {
        guard will.value == .stop, let newest else { return false }
        return !stopped.contains(newest.key) && !notStopped.contains(newest.key)
            && ends[.key(newest.key)] != .stopped && !stops.contains(Attempt(key: newest.key, contact: contact))
    }

    private var wasStopped: Bool { !stopped.isEmpty || ends.values.contains(.stopped) }

    // MARK: The verdict

    package var verdict: Verdict {
        var verdict = Verdict()
        verdict.will = will.value
        verdict.told = told.value
        guard let newest else { return verdict }
        let answer = answer(to: newest)
        let lastContact = answer?.lastContact ?? newest.contact
        verdict.process = contacts.filter { $0.key > lastContact }.values.max() ?? .same
        verdict.marks = marks(newest, answer?.best)
        if lastContact == contact, answer != nil { verdict.marks.insert(.heardHere) }
        verdict.delivery = answer?.best.delivery ?? .inFlight
        // Whichever process got the message, the present one has it.
        if holdsMessage, [.inFlight, .taken].contains(verdict.delivery) {
            (verdict.delivery, verdict.process) = (.taken, .same)
            verdict.marks.insert(.heardHere)
        }
        if isRefusedByDrain(newest) { verdict.delivery = .refused }
        if ends.values.contains(.empty) { verdict.work = .queued }
        readRows(into: &verdict)
        let isMissing = verdict.delivery != .stored && !verdict.marks.contains(.shared)
        readRuns(into: &verdict)
        if wasStopped, ![.answered, .joined].contains(verdict.work) { verdict.work = .stopped }
        if let page, page.contact == contact { verdict.receipt = page.receipt }
        // The message may be absent even if its run was seen at work: in a new session the gateway has nothing on disk before the
        // first answer is complete.
        if isMissing, verdict.marks.contains(.fresh), verdict.process == .other, verdict.work != .answered,
            ![.dropped, .refused].contains(verdict.delivery)
        {
            verdict.delivery = .absent
        }
        return verdict
    }

    /// The gateway says over the present contact that it keeps the message and will run it.
    private var holdsMessage: Bool { page?.receipt == .queued && page?.contact == contact }

    private func marks(_ newest: Attempt, _ answer: Fact.Answer?) -> Verdict.Marks {
        var marks: Verdict.Marks = []
        if waited.contains(contact) { marks.insert(.waited) }
        if answers[Attempt(key: newest.key, contact: contact)] == .atWork { marks.insert(.active) }
        if newest.contact == contact { marks.insert(.askedHere) }
        if began.contains(.key(newest.key)) { marks.insert(.begun) }
        guard let page, page.contact == contact, page.isWhole else { return marks }
        marks.insert(.fresh)
        if page.activity == .own { marks.insert(.active) }
        if page.activity == .idle, page.knew.contains(.answer) || answer == nil { marks.insert(.idle) }
        if page.knew.contains(.stopped), wasStopped { marks.insert(.afterStop) }
        if page.knew.contains(.nothingToStop) { marks.insert(.nothingToStop) }
        return marks
    }

    /// A gateway that drains before its restart answers a new message itself, without a run.
    private func isRefusedByDrain(_ newest: Attempt) -> Bool {
        ends[.key(newest.key)] == .injected && !wasStopped && !began.contains(.key(newest.key))
    }

    private func readRows(into verdict: inout Verdict) {
        var found = rows
        for row in page?.rows ?? [] { found[row.identity] = found[row.identity]?.joined(row) ?? row }
        // If one row is certainly ours, another row with the same words is another client's.
        let certain = found.values.filter { $0.tie == .certain }
        let own = certain.isEmpty && began.isEmpty ? Array(found.values) : certain
        guard !own.isEmpty else {
            if page?.isShared == true { verdict.marks.insert(.shared) }
            return
        }
        verdict.delivery = .stored
        verdict.marks.insert(.inTranscript)
        verdict.tie = certain.isEmpty ? .likely : .certain
        verdict.work = Verdict.Work(own.compactMap(\.end).max())
    }

    private func readRuns(into verdict: inout Verdict) {
        if !began.isEmpty {
            (verdict.delivery, verdict.tie) = (.stored, .certain)
            if [.none, .queued].contains(verdict.work) { verdict.work = .running }
        }
        guard let end = ends.values.max() else { return }
        switch end {
        case .answered:
            (verdict.delivery, verdict.tie, verdict.work) = (.stored, .certain, .answered)
            verdict.marks.insert(.inTranscript)
        case .failed where [.none, .queued, .running].contains(verdict.work): verdict.work = .failed
        case .refused where ![.answered, .joined].contains(verdict.work): verdict.work = .turnedAway
        case .empty, .injected, .refused, .failed, .stopped, .joined: break
        }
    }
}

extension Fact.Row {
    fileprivate func joined(_ other: Fact.Row) -> Fact.Row {
        Fact.Row(identity, max(tie, other.tie), [end, other.end].compactMap { $0 }.max())
    }
}

extension Fact.Answer {
    fileprivate var delivery: Verdict.Delivery {
        switch self {
        case .taken, .remembered, .atWork: .taken
        case .dropped: .dropped
        case .refused: .refused
        }
    }
}

extension Verdict.Work {
    /// How the rows behind a message's own row end.
    fileprivate init(_ end: Fact.End?) {
        self =
            switch end {
            case .answered: .answered
            case .joined: .joined
            case .stopped: .stopped
            case .failed: .failed
            case .refused, .injected: .turnedAway
            case .empty, nil: .running
            }
    }
}
