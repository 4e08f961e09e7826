import Basics

/// When the transcript of a session is read next: as often as its runs need it, and not at all where events tell everything.
struct RunLooks: Sendable {
    /// Live tool events come for runs of others too.
    let seesAllToolEvents: Bool
    let sendsRows: Bool

    /// Sessions to be looked at now, the longest waiting first.
    func due(in memory: RunMemory, now: Timestamp, except busy: Set<SessionKey>) -> [SessionKey] {
        var due: [(session: SessionKey, since: Int64)] = []
        for (session, runs) in memory.sessions where !busy.contains(session) {
            guard let wait = interval(runs, in: memory, now: now) else { continue }
            let at = (runs.lookedAt?.milliseconds ?? 0) + wait
            if at <= now.milliseconds { due.append((session, at)) }
        }
        return due.sorted { ($0.since, $0.session) < ($1.since, $1.session) }.map(\.session)
    }

    /// How long after the last look the next one is due; nil where events tell everything.
    func interval(_ runs: SessionRuns, in memory: RunMemory, now: Timestamp) -> Int64? {
        // A run that was given up may have been taken up while the link was away.
        var wait: Int64? = runs.active.isEmpty && !runs.interrupted.isEmpty && runs.looks == 0 ? 0 : nil
        for id in runs.active {
            guard let reducer = memory[id], let own = interval(reducer, looks: runs.looks, now: now) else { continue }
            wait = min(wait ?? own, own)
        }
        return wait
    }

    private func interval(_ reducer: RunReducer, looks: Int, now: Timestamp) -> Int64? {
        if reducer.isEndHeld || reducer.needsHistory { return Self.rowsWait }
        if reducer.isOver { return Self.lastRowsWait }
        let doubtWait = Self.doubtWaits[min(looks, Self.doubtWaits.count - 1)]
        if reducer.isGone {
            if reducer.hasBegun { return min(doubtWait, Self.resumeWait) }
            return reducer.isUnseen && looks == 0 ? 0 : nil
        }
        if reducer.isUncertain { return doubtWait }
        if reducer.hasBegun, !isCovered(reducer) { return Self.stepsWait }
        return Self.isSilent(reducer, now: now) ? Self.silenceWait : nil
    }

    /// Its tool calls come as events.
    private func isCovered(_ reducer: RunReducer) -> Bool {
        seesAllToolEvents || sendsRows || reducer.sawToolEvents || reducer.isSenderHere
    }

    /// Rows that no event brings.
    private static let rowsWait: Int64 = 500
    /// Steps of others' runs on 2026.3.1, which sends tool events to the sender alone.
    private static let stepsWait: Int64 = 1_000
    private static let lastRowsWait: Int64 = 2_000
    /// A gateway that takes a run up again says so by events; many at a time are not to keep it from its work.
    private static let resumeWait: Int64 = 10_000
    /// After a break events tell the rest of most runs; the transcript has what was missed.
    private static let doubtWaits: [Int64] = [0, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000]
    /// A run that is silent for so long is asked about: some ends come without an event.
    static let silence: Int64 = 16_000
    private static let silenceWait: Int64 = 30_000

    static func isSilent(_ reducer: RunReducer, now: Timestamp) -> Bool {
        now.milliseconds - reducer.heardAt.milliseconds >= Self.silence
    }
}
