import Basics
import Gateway

/// Finds which runs the turns of a transcript belong to, and ties messages and runs to the runs with which the gateway goes on.
struct RunTies: Sendable {
    /// How far the gateway's clock is ahead of ours.
    let clockSkewMs: Int64
    let pagesTellRuns: Bool

    func tie(
        _ turns: [HistoryTurn],
        session: SessionKey,
        in memory: inout RunMemory,
        to changes: inout [RunChange]
    ) {
        answerInterrupted(turns, session: session, in: &memory, to: &changes)
        answerDeferred(turns, session: session, in: &memory, to: &changes)
    }

    /// - Parameter owner: the run that a key of the gateway names; nil for one that is not shown.
    func match(
        _ turns: [HistoryTurn],
        session: SessionKey,
        beginsInside: Bool = true,
        in memory: RunMemory,
        owner: (String) -> String?
    ) -> TurnMatch {
        let candidates = (memory[session: session]?.all ?? []).compactMap { id -> TurnMatch.Candidate? in
            guard let reducer = memory[id], !(memory[session: session]?.deferred.contains(id) ?? false) else {
                return nil
            }
            var candidate = reducer.candidate
            // The gateway has not told of a start, so this is the time of our sending.
            if candidate.starts.isEmpty { candidate.sentAt = onGatewayClock(candidate.sentAt) }
            return candidate
        }
        return TurnMatch(turns, candidates, beginsInside: beginsInside) { key in
            guard let id = owner(key) else { return nil }
            return memory.has(id) ? id : nil
        }
    }

    private func onGatewayClock(_ time: Timestamp) -> Timestamp { time.adding(milliseconds: clockSkewMs) }

    /// Ties messages that the gateway put aside to the runs that answer them: the user's row of the late run has the message's
    /// words and the time of that run's start.
    private func answerDeferred(
        _ turns: [HistoryTurn],
        session: SessionKey,
        in memory: inout RunMemory,
        to changes: inout [RunChange]
    ) {
        guard let runs = memory[session: session] else { return }
        // Of a message that an earlier process of Ladle sent it is not known whether it was put aside.
        let unseen = pagesTellRuns ? [] : runs.active.filter { memory[$0]?.isUnseen ?? false }
        let waiting = runs.deferred + unseen.filter { !runs.deferred.contains($0) }
        guard !waiting.isEmpty else { return }
        let late = runs.all.compactMap { id -> TurnMatch.Candidate? in
            guard let reducer = memory[id], reducer.hasBegun, reducer.sentText == nil else { return nil }
            return reducer.candidate
        }
        let match = TurnMatch(turns, late) { _ in nil }
        for (place, turn) in turns.enumerated() {
            guard let answer = match.owners[place], turn.user != nil else { continue }
            for id in waiting {
                guard let reducer = memory[id], let text = reducer.sentText, turn.carries(text) else { continue }
                if reducer.isUnseen, !turn.isWritten(after: onGatewayClock(reducer.start)) { continue }
                memory.alias(id, to: answer)
                memory[answer]?.sentText = text
                changes.append(.reassigned(from: id, to: answer))
                // Equal messages are answered one after the other; joined ones together.
                if HistoryTurn.compared(turn.words) == text { break }
            }
        }
    }

    /// Ties runs that a restart interrupted to those with which the gateway goes on.
    private func answerInterrupted(
        _ turns: [HistoryTurn],
        session: SessionKey,
        in memory: inout RunMemory,
        to changes: inout [RunChange]
    ) {
        guard let runs = memory[session: session], !runs.interrupted.isEmpty else { return }
        for turn in turns {
            guard let user = turn.user, user.resumesTurn, let time = turn.time else { continue }
            let answer = runs.all.last { id in
                guard let reducer = memory[id], !runs.interrupted.contains(id) else { return false }
                return reducer.starts.contains { abs($0.milliseconds - time.milliseconds) <= 1_000 }
            }
            guard let answer else { continue }
            guard let id = interrupted(by: user, runs, in: memory), id != answer else { continue }
            memory[session: session]?.interrupted.removeAll { $0 == id }
            // A restart may interrupt that run, too.
            let text = memory[id]?.sentText
            if memory[answer]?.sentText == nil { memory[answer]?.sentText = text }
            // Before its end, so that nobody who waits for the answer takes the end for it.
            changes.append(.reassigned(from: id, to: answer))
            if memory[id]?.mayBeTakenUp == true { memory[id]?.end(.takenUp(as: answer), now: time) }
            memory.publish(id, to: &changes)
        }
    }

    /// Interrupted runs that the gateway took up and answered while nobody saw the run of its own, by the place of the turn. The
    /// interrupted turn itself has to stand before it.
    func answeredUnseen(
        _ turns: [HistoryTurn],
        owned: [Int: String],
        session: SessionKey,
        in memory: RunMemory
    ) -> [Int: String] {
        var found: [Int: String] = [:]
        guard let runs = memory[session: session], !runs.interrupted.isEmpty else { return [:] }
        for (place, turn) in turns.enumerated() where owned[place] == nil {
            guard let user = turn.user, user.resumesTurn, turn.rows.last?.stopReason == .completed,
                let id = interrupted(by: user, runs, in: memory), memory[id]?.mayBeTakenUp == true
            else { continue }
            // A prompt without words takes up the turn just before it.
            let isBefore =
                user.resumesUnnamedTurn
                ? owned[place - 1] == id : owned.contains { $0.key < place && $0.value == id }
            if isBefore || replaces(id, turn, runs, in: memory) { found[place] = id }
        }
        return found
    }

    /// A gateway that restarts twice during a message puts its own prompt in the place of the user's row. Only words that no other
    /// interrupted run has, written after the message was sent, are that message's.
    private func replaces(_ id: String, _ turn: HistoryTurn, _ runs: SessionRuns, in memory: RunMemory) -> Bool {
        guard let reducer = memory[id] else { return false }
        let sending = reducer.starts.first ?? onGatewayClock(reducer.start)
        guard turn.isWritten(after: sending) else { return false }
        let words = HistoryTurn.compared(turn.words)
        return runs.interrupted.filter { memory[$0]?.sentText == words } == [id]
    }

    /// The interrupted run that the gateway's prompt takes up. Words that are no interrupted run's are another message's, which
    /// waited behind it.
    private func interrupted(by user: HistoryRow, _ runs: SessionRuns, in memory: RunMemory) -> String? {
        let named = runs.interrupted.last {
            memory[$0]?.sentText.map { !$0.isEmpty && user.text.rangeOfText($0) != nil } ?? false
        }
        guard named == nil, user.resumesUnnamedTurn else { return named }
        return runs.interrupted.last { memory[$0]?.isActive == true }
    }
}
