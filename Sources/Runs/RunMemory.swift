import Basics
import Gateway
import Labels
import Ledger

/// The runs that Ladle remembers, by id and by session. Their number and size have limits: a run that has to make room is ended.
struct RunMemory: Sendable {
    let labels: LabelTable
    /// How the connected gateway treats messages. Runs of an earlier process of Ladle are made before it is known.
    var traits = GatewayProfile(.june).messages {
        didSet {
            guard traits != oldValue else { return }
            for id in sessions.values.flatMap(\.active) { reducers[id]?.traits = traits }
        }
    }
    private var reducers: [String: RunReducer] = [:]
    private(set) var sessions: [SessionKey: SessionRuns] = [:]
    /// Ids of our deferred sends, with the runs that answer them.
    private var aliases: [String: String] = [:]
    /// Runs of Ladle's own housekeeping, which are not shown; the oldest are forgotten first.
    private var hidden: Set<String> = []
    private var hiddenInOrder: [String] = []
    /// When the link was opened, if it was since Ladle's start.
    var linkedAt: Timestamp?
    /// Memory of all reducers, in bytes.
    private var weight = 0
    /// Ends of runs that had to make room, until the caller takes them.
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
    func isHidden(_ id: String) -> Bool { hidden.contains(id) }

    /// Whether a gateway's id may name a run that is shown. Notes that people inject into a transcript have ids of their own kind.
    func mayShow(_ id: String) -> Bool {
        !id.isEmpty && !id.hasPrefix("inject-") && id.utf8.count <= GatewayLimits.identifierBytes && !isHidden(id)
    }

    /// The run that a key in the transcript names; nil if it is hidden or unknown.
    func run(named key: String) -> String? {
        let id = resolved(key)
        return !isHidden(key) && has(id) ? id : nil
    }

    /// The run `answer` answers the send `id`, which becomes another name of that run.
    mutating func alias(_ id: String, to answer: String) {
        if let session = reducers[id]?.session { forget(id, session: session) }
        aliases[id] = answer
    }

    /// The message with this key is answered by a run of its own, and not by `answer`, which had its words only.
    mutating func separate(_ key: String, from answer: String, now: Timestamp) {
        guard let other = reducers[answer] else { return }
        aliases[key] = nil
        make(key, session: other.session, now: now)
        reducers[key]?.message.goesOn(with: other.message)
        reducers[answer]?.message.isStrangers()
    }

    mutating func make(_ id: String, session: SessionKey, now: Timestamp) {
        reducers[id] = RunReducer(id: id, session: session, labels: labels, traits: traits, now: now)
        sessions[session, default: SessionRuns(now: now)].active.append(id)
        sessions[session]?.touch(at: now)
        if let crowd = sessions[session]?.active, crowd.count > ActivityLimits.activeRunsPerSession,
            let oldest = crowd.first
        {
            evict(oldest)
        }
        evictSessions()
    }

    mutating func hide(_ id: String) {
        if hidden.insert(id).inserted { hiddenInOrder.append(id) }
        if hiddenInOrder.count > ActivityLimits.hiddenRuns { hidden.remove(hiddenInOrder.removeFirst()) }
        forget(id)
    }

    mutating func follow(_ known: KnownRun) {
        let (id, session) = (known.id, known.session)
        reducers[id]?.follow(known)
        if reducers[id]?.isClosed == true { sessions[session]?.end(id) }
        if known.isPutAside { sessions[session]?.putAside(id) }
        if known.goneAt != nil { sessions[session]?.interrupt(id) }
        sessions[session]?.lookAgain()
        weigh(id)
    }

    /// Publishes the changes of a run and updates the lists of its session.
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

    /// Forgets a run of which nothing was shown and nothing will come.
    mutating func drop(_ id: String, to changes: inout [RunChange]) {
        guard let session = reducers[id]?.session else { return }
        forget(id)
        changes.append(.dropped(id, session: session))
    }

    // MARK: Messages of other clients

    /// The gateway announced that it took a message with these words: one of ours, or one of another client.
    mutating func gatewayTook(_ words: Words, session: SessionKey) {
        guard let runs = sessions[session] else { return }
        let own = runs.all.first {
            self[$0]?.message.isAnnounced == false && self[$0]?.message.isShown(as: words) == true
        }
        if let own { self[own]?.message.announced() } else { sessions[session]?.othersSaid(words) }
    }

    /// The gateway begins to run a message with these words. If the message is none of ours, it is one of another client, and waits
    /// no longer.
    mutating func gatewayBegan(_ words: Words, in runs: some Sequence<String>, session: SessionKey) {
        let isOurs = runs.contains { self[$0]?.message.isShown(as: words) == true }
        if !isOurs { sessions[session]?.othersBegan(words) }
    }

    // MARK: Rows

    /// The row of a run's message was seen.
    mutating func prove(
        _ id: String,
        byRow proof: RunProof,
        mayBeOfRefused: Bool,
        to changes: inout [RunChange]
    ) {
        let isProven = reducers[id]?.message.prove(byRow: proof, mayBeOfRefused: mayBeOfRefused)
        if isProven == true { changes.append(.proven(id, proof)) }
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

    // MARK: Lists

    /// Newest first.
    func runs(activeOnly: Bool, session: SessionKey?) -> [Run] {
        let found = all.filter { reducer in
            (!activeOnly || reducer.isActive) && (session == nil || reducer.session == session)
                && !reducer.publication.isEndFromDisk
        }
        return found.map(\.run).sorted { ($0.startedAt, $0.id) > ($1.startedAt, $1.id) }
    }

    func recentSessions(_ most: Int, besides main: SessionKey) -> [SessionKey] {
        let others = sessions.filter { session, runs in
            session != main && runs.all.contains { self[$0]?.publication.isEndFromDisk == false }
        }.sorted { $0.value.touchedAt > $1.value.touchedAt }
        return others.prefix(most).map(\.key)
    }

    func busyRuns(resumesRuns: Bool) -> [BusyRun] {
        sessions.flatMap { session, runs in
            runs.active.compactMap { id in
                guard let reducer = self[id] else { return nil }
                // Over a break the gateway may have lost the message, of which another run's news says nothing.
                let isDeferred = runs.deferred.contains(id) && !reducer.contact.isUncertain
                let goesOn = reducer.publication.isStartPublished && reducer.state == .running
                // A run that the gateway may resume keeps its session busy; a message that we send again does not.
                let mayGoOn = !reducer.contact.isProcessGone || (resumesRuns && !reducer.message.awaitsDelivery)
                guard isDeferred || (goesOn && mayGoOn) else { return nil }
                return BusyRun(
                    id: id,
                    session: session,
                    isDeferred: isDeferred,
                    isInterrupted: reducer.contact.isProcessGone
                )
            }
        }
    }

    mutating func takeChangedBusyRuns(resumesRuns: Bool) -> [BusyRun] {
        var changedSessions: Set<SessionKey> = []
        var changed: Set<String> = []
        for (session, runs) in sessions {
            for id in runs.active where self[id]?.takeNews() == true {
                changed.insert(id)
                changedSessions.insert(session)
            }
        }
        guard !changed.isEmpty else { return [] }
        return busyRuns(resumesRuns: resumesRuns).filter {
            changed.contains($0.id) || ($0.isDeferred && changedSessions.contains($0.session))
        }
    }

    // MARK: The link

    /// Another turn may have begun in any session.
    mutating func rowsMissed() {
        for session in sessions.keys { sessions[session]?.lastTurn = nil }
    }

    /// - Parameters:
    ///   - startedAt: the start of the gateway's process, by the gateway's clock.
    ///   - clockSkewMs: how far that clock is ahead of ours.
    mutating func reconnected(
        process: Continuity,
        startedAt: Timestamp?,
        clockSkewMs: Int64,
        now: Timestamp
    ) {
        let startOnOurClock = startedAt?.adding(milliseconds: -clockSkewMs)
        rowsMissed()
        for (session, runs) in sessions {
            // The old process had waiting messages, ours and other clients', in memory only.
            if process == .other { self[session: session]?.processGone() }
            for id in runs.putAside { self[id]?.reconnected(isGone: false, now: now) }
            let stopped = runs.ended.filter {
                self[$0]?.mayHaveLostItsStop(process: process, startedAt: startOnOurClock, now: now) == true
            }
            guard !runs.active.isEmpty || !runs.interrupted.isEmpty || !stopped.isEmpty else { continue }
            let gone = runs.active.filter { process == .other || self[$0]?.times.began(before: startedAt) == true }
            for id in runs.active + stopped {
                self[id]?.reconnected(
                    isGone: gone.contains(id) || stopped.contains(id),
                    isNewProcess: process == .other,
                    process: startedAt,
                    now: now
                )
            }
            self[session: session]?.lookAgain()
            let interrupted = stopped + gone.filter { self[$0]?.hasBegun == true }
            // A run that waits to be resumed still does, and the gateway may resume a run late that was given up.
            let earlier = runs.interrupted.filter { id in
                guard let run = self[id], !interrupted.contains(id) else { return false }
                return run.isActive || run.mayContinueLate(now: now)
            }
            if process == .other || !interrupted.isEmpty {
                self[session: session]?.interrupted = earlier + interrupted
            }
        }
    }

    // MARK: Approvals

    /// - Parameter session: nil if the session is not known.
    func run(asking approval: String, session: SessionKey?) -> String? {
        let searched = session.map { [$0] } ?? Array(sessions.keys)
        return searched.lazy.compactMap { key in
            self[session: key]?.all.last { self[$0]?.steps.contains(approval: approval) ?? false }
        }.first
    }

    mutating func approvalEnded(_ approval: String, _ decision: ApprovalEvent.Decision, now: Timestamp) -> [RunChange] {
        var changes: [RunChange] = []
        for runs in sessions.values {
            for id in runs.active where self[id]?.steps.contains(approval: approval) ?? false {
                self[id]?.approvalEnded(approval, decision, at: now)
                publish(id, to: &changes)
            }
        }
        return changes
    }

    // MARK: Room

    /// Forgets a run. If its start was published, its end is published too.
    private mutating func evict(_ id: String) {
        guard var reducer = reducers[id] else { return }
        if reducer.isActive, reducer.publication.isStartPublished {
            reducer.end(.evicted)
            _ = reducer.publish(to: &evictedEnds)
        }
        forget(id, session: reducer.session)
    }

    mutating func weigh(_ id: String) {
        guard let now = reducers[id]?.weight else { return }
        weight += now - (reducers[id]?.countedWeight ?? 0)
        reducers[id]?.countedWeight = now
        while weight > ActivityLimits.trackerBytes, let victim = dispensable(besides: id) { evict(victim) }
    }

    /// An ended run of the session without news for the longest time, else an active run.
    private func dispensable(besides id: String) -> String? {
        let resting = sessions.filter { !$0.value.ended.isEmpty }.min { $0.value.touchedAt < $1.value.touchedAt }
        if let ended = resting?.value.ended.first, ended != id { return ended }
        let oldest = sessions.filter { $0.value.active.contains { $0 != id } }
            .min { $0.value.touchedAt < $1.value.touchedAt }
        return oldest?.value.active.first { $0 != id }
    }

    /// The session without news for the longest time goes first. Sessions with active runs go last.
    private mutating func evictSessions() {
        guard sessions.count > ActivityLimits.sessions else { return }
        let idle = sessions.filter { $0.value.active.isEmpty }.min { $0.value.touchedAt < $1.value.touchedAt }
        let victim = idle ?? sessions.min { $0.value.touchedAt < $1.value.touchedAt }
        guard let victim else { return }
        for id in victim.value.all { evict(id) }
        sessions[victim.key] = nil
    }
}

/// Limits on the memory of one run and of one session, so that no gateway can fill our memory.
package enum ActivityLimits {
    /// Longest text kept of one run, in UTF-8 bytes. The gateway itself cuts the texts of a transcript at 12,000 characters.
    package static let runTextBytes = 1 << 20
    /// Most steps kept of one run. A run with more steps still gets its text and its end.
    package static let stepsPerRun = 500
    /// Longest error text of a run, step or message, in characters.
    static let errorCharacters = 1_000
    /// Longest reasoning text kept as the detail of a thinking step, in characters.
    static let thinkingCharacters = 4_000
    /// Ended runs kept per session, for frames that come late.
    package static let endedRunsPerSession = 64
    /// Active runs per session; a gateway runs one and queues the rest.
    package static let activeRunsPerSession = 32
    /// Sessions with reducers in memory.
    package static let sessions = 1_024
    /// Memory of all runs together, as `RunReducer.weight` counts it. It holds thousands of usual runs or dozens of the largest.
    package static let trackerBytes = 64 << 20
    /// Text kept of one thought while it streams, which is more than its detail shows.
    static let thoughtBytes = 64 << 10
    /// Most runs of Ladle's own housekeeping whose ids are kept, so that they stay hidden.
    static let hiddenRuns = 1_000
    /// How many text frames of one run may still be put in order if they overtake each other.
    package static let reorderWindow = 32
    /// Most attachments listed for one message.
    static let attachmentsPerMessage = 32
}
