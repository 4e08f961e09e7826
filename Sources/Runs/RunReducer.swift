import Basics
import Gateway
import Labels
import Ledger

/// Collects the facts about one run from agent events, chat events and transcript rows, which come in any order, repeated and with
/// gaps. The run is computed from these facts, and its differences from the published run become changes.
struct RunReducer: Sendable {
    let id: String
    let session: SessionKey
    /// How the gateway that has the run treats messages.
    var traits: MessageTraits

    private(set) var steps: StepTable
    private(set) var times: RunTimes
    private(set) var contact: RunContact
    private(set) var publication = RunPublication()
    var message = RunMessage()
    /// The session's conversation during the run; a reset of the session begins another one.
    var conversation: String?
    /// The memory that the tracker counts for this run, in bytes.
    var countedWeight = 0

    private(set) var text = RunText()
    private var ending = Ending()
    private var isHandedOver = false
    /// When Ladle learned that the run is over, although no event reported its end.
    private var overAt: Timestamp?
    /// The end is known. It is published at this time, or after the next page of the transcript.
    private var endHeldUntil: Timestamp?
    private var wasHeld = false
    private var hasGap = false
    private var needsRows = false
    /// The gateway began the run after it had said that it stopped it, as April does in the first 100 ms of a run. Only the
    /// transcript shows what comes of it.
    private(set) var beganAfterStop = false
    /// The answer of a run that began after its stop may be in the transcript.
    private(set) var hasAnswerToRead = false
    private var usageByRow: [String: TokenUsage] = [:]
    private var finalUsage: TokenUsage?
    /// How the assistant's last row ended. It gives the run's end once the gateway calls the run over.
    private var lastStop: TranscriptRow.StopReason?
    /// The transcript has a row that the model wrote in this run, and not only the gateway's own words.
    private var hasModelsRow = false
    private var hasModelsWords = false

    init(
        id: String,
        session: SessionKey,
        labels: LabelTable,
        traits: MessageTraits = GatewayProfile(.june).messages,
        now: Timestamp
    ) {
        self.id = id
        self.session = session
        self.traits = traits
        times = RunTimes(createdAt: now)
        contact = RunContact(heardAt: now)
        steps = StepTable(runID: id, labels: labels)
    }

    // MARK: Reading

    var state: Run.State {
        let state = endHeldUntil == nil ? ending.state : .running
        return state == .running && (!hasBegun || contact.awaitsResend) ? .queued : state
    }

    /// The gateway reported the run's start or some of its work. An acknowledged send alone is no start.
    var hasBegun: Bool { times.hasBegun || text.wasReported }
    /// The same since the message was sent last: the gateway may have lost it while it worked on it.
    var hasTryBegun: Bool { times.hasTryBegun || text.wasReported }
    var isActive: Bool { state.isActive }
    /// The run's end was published. Later reports can only correct it.
    var isClosed: Bool { publication.isClosed }
    var isOver: Bool { ending.over != nil }
    /// The gateway said that it stopped the run, and it is not known to go on with it.
    var wasStopped: Bool { isClosed && ending.wasStopped && ending.over == nil }
    /// The agent was at work on our message, of which no row was seen that lasts.
    var leftNoRow: Bool { hasBegun && message.awaitsDelivery && !message.isStored }
    /// The gateway may still go on with the run. Either the run is active; or it ended only because the gateway's process was gone;
    /// or it was stopped, and the process may have been killed before the stop was on its disk.
    var mayContinue: Bool { isActive || ending.wasGivenUp || wasStopped }
    /// Whether the next process of the gateway may go on with this stopped run, because it does not know of the stop. A run that
    /// began in spite of its stop was under way until its process was gone, so any other process may go on with it.
    func mayHaveLostItsStop(process: Continuity, startedAt: Timestamp?, now: Timestamp) -> Bool {
        guard wasStopped, !contact.isProcessGone || contact.mayContinueLate(now: now) else { return false }
        if beganAfterStop { return process == .other }
        return startedAt.map { contact.mayHaveLostItsStop(process: $0) } ?? false
    }
    func mayContinueLate(now: Timestamp) -> Bool { isClosed && mayContinue && contact.mayContinueLate(now: now) }
    var isEndHeld: Bool { endHeldUntil != nil }
    /// Events were lost, or only the transcript has a result.
    var needsHistory: Bool { hasGap || needsRows }

    /// The run as a claimant of rows of the transcript.
    /// - Parameter aheadMs: how far the gateway's clock is ahead of ours now. Either may have been set since the message was sent.
    func claimant(aheadMs: Int64) -> Attribution.Claimant {
        let steps = self.steps
        var claimant = Attribution.Claimant(id, keys: [id], words: message.words)
        claimant.starts = times.starts
        // Without a reported start this is the time at which we sent the message, by our clock.
        let sent = times.starts.isEmpty ? onGatewayClock(times.sentAt, aheadMs: aheadMs) : times.sentAt
        claimant.sentAt = sent
        claimant.earlier = message.earlier
        // The start of a run that an earlier process of Ladle followed may be the time of its first event. A message that was sent again may
        // have begun again unseen.
        if isActive, times.starts.isEmpty || publication.isFromDisk || !hasTryBegun {
            claimant.written = .row(sentAt: sent)
        } else if ending.wasStopped, times.starts.isEmpty {
            claimant.written = .row(sentAt: sent, stoppedAt: times.lastSeen)
        } else if publication.isFromDisk || times.starts.isEmpty, message.words != nil, !ending.wasStopped,
            !ending.wasGivenUp
        {
            // Its start was not seen, or the first event that was seen of it may have come long after it.
            claimant.written = .row(dispatchedAt: sent, knownAt: times.lastSeen)
            if state == .completed {
                // A restarted gateway may write the row once more.
                claimant.resumed = claimant.written
                claimant.written = .row(dispatchedAt: sent, completedAt: times.lastSeen)
            }
        } else if message.words != nil, let first = times.starts.min(), let last = times.starts.max() {
            claimant.written = .row(ofTriesFrom: first, to: last)
        }
        // The next process of the gateway goes on with the run in another one, to which its prompt belongs.
        if hasBegun, contact.isProcessGone { claimant.resumed = .never }
        if times.starts.isEmpty, !publication.isFromDisk, !wasTurnedAway { claimant.seenAt = times.firstEvent }
        if publication.isFromDisk, !publication.isEndFromDisk, message.words == nil, !text.published.isEmpty {
            // Perhaps the earlier process saw its first event only.
            (claimant.seenAt, claimant.said) = (times.start, text.published)
        }
        claimant.endedAt = isActive || beganAfterStop ? contact.followedAt : times.lastSeen
        claimant.calls = { steps.contains(call: $0) }
        return claimant
    }

    /// The gateway answered with a text of its own, and no work was seen. It may have written no row of the message.
    private var wasTurnedAway: Bool { ending.isTurnedAway && !message.wasSeenAtWork }

    /// A time of our clock.
    func onGatewayClock(_ time: Timestamp, aheadMs: Int64) -> Timestamp {
        time.adding(milliseconds: message.clockSkewMs ?? aheadMs)
    }

    /// The gateway said that the message waits, and the link was away since: the run that answers it may have come and gone unseen. Then its
    /// rows are all there is of it.
    var mayHaveRunUnseen: Bool { message.deferral != nil && isActive && contact.isUncertain }

    /// Some of the run's work was seen: an event of its own, text, a step or a row of the model.
    var wasSeenAtWork: Bool { message.wasSeenAtWork || text.wasReported || steps.haveWork || hasModelsRow }

    /// None of the run's work was seen, so a run with an id of the gateway's own may do it.
    var mayBeAnotherRun: Bool { !isClosed && !message.wasSeenAtWork && steps.isEmpty }

    /// Our message may wait behind another run: nothing of its own run was seen.
    var mayWait: Bool { message.words != nil && !hasBegun && !publication.isFromDisk }

    /// Nothing that happened in the session since our message was sent can have been missed.
    var isFollowedSinceSent: Bool {
        message.hasMissedNothing && !contact.isUncertain && !publication.isFromDisk
    }

    /// An earlier process of Ladle handed our message to the gateway, and nothing of its run has been seen since.
    var isUnseen: Bool { publication.isFromDisk && message.words != nil && !hasBegun }

    /// Our message, of whose run nothing was seen since it was sent last, or only a row, and Ladle may have missed the event that puts it behind another run.
    var mayBeDeferred: Bool {
        message.words != nil && (!hasBegun || isKnownByRowsAlone || isBetweenTries)
            && (publication.isFromDisk || contact.isUncertain)
    }

    /// The agent had begun with the message, which was lost and sent again, and nothing was seen of that try.
    var isBetweenTries: Bool { hasBegun && !times.hasTryBegun && !message.wasSeenAtWork }

    /// The run is under way because its message is in the transcript. No event named it, so the gateway may know it by another id.
    var isKnownByRowsAlone: Bool {
        message.words != nil && hasBegun && isActive && times.starts.isEmpty && !message.wasSeenAtWork
            && !text.wasReported
    }

    /// Whether the gateway's run that was at work in this time wrote the answer of this run, which began again in it: a session has one
    /// run at a time.
    func wasAnswered(within work: ClockWindow) -> Bool {
        ending.isAgain && !isActive && work.contains(times.lastSeen)
    }

    /// The run began in a conversation other than this one.
    func isOf(another shown: String) -> Bool { hasBegun && conversation.map { $0 != shown } ?? false }

    /// The process that had the message is gone, and the outbox may send it again: only the outbox knows whether the run is over.
    var mayBeginAgain: Bool { contact.isProcessGone && message.awaitsDelivery }

    /// The gateway reported an error and may be in the pause before its next try.
    var isAwaitingRetry: Bool { ending.isAwaitingRetry }

    /// An earlier process of Ladle followed the run, and the gateway has shown nothing of the run since.
    var isUnaccountedFor: Bool { publication.isFromDisk && text.isUnknown && steps.isEmpty }

    /// The times of the run as its end is on the streams: an event that comes after it and corrects nothing does not move them.
    private var told: (start: Timestamp, end: Timestamp?)?

    /// The run as it is shown.
    var run: Run {
        var run = latest
        if let told, !run.state.isActive { (run.startedAt, run.endedAt) = told }
        return run
    }

    private var latest: Run {
        let state = self.state
        let end = endTime(state)
        return Run(
            id: id,
            session: session,
            state: state,
            // A run that is aborted while it waits gets its first event after its end. It is shown as started at its end.
            startedAt: min(times.start, end ?? times.start),
            endedAt: end,
            text: text.published,
            isTruncated: !state.isActive && text.isTruncated,
            steps: steps.steps(of: state, end: end),
            error: ending.error?.cut(to: ActivityLimits.errorCharacters),
            end: ending.end,
            continuedAs: ending.continuedAs,
            mayReturn: mayReturn,
            executedAgain: ending.isAgain,
            handedOver: isHandedOver && ending.end == .completed,
            usage: usageByRow.isEmpty ? finalUsage : usageByRow.values.reduce(TokenUsage(), +)
        )
    }

    private var mayReturn: Bool {
        let work = Return.Work(
            isOurs: message.words != nil,
            wasRefused: message.wasRefused,
            wasSeen: wasSeenAtWork,
            hasOutput: !text.published.isEmpty || !steps.isEmpty,
            hasModelsWords: hasModelsWords
        )
        return Return.mayFollow(ending, work, traits)
    }

    private func endTime(_ state: Run.State) -> Timestamp? { state.isActive ? nil : times.lastSeen }

    /// An estimate of the run's memory in bytes. Each text counts once for each copy on its way to the subscribers.
    var weight: Int {
        let sent = message.anyonesWords?.text.utf8.count ?? 0
        return 4_096 + 2_048 * steps.count + 2 * steps.thoughts.byteCount + text.weight + 2 * sent
            + (doubted?.bytes ?? 0)
    }

    // MARK: Agent events

    /// - Parameter resultsInRows: the gateway leaves the output of commands out of its events; the transcript has it.
    mutating func take(_ event: AgentEvent, resultsInRows: Bool, now: Timestamp) {
        guard !isClosed else { return takeAfterEnd(event, now: now) }
        heard(at: now)
        message.seenAtWork()
        let time = event.time ?? now
        let sequence = event.sequence
        times.seen(at: time)
        guard let content = event.content else { return }
        // Events of the same run after its end belong to another try.
        if let terminal = steps.terminalSequence, terminal > 1, sequence > terminal { return }
        if steps.take(content, sequence: sequence, at: time, resultsInRows: resultsInRows) { began(at: time) }
        switch content {
        case .assistant(let piece):
            began(at: time)
            text.take(piece, sequence: sequence)
        case .lifecycle(let lifecycle): take(lifecycle, sequence: sequence, at: time, now: now)
        case .framesLost: noteGap()
        case .tool, .item: text.endMessage(sequence: sequence)
        case .commandOutput, .thinking, .compaction, .fallback, .approval, .other: break
        }
    }

    private mutating func takeAfterEnd(_ event: AgentEvent, now: Timestamp) {
        guard ending.wasStopped, case .lifecycle(let lifecycle)? = event.content, lifecycle.phase == .start else {
            return
        }
        beganAfterStop = true
        times.foundStart(at: lifecycle.startedAt ?? event.time ?? now)
    }

    /// An answer's row came as an event. If this run was stopped just before or began in spite of its stop, the answer may be its own.
    mutating func answerCame(now: Timestamp) -> Bool {
        hasAnswerToRead = beganAfterStop || (wasStopped && contact.mayHaveStoppedInVain(now: now))
        return hasAnswerToRead
    }

    /// The gateway said that it stopped the run, after it had written a whole answer of the run. The transcript decides.
    var isStopInDoubt: Bool { ending.wasStopped && lastStop == .completed }

    mutating func answerRead() { hasAnswerToRead = false }

    mutating func began(at time: Timestamp) { times.began(at: time) }
    /// The gateway reported the run's work or its end, so nothing is in doubt any more.
    mutating func heard(at now: Timestamp) { contact = RunContact(heardAt: now) }

    private mutating func take(_ event: AgentEvent.Lifecycle, sequence: Int64, at time: Timestamp, now: Timestamp) {
        switch event.phase {
        case .start:
            if !text.wasReported { text.startSeen() }
            times.started(at: event.startedAt ?? time)
            ending.started(sequence: sequence)
        case .end: end(event, failed: false, sequence: sequence, at: time, now: now)
        case .error: end(event, failed: true, sequence: sequence, at: time, now: now)
        case .fallback, .other: break
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
        times.ended(at: event.endedAt ?? time, sequence: sequence)
        ending.tryEnded(
            aborted ? .aborted : failed ? .failed : .completed,
            error: failed && !aborted ? event.error : nil,
            sequence: sequence,
            isLast: event.isLastTry,
            now: now
        )
    }

    /// A final event that may have the answer before once more.
    private var doubted: (event: ChatEvent, at: Timestamp, bytes: Int)?

    /// No work on our message was seen, so the text of a final event may only repeat the previous answer.
    var isAnswerDoubtful: Bool {
        message.words.map { !$0.isCommand } ?? false && times.starts.isEmpty && !text.wasReported && steps.isEmpty
    }

    /// Only the transcript shows whether the run has an answer.
    mutating func doubt(_ event: ChatEvent, at time: Timestamp) {
        contact.isUncertain = true
        doubted = (event, time, event.message?.text?.utf8.count ?? 0)
    }

    /// Takes the event for the gateway's own answer, which needed no run, if no answer of a model from before the message has its words.
    mutating func settleDoubt(_ rows: [TranscriptRow], askedAt: Timestamp, aheadMs: Int64, now: Timestamp) {
        guard let (event, time, _) = doubted, askedAt >= time else { return }
        doubted = nil
        // Work that was seen since shows that the event was not about this run.
        guard isAnswerDoubtful, let said = event.message?.text else { return }
        let words = Words(ReplyText.clean(said))
        let since = ClockWindow.row(sentAt: onGatewayClock(times.sentAt, aheadMs: aheadMs))
        let isOld = rows.contains { row in
            row.role == .assistant && !row.isInjected && Words(ReplyText.clean(row.text)) == words
                && !(row.time.map { since.contains($0) } ?? false)
        }
        if !isOld { take(event, triesAgain: false, now: now) }
    }

    /// A `sessions.changed` event reported the run's end.
    mutating func sessionEnded(aborted: Bool, now: Timestamp) {
        heard(at: now)
        times.seen(at: now)
        ending.tryEnded(aborted ? .aborted : .completed, error: nil, sequence: .max, isLast: true, now: now)
    }

    mutating func takeApproval(_ approval: ApprovalEvent, id: String, at time: Timestamp) {
        guard !isClosed else { return }
        began(at: time)
        steps.takeApproval(id: id, approval.request, decision: approval.decision, at: time)
    }

    /// Ladle itself found out that the approval has ended.
    mutating func approvalEnded(_ id: String, _ decision: ApprovalEvent.Decision, at time: Timestamp) {
        guard !isClosed, steps.contains(approval: id) else { return }
        steps.takeApproval(id: id, nil, decision: decision, at: time)
    }

    /// The connection lost frames, perhaps some of this run.
    mutating func framesLost() {
        message.framesLost()
        // The run that answers a message which waits may have come and gone.
        if message.deferral != nil { contact.isUncertain = true }
        noteGap()
    }

    mutating func noteGap() {
        hasGap = true
        text.eventsMissed()
    }

    // MARK: Chat events

    mutating func take(_ event: ChatEvent, triesAgain: Bool, now: Timestamp) {
        guard let state = event.state, !isClosed || state == .final || state == .error else { return }
        // If the transcript has the whole answer, the error is that of a step.
        if isClosed, state == .error, ending.isAnswered { return }
        // An empty final event is no end: it says that a message waits behind a run, or that the gateway remembers its key.
        if isClosed, state == .final, event.message == nil, ending.isProven { return }
        if !isClosed { heard(at: now) }
        // An error before the run began is a refusal, and the gateway does not try a refused message again.
        let triesAgain = triesAgain && hasBegun
        let sequence = event.sequence
        let time = event.time
        if let time { times.seen(at: time) }
        if state == .delta {
            message.seenAtWork()
            began(at: time ?? now)
            return text.takeDelta(event, sequence: sequence)
        }
        guard state != .other else { return }
        if state != .error || !triesAgain { steps.runEnded(sequence: sequence) }
        began(at: time ?? now)
        if let time { times.chatEnded(at: time) } else { times.seen(at: now) }
        if finalUsage == nil { finalUsage = event.usage }
        let said = event.message?.text.map { ReplyText.clean($0) }
        switch state {
        case .final:
            if let failure = event.message?.failure {
                return ending.turnedAway(failure, sequence: sequence, now: now)
            }
            isHandedOver = event.isHandedOver
            ending.finished(withAnswer: message.wasSeenAtWork && said?.isEmpty == false)
            text.ended(with: said)
        case .aborted:
            ending.stopped()
            text.aborted(with: said)
        // The message of an error event only repeats the error, so the partial text stays.
        case .error:
            let text = event.errorMessage ?? said
            ending.failed(text, sequence: sequence, mayBeTriedAgain: triesAgain, now: now)
        case .delta, .other: break
        }
    }

    // MARK: The transcript

    /// Takes thoughts, calls, results, usage and errors from the rows of this run's turn, and the text if events did not give it.
    mutating func take(_ rows: [TranscriptRow]) {
        guard !isClosed else { return }
        if isUnseen, let first = rows.first { began(at: times.time(of: first)) }
        for row in rows {
            steps.take(row, seen: times.time(of: row))
            guard row.role == .assistant else { continue }
            lastStop = row.isAbortNote ? .aborted : row.stopReason
            if !row.isByGateway { hasModelsRow = true }
            if row.hasModelsWords { hasModelsWords = true }
            if usageByRow.count < GatewayLimits.historyRows, let usage = row.usage { usageByRow[row.identity] = usage }
        }
        text.take(rows)
    }

    /// Takes the text so far, which a page of the transcript gives for the run under way.
    mutating func take(snapshot: String) {
        guard !snapshot.isEmpty else { return }
        message.seenAtWork()
        text.take(snapshot: snapshot)
    }

    /// Takes the run's end from the last row of its own turn. An incomplete answer is no end.
    mutating func end(by rows: [TranscriptRow]) {
        guard let last = rows.last(where: { $0.role == .assistant }) else { return }
        // Of a stopped run, the model's whole answer says more than the event of its stop.
        if ending.wasStopped, !isOver, last.stopReason == .completed, !last.isAbortNote, !last.isInjected {
            return answerAfterStop(rows)
        }
        // The run's own terminal event says more than its rows.
        guard !isClosed || (isOver && !ending.isProven) else { return }
        if isClosed, last.stopReason == .completed {
            // A row that was written later belongs to another run.
            guard let time = last.time, let overAt, time <= overAt else { return }
            text.correct(to: rows)
        }
        if let time = last.time { times.seen(at: time) }
        if last.isAbortNote { return ending.shown(.aborted) }
        switch last.stopReason {
        case .completed: ending.shown(.completed)
        case .error:
            ending.shown(.failed, error: last.errorMessage)
            // No event will report the end of a run that came and went unseen.
            guard message.deferral != nil, !hasBegun else { break }
            ending.failed(last.errorMessage, sequence: .min, mayBeTriedAgain: true, now: times.time(of: last))
        case .aborted: ending.shown(.aborted)
        case .toolUse, .other, nil: break
        }
    }

    private mutating func answerAfterStop(_ rows: [TranscriptRow]) {
        guard let time = rows.last(where: { $0.role == .assistant })?.time else { return }
        beganAfterStop = false
        times.forgetEnd()
        times.seen(at: time)
        for row in rows { steps.take(row, seen: times.time(of: row)) }
        text.correct(to: rows)
        ending.answeredAfterStop()
    }

    /// Holds back the end of a run that the gateway calls over: the next page may still bring the last rows.
    mutating func holdOver(until time: Timestamp, now: Timestamp) {
        contact.heardAt = now
        wasHeld = true
        endHeldUntil = time
    }

    mutating func shownOver(at now: Timestamp) { contact.shownOver(at: now) }

    /// The gateway is through with the message. Only the transcript shows whether it ran.
    mutating func overUnseen() { contact.isUncertain = true }

    /// The gateway said that the last try failed.
    mutating func failed(_ error: String?, now: Timestamp) {
        heard(at: now)
        ending.failed(error, sequence: .min, mayBeTriedAgain: true, now: now)
    }

    mutating func wantRows() { needsRows = true }

    /// A page of the transcript was read; it showed this run's turn or has no row of the run.
    mutating func pageSeen() {
        hasGap = false
        endHeldUntil = nil
        needsRows = isActive && steps.awaitsRows
    }

    // MARK: Ending by decision

    /// Holds the end back once until the transcript is read: only there are thoughts and the output of commands.
    mutating func holdEnd(until time: Timestamp) -> Bool {
        guard !wasHeld, !isClosed, !ending.state.isActive else { return false }
        wasHeld = true
        endHeldUntil = time
        return true
    }

    /// Its last try has ended, and no event had its whole answer: some of what it said may have been missed.
    var lacksAnswer: Bool { !isClosed && ending.endsByItsLastTry && ending.state == .completed && !text.isWhole }

    /// - Returns: whether the run's end, or the wait for a page, has just become due.
    mutating func settle(now: Timestamp) -> Bool {
        guard let held = endHeldUntil else { return ending.settle(now: now) }
        guard now >= held else { return false }
        endHeldUntil = nil
        return true
    }

    /// Ends a run that is over although no event reported its end.
    mutating func end(_ reason: Ending.Over, now: Timestamp? = nil) {
        if overAt == nil { overAt = now }
        if lastStop == .completed { ending.shown(.completed) }
        let wasUnseen = reason == .conversationReset && contact.isUncertain
        ending.over(wasUnseen ? .replacedUnseen : reason)
        contact.isUncertain = false
    }

    /// The gateway answers a command that needs no run with an empty final event.
    mutating func finishCommand(at time: Timestamp) {
        began(at: time)
        ending.finished()
    }

    /// The user's row of this time was found to be the run's, so its time is one of the run's starts.
    mutating func began(withRowAt time: Timestamp) { times.foundStart(at: time) }

    // MARK: The link

    /// Ladle is connected again. The parameters are those of `RunContact.reconnected`.
    mutating func reconnected(isGone: Bool, isNewProcess: Bool = false, process: Timestamp? = nil, now: Timestamp) {
        contact.reconnected(isGone: isGone, isNewProcess: isNewProcess, process: process, now: now)
        if endHeldUntil != nil, lacksAnswer { endHeldUntil = now.adding(milliseconds: RunTracker.lastPageMilliseconds) }
        text.eventsMissed()
        message.connectionChanged()
    }

    /// The message was sent again after a try that left no trace. The run begins again; its start is already published.
    mutating func begin(again now: Timestamp, equalsBefore equals: Int) {
        heard(at: now)
        beginAgain()
        message.sentAgain(equalsBefore: equals)
    }

    /// The run goes on with another one, which the gateway's restart cut off.
    mutating func beganBefore() { ending.beganBefore() }

    /// The gateway has lost the message, and with it the steps and the text of the last try.
    mutating func awaitResend() {
        beginAgain()
        contact.awaitsResend = true
    }

    /// The gateway began the run again, and Ladle saw no event of that: only the rows of the transcript show it.
    /// - Parameter now: when the rows were read. A published end is corrected by rows up to this time.
    mutating func continuedUnseen(now: Timestamp) {
        if isClosed { overAt = now } else { beginAgain() }
        ending.beganBefore()
        // If the run was stopped, the rows behind the stop are its own too.
        if ending.wasStopped { beganAfterStop = true }
        if publication.isEndFromDisk { text.forgetSnapshot() }
    }

    private mutating func beginAgain() {
        ending.lost(hadBegun: publication.isStartPublished)
        message.beginAgain()
        steps.abandonOpen()
        text.beginAgain()
        times.beginAgain()
        (lastStop, hasModelsRow, hasModelsWords) = (nil, false, false)
        (overAt, endHeldUntil, isHandedOver) = (nil, nil, false)
        (wasHeld, hasGap, needsRows) = (false, false, false)
        doubted = nil
    }

    // MARK: From the database

    mutating func follow(_ known: KnownRun) {
        message.follow(known.message)
        message.mayBeStrangers = known.mayBeStrangers
        contact.isUncertain = true
        if let run = known.published {
            text.resume(with: run.text, isTruncated: run.isTruncated)
            steps.resume(run.steps)
            times.resume(run)
            ending = Ending(
                published: run.end,
                continuedAs: run.continuedAs,
                error: run.error,
                isAgain: run.executedAgain
            )
            isHandedOver = run.handedOver
            if known.message?.hadBegun == true {
                ending.beganBefore()
                times.beginAgain()
            }
            // Work on the message shows that it was not refused, so its row proves its delivery. It may be that of a try that was lost.
            let hasWork = !run.text.isEmpty || run.steps.contains { [.tool, .thinking].contains($0.kind) }
            if hasWork, known.message?.hadBegun != true { message.seenAtWork() }
            if run.state.isActive, known.message?.delivery == .lost { awaitResend() }
        }
        if let goneAt = known.goneAt { reconnected(isGone: true, now: goneAt) }
        if let stoppedAt = known.stoppedAt {
            contact = RunContact(heardAt: stoppedAt)
            began(at: times.start)
            ending.stopped()
        }
        publication.follow(known.published, over: ending.over)
    }

    // MARK: Publishing

    /// Whether something was published since the last call.
    mutating func takeNews() -> Bool { publication.takeNews() }

    /// Appends the differences since the last call.
    /// - Returns: the session, when the run has just ended for the first time.
    mutating func publish(to changes: inout [RunChange]) -> SessionKey? {
        let known = changes.count
        defer { if changes.count > known { publication.published() } }
        let state = self.state
        switch publication.next(state, over: ending.over, isAgain: ending.isAgain) {
        case .nothing: return nil
        case .correction:
            text.settle(wasAborted: ending.wasStopped)
            changes.append(.corrected(takeTold()))
            if ending.isProven, message.awaitsDelivery { changes.append(.proven(id, .end)) }
            return nil
        case .differences(let isStart, let isEnd):
            if isStart { changes.append(.started(atItsStart)) }
            publishDifferences(of: state, isEnd: isEnd, to: &changes)
            guard isEnd else { return nil }
            if ending.showsDelivery { changes.append(.proven(id, .end)) }
            changes.append(.ended(takeTold()))
            return session
        }
    }

    private mutating func takeTold() -> Run {
        let run = latest
        told = (run.startedAt, run.endedAt)
        return run
    }

    private mutating func publishDifferences(of state: Run.State, isEnd: Bool, to changes: inout [RunChange]) {
        text.publish(of: id, isFinal: isEnd, wasAborted: ending.wasStopped, to: &changes)
        if isEnd {
            steps.closeAll()
            if state == .failed, let error = ending.error { steps.fail(error, at: times.lastSeen) }
        }
        steps.publish(of: state, end: endTime(state), to: &changes)
    }

    /// The run as `started` publishes it: without text, steps and end.
    private var atItsStart: Run {
        var first = latest
        first.state = .running
        first.endedAt = nil
        first.error = nil
        first.text = ""
        first.steps = []
        return first
    }
}
