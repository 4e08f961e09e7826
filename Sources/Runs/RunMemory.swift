import Basics
import Gateway
import Labels

/// The runs that Ladle remembers, by id and by session, within bounds: what has to make room leaves with an end.
struct RunMemory: Sendable {
    let labels: LabelTable
    private var reducers: [String: RunReducer] = [:]
    private(set) var sessions: [SessionKey: SessionRuns] = [:]
    /// Ids of our deferred sends, with the runs that answer them.
    private var aliases: [String: String] = [:]
    /// Memory of all reducers, in bytes.
    private var weight = 0
    /// Ends of runs that had to make room, until they are taken.
    private var evictedEnds: [RunChange] = []

    init(labels: LabelTable) { self.labels = labels }

    subscript(id: String) -> RunReducer? {
        get { reducers[id] }
        _modify { yield &reducers[id] }
    }

    subscript(session key: SessionKey) -> SessionRuns? {
        get { sessions[key] }
        _modify { yield &sessions[key] }
    }

    var all: some Sequence<RunReducer> { reducers.values }

    func resolved(_ id: String) -> String { aliases[id] ?? id }
    func has(_ id: String) -> Bool { reducers.index(forKey: id) != nil }

    /// The run of `answer` answers the send of `id`, which becomes another name of it.
    mutating func alias(_ id: String, to answer: String) {
        if let session = reducers[id]?.session { forget(id, session: session) }
        aliases[id] = answer
    }

    mutating func make(_ id: String, session: SessionKey, now: Timestamp) {
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

    mutating func forget(_ id: String) {
        if let session = reducers[id]?.session { forget(id, session: session) }
    }

    mutating func takeEvictedEnds() -> [RunChange] {
        guard !evictedEnds.isEmpty else { return [] }
        defer { evictedEnds = [] }
        return evictedEnds
    }

    private mutating func forget(_ id: String, session: SessionKey) {
        weight -= reducers.removeValue(forKey: id)?.countedWeight ?? 0
        sessions[session]?.forget(id)
        if !aliases.isEmpty { aliases = aliases.filter { $0.value != id } }
    }

    // MARK: Room

    /// A run whose start was published gets an end.
    private mutating func evict(_ id: String) {
        guard var reducer = reducers[id] else { return }
        if reducer.isActive, reducer.isStartPublished {
            reducer.end(.evicted)
            _ = reducer.publish(to: &evictedEnds)
        }
        forget(id, session: reducer.session)
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
