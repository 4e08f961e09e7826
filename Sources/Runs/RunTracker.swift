package import Basics
package import Labels

/// All runs of the gateway, whoever started them. Frames go in as they come, changes come out; it neither waits nor asks.
package struct RunTracker: Sendable {
    package let labels: LabelTable
    package var defaults: SessionDefaults
    var reducers: [String: RunReducer] = [:]
    var sessions: [SessionKey: SessionRuns] = [:]
    /// Sent ids whose answer is another run.
    var aliases: [String: String] = [:]
    private var hidden: Set<String> = []
    /// What all reducers weigh.
    private var weight = 0
    /// Ends of runs that had to make room, until someone asks what changed.
    private var overdue: [RunChange] = []
    /// Live tool events were seen for runs of our own, or for all (newer gateways send items to everyone).
    var hasOwnToolEvents = false
    var hasAllToolEvents = false
    /// The gateway tells each row of a transcript as it is written. Older ones do not, and without a word to the contrary
    /// they also keep from their events what commands put out.
    package var tellsRows = true
    var isPageDue = false
    /// Older gateways answer with a page long before.
    static let holdMilliseconds: Int64 = 1_000

    package init(labels: LabelTable = .extended, defaults: SessionDefaults = .standard) {
        self.labels = labels
        self.defaults = defaults
    }

    // MARK: reading

    /// The run of that id; an id under which we sent leads to the run that answers.
    package func run(_ id: String) -> Run? { reducers[resolved(id)]?.run }

    package func resolved(_ id: String) -> String { aliases[id] ?? id }

    /// Newest first.
    package func runs(activeOnly: Bool = false, session: SessionKey? = nil) -> [Run] {
        let found = reducers.values.filter { reducer in
            (!activeOnly || reducer.isActive) && (session == nil || reducer.session == session)
        }
        return found.map(\.run).sorted { ($0.startedAt, $0.id) > ($1.startedAt, $1.id) }
    }

    /// The main session, and those in which something happened last.
    package func recentSessions(_ most: Int) -> [SessionKey] {
        let others = sessions.filter { $0.key != defaults.mainSession }.sorted {
            $0.value.touchedAt > $1.value.touchedAt
        }
        return [defaults.mainSession] + others.prefix(most - 1).map(\.key)
    }

    package var activeCount: Int { sessions.values.reduce(0) { $0 + $1.active.count } }

    /// A history page is wanted: every 500 ms, one in flight, while this is true.
    package func wantsHistoryPoll(_ session: SessionKey) -> Bool {
        guard let runs = sessions[session] else { return false }
        return runs.active.contains { id in
            guard let reducer = reducers[id], reducer.hasBegun else { return false }
            if runs.isUncertain || reducer.hasGap || reducer.needsRows { return true }
            let isCovered = hasAllToolEvents || (hasOwnToolEvents && reducer.sentText != nil)
            return !reducer.sawToolEvents && !isCovered
        }
    }

    /// A page is to come at once, not in its turn; true once for each reason.
    package mutating func takePageDue() -> Bool {
        defer { isPageDue = false }
        return isPageDue
    }

    package var sessionsToPoll: [SessionKey] { sessions.keys.filter { wantsHistoryPoll($0) }.sorted() }

    // MARK: our own sends

    /// Our message was handed to the gateway; `id` is its idempotency key and so its run's id.
    package mutating func sent(_ id: String, session: SessionKey, text: String, now: Timestamp) {
        guard reducers[resolved(id)] == nil else { return }
        make(id, session: session, now: now)
        reducers[id]?.sentText = text
    }

    /// The gateway refused the message: nothing will come of it.
    package mutating func sendFailed(_ id: String) {
        let id = resolved(id)
        guard let reducer = reducers[id], !reducer.hasBegun else { return }
        forget(id, session: reducer.session)
    }

    /// Housekeeping of our own: its run and its messages are never shown.
    package mutating func hide(_ id: String) {
        if hidden.count >= ActivityLimits.hiddenRuns { hidden.removeAll() }
        hidden.insert(id)
        if let reducer = reducers[id] { forget(id, session: reducer.session) }
    }

    package func isHidden(_ id: String) -> Bool { hidden.contains(id) }

    // MARK: the link

    /// The connection is gone: what happens to active runs is not seen any more.
    package mutating func linkLost() {
        for session in sessions.keys where sessions[session]?.active.isEmpty == false {
            sessions[session]?.isUncertain = true
        }
        hasOwnToolEvents = false
        hasAllToolEvents = false
    }

    /// Frames were lost on a connection that stands.
    package mutating func framesLost() {
        for runs in sessions.values { for id in runs.active { reducers[id]?.hasGap = true } }
    }

    // MARK: bookkeeping

    mutating func make(_ id: String, session: SessionKey, now: Timestamp) {
        reducers[id] = RunReducer(id: id, session: session, labels: labels, now: now)
        sessions[session, default: SessionRuns(now: now)].active.append(id)
        sessions[session]?.touchedAt = now
        if let crowd = sessions[session]?.active, crowd.count > ActivityLimits.activeRunsPerSession,
            let oldest = crowd.first
        {
            drop(oldest)
        }
        evictSessions()
    }

    mutating func forget(_ id: String, session: SessionKey) {
        weight -= reducers.removeValue(forKey: id)?.weighed ?? 0
        sessions[session]?.forget(id)
        if !aliases.isEmpty { aliases = aliases.filter { $0.value != id } }
    }

    /// Makes room. Whoever was told of the run's start is told of an end.
    private mutating func drop(_ id: String) {
        guard var reducer = reducers[id] else { return }
        if reducer.isActive, reducer.isTold {
            reducer.evidence.settled(.failed, error: Self.tooMany)
            _ = reducer.publish(to: &overdue)
        }
        forget(id, session: reducer.session)
    }

    static let tooMany = "More runs are under way than Ladle follows; how this one goes on is in the gateway's history."

    /// The ends of runs that made room since the last call.
    mutating func takeOverdue() -> [RunChange] {
        guard !overdue.isEmpty else { return [] }
        defer { overdue = [] }
        return overdue
    }

    private mutating func weigh(_ id: String) {
        guard let now = reducers[id]?.weight else { return }
        weight += now - (reducers[id]?.weighed ?? 0)
        reducers[id]?.weighed = now
        while weight > ActivityLimits.bookBytes, let victim = dispensable(besides: id) { drop(victim) }
    }

    /// The run that is missed least: an ended one of the session that rested longest, else an active one.
    private func dispensable(besides id: String) -> String? {
        let resting = sessions.filter { !$0.value.ended.isEmpty }.min { $0.value.touchedAt < $1.value.touchedAt }
        if let ended = resting?.value.ended.first, ended != id { return ended }
        let oldest = sessions.filter { $0.value.active.contains { $0 != id } }
            .min { $0.value.touchedAt < $1.value.touchedAt }
        return oldest?.value.active.first { $0 != id }
    }

    /// Tells what changed in a run and keeps the lists in step.
    mutating func publish(_ id: String, to changes: inout [RunChange]) {
        defer { weigh(id) }
        guard let session = reducers[id]?.publish(to: &changes) ?? nil else { return }
        sessions[session]?.end(id)
        while let ended = sessions[session]?.ended, ended.count > ActivityLimits.endedRunsPerSession,
            let oldest = ended.first
        {
            forget(oldest, session: session)
        }
    }

    /// The sessions that rested longest go first; one with an active run stays.
    private mutating func evictSessions() {
        guard sessions.count > ActivityLimits.sessions else { return }
        let idle = sessions.filter { $0.value.active.isEmpty }.min { $0.value.touchedAt < $1.value.touchedAt }
        let victim = idle ?? sessions.min { $0.value.touchedAt < $1.value.touchedAt }
        guard let victim else { return }
        for id in victim.value.all { drop(id) }
        sessions[victim.key] = nil
    }
}
