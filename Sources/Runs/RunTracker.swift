package import Basics
package import Gateway
package import Labels
package import Ledger

/// Follows all runs of the gateway, also the runs that other clients started. Events, transcript pages and answers go in, changes
/// come out; the tracker does no I/O and has no clock. A run ends by evidence: its own terminal event, the rows of its own turn, or
/// the gateway's statement that the run is over. Silence alone ends no run: the tracker only has the gateway asked.
package struct RunTracker: Sendable {
    package var defaults: SessionDefaults
    package var profile = GatewayProfile(.june) {
        didSet { memory.traits = profile.messages }
    }
    /// How far the gateway's clock is ahead of ours now.
    package var clockSkewMs: Int64 = 0

    private var memory: RunMemory
    /// The gateway sends tool events also for runs that other clients started.
    private var seesAllToolEvents = false
    private var wantsPageNow = false
    private var isLinked = true

    /// Rows to ask for in one page: as many as one run can have written since the page before.
    package static let pageRows = 50

    /// How long the end of a run waits for a page of its transcript; older gateways answer long before.
    static let holdMilliseconds: Int64 = 1_000
    /// How long the end waits for the page after the gateway called the run over. A gateway that has just started is slow.
    static let lastPageMilliseconds: Int64 = 30_000
    /// How long the tracker follows a message of which the gateway has shown nothing. The outbox looks for its own entry longer.
    static let queuedMilliseconds: Int64 = 1_800_000
    /// How long nothing must have been at work until a message that waits counts as lost.
    private static let lostMilliseconds: Int64 = 600_000

    package init(labels: LabelTable = .extended, defaults: SessionDefaults = .standard) {
        memory = RunMemory(labels: labels)
        self.defaults = defaults
    }

    private var looks: TranscriptSchedule {
        TranscriptSchedule(seesAllToolEvents: seesAllToolEvents, sendsRows: profile.sendsRows)
    }
    private var matching: RunMatching { RunMatching(clockSkewMs: clockSkewMs, profile: profile) }
    private var reader: PageReader { PageReader(matching: matching, profile: profile) }

    // MARK: Reading

    /// The run with this id. The id of a deferred send leads to the run that answers the send.
    package func run(_ id: String) -> Run? {
        guard let reducer = memory[resolved(id)], !reducer.publication.isEndFromDisk else { return nil }
        return reducer.run
    }

    package func resolved(_ id: String) -> String { memory.resolved(id) }

    /// The session of a run, even of one that an earlier process of Ladle saw end.
    package func session(ofRun id: String) -> SessionKey? { memory[resolved(id)]?.session }

    /// The runs in progress whose start was published, in the order in which they began.
    package var shown: [String] {
        memory.sessions.values.flatMap(\.active).compactMap { id in
            memory[id].flatMap { $0.isActive && $0.publication.isStartPublished ? ($0.times.start, id) : nil }
        }.sorted { $0 < $1 }.map(\.1)
    }

    /// How long the published text of a run is.
    package func textBytes(ofRun id: String) -> Int { memory[id]?.text.publishedText.count ?? 0 }

    /// Newest first.
    package func runs(activeOnly: Bool = false, session: SessionKey? = nil) -> [Run] {
        memory.runs(activeOnly: activeOnly, session: session)
    }

    /// The main session and the sessions with the newest runs.
    package func recentSessions(_ most: Int) -> [SessionKey] {
        [defaults.mainSession] + memory.recentSessions(most - 1, besides: defaults.mainSession)
    }

    var labels: LabelTable { memory.labels }

    /// The run of each turn, by the turn's place.
    /// - Parameter told: the runs with which turns are on the stream, by the turn's place. The tracker may have forgotten them.
    func owners(of turns: [TranscriptTurn], session: SessionKey, told: [Int: String] = [:]) -> [Int: String] {
        matching.match(turns, session: session, told: told, in: memory).merging(told) { own, _ in own }
    }

    package var activeCount: Int { memory.sessions.values.reduce(0) { $0 + $1.active.count } }

    // MARK: Busy sessions

    /// Runs that keep a session busy. A send that the gateway has only acknowledged does not.
    package var busyRuns: [BusyRun] { memory.busyRuns(resumesRuns: profile.resumesRuns) }

    /// Busy runs that changed since the last call, and the deferred sends of their sessions.
    package mutating func takeChangedBusyRuns() -> [BusyRun] {
        memory.takeChangedBusyRuns(resumesRuns: profile.resumesRuns)
    }

    // MARK: Our own sends

    /// Our message was handed to the gateway. `id` is its idempotency key, and so the id of its run. The outbox sends the same key
    /// again if the last try left no trace.
    /// - Returns: whether the agent may do its work a second time: the run had begun.
    @discardableResult
    package mutating func sent(_ id: String, session: SessionKey, text: String, now: Timestamp) -> Bool {
        let known = resolved(id)
        if matching.isAtRest(session, forMs: RunMatching.longRestMs, now: now, in: memory) {
            memory[session: session]?.nothingWaits()
        }
        let equals = memory[session: session]?.others(saying: Words(text)) ?? 0
        if let reducer = memory[known] {
            memory[known]?.message.sent()
            guard reducer.isActive, reducer.contact.isProcessGone else { return false }
            memory[session: session]?.deferred.removeAll { $0 == known }
            memory[known]?.begin(again: now, equalsBefore: equals)
            // The row may come from either try.
            memory[known]?.message.clockSkewMs = min(reducer.message.clockSkewMs ?? clockSkewMs, clockSkewMs)
            return reducer.publication.isStartPublished
        }
        memory.make(id, session: session, now: now)
        memory[id]?.message.words = Words(text)
        memory[id]?.message.clockSkewMs = clockSkewMs
        memory[id]?.message.equalsBefore = equals
        memory[id]?.message.sent()
        return false
    }

    /// The gateway refused the message, so no run follows.
    package mutating func sendFailed(_ id: String) {
        let id = resolved(id)
        if memory[id]?.hasBegun == false { memory.forget(id) }
    }

    /// The message is delivered or given up, so the outbox will not send it again.
    package mutating func deliveryIsOver(_ id: String) { memory[resolved(id)]?.message.awaitsDelivery = false }

    /// The outbox's entry of the message changed, so the next event of the run says again that the gateway has the message.
    package mutating func entryChanged(key: String) { memory[key]?.message.entryChanged() }

    /// The gateway's process is gone and the message left no trace. The run waits until the message is sent again.
    package mutating func awaitsResend(_ id: String) -> [RunChange] {
        let id = resolved(id)
        guard let reducer = memory[id], reducer.isActive, reducer.contact.isProcessGone else { return [] }
        memory[id]?.awaitResend()
        var changes: [RunChange] = []
        memory.publish(id, to: &changes)
        return changes + memory.takeEvictedEnds()
    }

    /// The message left no trace at the gateway and is not sent again. Ends its run if the run had begun, and forgets it otherwise.
    package mutating func lost(_ id: String, now: Timestamp) -> [RunChange] {
        let id = resolved(id)
        var changes: [RunChange] = []
        guard let reducer = memory[id], reducer.isActive else { return [] }
        guard reducer.hasBegun else {
            memory.drop(id, to: &changes)
            return changes
        }
        guard reducer.contact.isProcessGone else { return [] }
        memory[id]?.end(.processGone, now: now)
        memory.publish(id, to: &changes)
        return changes + memory.takeEvictedEnds()
    }

    /// Hides a run of Ladle's own housekeeping, and its messages.
    package mutating func hide(_ id: String) { memory.hide(id) }

    package func isHidden(_ id: String) -> Bool { memory.isHidden(id) }

    /// The run began while a message of another client waited, so it may be that one's.
    package func mayBeStrangers(_ id: String) -> Bool { memory[id]?.message.mayBeStrangers ?? false }

    /// The start of a run behind which this message of ours waits, by the gateway's clock.
    func startBefore(_ id: String) -> Timestamp? {
        memory[resolved(id)]?.message.startBefore
    }

    /// Whether the gateway refused to run the message at first.
    package func wasRefused(_ id: String) -> Bool { memory[id]?.message.wasRefused ?? false }

    // MARK: Runs from the database

    /// Goes on with a run that an earlier process of Ladle followed, or that answers a message of ours and was never seen. The
    /// transcript shows how far it is.
    package mutating func follow(_ known: KnownRun, now: Timestamp) -> [RunChange] {
        let id = known.id
        let isNews = memory[resolved(id)].map { known.published == nil && !$0.hasBegun } ?? true
        guard isNews, !isHidden(id) else { return [] }
        if !memory.has(id) { memory.make(id, session: known.session, now: known.knownAt(now)) }
        memory.follow(known)
        // If a gateway's process has been gone for long, the next one does not go on with its runs.
        if let run = memory[id], run.isClosed, run.contact.isProcessGone, !run.mayContinueLate(now: now) {
            memory.forget(id)
        }
        var changes: [RunChange] = []
        if memory[id]?.isActive == false { memory.publish(id, to: &changes) }
        return changes + memory.takeEvictedEnds()
    }

    // MARK: The link

    /// The connection is lost, so no events of active runs arrive.
    package mutating func linkLost() {
        seesAllToolEvents = false
        (wantsPageNow, isLinked) = (false, false)
    }

    /// - Parameters:
    ///   - process: the gateway's process, measured by that of the last connection.
    ///   - startedAt: its start, by the gateway's clock.
    package mutating func linkOpened(process: Continuity, startedAt: Timestamp? = nil, now: Timestamp) {
        isLinked = true
        memory.linkedAt = now
        memory.reconnected(process: process, startedAt: startedAt, clockSkewMs: clockSkewMs, now: now)
    }

    /// Events were lost while the connection stayed open.
    package mutating func framesLost() {
        for runs in memory.sessions.values { for id in runs.active { memory[id]?.framesLost() } }
        memory.rowsMissed()
    }

    // MARK: Events

    package mutating func receive(_ event: GatewayEventPayload, now: Timestamp) -> [RunChange] {
        var changes: [RunChange] = []
        switch event {
        case .agent(let event): receive(event, now: now, to: &changes)
        case .sessionTool(let event):
            // A gateway sends these events for every run or for none.
            seesAllToolEvents = true
            receive(event, now: now, to: &changes)
        case .chat(let event): receive(event, now: now, to: &changes)
        case .sessionsChanged(let event): receive(event, now: now, to: &changes)
        case .sessionMessage(let event): receive(event, now: now, to: &changes)
        case .approval(let event): receive(event, now: now, to: &changes)
        case .question, .cron, .presence, .pairing, .challenge, .shutdown, .suspension, .tick, .other: break
        }
        return changes + memory.takeEvictedEnds()
    }

    /// An event of a run whose id is one of our keys shows that the gateway has the message. The outbox is told once for each state
    /// of the message's entry, so that a piece of text does not become a change of an entry.
    private mutating func noteTaken(_ key: String?, to changes: inout [RunChange]) {
        guard let key, !isHidden(key) else { return }
        if memory.has(key), memory[key]?.message.heard() == false { return }
        if UUIDv7.isWellFormed(String(key.prefix(36))) { changes.append(.taken(key: key)) }
    }

    private mutating func receive(_ event: AgentEvent, now: Timestamp, to changes: inout [RunChange]) {
        noteTaken(event.runId, to: &changes)
        separate(event, now: now, to: &changes)
        guard let id = known(event) ?? named(by: event) ?? adopt(event, opens: event.opensRun, now: now) else {
            return noteUnseenWork(event, now: now)
        }
        let isFirst = memory[id]?.hasBegun == false
        memory[id]?.take(event, resultsInRows: !profile.sendsRows, now: now)
        // On this release only a page shows in which conversation our run begins. If a later page shows another conversation,
        // somebody has reset the session.
        if isFirst, !profile.sendsRows, let run = memory[id], run.hasBegun, run.message.words != nil { wantRows(id) }
        if let proof = memory[id]?.message.proveBySeenRow() { changes.append(.proven(id, proof)) }
        if event.stream == .item { seesAllToolEvents = true }
        if !profile.sendsRows, event.stream == .tool { wantRows(id) }
        memory.publish(id, to: &changes)
    }

    private mutating func noteUnseenWork(_ event: some RunEvent, now: Timestamp) {
        guard let key = event.sessionKey else { return }
        memory[session: defaults.tolerant(key)]?.workedUnseen(at: now.adding(milliseconds: clockSkewMs))
    }

    /// Words alone showed that another run answers our message. Now the message begins a run under its own key.
    private mutating func separate(_ event: AgentEvent, now: Timestamp, to changes: inout [RunChange]) {
        guard !profile.rowsNameTheirRun, let key = event.runId, case let other = resolved(key), other != key,
            case .lifecycle(let lifecycle)? = event.content, lifecycle.phase == .start, let start = lifecycle.startedAt,
            let run = memory[other], !run.contact.isProcessGone, start > run.times.start,
            // A run under a key of ours is that message's.
            run.message.words != nil, !UUIDv7.isOne(String(other.prefix(36)))
        else { return }
        memory.separate(key, from: other, now: now)
        changes.append(.separated(key: key, other: other))
    }

    private mutating func wantRows(_ id: String) {
        memory[id]?.wantRows()
        wantsPageNow = true
    }

    private mutating func receive(_ event: ChatEvent, now: Timestamp, to changes: inout [RunChange]) {
        noteTaken(event.runId, to: &changes)
        guard let state = event.state else { return }
        // It says that our message waits; the gateway already answers it in a run with an id of its own.
        if state == .final, event.message == nil, let id = known(event), id != event.runId { return }
        if let id = known(event), let reducer = memory[id], reducer.message.words != nil {
            // The gateway had said that it stopped the message. It waits all the same, and runs later under another id.
            if reducer.wasStopped, !reducer.beganAfterStop, state == .final, event.message == nil, !profile.keysInRows {
                if memory[session: reducer.session]?.putAside(id) == true { changes.append(.putAside(id)) }
                return
            }
            if !reducer.wasSeenAtWork, state == .final, event.message == nil {
                return deferred(id, now: now, to: &changes)
            }
            if !reducer.hasBegun || reducer.message.mayBeRefused, state == .error, event.isSessionConflict {
                return refuse(id, event.errorMessage ?? "", now: now, to: &changes)
            }
            if !reducer.hasBegun, state == .final, let words = event.message?.failure, GatewayError.isDraining(words) {
                return refuse(id, words, now: now, to: &changes)
            }
        }
        if state != .delta, profile.rowsNameTheirRun, let id = known(event), let run = memory[id],
            run.message.words != nil, !run.hasBegun
        {
            // Another run may have answered the message; the rows name that run. What the event says holds if they name none.
            memory[id]?.take(event, triesAgain: false, now: now)
            let until = now.adding(milliseconds: Self.holdMilliseconds)
            if memory[id]?.holdEnd(until: until) == true { return wantRows(id) }
            return memory.publish(id, to: &changes)
        }
        if state == .final, event.message != nil, let id = known(event), profile.saysAnswersAgain,
            memory[id]?.isAnswerDoubtful == true
        {
            memory[id]?.doubt(event, at: now)
            return wantRows(id)
        }
        if state == .final, event.message == nil, known(event) == nil, let id = event.runId, memory.mayShow(id),
            let key = event.sessionKey
        {
            memory[session: defaults.tolerant(key)]?.othersWait()
        }
        // After an early stop this release says the previous answer once more: that is no work of the stopped run.
        let isRepeat = profile.saysAnswersAgain && event.message?.isByGateway == true && event.message?.failure == nil
        let opens = state == .delta || (state == .final && event.message != nil && !isRepeat)
        guard let id = known(event) ?? adopt(event, opens: opens, now: now) else {
            return state == .final ? () : noteUnseenWork(event, now: now)
        }
        memory[id]?.take(event, triesAgain: profile.triesAgainAfterError, now: now)
        if state == .final, let session = memory[id]?.session { memory[session: session]?.hasTranscript = true }
        if !profile.sendsRows || memory[id]?.isStopInDoubt == true,
            memory[id]?.holdEnd(until: now.adding(milliseconds: Self.holdMilliseconds)) == true
        {
            wantRows(id)
        }
        memory.publish(id, to: &changes)
        if state != .delta, let run = memory[id], run.isClosed, run.message.words == nil {
            for waiting in memory[session: run.session]?.deferred ?? [] { wantRows(waiting) }
        }
    }

    /// The outbox learned that the gateway did not run our message.
    package mutating func refused(_ id: String, reason: String, now: Timestamp) -> [RunChange] {
        // The agent was seen at work on it meanwhile.
        guard memory[resolved(id)]?.message.wasSeenAtWork != true else { return [] }
        var changes: [RunChange] = []
        refuse(resolved(id), reason, now: now, to: &changes)
        return changes + memory.takeEvictedEnds()
    }

    /// The gateway acknowledged our message and does not run it. If the run's start was published, its end is published too. That is
    /// no proof of delivery.
    private mutating func refuse(_ id: String, _ reason: String, now: Timestamp, to changes: inout [RunChange]) {
        changes.append(.refused(id, reason: reason))
        guard memory[id]?.publication.isStartPublished == true else { return memory.forget(id) }
        memory[id]?.message.refused()
        memory[id]?.failed(reason, now: now)
        memory[id]?.end(.reported(nil), now: now)
        memory.publish(id, to: &changes)
    }

    /// The gateway sends an empty final event for a message that it defers, because a run is at work or has just ended. It answers
    /// the message later in a run with another id. It also sends one where it does not run a message of which it knows the key.
    private mutating func deferred(_ id: String, now: Timestamp, to changes: inout [RunChange]) {
        // A message whose run has ended, as by a stop, waits for no other one.
        guard let reducer = memory[id], !reducer.isClosed else { return }
        if reducer.message.words?.text.hasPrefix("/") == true {
            memory[id]?.finishCommand(at: now)
            return memory.publish(id, to: &changes)
        }
        // Only a page or the session's state called it begun, and the gateway says so of messages that it then does not run.
        guard !reducer.hasTryBegun else {
            memory[id]?.overUnseen()
            return wantRows(id)
        }
        guard memory[session: reducer.session]?.defer(id) == true else { return }
        let deferral = Deferral(
            at: now,
            behind: matching.startInTheWay(of: reducer, in: memory),
            equalsBefore: reducer.message.equalsBefore
        )
        changes.append(.deferred(id, session: reducer.session))
        if let known = memory[id]?.message.waits(deferral) { changes.append(.waits(id, known)) }
        let perhaps = memory[id].flatMap { matching.startPerhapsInTheWay(of: $0, in: memory) }
        memory[id]?.message.wait(behind: perhaps)
        // The event may come after the row and even the end of the run that answers, so the row is read once more.
        if matching.mayBeAnswered(id, in: memory) { wantRows(id) }
    }

    private mutating func receive(_ event: SessionsChangedEvent, now: Timestamp, to changes: inout [RunChange]) {
        if event.reason == "reset" { noteReset(event, now: now) }
        let opens = event.phase == .start
        guard opens || event.phase == .end, let id = known(event) ?? adopt(event, opens: opens, now: now) else {
            return
        }
        if opens {
            memory[id]?.began(at: event.startedAt ?? now)
            memory[id]?.conversation = event.conversation
        } else if memory[id]?.isActive == true {
            memory[id]?.sessionEnded(aborted: event.wasAborted, now: now)
        }
        memory.publish(id, to: &changes)
    }

    /// Ends the runs of the conversation that the reset replaced. Some of them get no further event.
    private mutating func noteReset(_ event: SessionsChangedEvent, now: Timestamp) {
        guard let key = event.sessionKey, let shown = event.conversation else { return }
        let session = defaults.tolerant(key)
        for id in memory[session: session]?.active ?? [] where memory[id]?.isOf(another: shown) == true {
            endWithConversation(id, now: now)
        }
    }

    /// The session was reset or deleted through Ladle. A gateway whose events name no conversation ends the runs of the former one
    /// without an event, so they are ended here.
    package mutating func conversationEnded(_ session: SessionKey, now: Timestamp) -> [RunChange] {
        var changes: [RunChange] = []
        guard !profile.sendsRows else { return changes }
        for id in memory[session: session]?.active ?? [] {
            guard let reducer = memory[id], reducer.hasBegun, !reducer.contact.isProcessGone else { continue }
            endWithConversation(id, now: now)
            memory.publish(id, to: &changes)
        }
        return changes + memory.takeEvictedEnds()
    }

    private mutating func endWithConversation(_ id: String, now: Timestamp) {
        memory[id]?.end(.conversationReset, now: now)
        memory[id]?.holdOver(until: now.adding(milliseconds: Self.holdMilliseconds), now: now)
        wantsPageNow = true
    }

    private mutating func receive(_ event: SessionMessageEvent, now: Timestamp, to changes: inout [RunChange]) {
        noteTaken(event.idempotencyKey, to: &changes)
        guard let key = event.sessionKey, let row = event.row else { return }
        let session = defaults.tolerant(key)
        guard row.role != .user || event.isStored else {
            memory[session: session]?.lastTurn = nil
            return memory.gatewayTook(Words(row), session: session)
        }
        let found = reader.take([row], RowArrival(session: session, now: now), in: &memory, to: &changes)
        if row.role == .assistant {
            for id in memory[session: session]?.ended ?? [] where memory[id]?.answerCame(now: now) == true {
                wantsPageNow = true
            }
        }
        guard row.role == .user, row.joinedRun == nil else { return }
        for words in Words.messages(of: row) { memory.gatewayBegan(words, in: found.rows.keys, session: session) }
        if event.beginsConversation { memory[session: session]?.hasTranscript = false }
        guard memory[session: session]?.hasTranscript == true else { return }
        for id in found.rows.keys {
            memory.prove(id, byRow: .rowEvent, mayBeOfRefused: profile.mayRefuseStoredMessages, to: &changes)
        }
    }

    private mutating func receive(_ event: ApprovalEvent, now: Timestamp, to changes: inout [RunChange]) {
        guard let id = event.id else { return }
        let asking = event.decision == nil ? event.sessionKey.flatMap { memory[session: defaults.tolerant($0)] } : nil
        guard let run = run(asking: event) ?? asking?.active.last(where: { memory[$0]?.hasBegun ?? false }) else {
            return
        }
        memory[run]?.takeApproval(event, id: id, at: event.time ?? now)
        memory.publish(run, to: &changes)
    }

    /// The approval register says that an approval has ended.
    package mutating func approvalEnded(
        _ id: String,
        _ decision: ApprovalEvent.Decision,
        now: Timestamp
    ) -> [RunChange] {
        memory.approvalEnded(id, decision, now: now)
    }

    /// The run that asked for an approval. In some releases a decision does not name the session.
    package func run(asking approval: ApprovalEvent) -> String? {
        guard let id = approval.id else { return nil }
        return memory.run(asking: id, session: approval.sessionKey.map { defaults.tolerant($0) })
    }

    private func known(_ event: some RunEvent) -> String? {
        guard let id = event.runId else { return nil }
        let found = resolved(id)
        return memory.has(found) ? found : nil
    }

    /// Ladle found the answer of a run in the transcript alone. Now this event, the end of an unknown run, names the run of the gateway
    /// that wrote the answer.
    private mutating func named(by event: AgentEvent) -> String? {
        guard case .lifecycle(let lifecycle)? = event.content, lifecycle.phase == .end, let start = lifecycle.startedAt,
            let end = lifecycle.endedAt, let id = event.runId, memory.mayShow(id), let key = event.sessionKey
        else { return nil }
        let work = ClockWindow(from: start, to: end)
        let answered = memory[session: defaults.tolerant(key)]?.all.first {
            memory[$0]?.wasAnswered(within: work) == true
        }
        if let answered { memory.alias(id, to: answered) }
        return answered
    }

    /// Adds a run that another client or the gateway itself started. Only an event that starts or continues a run adds it: the end
    /// of an unknown run is ignored.
    private mutating func adopt(_ event: some RunEvent, opens: Bool, now: Timestamp) -> String? {
        guard opens, let id = event.runId, memory.mayShow(id), let key = event.sessionKey else { return nil }
        let session = defaults.tolerant(key)
        memory.make(id, session: session, now: now)
        let mayBeStrangers = memory[session: session]?.ownRunBegan() == true
        memory[id]?.message.mayBeStrangers = mayBeStrangers
        // This run may continue an interrupted one, or be that of a message of which only the row was seen. Rows show both, and they
        // may have come before this event.
        let mayContinue = memory[session: session]?.interrupted.isEmpty == false
        let mayBeOurs = memory[session: session]?.active.contains { memory[$0]?.isKnownByRowsAlone == true } ?? false
        if mayContinue || mayBeOurs { wantRows(id) }
        return id
    }

    // MARK: Questions

    /// Sessions whose transcript is to be read now, the longest waiting first. The caller reads each and hands over the page.
    package mutating func takeLooks(now: Timestamp, room: Int, except busy: Set<SessionKey>) -> [SessionKey] {
        let taken = Array(looks.due(in: memory, now: now, except: busy).prefix(max(0, room)))
        for session in taken { memory[session: session]?.look(at: now) }
        return taken
    }

    /// A page could not be read, so it is still to come.
    package mutating func lookFailed(_ session: SessionKey) { memory[session: session]?.lookFailed() }

    /// Whether pages are due or will be.
    package func wantsLooks(now: Timestamp) -> Bool {
        memory.sessions.contains { looks.interval($0.value, in: memory, now: now) != nil }
    }

    /// Whether some run waits for rows, so that the caller's clock should tick fast.
    package var isFollowingRows: Bool {
        memory.all.contains { $0.isActive && ($0.isEndHeld || $0.needsHistory) }
    }

    /// Whether a page is wanted at once instead of at its usual time; true once for each reason.
    package mutating func takePageRequest() -> Bool {
        defer { wantsPageNow = false }
        return wantsPageNow
    }

    package enum Question: Sendable, Equatable {
        /// Whether the run is over, or its message was refused.
        case state(of: String)
        case end(of: String, conversation: String)
    }

    /// The questions about runs of a session that a page did not settle. Newer gateways are asked whether they refused to run our
    /// message, the newest how a run ended.
    package func questions(_ session: SessionKey, now: Timestamp) -> [Question] {
        guard let runs = memory[session: session] else { return [] }
        return runs.active.compactMap { id in
            guard let reducer = memory[id], !reducer.contact.isProcessGone, !reducer.isOver,
                reducer.contact.isUncertain || reducer.contact.isSilent(now: now)
            else { return nil }
            if profile.tellsEndOfRun, reducer.hasBegun, let conversation = reducer.conversation {
                return .end(of: id, conversation: conversation)
            }
            guard profile.saysFailedAfterTheLastTry || !reducer.isAwaitingRetry else { return nil }
            let isOpen =
                profile.pagesTellRuns
                ? reducer.message.mayBeRefused || reducer.leftNoRow : reducer.publication.isStartPublished
            return isOpen ? .state(of: id) : nil
        }
    }

    /// Rows may have come after the last page, so the run's end waits for one more page.
    package mutating func receive(_ answer: SessionsStatus.Output, run id: String, now: Timestamp) -> [RunChange] {
        guard case .ended(let end) = answer, let reducer = memory[id], reducer.isActive, !reducer.isOver else {
            return []
        }
        memory[id]?.end(.reported(Ending.How(end)), now: now)
        memory[id]?.holdOver(until: now.adding(milliseconds: Self.lastPageMilliseconds), now: now)
        wantsPageNow = true
        return memory.takeEvictedEnds()
    }

    /// The answer about one run. Rows may have come after the last page, so the run's end waits for one more page.
    package mutating func receive(_ answer: AgentWait.Output, run id: String, now: Timestamp) -> [RunChange] {
        guard let reducer = memory[id], reducer.isActive else { return [] }
        var changes: [RunChange] = []
        switch answer {
        case .failed(let error) where reducer.message.mayBeRefused && GatewayError.isSessionConflict(error):
            refuse(id, error ?? "", now: now, to: &changes)
        // The run is in the gateway's memory. Its row is no proof yet: the gateway may still refuse the message.
        case _ where profile.isInHand(answer): memory[id]?.heard(at: now)
        case .queued, .draining: break
        // The process that was at work on it says how it ended, though the transcript has lost the message.
        case _ where profile.pagesTellRuns && reducer.leftNoRow && answer.isEndOfWork:
            end(reducer, by: answer, now: now, to: &changes)
        // A message that the gateway ended before its run began was not run. Its row is looked for.
        case .ended where profile.pagesTellRuns && !reducer.hasBegun: break
        case _ where profile.pagesTellRuns && answer != .unknown:
            if reducer.message.isStored { memory.prove(id, byRow: .row, mayBeOfRefused: false, to: &changes) }
        // The gateway gives the same answer about a message that still waits.
        case _ where !reducer.hasBegun: break
        // The gateway may be in the pause before its next try.
        case .failed(let error) where !profile.saysFailedAfterTheLastTry: memory[id]?.failed(error, now: now)
        case .ended, .failed: end(reducer, by: answer, now: now, to: &changes)
        case .unknown: break
        }
        return changes + memory.takeEvictedEnds()
    }

    private mutating func end(
        _ run: RunReducer,
        by answer: AgentWait.Output,
        now: Timestamp,
        to changes: inout [RunChange]
    ) {
        if run.leftNoRow, answer.isEndOfWork { changes.append(.proven(run.id, .end)) }
        if case .failed(let error) = answer { memory[run.id]?.failed(error, now: now) }
        memory[run.id]?.end(.reported(nil), now: now)
        memory[run.id]?.holdOver(until: now.adding(milliseconds: Self.lastPageMilliseconds), now: now)
        wantsPageNow = true
    }

    // MARK: The transcript

    /// - Parameter askedAt: when the page was asked for. Events since then are newer than the page.
    package mutating func receive(
        _ page: ChatHistory.Output,
        session: SessionKey,
        askedAt: Timestamp,
        now: Timestamp
    ) -> [RunChange] {
        var changes: [RunChange] = []
        reader.read(page, session: session, askedAt: askedAt, now: now, in: &memory, to: &changes)
        return changes + memory.takeEvictedEnds()
    }

    // MARK: Time

    /// Ends runs whose end was reported without the event that usually follows. The caller calls this about once a second.
    package mutating func tick(now: Timestamp) -> [RunChange] {
        var changes: [RunChange] = []
        for runs in memory.sessions.values {
            for id in runs.active {
                // Without a link no page comes, and only a page has the answer of a run that ended without a final event.
                if isLinked || memory[id]?.lacksAnswer != true, memory[id]?.settle(now: now) == true {
                    publishWithRows(id, now: now, to: &changes)
                }
                guard let reducer = memory[id], reducer.isActive,
                    !reducer.hasBegun || !reducer.publication.isStartPublished
                else {
                    continue
                }
                let isLost = runs.deferred.contains(id) && isLinked && hasRested(reducer, now: now)
                if isLost || now.milliseconds - reducer.contact.heardAt.milliseconds > Self.queuedMilliseconds {
                    memory.drop(id, to: &changes)
                }
            }
        }
        return changes + memory.takeEvictedEnds()
    }

    /// Nothing has been at work in the session for long, and the gateway said before that the message waits: it has lost the message, as some
    /// releases do after a restart in their process. The outbox looks for it once more.
    private func hasRested(_ waiting: RunReducer, now: Timestamp) -> Bool {
        let said = waiting.message.deferral?.at ?? now
        return now.milliseconds - said.milliseconds > Self.lostMilliseconds
            && matching.isAtRest(waiting.session, forMs: Self.lostMilliseconds, now: now, in: memory)
    }

    /// Publishes what is due; the end of a run that lacks its answer only with a page, or when none has come for long.
    private mutating func publishWithRows(_ id: String, now: Timestamp, to changes: inout [RunChange]) {
        let until = now.adding(milliseconds: Self.lastPageMilliseconds)
        if memory[id]?.lacksAnswer == true, memory[id]?.holdEnd(until: until) == true { return wantRows(id) }
        memory.publish(id, to: &changes)
    }
}
