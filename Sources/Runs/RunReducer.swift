import Basics
import JSONBytes
import Labels

/// One run, out of everything the gateway tells about it: agent events, chat events, tool events, history rows, in any
/// order, repeated and with gaps. Facts are collected; what is shown is computed from them, and differences become changes.
struct RunReducer: Sendable {
    let id: String
    let session: SessionKey
    let labels: LabelTable
    let createdAt: Timestamp

    var agentText = TextAssembler(.messages)
    var chatText = TextAssembler(.whole)
    var thoughts: [LiveThought] = []
    /// The text of the terminal chat event; it wins over the streams. Beside an abort a final is another story.
    var finalText: [UInt8]?
    var abortedText: [UInt8]?
    /// The text so far that a history page brought, and the transcript's own.
    var snapshot: [UInt8] = []
    var rowTexts: [(row: String, text: [UInt8])] = []
    var evidence = RunEvidence()
    var startedAt: Timestamp?
    var firstEvent: Timestamp?
    var endedAt: (sequence: Int64, time: Timestamp)?
    var chatEndedAt: Timestamp?
    var records: [StepRecord] = []
    var places: [String: Int] = [:]
    var usageByRow: [String: RunUsage] = [:]
    var finalUsage: RunUsage?
    /// Something was lost: the next history page is wanted.
    var hasGap = false
    var sawToolEvents = false
    /// The gateway keeps part of what happens for its history, and a page of that is wanted.
    var isQuiet = false
    var needsRows = false
    /// Its end is known, and told once history has shown the rest, or at this time.
    var heldUntil: Timestamp?
    var wasHeld = false
    /// When our own message was sent, for runs that we started.
    var sentText: String?
    var lastEvent: Timestamp
    var openThought: Int?
    /// Number of the agent event that is being taken.
    var frame: Int64?
    /// The highest number of a terminal chat event; what comes behind it belongs to no one.
    var terminalSequence: Int64?
    /// Thoughts known from the transcript, and the texts of all, so that one is not told twice.
    var thoughtKeys: Set<String> = []

    private var shown: [UInt8] = []
    private var shownUnits = 0
    private var published: [Step?] = []
    private var dirty: Set<Int> = []
    private var hasStarted = false
    private var isFormer = false
    /// Numbers of the steps that an earlier process told, by step id, and the highest: a number is never used twice.
    private var formerSteps: [String: Int] = [:]
    private var formerSequence = 0
    private var toldState: Run.State?

    init(id: String, session: SessionKey, labels: LabelTable, now: Timestamp) {
        self.id = id
        self.session = session
        self.labels = labels
        createdAt = now
        lastEvent = now
    }

    var state: Run.State {
        let state = heldUntil == nil ? evidence.state : .running
        return state == .running && !hasBegun ? .queued : state
    }

    /// The gateway told something about it; a send that is only accepted has not begun.
    var hasBegun: Bool {
        startedAt != nil || firstEvent != nil || !agentText.isEmpty || !chatText.isEmpty || !snapshot.isEmpty
    }
    var isActive: Bool { state.isActive }
    var hasEnded: Bool { toldState != nil }
    var hasText: Bool { !shown.isEmpty }
    /// Something of it was told since this was last false.
    var wasHeard = false
    /// What the book counts for it.
    var weighed = 0

    var run: Run {
        let state = self.state
        let end = endTime(state)
        // One that was aborted while it waited is first heard of after its end.
        let start = startedAt ?? firstEvent ?? createdAt
        return Run(
            id: id,
            session: session,
            state: state,
            startedAt: min(start, end ?? start),
            endedAt: end,
            text: String(decoding: shown, as: UTF8.self),
            steps: steps(state, end: end),
            error: evidence.error.map { SecretMask.text($0).cut(to: ActivityLimits.errorCharacters) },
            usage: usageByRow.isEmpty ? finalUsage : usageByRow.values.reduce(RunUsage(), +)
        )
    }

    private func endTime(_ state: Run.State) -> Timestamp? {
        state.isActive ? nil : endedAt?.time ?? chatEndedAt ?? lastEvent
    }

    private func steps(_ state: Run.State, end: Timestamp?) -> [Step] {
        records.filter(isShown).map { $0.step(runID: id, run: state, end: end) }.sorted {
            ($0.startedAt, $0.sequence) < ($1.startedAt, $1.sequence)
        }
    }

    /// About the memory it takes, in bytes: texts count as often as they are kept on the way to the subscribers.
    var weight: Int {
        let streams = agentText.byteCount + chatText.byteCount + thoughts.reduce(0) { $0 + $1.text.byteCount }
        let told = rowTexts.reduce(snapshot.count) { $0 + $1.text.count } + (finalText?.count ?? 0)
        return 4_096 + 2_048 * records.count + 2 * streams + told + 3 * shown.count + 2 * (sentText?.utf8.count ?? 0)
    }

    // MARK: steps

    /// Steps of a try after the run's end belong to no one, also where their frames overtook the end.
    private func isShown(_ record: StepRecord) -> Bool {
        if record.isHidden { return false }
        guard let terminal = terminalSequence, terminal > 1, let first = record.firstFrame else { return true }
        return first <= terminal || record.rows.start != nil || record.rows.end != nil
    }

    /// The place of the step with that key, made where it is new; nil when the run holds too many.
    mutating func place(_ key: String, kind: Step.Kind, at time: Timestamp, label: () -> ActivityLabel) -> Int? {
        if let known = places[key] {
            dirty.insert(known)
            records[known].firstSeen = min(records[known].firstSeen, time)
            if let frame { records[known].firstFrame = min(records[known].firstFrame ?? frame, frame) }
            return known
        }
        guard records.count < ActivityLimits.stepsPerRun else { return nil }
        let place = records.count
        let sequence = formerSteps["\(id):\(key)"] ?? formerSequence + place + 1
        records.append(StepRecord(key: key, sequence: sequence, kind: kind, label: label(), firstSeen: time))
        records[place].firstFrame = frame
        published.append(nil)
        places[key] = place
        dirty.insert(place)
        return place
    }

    mutating func touch(_ place: Int) { dirty.insert(place) }

    // MARK: publishing

    /// A run of an earlier process; its start was told then, unless `isTold` is false.
    mutating func resumed(at time: Timestamp, isTold: Bool, steps: [String: Int] = [:]) {
        formerSteps = steps
        formerSequence = steps.values.max() ?? 0
        startedAt = time
        hasStarted = isTold
        isFormer = true
    }

    var isTold: Bool { hasStarted }

    /// It answers a message of ours, so that its id is the message's key.
    var isOwn: Bool { sentText != nil || (isFormer && UUIDv7.isWellFormed(String(id.prefix(36)))) }

    /// Of an earlier process, and the gateway showed nothing of it since.
    var isUnaccountedFor: Bool { isFormer && !hasText && rowTexts.isEmpty && snapshot.isEmpty && records.isEmpty }

    /// Appends what changed since the last call. Its session, when the run has just ended for the first time.
    mutating func publish(to changes: inout [RunChange]) -> SessionKey? {
        let state = self.state
        guard state != .queued else { return nil }
        let known = changes.count
        defer { if changes.count > known { wasHeard = true } }
        if !hasStarted {
            hasStarted = true
            var first = run
            first.state = .running
            first.endedAt = nil
            first.error = nil
            first.text = ""
            first.steps = []
            changes.append(.started(first))
        }
        let hasEnded = !state.isActive
        publishText(isFinal: hasEnded, to: &changes)
        if hasEnded { close(state) }
        publishSteps(state, to: &changes)
        guard hasEnded, toldState != state else { return nil }
        let isFirst = toldState == nil
        toldState = state
        changes.append(.ended(run))
        return isFirst ? session : nil
    }

    /// The run's end closes the steps that are open, and a failure is a step of its own.
    private mutating func close(_ state: Run.State) {
        if toldState != state { dirty.formUnion(records.indices) }
        guard state == .failed, let error = evidence.error else { return }
        let time = endTime(state) ?? lastEvent
        guard let place = place("error", kind: .error, at: time, label: { ActivityLabel("", .generic) }) else { return }
        let text = SecretMask.text(LabelText.collapsed(error)).cut(to: ActivityLimits.errorCharacters)
        records[place].label = ActivityLabel("Stopped with an error: \(text)", .generic, detail: text)
        records[place].firstSeen = time
    }

    private mutating func publishSteps(_ state: Run.State, to changes: inout [RunChange]) {
        guard !dirty.isEmpty else { return }
        let end = endTime(state)
        for place in dirty.sorted() where isShown(records[place]) {
            let step = records[place].step(runID: id, run: state, end: end)
            guard published[place] != step else { continue }
            published[place] = step
            changes.append(.stepChanged(step))
        }
        dirty.removeAll(keepingCapacity: true)
    }

    private mutating func publishText(isFinal: Bool, to changes: inout [RunChange]) {
        let text = Self.limited(visibleText(isFinal: isFinal))
        // What an earlier process told of it is not known here.
        if text.hasBytes(shown), !isFormer || !shown.isEmpty || text.isEmpty {
            guard text.count > shown.count else { return }
            let piece = String(decoding: text[shown.count...], as: UTF8.self)
            changes.append(.textAppended(run: id, offset: shownUnits, text: piece))
            shownUnits += piece.utf16.count
        } else {
            let whole = String(decoding: text, as: UTF8.self)
            changes.append(.textReplaced(run: id, text: whole))
            shownUnits = whole.utf16.count
        }
        shown = text
    }

    /// Cut between characters.
    static func limited(_ text: [UInt8]) -> [UInt8] {
        guard text.count > ActivityLimits.runTextBytes else { return text }
        var end = ActivityLimits.runTextBytes
        while end > 0, text[end] & 0xC0 == 0x80 { end -= 1 }
        return Array(text[..<end])
    }

    /// One source at a time: the terminal event, else agent events, else chat events, else what history told.
    private func visibleText(isFinal: Bool) -> [UInt8] {
        if let last = evidence.wasAborted ? abortedText : finalText { return SilentReply.matches(last) ? [] : last }
        let stream = agentText.isEmpty ? chatText : agentText
        let isHeld = isFinal ? SilentReply.matches(stream.open) : SilentReply.mayBecome(stream.open)
        let text = isHeld ? stream.closed : stream.closed.isEmpty ? stream.open : stream.closed + stream.open
        let known = isFinal ? completed(text, stream) : text
        if snapshot.count > known.count, snapshot.hasBytes(known), !SilentReply.mayBecome(snapshot) { return snapshot }
        return known
    }

    /// The end of the text from the transcript, where the stream's was missed.
    private func completed(_ text: [UInt8], _ stream: TextAssembler) -> [UInt8] {
        guard let last = rowTexts.last?.text, !SilentReply.matches(last) else { return text }
        if text.isEmpty, stream.isEmpty { return last }
        guard !stream.open.isEmpty, let open = rowTexts.lastIndex(where: { $0.text.hasBytes(stream.open) }) else {
            return text
        }
        return stream.closed + rowTexts[open...].flatMap(\.text)
    }
}

/// A thought as it streams; the gateway sends the text so far.
struct LiveThought: Sendable {
    var first: Int64
    var last: Int64
    var text: TextAssembler
}
