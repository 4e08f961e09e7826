import Basics
import Gateway
import Labels

/// One run, made of everything the gateway reports about it: agent events, chat events and transcript rows, in any order, repeated
/// and with gaps. It collects facts; the run shown is computed from them, and differences become changes.
struct RunReducer: Sendable {
    let id: String
    let session: SessionKey
    private let createdAt: Timestamp

    private(set) var steps: StepTable
    /// The text of our own message, for runs that we started.
    var sentText: String?
    /// The outbox still cares for that message: it may be sent again.
    var awaitsDelivery = false
    /// Since this time, by our clock, nothing was heard of it.
    private(set) var heardAt: Timestamp
    /// Events may have been missed, its end among them.
    private(set) var isUncertain = false
    /// The gateway's process that worked on it was gone at this time, by our clock.
    private(set) var goneAt: Timestamp?
    /// When the process after it had begun, by the gateway's clock: what was written since then is not its work.
    private var followedAt: Timestamp?
    /// Its message left no trace and waits to be sent again.
    private var waitsAnew = false
    /// When it was known that the run is over without an end of its own.
    private var overAt: Timestamp?
    /// Since then pages call it over and do not show how it ended.
    private var shownOverAt: Timestamp?
    /// The conversation that a page showed while the run was active.
    var conversation: String?
    /// The transcript was seen to hold its user's row.
    var isStored = false
    /// Its row was seen before the agent was: proof as soon as that is seen at work.
    var seenRow: RunProof?
    /// Sent over this connection: 2026.3.1 sends tool events to the sender alone.
    var isSenderHere = false
    /// The tracker's share of memory that it counts for this run.
    var countedWeight = 0
    private(set) var sawToolEvents = false
    /// The agent itself was heard of.
    private(set) var wasSeenAtWork = false
    /// Its end is known and not published yet: a page of the transcript is awaited until then.
    private var endHeldUntil: Timestamp?
    private var wasHeld = false
    private var hasGap = false
    private var needsRows = false

    private var text = RunText()

    private var evidence = RunEvidence()
    private var startedAt: Timestamp?
    /// Each start that was reported: a run may be tried again. The user's row bears the time of one of them.
    private(set) var starts: [Timestamp] = []
    private var firstEvent: Timestamp?
    private var endedAt: (sequence: Int64, time: Timestamp)?
    private var chatEndedAt: Timestamp?
    private var lastEvent: Timestamp
    private var usageByRow: [String: TokenUsage] = [:]
    private var finalUsage: TokenUsage?
    /// How the last row of the assistant ended; it ends the run once that is known to be over.
    private var lastStop: HistoryRow.StopReason?

    private var publishedState: Run.State?
    private var publishedOver: RunEvidence.Over?
    /// `started` was published, in this process or in an earlier one.
    private(set) var isStartPublished = false
    /// An earlier process followed this run.
    private var isResumed = false
    /// An earlier process gave it up: the database shows it, and the gateway may take it up all the same.
    private(set) var isRemembered = false
    private var hasNews = false

    init(id: String, session: SessionKey, labels: LabelTable, now: Timestamp) {
        self.id = id
        self.session = session
        createdAt = now
        heardAt = now
        lastEvent = now
        steps = StepTable(runID: id, labels: labels)
    }

    // MARK: Reading

    var state: Run.State {
        let state = endHeldUntil == nil ? evidence.state : .running
        return state == .running && (!hasBegun || waitsAnew) ? .queued : state
    }

    /// The gateway reported something of it; a send that is only accepted has not begun.
    var hasBegun: Bool {
        startedAt != nil || firstEvent != nil || text.wasReported
    }

    var isActive: Bool { state.isActive }
    /// Its end was published: what is still heard of it is not shown any more.
    var isClosed: Bool { publishedState != nil }
    var isGone: Bool { goneAt != nil }
    var isOver: Bool { evidence.over != nil }
    /// It counts as interrupted, with or without an end so far.
    var mayBeTakenUp: Bool { isActive || (evidence.isInterrupted && evidence.over == .processGone) }
    func mayBeTakenUpLate(now: Timestamp) -> Bool {
        guard isClosed, mayBeTakenUp, let goneAt else { return false }
        return now.milliseconds - goneAt.milliseconds < Self.lateMilliseconds
    }
    var isProven: Bool { evidence.isProven }
    var isEndHeld: Bool { endHeldUntil != nil }
    /// Events were lost, or the transcript alone has a result.
    var needsHistory: Bool { hasGap || needsRows }
    var start: Timestamp { startedAt ?? firstEvent ?? createdAt }
    /// The end, or the last event before it.
    var lastSeen: Timestamp { endedAt?.time ?? chatEndedAt ?? lastEvent }

    var candidate: TurnMatch.Candidate {
        let steps = self.steps
        return TurnMatch.Candidate(
            id: id,
            starts: starts,
            joinedAt: starts.isEmpty && !isResumed ? firstEvent : nil,
            message: sentText,
            // A start that was not reported may be the time of the first event.
            mayMatchByWords: isActive && (starts.isEmpty || isResumed),
            sentAt: starts.first ?? startedAt ?? createdAt,
            endedAt: isActive ? followedAt : lastSeen
        ) { steps.contains(call: $0) }
    }

    /// Our message was handed to the gateway while nobody listened, and nothing was seen of its run yet.
    var isUnseen: Bool { isResumed && sentText != nil && !hasBegun }

    /// Its process is not the one that started then: an earlier process of Ladle may have seen the change.
    func began(before process: Timestamp?) -> Bool {
        guard let process, let start = starts.first else { return false }
        return start.adding(milliseconds: Self.processTolerance) < process
    }

    /// It has begun in a conversation that is not this one.
    func isOf(another shown: String) -> Bool { hasBegun && conversation.map { $0 != shown } ?? false }

    /// Our message was acknowledged, and nothing shows that it runs: June releases call a message under way that they have yet to
    /// begin, or refuse, and write the row of one that they refused.
    var mayBeRefused: Bool { sentText != nil && awaitsDelivery && !wasSeenAtWork }

    /// The gateway reported an error and may be in the pause before its next try.
    var isAwaitingRetry: Bool { evidence.isAwaitingRetry }

    /// An earlier process followed it, and the gateway has shown nothing of it since.
    var isUnaccountedFor: Bool {
        isResumed && text.isUnknown && steps.isEmpty
    }

    var run: Run {
        let state = self.state
        let end = endTime(state)
        return Run(
            id: id,
            session: session,
            state: state,
            // The first event of a run that was aborted while it waited comes after its end.
            startedAt: min(start, end ?? start),
            endedAt: end,
            text: text.published,
            steps: steps.steps(of: state, end: end),
            error: evidence.error?.cut(to: ActivityLimits.errorCharacters),
            code: evidence.isInterrupted ? .interrupted : nil,
            usage: usageByRow.isEmpty ? finalUsage : usageByRow.values.reduce(TokenUsage(), +)
        )
    }

    private func endTime(_ state: Run.State) -> Timestamp? { state.isActive ? nil : lastSeen }

    /// About its memory in bytes; texts count as often as they are kept on the way to the subscribers.
    var weight: Int {
        let sent = sentText?.utf8.count ?? 0
        return 4_096 + 2_048 * steps.count + 2 * steps.thoughtBytes + text.weight + 2 * sent
    }

    // MARK: Agent events

    /// - Parameter resultsInRows: the gateway leaves the output of commands out of its events; the transcript has it.
    mutating func take(_ event: AgentEvent, resultsInRows: Bool, now: Timestamp) {
        guard !isClosed else { return }
        hear(at: now)
        wasSeenAtWork = true
        let time = event.time ?? now
        let sequence = event.sequence
        lastEvent = max(lastEvent, time)
        guard let content = event.content else { return }
        // Events behind the end, under the same id, belong to another try.
        if let terminal = steps.terminalSequence, terminal > 1, sequence > terminal { return }
        steps.eventSequence = sequence
        defer { steps.eventSequence = nil }
        switch content {
        case .assistant(let piece):
            steps.closeThought()
            text.take(piece, sequence: sequence)
        case .tool(let call):
            guard call.phase != nil else { return }
            sawToolEvents = true
            began(at: time)
            steps.closeThought()
            steps.take(call, at: time, resultsInRows: resultsInRows)
        case .lifecycle(let lifecycle): take(lifecycle, sequence: sequence, at: time, now: now)
        case .item(let item):
            sawToolEvents = true
            began(at: time)
            steps.take(item, at: time)
        case .commandOutput(let output):
            guard output.isEnd, let call = output.toolCallId else { return }
            began(at: time)
            steps.take(output, of: call, at: time)
        case .thinking(let thought):
            began(at: time)
            steps.take(thought, sequence: sequence, at: time)
        case .compaction(let isStart):
            began(at: time)
            steps.takeCompaction(isStart: isStart, at: time)
        case .fallback(let fallback):
            began(at: time)
            steps.take(fallback, sequence: sequence, at: time)
        case .approval(let approval):
            guard let id = approval.id else { return }
            began(at: time)
            steps.take(approval, id: id, at: time)
        case .framesLost: hasGap = true
        case .other: break
        }
    }

    /// The gateway works on it, or tells how it ended.
    private mutating func hear(at now: Timestamp) {
        heardAt = now
        isUncertain = false
        goneAt = nil
        followedAt = nil
        waitsAnew = false
        shownOverAt = nil
    }

    mutating func began(at time: Timestamp) {
        firstEvent = firstEvent.map { min($0, time) } ?? time
    }

    private mutating func take(_ event: AgentEvent.Lifecycle, sequence: Int64, at time: Timestamp, now: Timestamp) {
        switch event.phase {
        case .start:
            let start = event.startedAt ?? time
            startedAt = startedAt.map { min($0, start) } ?? start
            if starts.count < Self.mostStarts, !starts.contains(start) { starts.append(start) }
            evidence.started(sequence: sequence)
        case .end: end(event, failed: false, sequence: sequence, at: time, now: now)
        case .error: end(event, failed: true, sequence: sequence, at: time, now: now)
        case .fallback:
            began(at: time)
            steps.take(event.fallback, sequence: sequence, at: time)
        case .other: break
        }
    }

    private mutating func end(
        _ event: AgentEvent.Lifecycle,
        failed: Bool,
        sequence: Int64,
        at time: Timestamp,
        now: Timestamp
    ) {
        let aborted = event.isAborted
        began(at: time)
        if endedAt.map({ sequence >= $0.sequence }) ?? true { endedAt = (sequence, event.endedAt ?? time) }
        evidence.ended(
            sequence: sequence,
            error: failed && !aborted ? event.error : nil,
            failed: failed,
            aborted: aborted,
            isFinal: event.isFallbackExhausted,
            now: now
        )
    }

    /// The session's own event about the end of the run.
    mutating func sessionEnded(aborted: Bool, now: Timestamp) {
        hear(at: now)
        evidence.ended(sequence: .max, error: nil, failed: false, aborted: aborted, isFinal: true, now: now)
    }

    mutating func takeApproval(_ approval: ApprovalEvent, id: String, at time: Timestamp) {
        guard !isClosed else { return }
        began(at: time)
        steps.takeApproval(id: id, approval.request, decision: approval.decision, at: time)
    }

    /// Ladle's own word about the end of an approval.
    mutating func approvalEnded(_ id: String, _ decision: ApprovalEvent.Decision, at time: Timestamp) {
        guard !isClosed, steps.contains(approval: id) else { return }
        steps.takeApproval(id: id, nil, decision: decision, at: time)
    }

    mutating func noteGap() { hasGap = true }

    // MARK: Chat events

    mutating func take(_ event: ChatEvent, triesAgain: Bool, now: Timestamp) {
        guard let state = event.state, !isClosed || state == .final || state == .error else { return }
        // Behind the answer's own row it tells of a step that failed.
        if isClosed, state == .error, evidence.isAnswered { return }
        if !isClosed { hear(at: now) }
        // A message that is refused before its run begins is not tried again.
        let triesAgain = triesAgain && hasBegun
        let sequence = event.sequence
        let time = event.time
        if let time { lastEvent = max(lastEvent, time) }
        if state == .delta {
            wasSeenAtWork = true
            began(at: time ?? now)
            return text.takeDelta(event, sequence: sequence)
        }
        guard state != .other else { return }
        if state != .error || !triesAgain { steps.runEnded(sequence: sequence) }
        began(at: time ?? now)
        if let time { chatEndedAt = chatEndedAt.map { min($0, time) } ?? time }
        if finalUsage == nil { finalUsage = event.usage }
        let said = event.message?.text.map { ReplyText.clean($0) }
        switch state {
        case .final:
            if let failure = event.message?.failure {
                return evidence.failed(failure, sequence: sequence, triesAgain: false, now: now)
            }
            evidence.finished()
            text.ended(with: said)
        case .aborted:
            evidence.aborted()
            text.aborted(with: said)
        // The message of an error only repeats it, so the partial text stays.
        case .error: evidence.failed(event.errorMessage ?? said, sequence: sequence, triesAgain: triesAgain, now: now)
        case .delta, .other: break
        }
    }

    // MARK: The transcript

    /// Rows of this run's turn, without the user's: thoughts, calls, results, usage, errors, and the text where the events
    /// did not give it.
    mutating func take(_ rows: [HistoryRow]) {
        guard !isClosed else { return }
        if isUnseen, let first = rows.first { began(at: first.time ?? createdAt) }
        for row in rows {
            switch row.role {
            case .assistant: takeAssistant(row)
            case .toolResult: takeResult(of: row.toolCallId, row.toolName, row.isError, row.toolResult, at: row.time)
            case .user, .system, .other: break
            }
        }
        text.take(rows)
    }

    private mutating func takeAssistant(_ row: HistoryRow) {
        let time = row.time ?? startedAt ?? createdAt
        lastStop = row.stopReason
        if usageByRow.count < GatewayLimits.historyRows, let usage = row.usage { usageByRow[row.identity] = usage }
        for (number, block) in row.blocks.enumerated() {
            switch block {
            case .thinking(let text, let summary, let signature):
                steps.takeRow(thought: text, summary: summary, signature: signature, number: number, at: time)
            case .toolCall(let id, let name, let arguments):
                steps.takeRow(call: id, name: name, arguments: arguments, at: time)
            case .toolResult(let id, let name, let isError, let result):
                takeResult(of: id, name, isError, result, at: row.time)
            case .text, .attachment: break
            }
        }
    }

    private mutating func takeResult(
        of call: String?,
        _ name: String?,
        _ isError: Bool,
        _ result: ToolResult,
        at time: Timestamp?
    ) {
        let seen = time ?? startedAt ?? createdAt
        steps.takeRow(resultOf: call, name: name, isError: isError, result, at: time, seen: seen)
    }

    /// The text so far that a page gives for this run.
    mutating func take(snapshot: String) {
        guard !snapshot.isEmpty else { return }
        wasSeenAtWork = true
        text.take(snapshot: snapshot)
    }

    /// The end of the run according to its own turn: an answer that is not complete is none.
    mutating func end(by rows: [HistoryRow]) {
        guard let last = rows.last(where: { $0.role == .assistant }) else { return }
        // A terminal event of its own says more.
        guard !isClosed || (isOver && !evidence.isProven) else { return }
        if isClosed, last.stopReason == .completed {
            // A row that was written later is another run's.
            guard let time = last.time, let overAt, time <= overAt else { return }
            text.correct(to: ReplyText.clean(last.text))
        }
        if let time = last.time { lastEvent = max(lastEvent, time) }
        if last.isAbortNote { return evidence.settled(.aborted, error: nil) }
        switch last.stopReason {
        case .completed: evidence.settled(.completed, error: nil)
        case .error: evidence.settled(.failed, error: last.errorMessage)
        case .aborted: evidence.settled(.aborted, error: nil)
        case .toolUse, .other, nil: break
        }
    }

    /// The gateway said that the run is over: its last rows may come with the next page.
    mutating func holdOver(until time: Timestamp, now: Timestamp) {
        heardAt = now
        wasHeld = true
        endHeldUntil = time
    }

    /// Whether pages have called it over for some time without showing its end: the last row of a run is written moments later.
    mutating func isStillShownOver(now: Timestamp) -> Bool {
        let since = shownOverAt ?? now
        shownOverAt = since
        return now.milliseconds - since.milliseconds >= Self.lastRowMilliseconds
    }

    /// The gateway said that the last try failed.
    mutating func failed(_ error: String?, now: Timestamp) {
        hear(at: now)
        evidence.failed(error, sequence: .min, triesAgain: true, now: now)
    }

    mutating func wantRows() { needsRows = true }

    /// A page has shown the turn of this run, or has none of it.
    mutating func pageSeen() {
        hasGap = false
        endHeldUntil = nil
        needsRows = isActive && steps.awaitsRows
    }

    // MARK: Ending by decision

    /// Waits once for the transcript before the end is published: thoughts and results of commands are only there.
    mutating func holdEnd(until time: Timestamp) -> Bool {
        guard !wasHeld, publishedState == nil, !evidence.state.isActive else { return false }
        wasHeld = true
        endHeldUntil = time
        return true
    }

    /// True when the clock has just ended the run, or the wait for a page.
    mutating func settle(now: Timestamp) -> Bool {
        guard let held = endHeldUntil else { return evidence.settle(now: now) }
        guard now >= held else { return false }
        endHeldUntil = nil
        return true
    }

    /// The run is over, and no event reported its end.
    mutating func end(_ reason: RunEvidence.Over, session state: Run.State? = nil, now: Timestamp? = nil) {
        if overAt == nil { overAt = now }
        if lastStop == .completed { evidence.settled(.completed, error: nil) }
        evidence.isOver(reason == .conversationReset && isUncertain ? .replacedUnseen : reason, session: state)
        isUncertain = false
    }

    /// An empty final event answers a command that needs no run.
    mutating func finishCommand(at time: Timestamp) {
        began(at: time)
        evidence.finished()
    }

    // MARK: The link

    /// - Parameter isGone: another process of the gateway answers now.
    /// - Parameter isNewProcess: of the gateway: it has its own time to take up what the ones before left.
    /// - Parameter process: when it began, by the gateway's clock.
    mutating func reconnected(isGone: Bool, isNewProcess: Bool = false, process: Timestamp? = nil, now: Timestamp) {
        isUncertain = true
        isSenderHere = false
        if isGone, followedAt == nil { followedAt = process }
        if isGone, goneAt == nil || isNewProcess { goneAt = now }
    }

    mutating func isKnownAlive(now: Timestamp) { hear(at: now) }

    /// The same message was sent again, after a try that left no trace. The run begins anew; its start was published.
    mutating func begin(again now: Timestamp) {
        hear(at: now)
        beginAgainUnseen()
        isStored = false
    }

    /// Nothing is left of it at the gateway; the steps and the text of the try before are over.
    mutating func waitAnew() {
        beginAgainUnseen()
        waitsAnew = true
    }

    /// The gateway began it anew; its rows are all that is seen of that.
    /// - Parameter now: by then its rows were written, where its end was published.
    mutating func takenUpUnseen(now: Timestamp) {
        if isClosed { overAt = now } else { beginAgainUnseen() }
        if isRemembered { text.forgetSnapshot() }
    }

    mutating func beginAgainUnseen() {
        evidence = RunEvidence()
        (wasSeenAtWork, seenRow) = (false, nil)
        steps.abandonOpen()
        text.beginAgain()
        (endedAt, chatEndedAt, endHeldUntil, wasHeld) = (nil, nil, nil, false)
        (hasGap, needsRows) = (false, false)
    }

    /// Gateways write the row of an aborted run up to 3 s after its end.
    private static let lastRowMilliseconds: Int64 = 3_000
    private static let mostStarts = 8
    /// 2026.6.11 took a run up nine minutes after its start, when several restarts had interrupted many sessions.
    private static let lateMilliseconds: Int64 = 3_600_000
    /// The start of a process is reckoned from its age, which a hello names some time after it was read.
    private static let processTolerance: Int64 = 1_000

    // MARK: Publishing

    /// Takes up a run that an earlier process followed.
    /// - Parameters:
    ///   - text: as far as that process kept it.
    ///   - earlier: the steps published then.
    mutating func resume(
        at time: Timestamp,
        isStartPublished: Bool,
        text soFar: String = "",
        steps earlier: [Step] = []
    ) {
        steps.resume(earlier)
        text.resume(with: soFar)
        if isStartPublished { (startedAt, starts) = (time, [time]) }
        self.isStartPublished = isStartPublished
        isResumed = true
        isUncertain = true
    }

    /// Takes the place of a run that an earlier process gave up.
    mutating func remember(_ past: GivenUpRun) {
        resume(at: past.startedAt, isStartPublished: true)
        isRemembered = true
        lastEvent = past.endedAt
        goneAt = past.goneAt
        text.take(snapshot: past.text)
        evidence.isOver(.processGone)
        (publishedState, publishedOver) = (.failed, .processGone)
    }

    /// Whether something was published since the last call.
    mutating func takeNews() -> Bool {
        defer { hasNews = false }
        return hasNews
    }

    /// Appends the differences since the last call.
    /// - Returns: the session, when the run has just ended for the first time.
    mutating func publish(to changes: inout [RunChange]) -> SessionKey? {
        let state = self.state
        guard state != .queued || isStartPublished else { return nil }
        let known = changes.count
        defer { if changes.count > known { hasNews = true } }
        if !isStartPublished {
            isStartPublished = true
            var first = run
            first.state = .running
            first.endedAt = nil
            first.error = nil
            first.text = ""
            first.steps = []
            changes.append(.started(first))
        }
        let hasEnded = !state.isActive
        let end = endTime(state)
        if let closed = publishedState {
            guard hasEnded, closed != state || (state == .failed && publishedOver != evidence.over) else { return nil }
            (publishedState, publishedOver) = (state, evidence.over)
            text.settle(wasAborted: evidence.wasAborted)
            changes.append(.corrected(run))
            return nil
        }
        text.publish(of: id, isFinal: hasEnded, wasAborted: evidence.wasAborted, to: &changes)
        if hasEnded {
            steps.closeAll()
            if state == .failed, let error = evidence.error { steps.fail(error, at: lastSeen) }
        }
        steps.publish(of: state, end: end, to: &changes)
        guard hasEnded else { return nil }
        (publishedState, publishedOver) = (state, evidence.over)
        if evidence.isProven { changes.append(.proven(id, .end)) }
        changes.append(.ended(run))
        return session
    }
}
