package import Basics
package import Gateway
package import Labels

/// All runs of the gateway, also those that others started. Events and history pages go in, changes come out; the tracker does
/// no I/O and has no clock.
package struct RunTracker: Sendable {
    package let labels: LabelTable
    package var defaults: SessionDefaults
    /// The gateway sends each row of a transcript as it is written. Older gateways do not; they also leave the output of
    /// commands out of their events.
    package var gatewaySendsRows = true

    private var reducers: [String: RunReducer] = [:]
    private var sessions: [SessionKey: SessionRuns] = [:]
    /// Ids of our deferred sends, with the runs that answer them.
    private var aliases: [String: String] = [:]
    /// Runs of Ladle's own housekeeping.
    private var hidden: Set<String> = []
    /// Memory of all reducers, in bytes.
    private var weight = 0
    /// Ends of runs that had to make room, until the next call that returns changes.
    private var evictedEnds: [RunChange] = []
    /// Live tool events came for runs of our own, or for all runs.
    private var seesOwnToolEvents = false
    private var seesAllToolEvents = false
    private var wantsPageNow = false

    /// How long the end of a run waits for a page of its transcript; older gateways answer long before.
    static let holdMilliseconds: Int64 = 1_000
    /// A session is silent this long before a deferred send counts as answered with the run before.
    static let deferredGrace: Int64 = 30_000
    /// A turn's first row may be this much older than its run. Both times are the gateway's own.
    private static let clockTolerance: Int64 = 10_000
    static let tooMany =
        "More runs are under way than Ladle follows; how this one goes on is in the gateway's history."
    static let unknownEnd =
        "Ladle was not running when this run ended, and the gateway's history does not show how."

    package init(labels: LabelTable = .extended, defaults: SessionDefaults = .standard) {
        self.labels = labels
        self.defaults = defaults
    }

    // MARK: Reading

    /// The run of that id; the id of a deferred send leads to the run that answers it.
    package func run(_ id: String) -> Run? { reducers[resolved(id)]?.run }

    package func resolved(_ id: String) -> String { aliases[id] ?? id }

    /// Newest first.
    package func runs(activeOnly: Bool = false, session: SessionKey? = nil) -> [Run] {
        let found = reducers.values.filter { reducer in
            (!activeOnly || reducer.isActive) && (session == nil || reducer.session == session)
        }
        return found.map(\.run).sorted { ($0.startedAt, $0.id) > ($1.startedAt, $1.id) }
    }

    /// The main session and the sessions with the newest runs.
    package func recentSessions(_ most: Int) -> [SessionKey] {
        let others = sessions.filter { $0.key != defaults.mainSession }.sorted {
            $0.value.touchedAt > $1.value.touchedAt
        }
        return [defaults.mainSession] + others.prefix(most - 1).map(\.key)
    }

    package var activeCount: Int { sessions.values.reduce(0) { $0 + $1.active.count } }

    /// Sessions of which a history page is wanted: every 500 ms, one in flight, while they are listed here.
    package var sessionsToPoll: [SessionKey] { sessions.keys.filter { wantsHistoryPoll($0) }.sorted() }

    package func wantsHistoryPoll(_ session: SessionKey) -> Bool {
        guard let runs = sessions[session] else { return false }
        return runs.active.contains { id in
            guard let reducer = reducers[id], reducer.hasBegun else { return false }
            if runs.isUncertain || reducer.needsHistory { return true }
            let isCovered = seesAllToolEvents || (seesOwnToolEvents && reducer.sentText != nil)
            return !reducer.sawToolEvents && !isCovered
        }
    }

    /// Whether a page is wanted at once and not in its turn; true once for each reason.
    package mutating func takePageRequest() -> Bool {
        defer { wantsPageNow = false }
        return wantsPageNow
    }

    // MARK: Busy sessions

    /// A run that keeps its session busy.
    package struct BusyRun: Sendable {
        package let id: String
        package let session: SessionKey
        package let since: Timestamp
        /// A send of ours that another run is to answer.
        package let isDeferred: Bool
    }

    /// Runs that keep a session busy. A send that is only accepted is not among them.
    package var busyRuns: [BusyRun] {
        sessions.flatMap { session, runs in
            runs.active.compactMap { id in
                guard let reducer = reducers[id] else { return nil }
                let isDeferred = runs.deferred.contains(id)
                guard isDeferred || (reducer.isStartPublished && reducer.state == .running) else { return nil }
                return BusyRun(id: id, session: session, since: reducer.start, isDeferred: isDeferred)
            }
        }
    }

    /// Busy runs that changed since the last call, and the deferred sends behind them.
    package mutating func takeChangedBusyRuns() -> [BusyRun] {
        var changedSessions: Set<SessionKey> = []
        var changed: Set<String> = []
        for (session, runs) in sessions {
            for id in runs.active where reducers[id]?.takeNews() == true {
                changed.insert(id)
                changedSessions.insert(session)
            }
        }
        guard !changed.isEmpty else { return [] }
        return busyRuns.filter { changed.contains($0.id) || ($0.isDeferred && changedSessions.contains($0.session)) }
    }

    // MARK: Our own sends

    /// Our message was handed to the gateway; `id` is its idempotency key and so its run's id.
    package mutating func sent(_ id: String, session: SessionKey, text: String, now: Timestamp) {
        guard reducers[resolved(id)] == nil else { return }
        make(id, session: session, now: now)
        reducers[id]?.sentText = text
    }

    /// The gateway refused the message: no run comes of it.
    package mutating func sendFailed(_ id: String) {
        let id = resolved(id)
        guard let reducer = reducers[id], !reducer.hasBegun else { return }
        forget(id, session: reducer.session)
    }

    /// A run of Ladle's own housekeeping: neither it nor its messages are shown.
    package mutating func hide(_ id: String) {
        if hidden.count >= ActivityLimits.hiddenRuns { hidden.removeAll() }
        hidden.insert(id)
        if let reducer = reducers[id] { forget(id, session: reducer.session) }
    }

    package func isHidden(_ id: String) -> Bool { hidden.contains(id) }

    // MARK: Runs of an earlier process

    /// Takes up a run whose start an earlier process published. The next history page of its session shows how it stands.
    /// - Parameter steps: the numbers of the steps published then, by step id.
    package mutating func resume(_ id: String, session: SessionKey, startedAt: Timestamp, steps: [String: Int] = [:]) {
        guard reducers[resolved(id)] == nil else { return }
        make(id, session: session, now: startedAt)
        reducers[id]?.resume(at: startedAt, isStartPublished: true, sequences: steps)
        sessions[session]?.isUncertain = true
    }

    /// Takes up a message that the gateway accepted from an earlier process. Its run began unseen and may be over; the history
    /// of its session has to show it.
    package mutating func recover(_ id: String, session: SessionKey, text: String, sentAt: Timestamp) {
        guard reducers[resolved(id)]?.hasBegun != true, !isHidden(id) else { return }
        if reducers[id] == nil { make(id, session: session, now: sentAt) }
        reducers[id]?.sentText = text
        reducers[id]?.resume(at: sentAt, isStartPublished: false)
        sessions[session]?.isUncertain = true
    }

    /// Ends a run of which neither events nor history show anything.
    package mutating func giveUp(_ id: String, now: Timestamp) -> [RunChange] {
        var changes: [RunChange] = []
        guard let reducer = reducers[id], reducer.isActive else { return changes }
        guard reducer.isStartPublished else {
            forget(id, session: reducer.session)
            return changes
        }
        reducers[id]?.settle(.failed, error: Self.unknownEnd, at: now)
        publish(id, to: &changes)
        return changes
    }

    // MARK: The link

    /// The connection is lost: what happens to active runs is not seen any more.
    package mutating func linkLost() {
        for session in sessions.keys where sessions[session]?.active.isEmpty == false {
            sessions[session]?.isUncertain = true
        }
        seesOwnToolEvents = false
        seesAllToolEvents = false
    }

    /// Events were lost on a connection that stands.
    package mutating func framesLost() {
        for runs in sessions.values { for id in runs.active { reducers[id]?.noteGap() } }
    }

    // MARK: Time

    /// Ends runs by the clock where the gateway never reported the end. To be called about once a second.
    package mutating func tick(now: Timestamp) -> [RunChange] {
        var changes: [RunChange] = []
        for (session, runs) in sessions {
            for id in runs.active where reducers[id]?.settle(now: now) == true { publish(id, to: &changes) }
            expireDeferred(session, now: now, to: &changes)
        }
        return changes + takeEvictedEnds()
    }

    /// Deferred sends that no run answered: one run may have answered several.
    private mutating func expireDeferred(_ session: SessionKey, now: Timestamp, to changes: inout [RunChange]) {
        guard let runs = sessions[session], !runs.deferred.isEmpty else { return }
        guard runs.active.allSatisfy({ runs.deferred.contains($0) }) else {
            sessions[session]?.quietSince = nil
            return
        }
        guard let since = runs.quietSince else {
            sessions[session]?.quietSince = now
            return
        }
        guard now.milliseconds - since.milliseconds >= Self.deferredGrace else { return }
        for id in runs.deferred {
            sessions[session]?.deferred.removeAll { $0 == id }
            reducers[id]?.finishDeferred(at: now)
            publish(id, to: &changes)
        }
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
        case .sessionMessage(let event):
            guard let key = event.sessionKey, let row = event.row else { break }
            take([row], session: defaults.tolerant(key), isPage: false, to: &changes)
        case .approval(let event): receive(event, now: now, to: &changes)
        case .challenge, .shutdown, .tick, .other: break
        }
        return changes + takeEvictedEnds()
    }

    private mutating func receive(_ event: AgentEvent, now: Timestamp, to changes: inout [RunChange]) {
        guard let id = known(event) ?? adopt(event, opens: event.opensRun, now: now, to: &changes) else { return }
        reducers[id]?.take(event, resultsInRows: !gatewaySendsRows, now: now)
        if !seesAllToolEvents {
            if event.stream == .item { seesAllToolEvents = true }
            if !seesOwnToolEvents, event.stream == .tool, reducers[id]?.sentText != nil { seesOwnToolEvents = true }
        }
        if !gatewaySendsRows, event.stream == .tool { wantRows(id) }
        publish(id, to: &changes)
    }

    private mutating func wantRows(_ id: String) {
        reducers[id]?.wantRows()
        wantsPageNow = true
    }

    private mutating func receive(_ event: ChatEvent, now: Timestamp, to changes: inout [RunChange]) {
        guard let state = event.state else { return }
        if state == .final, event.message == nil, let id = known(event), isDeferral(id) {
            return deferSend(id, to: &changes)
        }
        let opens = state == .delta || (state == .final && event.message != nil)
        guard let id = known(event) ?? adopt(event, opens: opens, now: now, to: &changes) else { return }
        reducers[id]?.take(event, now: now)
        if !gatewaySendsRows, reducers[id]?.holdEnd(until: now.adding(milliseconds: Self.holdMilliseconds)) == true {
            wantRows(id)
        }
        publish(id, to: &changes)
    }

    /// An empty final event of our send, while another run of its session is active, says that it waits for that run.
    private func isDeferral(_ id: String) -> Bool {
        guard let reducer = reducers[id], reducer.sentText != nil, !reducer.hasBegun else { return false }
        return isBusy(reducer.session, besides: id)
    }

    private func isBusy(_ session: SessionKey, besides id: String) -> Bool {
        sessions[session]?.active.contains { $0 != id && reducers[$0]?.hasBegun == true } ?? false
    }

    /// The gateway queues our message behind the active run and answers it under an id of its own.
    private mutating func deferSend(_ id: String, to changes: inout [RunChange]) {
        guard let session = reducers[id]?.session, sessions[session]?.deferred.contains(id) == false else { return }
        sessions[session]?.deferred.append(id)
        // The silence so far counts for the sends deferred before.
        sessions[session]?.quietSince = nil
        changes.append(.deferred(id, session: session))
    }

    private mutating func receive(_ event: SessionsChangedEvent, now: Timestamp, to changes: inout [RunChange]) {
        let opens = event.phase == .start
        guard opens || event.phase == .end,
            let id = known(event) ?? adopt(event, opens: opens, now: now, to: &changes)
        else { return }
        if opens {
            reducers[id]?.began(at: event.startedAt ?? now)
        } else if reducers[id]?.isActive == true {
            reducers[id]?.sessionEnded(aborted: event.wasAborted, now: now)
        }
        publish(id, to: &changes)
    }

    private mutating func receive(_ event: ApprovalEvent, now: Timestamp, to changes: inout [RunChange]) {
        guard let id = event.id, let key = event.sessionKey, let runs = sessions[defaults.tolerant(key)] else { return }
        let holder = runs.all.last { reducers[$0]?.steps.contains(approval: id) ?? false }
        let isOpen = event.decision == nil
        guard let run = holder ?? (isOpen ? runs.active.last { reducers[$0]?.hasBegun ?? false } : nil) else { return }
        reducers[run]?.takeApproval(event, id: id, at: event.time ?? now)
        publish(run, to: &changes)
    }

    private func known(_ event: some RunEvent) -> String? {
        guard let id = event.runId else { return nil }
        let found = resolved(id)
        return reducers.index(forKey: found) == nil ? nil : found
    }

    /// A run that was started elsewhere, or the one that answers a deferred send. Only an event that starts or continues a run
    /// makes an unknown one: the end of a run that was never seen says nothing.
    private mutating func adopt(
        _ event: some RunEvent,
        opens: Bool,
        now: Timestamp,
        to changes: inout [RunChange]
    ) -> String? {
        guard opens, let id = event.runId, !id.isEmpty, !id.hasPrefix("inject-"),
            id.utf8.count <= GatewayLimits.identifierBytes, !isHidden(id), let key = event.sessionKey
        else { return nil }
        let session = defaults.tolerant(key)
        make(id, session: session, now: now)
        if !event.isHeartbeat, let sent = sessions[session]?.deferred.first {
            let text = reducers[sent]?.sentText
            forget(sent, session: session)
            aliases[sent] = id
            reducers[id]?.sentText = text
            changes.append(.reassigned(from: sent, to: id))
        }
        return id
    }

    // MARK: History

    package mutating func receive(_ page: ChatHistory.Output, session: SessionKey, now: Timestamp) -> [RunChange] {
        var changes: [RunChange] = []
        var inFlight: String?
        if let written = page.inFlightRunId, !isHidden(written), !written.isEmpty {
            let id = resolved(written)
            let text = page.inFlightText ?? ""
            inFlight = id
            let isOver = reducers[id].map { !$0.isActive } ?? false
            // June releases name the newest send, also one that waits behind the run at work.
            if !isOver, !text.isEmpty || !isBusy(session, besides: id) {
                if reducers[id] == nil { make(id, session: session, now: now) }
                reducers[id]?.began(at: now)
                reducers[id]?.take(snapshot: text)
                publish(id, to: &changes)
            }
        }
        take(page.rows, session: session, isPage: true, inFlight: inFlight, to: &changes)
        // A page without the turn of such a run adds nothing to it either.
        for id in sessions[session]?.active ?? [] where reducers[id]?.isEndHeld == true {
            reducers[id]?.pageSeen()
            publish(id, to: &changes)
        }
        settle(by: page, session: session, now: now, to: &changes)
        return changes + takeEvictedEnds()
    }

    private mutating func take(
        _ rows: [HistoryRow],
        session: SessionKey,
        isPage: Bool,
        inFlight: String? = nil,
        to changes: inout [RunChange]
    ) {
        var touched: [String] = []
        for turn in HistoryTurn.split(rows) {
            guard let id = run(of: turn, session: session) else { continue }
            reducers[id]?.take(turn.rows)
            if isPage, id != inFlight, sessions[session]?.isUncertain == true { reducers[id]?.end(by: turn.rows) }
            if !touched.contains(id) { touched.append(id) }
        }
        for id in touched {
            if isPage { reducers[id]?.pageSeen() }
            publish(id, to: &changes)
        }
    }

    /// The run that a turn of the transcript belongs to: by the key that the gateway wrote, by a known call, by our own text,
    /// at last by the gateway's clock.
    func run(of turn: HistoryTurn, session: SessionKey) -> String? {
        if let key = turn.key {
            let id = resolved(key)
            if let reducer = reducers[id] { return reducer.session == session ? id : nil }
            if isHidden(key) { return nil }
        }
        guard let runs = sessions[session] else { return nil }
        // A key that is not known names an unknown run: none of those whose own keys are known.
        let candidates = runs.all.filter { id in
            guard let reducer = reducers[id], reducer.hasBegun else { return false }
            return turn.key == nil || !reducer.isOwn
        }
        let calls = turn.callIDs
        if !calls.isEmpty,
            let id = candidates.last(where: { id in calls.contains { reducers[id]?.steps.contains(call: $0) ?? false } }
            )
        {
            return id
        }
        guard let time = turn.time else {
            // Rows without any time can only be the newest run's.
            return candidates.count == 1 ? candidates.first : nil
        }
        let near = candidates.filter { id in
            guard let run = reducers[id] else { return false }
            guard time >= run.start.adding(milliseconds: -Self.clockTolerance) else { return false }
            return run.isActive || time <= run.lastSeen
        }
        let text = turn.userText
        let own = near.filter { id in reducers[id]?.sentText.map { !$0.isEmpty && text.hasSuffix($0) } ?? false }
        return (own.isEmpty ? near : own).min { distance($0, time) < distance($1, time) }
    }

    private func distance(_ id: String, _ time: Timestamp) -> Int64 {
        guard let run = reducers[id] else { return .max }
        return abs(run.start.milliseconds - time.milliseconds)
    }

    /// After the link was lost, a page of a newer gateway says whether the session's runs are over.
    private mutating func settle(
        by page: ChatHistory.Output,
        session: SessionKey,
        now: Timestamp,
        to changes: inout [RunChange]
    ) {
        guard let runs = sessions[session], runs.isUncertain, let isActive = page.hasActiveRun else {
            if sessions[session]?.active.isEmpty == true { sessions[session]?.isUncertain = false }
            return
        }
        sessions[session]?.isUncertain = false
        guard !isActive else { return }
        let state: Run.State =
            switch page.lastRunEnd {
            case .completed: .completed
            case .failed: .failed
            case .aborted: .aborted
            }
        for id in runs.active {
            guard let reducer = reducers[id], reducer.hasBegun else { continue }
            if !reducer.isUnaccountedFor {
                reducers[id]?.settle(state)
            } else if reducer.isStartPublished {
                reducers[id]?.settle(.failed, error: Self.unknownEnd, at: now)
            } else {
                forget(id, session: session)
                continue
            }
            publish(id, to: &changes)
        }
    }

    // MARK: Memory

    private mutating func make(_ id: String, session: SessionKey, now: Timestamp) {
        reducers[id] = RunReducer(id: id, session: session, labels: labels, now: now)
        sessions[session, default: SessionRuns(now: now)].active.append(id)
        sessions[session]?.touchedAt = now
        if let crowd = sessions[session]?.active, crowd.count > ActivityLimits.activeRunsPerSession,
            let oldest = crowd.first
        {
            evict(oldest)
        }
        evictSessions()
    }

    /// Publishes the changes of a run and keeps the lists of its session.
    private mutating func publish(_ id: String, to changes: inout [RunChange]) {
        defer { weigh(id) }
        guard let session = reducers[id]?.publish(to: &changes) ?? nil else { return }
        sessions[session]?.end(id)
        while let ended = sessions[session]?.ended, ended.count > ActivityLimits.endedRunsPerSession,
            let oldest = ended.first
        {
            forget(oldest, session: session)
        }
    }

    private mutating func forget(_ id: String, session: SessionKey) {
        weight -= reducers.removeValue(forKey: id)?.countedWeight ?? 0
        sessions[session]?.forget(id)
        if !aliases.isEmpty { aliases = aliases.filter { $0.value != id } }
    }

    /// Makes room. A run whose start was published gets an end.
    private mutating func evict(_ id: String) {
        guard var reducer = reducers[id] else { return }
        if reducer.isActive, reducer.isStartPublished {
            reducer.settle(.failed, error: Self.tooMany)
            _ = reducer.publish(to: &evictedEnds)
        }
        forget(id, session: reducer.session)
    }

    private mutating func takeEvictedEnds() -> [RunChange] {
        guard !evictedEnds.isEmpty else { return [] }
        defer { evictedEnds = [] }
        return evictedEnds
    }

    private mutating func weigh(_ id: String) {
        guard let now = reducers[id]?.weight else { return }
        weight += now - (reducers[id]?.countedWeight ?? 0)
        reducers[id]?.countedWeight = now
        while weight > ActivityLimits.trackerBytes, let victim = dispensable(besides: id) { evict(victim) }
    }

    /// An ended run of the session that rested longest, else an active run.
    private func dispensable(besides id: String) -> String? {
        let resting = sessions.filter { !$0.value.ended.isEmpty }.min { $0.value.touchedAt < $1.value.touchedAt }
        if let ended = resting?.value.ended.first, ended != id { return ended }
        let oldest = sessions.filter { $0.value.active.contains { $0 != id } }
            .min { $0.value.touchedAt < $1.value.touchedAt }
        return oldest?.value.active.first { $0 != id }
    }

    /// The session that rested longest goes first; one with an active run goes last.
    private mutating func evictSessions() {
        guard sessions.count > ActivityLimits.sessions else { return }
        let idle = sessions.filter { $0.value.active.isEmpty }.min { $0.value.touchedAt < $1.value.touchedAt }
        let victim = idle ?? sessions.min { $0.value.touchedAt < $1.value.touchedAt }
        guard let victim else { return }
        for id in victim.value.all { evict(id) }
        sessions[victim.key] = nil
    }
}
