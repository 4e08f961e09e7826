package import Basics
package import Gateway
package import Labels

/// All runs of the gateway, also those that others started. Events, history pages and answers go in, changes come out; the tracker
/// does no I/O and has no clock. A run ends by evidence: its own terminal event, the rows of its own turn, or the gateway's word that
/// it is over. Silence only makes it ask.
package struct RunTracker: Sendable {
    package var defaults: SessionDefaults
    package var traits = GatewayTraits()
    /// How far the gateway's clock is ahead of ours.
    package var clockSkewMs: Int64 = 0

    private var memory: RunMemory
    /// Runs of Ladle's own housekeeping.
    private var hidden: Set<String> = []
    /// Live tool events came for runs of others.
    private var seesAllToolEvents = false
    private var wantsPageNow = false

    /// Rows of a page: as many as one run can have written since the last look.
    package static let pageRows = 50

    /// How long the end of a run waits for a page of its transcript; older gateways answer long before.
    static let holdMilliseconds: Int64 = 1_000
    /// The page behind the word that a run is over may come from a gateway that has just started.
    private static let lastPageMilliseconds: Int64 = 30_000
    /// A message that the gateway put aside and never named again is not followed longer; its entry is looked for all the same.
    static let queuedMilliseconds: Int64 = 1_800_000

    package init(labels: LabelTable = .extended, defaults: SessionDefaults = .standard) {
        memory = RunMemory(labels: labels)
        self.defaults = defaults
    }

    private var looks: RunLooks { RunLooks(seesAllToolEvents: seesAllToolEvents, sendsRows: traits.sendsRows) }
    private var ties: RunTies { RunTies(clockSkewMs: clockSkewMs, pagesTellRuns: traits.pagesTellRuns) }

    // MARK: Reading

    /// The run of that id; the id of a deferred send leads to the run that answers it.
    package func run(_ id: String) -> Run? {
        guard let reducer = memory[resolved(id)], !reducer.isRemembered else { return nil }
        return reducer.run
    }

    package func resolved(_ id: String) -> String { memory.resolved(id) }

    /// Newest first.
    package func runs(activeOnly: Bool = false, session: SessionKey? = nil) -> [Run] {
        memory.runs(activeOnly: activeOnly, session: session)
    }

    /// The main session and the sessions with the newest runs.
    package func recentSessions(_ most: Int) -> [SessionKey] {
        [defaults.mainSession] + memory.recentSessions(most - 1, besides: defaults.mainSession)
    }

    var labels: LabelTable { memory.labels }

    /// The runs that the turns belong to, by place.
    func owners(of turns: [HistoryTurn], session: SessionKey) -> [Int: String] {
        ties.match(turns, session: session, in: memory) { isHidden($0) ? nil : resolved($0) }.owners
    }

    package var activeCount: Int { memory.sessions.values.reduce(0) { $0 + $1.active.count } }

    // MARK: Busy sessions

    /// Runs that keep a session busy. A send that is only accepted is not among them.
    package var busyRuns: [BusyRun] { memory.busyRuns(resumesRuns: traits.resumesRuns) }

    /// Busy runs that changed since the last call, and the deferred sends behind them.
    package mutating func takeChangedBusyRuns() -> [BusyRun] {
        memory.takeChangedBusyRuns(resumesRuns: traits.resumesRuns)
    }

    // MARK: Our own sends

    /// Our message was handed to the gateway; `id` is its idempotency key and so its run's id. The same key goes out again where
    /// the try before left no trace.
    package mutating func sent(_ id: String, session: SessionKey, text: String, now: Timestamp) {
        let known = resolved(id)
        if let reducer = memory[known] {
            memory[known]?.awaitsDelivery = true
            memory[known]?.isSenderHere = true
            guard reducer.isActive, reducer.isGone else { return }
            memory[session: session]?.deferred.removeAll { $0 == known }
            memory[known]?.begin(again: now)
            return
        }
        memory.make(id, session: session, now: now)
        memory[id]?.sentText = HistoryTurn.compared(text)
        memory[id]?.awaitsDelivery = true
        memory[id]?.isSenderHere = true
    }

    /// The gateway refused the message: no run comes of it.
    package mutating func sendFailed(_ id: String) {
        let id = resolved(id)
        if memory[id]?.hasBegun == false { memory.forget(id) }
    }

    /// Nothing was shown of the run, and nothing comes of it.
    private mutating func drop(_ id: String, to changes: inout [RunChange]) {
        guard let session = memory[id]?.session else { return }
        memory.forget(id)
        changes.append(.dropped(id, session: session))
    }

    /// The outbox cares for the message no longer: it is delivered, or given up.
    package mutating func deliveryIsOver(_ id: String) { memory[resolved(id)]?.awaitsDelivery = false }

    /// The message of a run whose process is gone left no trace in the transcript: it waits to be sent again.
    package mutating func waitsAnew(_ id: String) -> [RunChange] {
        let id = resolved(id)
        guard let reducer = memory[id], reducer.isActive, reducer.isGone else { return [] }
        memory[id]?.waitAnew()
        var changes: [RunChange] = []
        memory.publish(id, to: &changes)
        return changes + memory.takeEvictedEnds()
    }

    /// A run of Ladle's own housekeeping: neither it nor its messages are shown.
    package mutating func hide(_ id: String) {
        if hidden.count >= ActivityLimits.hiddenRuns { hidden.removeAll() }
        hidden.insert(id)
        memory.forget(id)
    }

    package func isHidden(_ id: String) -> Bool { hidden.contains(id) }

    // MARK: Runs of an earlier process of Ladle

    /// Takes up a run whose start an earlier process published. The transcript shows how it stands.
    /// - Parameters:
    ///   - message: the text of the message that it answers, where that is ours.
    ///   - text: of the run, as far as it was kept.
    ///   - awaitsDelivery: the outbox has no proof of that message yet, so it may be sent again.
    ///   - waitsAnew: it waits to be sent again, because nothing was left of it.
    ///   - steps: published then.
    package mutating func resume(
        _ id: String,
        session: SessionKey,
        startedAt: Timestamp,
        message: String? = nil,
        text: String = "",
        awaitsDelivery: Bool = false,
        waitsAnew: Bool = false,
        steps: [Step] = [],
        now: Timestamp
    ) {
        guard memory[resolved(id)] == nil else { return }
        memory.make(id, session: session, now: now)
        memory[id]?.sentText = message.map { HistoryTurn.compared($0) }
        memory[id]?.awaitsDelivery = awaitsDelivery
        memory[id]?.resume(at: startedAt, isStartPublished: true, text: text, steps: steps)
        if waitsAnew { memory[id]?.waitAnew() }
    }

    /// Takes up a message that the gateway took while nobody followed its run, which may be over. The transcript has to show it.
    /// - Parameters:
    ///   - awaitsDelivery: the outbox has no proof of it yet.
    ///   - goneAt: when the gateway's process that took it was found gone.
    package mutating func recover(
        _ id: String,
        session: SessionKey,
        text: String,
        sentAt: Timestamp,
        awaitsDelivery: Bool = false,
        goneAt: Timestamp? = nil
    ) {
        guard memory[resolved(id)]?.hasBegun != true, !isHidden(id) else { return }
        if memory[id] == nil { memory.make(id, session: session, now: sentAt) }
        memory[id]?.sentText = HistoryTurn.compared(text)
        memory[id]?.awaitsDelivery = awaitsDelivery
        memory[id]?.resume(at: sentAt, isStartPublished: false)
        if let goneAt { memory[id]?.reconnected(isGone: true, now: goneAt) }
        memory[session: session]?.looks = 0
    }

    /// An earlier process gave up this run; a busy gateway may take it up late, and then it is corrected.
    package mutating func remember(_ past: GivenUpRun, now: Timestamp) {
        guard memory[resolved(past.id)] == nil else { return }
        memory.make(past.id, session: past.session, now: now)
        memory[past.id]?.sentText = HistoryTurn.compared(past.message)
        memory[past.id]?.remember(past)
        guard memory[past.id]?.mayBeTakenUpLate(now: now) == true else { return memory.forget(past.id) }
        memory[session: past.session]?.end(past.id)
        memory[session: past.session]?.interrupted.append(past.id)
    }

    // MARK: The link

    /// The connection is lost: what happens to active runs is not seen any more.
    package mutating func linkLost() {
        seesAllToolEvents = false
        wantsPageNow = false
    }

    /// - Parameters:
    ///   - isSameProcess: as the one before; nil where the gateway does not say how long it has been running.
    ///   - startedAt: of the process, by the gateway's clock.
    package mutating func linkOpened(isSameProcess: Bool?, startedAt: Timestamp? = nil, now: Timestamp) {
        memory.reconnected(isSameProcess: isSameProcess, process: startedAt, now: now)
    }

    /// Events were lost on a connection that stands.
    package mutating func framesLost() {
        for runs in memory.sessions.values { for id in runs.active { memory[id]?.noteGap() } }
    }

    // MARK: Events

    package mutating func receive(_ event: GatewayEventPayload, now: Timestamp) -> [RunChange] {
        var changes: [RunChange] = []
        switch event {
        case .agent(let event): receive(event, now: now, to: &changes)
        case .sessionTool(let event):
            // A gateway sends these for every run or not at all.
            seesAllToolEvents = true
            receive(event, now: now, to: &changes)
        case .chat(let event): receive(event, now: now, to: &changes)
        case .sessionsChanged(let event): receive(event, now: now, to: &changes)
        case .sessionMessage(let event): receive(event, to: &changes)
        case .approval(let event): receive(event, now: now, to: &changes)
        case .question, .cron, .presence, .pairing, .challenge, .shutdown, .tick, .other: break
        }
        return changes + memory.takeEvictedEnds()
    }

    private mutating func receive(_ event: AgentEvent, now: Timestamp, to changes: inout [RunChange]) {
        guard let id = known(event) ?? adopt(event, opens: event.opensRun, now: now) else { return }
        memory[id]?.take(event, resultsInRows: !traits.sendsRows, now: now)
        proveBySeenRow(id, to: &changes)
        if event.stream == .item { seesAllToolEvents = true }
        if !traits.sendsRows, event.stream == .tool { wantRows(id) }
        memory.publish(id, to: &changes)
    }

    private mutating func wantRows(_ id: String) {
        memory[id]?.wantRows()
        wantsPageNow = true
    }

    private mutating func receive(_ event: ChatEvent, now: Timestamp, to changes: inout [RunChange]) {
        guard let state = event.state else { return }
        if let id = known(event), let reducer = memory[id], reducer.sentText != nil {
            if !reducer.hasBegun, state == .final, event.message == nil {
                return putAside(id, now: now, to: &changes)
            }
            if !reducer.hasBegun || reducer.mayBeRefused, state == .error, event.isSessionConflict {
                return refuse(id, event.errorMessage ?? "", now: now, to: &changes)
            }
        }
        let opens = state == .delta || (state == .final && event.message != nil)
        guard let id = known(event) ?? adopt(event, opens: opens, now: now) else { return }
        memory[id]?.take(event, triesAgain: traits.triesAgainAfterError, now: now)
        if state == .final, let session = memory[id]?.session { memory[session: session]?.hasTranscript = true }
        if !traits.sendsRows, memory[id]?.holdEnd(until: now.adding(milliseconds: Self.holdMilliseconds)) == true {
            wantRows(id)
        }
        memory.publish(id, to: &changes)
    }

    /// The outbox learned that the gateway did not run this message of ours.
    package mutating func refused(_ id: String, reason: String, now: Timestamp) -> [RunChange] {
        var changes: [RunChange] = []
        refuse(resolved(id), reason, now: now, to: &changes)
        return changes + memory.takeEvictedEnds()
    }

    /// The gateway acknowledged a message of ours and does not run it. A start that was told gets its end, which proves nothing of
    /// the message: it is sent again, under a key of its own.
    private mutating func refuse(_ id: String, _ reason: String, now: Timestamp, to changes: inout [RunChange]) {
        changes.append(.refused(id, reason: reason))
        guard memory[id]?.isStartPublished == true else { return memory.forget(id) }
        memory[id]?.awaitsDelivery = false
        memory[id]?.failed(reason, now: now)
        memory[id]?.end(.reported, now: now)
        memory.publish(id, to: &changes)
    }

    /// An empty final event for a message that no run has begun for: the gateway puts it behind the run at work, also one that
    /// has just ended, and answers it later under an id of its own.
    private mutating func putAside(_ id: String, now: Timestamp, to changes: inout [RunChange]) {
        guard let reducer = memory[id] else { return }
        if reducer.sentText?.hasPrefix("/") == true {
            memory[id]?.finishCommand(at: now)
            return memory.publish(id, to: &changes)
        }
        guard memory[session: reducer.session]?.deferred.contains(id) == false else { return }
        memory[session: reducer.session]?.deferred.append(id)
        changes.append(.deferred(id, session: reducer.session))
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

    /// Ends the runs of the conversation that was replaced; some of them get no event of their own any more.
    private mutating func noteReset(_ event: SessionsChangedEvent, now: Timestamp) {
        guard let key = event.sessionKey, let shown = event.conversation else { return }
        let session = defaults.tolerant(key)
        for id in memory[session: session]?.active ?? [] where memory[id]?.isOf(another: shown) == true {
            memory[id]?.end(.conversationReset, now: now)
            memory[id]?.holdOver(until: now.adding(milliseconds: Self.holdMilliseconds), now: now)
            wantsPageNow = true
        }
    }

    private mutating func receive(_ event: SessionMessageEvent, to changes: inout [RunChange]) {
        guard let key = event.sessionKey, let row = event.row, row.role != .user || event.isStored else { return }
        let session = defaults.tolerant(key)
        let found = take([row], session: session, to: &changes)
        guard row.role == .user, memory[session: session]?.hasTranscript == true else { return }
        for id in found.rows.keys { proveByRow(id, .rowEvent, to: &changes) }
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

    /// An approval that does not wait any more, as its register has it.
    package mutating func approvalEnded(
        _ id: String,
        _ decision: ApprovalEvent.Decision,
        now: Timestamp
    ) -> [RunChange] {
        memory.approvalEnded(id, decision, now: now)
    }

    /// The run that asked for an approval. Decisions of some releases do not name the session.
    package func run(asking approval: ApprovalEvent) -> String? {
        guard let id = approval.id else { return nil }
        return memory.run(asking: id, session: approval.sessionKey.map { defaults.tolerant($0) })
    }

    private func known(_ event: some RunEvent) -> String? {
        guard let id = event.runId else { return nil }
        let found = resolved(id)
        return memory.has(found) ? found : nil
    }

    /// A run that was started elsewhere, or that the gateway started by itself. Only an event that starts or continues a run makes
    /// an unknown one: the end of a run that was never seen says nothing.
    private mutating func adopt(_ event: some RunEvent, opens: Bool, now: Timestamp) -> String? {
        guard opens, let id = event.runId, !id.isEmpty, !id.hasPrefix("inject-"),
            id.utf8.count <= GatewayLimits.identifierBytes, !isHidden(id), let key = event.sessionKey
        else { return nil }
        memory.make(id, session: defaults.tolerant(key), now: now)
        return id
    }

    // MARK: Questions

    /// Sessions whose transcript is to be read now, the longest waiting first. The caller reads each and gives the page.
    package mutating func takeLooks(now: Timestamp, room: Int, except busy: Set<SessionKey>) -> [SessionKey] {
        let taken = Array(looks.due(in: memory, now: now, except: busy).prefix(max(0, room)))
        for session in taken { memory[session: session]?.look(at: now) }
        return taken
    }

    /// Whether a session is read again and again, so that the caller's clock should tick fast.
    package var isFollowingRows: Bool {
        memory.all.contains { $0.isActive && ($0.isEndHeld || $0.needsHistory) }
    }

    /// Whether a page is wanted at once and not in its turn; true once for each reason.
    package mutating func takePageRequest() -> Bool {
        defer { wantsPageNow = false }
        return wantsPageNow
    }

    /// Runs of a session that a page did not settle, to be asked about one by one. Newer gateways are only asked whether they
    /// refused to run a message of ours.
    package func questions(_ session: SessionKey, now: Timestamp) -> [String] {
        guard let runs = memory[session: session] else { return [] }
        return runs.active.filter { id in
            guard let reducer = memory[id], !reducer.isGone, !reducer.isOver,
                traits.waitsForRetry || !reducer.isAwaitingRetry
            else { return false }
            let isOpen = traits.pagesTellRuns ? reducer.mayBeRefused : reducer.isStartPublished
            return isOpen && (reducer.isUncertain || RunLooks.isSilent(reducer, now: now))
        }
    }

    /// The answer about one run. Its rows may have come after the last page, so one more page ends it.
    package mutating func receive(_ answer: AgentWait.Output, run id: String, now: Timestamp) -> [RunChange] {
        guard let reducer = memory[id], reducer.isActive else { return [] }
        var changes: [RunChange] = []
        switch answer {
        case .failed(let error) where reducer.mayBeRefused && GatewayError.isSessionConflict(error):
            refuse(id, error ?? "", now: now, to: &changes)
        // In its memory; a row that stands already may be that of a refusal that comes next.
        case .running: memory[id]?.isKnownAlive(now: now)
        case _ where traits.pagesTellRuns && answer != .unknown:
            if reducer.isStored { prove(id, .row, to: &changes) }
        // A message that waits is called over, too.
        case _ where !reducer.hasBegun: break
        // The gateway may be in the pause before its next try.
        case .failed(let error) where !traits.waitsForRetry: memory[id]?.failed(error, now: now)
        case .ended, .failed:
            if case .failed(let error) = answer { memory[id]?.failed(error, now: now) }
            memory[id]?.end(.reported, now: now)
            memory[id]?.holdOver(until: now.adding(milliseconds: Self.lastPageMilliseconds), now: now)
            wantsPageNow = true
        case .unknown: break
        }
        return changes + memory.takeEvictedEnds()
    }

    // MARK: History

    /// - Parameter askedAt: when the page was asked for; what was heard of a run since then is newer.
    package mutating func receive(
        _ page: ChatHistory.Output,
        session: SessionKey,
        askedAt: Timestamp,
        now: Timestamp
    ) -> [RunChange] {
        var changes: [RunChange] = []
        if page.rows.contains(where: { $0.role == .assistant }) { memory[session: session]?.hasTranscript = true }
        if let shown = page.conversation { endReplaced(by: shown, session: session, now: now, to: &changes) }
        let inFlight = takeInFlight(page, session: session, now: now, to: &changes)
        let found = take(page.rows, session: session, pageAt: now, to: &changes)
        // The session's word on its last run is about the run of the last turn alone.
        let lastEnd = RunJudge.state(page.lastRunEnd)
        for id in found.rows.keys where memory[id]?.isStored == true { proveByRow(id, .row, to: &changes) }
        for id in memory[session: session]?.active ?? [] {
            // An event that came after the question is newer than its answer; a clock that was set back makes no answer older than its question.
            let isNews = memory[id].map { $0.heardAt <= askedAt || $0.heardAt > now } ?? false
            if isNews {
                let rows = found.rows[id] ?? []
                // Without rows of its own a run has not completed; the word may be older than it.
                let end = id == found.last && (lastEnd != .completed || !rows.isEmpty) ? lastEnd : nil
                judge(id, page, rows, end, isInFlight: id == inFlight, now: now, to: &changes)
            }
            if let shown = page.conversation { memory[id]?.conversation = shown }
            if isNews || memory[id]?.isOver == false { memory[id]?.pageSeen() }
            memory.publish(id, to: &changes)
        }
        // A run that ended by a wrong report.
        for (id, rows) in found.rows where memory[id]?.isClosed == true {
            memory[id]?.end(by: rows)
            memory.publish(id, to: &changes)
        }
        memory[session: session]?.conversation = page.conversation
        return changes + memory.takeEvictedEnds()
    }

    /// Ends the runs of an earlier conversation, before the rows of this one are given to runs.
    private mutating func endReplaced(
        by shown: String,
        session: SessionKey,
        now: Timestamp,
        to changes: inout [RunChange]
    ) {
        for id in memory[session: session]?.active ?? [] where memory[id]?.isOf(another: shown) == true {
            memory[id]?.end(.conversationReset, now: now)
            memory[id]?.pageSeen()
            memory.publish(id, to: &changes)
        }
    }

    /// The run that the page calls under way. June releases name the newest send, also one that waits behind the run at work.
    private mutating func takeInFlight(
        _ page: ChatHistory.Output,
        session: SessionKey,
        now: Timestamp,
        to changes: inout [RunChange]
    ) -> String? {
        guard let written = page.inFlightRunId, !isHidden(written), !written.isEmpty else { return nil }
        let id = resolved(written)
        let text = page.inFlightText ?? ""
        guard memory[id]?.isClosed != true else { return id }
        let others = memory[session: session]?.active.contains { $0 != id && memory[$0]?.hasBegun == true } ?? false
        guard !text.isEmpty || !others else { return id }
        if memory[id] == nil { memory.make(id, session: session, now: now) }
        memory[id]?.began(at: now)
        memory[id]?.take(snapshot: text)
        memory.publish(id, to: &changes)
        return id
    }

    /// The rows of each run, and the run of the last turn.
    private struct Found {
        var rows: [String: [HistoryRow]] = [:]
        var last: String?
    }

    /// Gives the rows of each turn to its run.
    /// - Parameter pageAt: when they came as a page.
    private mutating func take(
        _ rows: [HistoryRow],
        session: SessionKey,
        pageAt: Timestamp? = nil,
        to changes: inout [RunChange]
    ) -> Found {
        var found = Found()
        guard memory[session: session] != nil else { return found }
        let turns = HistoryTurn.split(rows)
        ties.tie(turns, session: session, in: &memory, to: &changes)
        // A page of fewer rows is the whole transcript.
        let beginsInside = pageAt == nil || rows.count >= Self.pageRows
        let match = ties.match(turns, session: session, beginsInside: beginsInside, in: memory) {
            isHidden($0) ? nil : resolved($0)
        }
        var owners = match.owners
        if let pageAt {
            let unseen = ties.answeredUnseen(turns, owned: owners, session: session, in: memory)
            for id in unseen.values { memory[id]?.takenUpUnseen(now: pageAt) }
            owners.merge(unseen) { known, _ in known }
        }
        for (place, turn) in turns.enumerated() {
            guard let id = owners[place], memory[id]?.session == session else { continue }
            memory[id]?.take(turn.rows)
            if pageAt != nil, turn.user != nil { memory[id]?.isStored = true }
            found.rows[id, default: []] += turn.rows
            if place == turns.count - 1 { found.last = id }
        }
        for id in found.rows.keys { memory.publish(id, to: &changes) }
        return found
    }

    /// The row of a message that is not seen at work may be that of one that the gateway refused to run, with rows of another run
    /// behind it. The outbox asks about it.
    private mutating func proveByRow(_ id: String, _ proof: RunProof, to changes: inout [RunChange]) {
        guard !traits.pagesTellRuns || memory[id]?.mayBeRefused == false else {
            memory[id]?.seenRow = proof
            return
        }
        prove(id, proof, to: &changes)
    }

    /// The agent was heard of: the row that was seen before is proof.
    private mutating func proveBySeenRow(_ id: String, to changes: inout [RunChange]) {
        guard let proof = memory[id]?.seenRow, memory[id]?.mayBeRefused == false else { return }
        memory[id]?.seenRow = nil
        prove(id, proof, to: &changes)
    }

    private mutating func prove(_ id: String, _ proof: RunProof, to changes: inout [RunChange]) {
        guard memory[id]?.awaitsDelivery == true else { return }
        memory[id]?.awaitsDelivery = false
        changes.append(.proven(id, proof))
    }

    /// Ends a run where a page shows that it is over.
    private mutating func judge(
        _ id: String,
        _ page: ChatHistory.Output,
        _ rows: [HistoryRow],
        _ end: Run.State?,
        isInFlight: Bool,
        now: Timestamp,
        to changes: inout [RunChange]
    ) {
        let judge = RunJudge(page: page, rows: rows, end: end, isInFlight: isInFlight, traits: traits, now: now)
        switch memory[id].map({ judge.verdict(on: $0) }) {
        case .dropped?: drop(id, to: &changes)
        case .judged(let reducer, let isInterrupted)?:
            memory[id] = reducer
            if isInterrupted { memory[session: reducer.session]?.interrupted.append(id) }
        case nil: break
        }
    }

    // MARK: Time

    /// Ends runs whose own end was reported without the event that usually follows. To be called about once a second.
    package mutating func tick(now: Timestamp) -> [RunChange] {
        var changes: [RunChange] = []
        for runs in memory.sessions.values {
            for id in runs.active {
                if memory[id]?.settle(now: now) == true { memory.publish(id, to: &changes) }
                guard let reducer = memory[id], reducer.isActive, !reducer.hasBegun || !reducer.isStartPublished else {
                    continue
                }
                if now.milliseconds - reducer.heardAt.milliseconds > Self.queuedMilliseconds { drop(id, to: &changes) }
            }
        }
        return changes + memory.takeEvictedEnds()
    }
}
