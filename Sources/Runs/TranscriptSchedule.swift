import Basics

/// Decides when the transcript of a session is read next: as often as its runs need it, and never if events report everything.
struct TranscriptSchedule: Sendable {
    /// The gateway sends tool events also for runs that other clients started.
    let seesAllToolEvents: Bool
    let sendsRows: Bool

    /// Sessions whose transcript is to be read now, the longest waiting first.
    func due(in memory: RunMemory, now: Timestamp, except busy: Set<SessionKey>) -> [SessionKey] {
        var due: [(session: SessionKey, since: Int64)] = []
        for (session, runs) in memory.sessions where !busy.contains(session) {
            guard let wait = interval(runs, in: memory, now: now) else { continue }
            let at = (runs.lookedAt?.milliseconds ?? 0) + wait
            if at <= now.milliseconds { due.append((session, at)) }
        }
        return due.sorted { ($0.since, $0.session) < ($1.since, $1.session) }.map(\.session)
    }

    /// How long after the last page the next one is due; nil if events report everything.
    func interval(_ runs: SessionRuns, in memory: RunMemory, now: Timestamp) -> Int64? {
        // The gateway may have resumed an interrupted run while the link was down.
        var wait: Int64? = runs.active.isEmpty && !runs.interrupted.isEmpty && runs.looks == 0 ? 0 : nil
        for id in runs.active {
            guard let reducer = memory[id], let own = interval(reducer, looks: runs.looks, now: now) else { continue }
            wait = min(wait ?? own, own)
        }
        if runs.ended.contains(where: { memory[$0]?.hasAnswerToRead == true }) {
            wait = 0
        }
        return wait
    }

    private func interval(_ reducer: RunReducer, looks: Int, now: Timestamp) -> Int64? {
        if reducer.isEndHeld || reducer.needsHistory { return Self.rowsWait }
        if reducer.isOver || reducer.message.asksAgain { return Self.lastRowsWait }
        let doubtWait = Self.doubtWaits[min(looks, Self.doubtWaits.count - 1)]
        if reducer.contact.isProcessGone {
            if reducer.hasBegun { return min(doubtWait, Self.resumeWait) }
            return reducer.isUnseen && looks == 0 ? 0 : nil
        }
        if reducer.contact.isUncertain { return doubtWait }
        if reducer.hasBegun, !isCovered(reducer) { return Self.stepsWait }
        return reducer.contact.isSilent(now: now) ? Self.silenceWait : nil
    }

    /// The run's tool calls come as events.
    private func isCovered(_ reducer: RunReducer) -> Bool {
        seesAllToolEvents || sendsRows || reducer.steps.sawToolEvents || reducer.message.isSenderHere
    }

    /// For rows that no event brings.
    private static let rowsWait: Int64 = 500
    /// For steps of other clients' runs on March, which sends tool events to the sender alone.
    private static let stepsWait: Int64 = 1_000
    private static let lastRowsWait: Int64 = 2_000
    /// A gateway that resumes a run sends events, so pages can wait. Many pages at a time would keep the gateway from its work.
    private static let resumeWait: Int64 = 10_000
    /// After a break, events report the rest of most runs; the transcript has the part that was missed.
    private static let doubtWaits: [Int64] = [0, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000]
    private static let silenceWait: Int64 = 30_000
}
