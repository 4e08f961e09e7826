import Basics
import Gateway
import Ledger

/// How rows of a session's transcript came.
struct RowArrival: Sendable {
    let session: SessionKey
    let now: Timestamp
    /// They came as a page, and not as events just after the gateway had written them.
    var isPage = false
    /// The page says that some run is at work.
    var isBusy = false
}

/// Finds the runs of a transcript's turns. Also finds the run in which the gateway answers a deferred message or goes on with an
/// interrupted run.
struct RunMatching: Sendable {
    /// How far the gateway's clock is ahead of ours now.
    let clockSkewMs: Int64
    let profile: GatewayProfile

    func tie(
        _ turns: [TranscriptTurn],
        _ arrival: RowArrival,
        in memory: inout RunMemory,
        to changes: inout [RunChange]
    ) {
        let session = arrival.session
        if !arrival.isPage {
            answerStopped(turns, session: session, in: &memory, to: &changes)
            answerAlone(turns, session: session, in: &memory)
        }
        answerInterrupted(turns, session: session, in: &memory, to: &changes)
        answerByName(turns, in: &memory, to: &changes)
        answerDeferred(turns, arrival, in: &memory, to: &changes)
    }

    /// The run of each turn, by the turn's place.
    /// - Parameters:
    ///   - continued: the run of the turn before, if the rows follow it at once.
    ///   - areNew: the rows came as events.
    ///   - told: the runs with which turns are on the stream, by the turn's place.
    func match(
        _ turns: [TranscriptTurn],
        session: SessionKey,
        beginsInside: Bool = true,
        continued: String? = nil,
        areNew: Bool = false,
        told: [Int: String] = [:],
        in memory: RunMemory
    ) -> [Int: String] {
        attribute(
            turns,
            session: session,
            beginsInside: beginsInside,
            continued: continued,
            areNew: areNew,
            told: told,
            in: memory
        )
        .mapValues(\.turn)
    }

    func attribute(
        _ turns: [TranscriptTurn],
        session: SessionKey,
        beginsInside: Bool = true,
        continued: String? = nil,
        areNew: Bool = false,
        told: [Int: String] = [:],
        in memory: RunMemory
    ) -> [Int: (turn: String, tie: Tie)] {
        let runs = memory[session: session]
        let claimants = (runs?.all ?? []).compactMap { id -> Attribution.Claimant? in
            // Another run answers a deferred message; only a key makes a row its own.
            if runs?.deferred.contains(id) == true || runs?.putAside.contains(id) == true {
                guard !areNew, let run = memory[id], run.mayHaveRunUnseen else { return Attribution.Claimant(id) }
                return Attribution.Claimant(
                    id,
                    words: run.message.words,
                    written: waitingSince(run).behind(run.message.startBefore)
                )
            }
            var claimant = memory[id]?.claimant(aheadMs: clockSkewMs)
            claimant?.run = id
            // A June gateway may write the next message's row before the answer of the run at work.
            // A run whose start was missed began before it was first seen, and a row that comes now may be older than that.
            if areNew, claimant?.starts.isEmpty == true, let seen = claimant?.seenAt, let first = turns.first?.time {
                claimant?.seenAt = min(seen, first)
            }
            // A process that is gone writes no further rows of its run.
            let isAtWork = memory[id].map { $0.hasBegun && $0.isActive && !$0.contact.isProcessGone } ?? false
            claimant?.isLast = id == continued && isAtWork
            return claimant
        }
        let rows = turns.enumerated().map { place, turn in
            let names = turn.keys + [writer(of: turn, continued, in: memory)].compactMap(\.self)
            var row = turn.row(names: names.map { memory.run(named: $0) ?? $0 })
            row.run = told[place].map { memory.run(named: $0) ?? $0 }
            if let run = row.run { row.names.append(run) }
            return row
        }
        let owners = Attribution(rows, claimants, beginsInside: beginsInside).owners
        guard let runs, !runs.deferred.isEmpty else { return owners }
        // A run that is still at work tells its name.
        return owners.filter { place, owner in
            owner.tie == .certain || turns[place].showsEnd || !runs.deferred.contains(owner.turn)
        }
    }

    /// The run that wrote rows which come alone, if it is known or must be another one than that of the turn before.
    private func writer(of turn: TranscriptTurn, _ continued: String?, in memory: RunMemory) -> String? {
        guard profile.rowsNameTheirRun, turn.user == nil, let writer = turn.writingRun else { return nil }
        return continued != nil || memory.has(memory.resolved(writer)) ? writer : nil
    }

    /// Finds the run of the gateway's own that answers the message of the turn before: it writes the first row behind it.
    private func answerAlone(_ turns: [TranscriptTurn], session: SessionKey, in memory: inout RunMemory) {
        guard profile.rowsNameTheirRun, let turn = turns.first, turn.user == nil,
            let id = memory[session: session]?.lastTurn, let waiting = memory[id],
            waiting.message.words != nil, waiting.mayBeAnotherRun, !waiting.wasSeenAtWork,
            let answer = turn.writingRun.map(memory.resolved), !memory.has(answer)
        else { return }
        memory.alias(answer, to: id)
    }

    /// Finds the runs that answer messages of ours under an id of the gateway's own: the message's row has its key, and the rows behind
    /// it name the run. The row's time says nothing of it: it is that of the message, however long the message waited.
    private func answerByName(_ turns: [TranscriptTurn], in memory: inout RunMemory, to changes: inout [RunChange]) {
        guard profile.rowsNameTheirRun else { return }
        for (turn, key) in turns.flatMap({ turn in turn.keys.map { (turn, $0) } }) {
            guard let id = memory.run(named: key), let waiting = memory[id],
                waiting.message.words != nil, waiting.mayBeAnotherRun,
                let answer = turn.writingRun.map(memory.resolved), id != answer
            else { continue }
            // A run that answers another message of ours wrote rows behind this one, unless the gateway joined the two.
            guard memory[answer]?.message.words == nil || turn.keys.count > 1 else { continue }
            guard memory.has(answer) else {
                // Ladle saw nothing of that run, so the message's run stands for it.
                memory.alias(answer, to: id)
                continue
            }
            handOver(waiting, answeredBy: answer, isShared: turn.messages.count > 1, in: &memory, to: &changes)
        }
    }

    /// The message of `run` is answered by another run, whose other name the run's id becomes.
    func handOver(
        _ run: RunReducer,
        answeredBy answer: String,
        isShared: Bool,
        in memory: inout RunMemory,
        to changes: inout [RunChange]
    ) {
        memory[answer]?.message.goesOn(with: run.message)
        // It had begun under its own id, in a process that is gone.
        if run.isBetweenTries { memory[answer]?.beganBefore() }
        // This change comes before the end, so that a client that waits for the answer does not take that end for it.
        changes.append(.reassigned(from: run.id, to: answer, isShared: isShared))
        if run.publication.isStartPublished {
            memory[run.id]?.end(.continued(as: answer))
            memory.publish(run.id, to: &changes)
        }
        memory.alias(run.id, to: answer)
    }

    /// Finds the run in which the gateway answers a message that it said it had stopped: it writes the message's row again, while it
    /// is at work on the one run that it has begun by itself since the stop.
    private func answerStopped(
        _ turns: [TranscriptTurn],
        session: SessionKey,
        in memory: inout RunMemory,
        to changes: inout [RunChange]
    ) {
        for key in turns.compactMap(\.key) {
            guard let id = memory.run(named: key), let stopped = memory[id], stopped.wasStopped, !stopped.beganAfterStop
            else { continue }
            let stop = stopped.onGatewayClock(stopped.contact.heardAt, aheadMs: clockSkewMs)
            let answers = (memory[session: session]?.active ?? []).filter { other in
                // A run whose own message was seen answers that one.
                guard let run = memory[other], mayAnswerAnother(run), run.message.isUnknown else { return false }
                return run.times.starts.contains { ClockWindow.row(sentAt: stop).contains($0) }
            }
            guard let answer = answers.first, answers.count == 1 else { continue }
            handOver(stopped, answeredBy: answer, isShared: false, in: &memory, to: &changes)
        }
    }

    /// Finds the runs in which the gateway goes on with runs that a restart interrupted.
    private func answerInterrupted(
        _ turns: [TranscriptTurn],
        session: SessionKey,
        in memory: inout RunMemory,
        to changes: inout [RunChange]
    ) {
        guard let runs = memory[session: session], !runs.interrupted.isEmpty,
            turns.contains(where: { $0.user?.resumesTurn == true })
        else { return }
        let owned = match(turns, session: session, in: memory)
        for (place, turn) in turns.enumerated() {
            guard let user = turn.user, user.resumesTurn, let time = turn.time else { continue }
            let next = turns[(place + 1)...].lazy.compactMap { $0.user?.time }.first
            guard
                let answer = resuming(at: time, runs, in: memory) ?? joined(after: time, before: next, runs, in: memory)
            else { continue }
            guard let (id, isShared) = interrupted(by: user, after: owned[place - 1], runs, in: memory), id != answer,
                memory[session: session]?.interrupted.contains(id) == true,
                // A run that answers a known message of its own does not resume another run.
                memory[answer]?.message.words == nil,
                isResumed(id, by: answer, at: time, in: memory)
            else { continue }
            memory[session: session]?.interrupted.removeAll { $0 == id }
            let isUnseen = memory[id]?.hasBegun == false
            // Another restart may interrupt the new run too, so it keeps the message's words.
            if let message = memory[id]?.message { memory[answer]?.message.goesOn(with: message) }
            if !isUnseen { memory[answer]?.beganBefore() }
            // If Ladle missed the run's start, only the time of the prompt's row ties the answer to the run.
            memory[answer]?.began(withRowAt: time)
            // This change comes before the end of the interrupted run, so that a client that waits for the answer does not take
            // that end for it.
            changes.append(.reassigned(from: id, to: answer, isShared: isShared))
            // A run that was never seen to begin was never published, so it needs no end: its id becomes another name of the new
            // run.
            guard !isUnseen else {
                memory.alias(id, to: answer)
                continue
            }
            if memory[id]?.mayContinue == true { memory[id]?.end(.continued(as: answer), now: time) }
            memory.publish(id, to: &changes)
        }
    }

    /// The run that the gateway began with its own prompt: of the runs whose start fits the prompt's time, the nearest.
    private func resuming(at prompt: Timestamp, _ runs: SessionRuns, in memory: RunMemory) -> String? {
        var nearest: (id: String, distance: Int64)?
        for id in runs.all where !runs.interrupted.contains(id) {
            for start in memory[id]?.times.starts ?? [] {
                let late = start.milliseconds - prompt.milliseconds
                guard ClockWindow.start(promptedAt: prompt).contains(start), abs(late) < nearest?.distance ?? .max
                else {
                    continue
                }
                nearest = (id, abs(late))
            }
        }
        return nearest?.id
    }

    /// The active run that was first seen at work and fits the prompt's time: the gateway began it while Ladle was away.
    private func joined(
        after prompt: Timestamp,
        before next: Timestamp?,
        _ runs: SessionRuns,
        in memory: RunMemory
    ) -> String? {
        runs.active.first { id in
            guard !runs.interrupted.contains(id), memory[id]?.message.words == nil,
                let seen = memory[id]?.claimant(aheadMs: clockSkewMs).seenAt.map({ ClockWindow.row(seenAt: $0) })
            else { return false }
            return seen.contains(prompt) && next.map { !seen.contains($0) } ?? true
        }
    }

    /// Whether a run with a prompt of this time can go on with the interrupted one. A prompt from before its start, and a run that
    /// answers another message, cannot.
    private func isResumed(_ id: String, by answer: String, at prompt: Timestamp, in memory: RunMemory) -> Bool {
        guard let reducer = memory[id] else { return false }
        if let start = reducer.times.starts.last { return prompt >= start }
        return ClockWindow.row(sentAt: reducer.onGatewayClock(reducer.times.start, aheadMs: clockSkewMs)).contains(
            prompt
        )
    }

    /// Interrupted runs that the gateway resumed and answered in a run that Ladle did not see, by the place of the answering turn.
    /// The interrupted turn has to stand before that turn.
    func answeredUnseen(
        _ turns: [TranscriptTurn],
        owned: [Int: String],
        session: SessionKey,
        in memory: RunMemory
    ) -> [Int: String] {
        var found: [Int: String] = [:]
        guard let runs = memory[session: session], !runs.interrupted.isEmpty else { return [:] }
        for (place, turn) in turns.enumerated() where owned[place] == nil {
            guard let user = turn.user, user.resumesTurn,
                turn.rows.last(where: { !turn.isNote($0) })?.stopReason == .completed,
                let id = interrupted(by: user, after: owned[place - 1], runs, in: memory)?.run,
                let reducer = memory[id], reducer.mayContinue
            else { continue }
            // A prompt that does not quote the message resumes the turn just before it. So does the prompt for a stopped run.
            let isBefore =
                user.resumesUnnamedTurn || reducer.wasStopped
                ? owned[place - 1] == id : owned.contains { $0.key < place && $0.value == id }
            // Where the user's row still stands, the prompt is in place of another one.
            let mayReplace = !owned.contains { turns[$0.key].user != nil && $0.value == id }
            if isBefore || (mayReplace && replaces(id, turn, runs, in: memory)) { found[place] = id }
        }
        return found
    }

    /// A gateway that restarts twice during a run replaces the user's row by its own prompt. The prompt belongs to a run if it was
    /// written after the run's message was sent, and if no other interrupted run has the same words.
    private func replaces(_ id: String, _ turn: TranscriptTurn, _ runs: SessionRuns, in memory: RunMemory) -> Bool {
        guard let reducer = memory[id] else { return false }
        let sending = reducer.times.starts.first ?? reducer.onGatewayClock(reducer.times.start, aheadMs: clockSkewMs)
        guard turn.isWritten(in: .row(sentAt: sending)) else { return false }
        return runs.interrupted.filter { memory[$0]?.message.anyonesWords.map { turn.carries($0) } ?? false } == [id]
    }

    /// The interrupted run that the gateway's prompt resumes. A prompt with other words belongs to another message, which waited
    /// behind the interrupted run.
    /// - Parameter before: the run of the turn just before the prompt, if it is known. A prompt without words resumes that turn.
    private func interrupted(
        by user: TranscriptRow,
        after before: String?,
        _ runs: SessionRuns,
        in memory: RunMemory
    ) -> (run: String, isShared: Bool)? {
        // The fixed text of such a prompt may contain the words of a short message by chance, so words are not compared here.
        if user.resumesUnnamedTurn {
            // A prompt that was tied to its run before ties no other one.
            if let before { return runs.interrupted.contains(before) ? (before, false) : nil }
            return runs.interrupted.last { memory[$0]?.isActive == true }.map { ($0, false) }
        }
        let words = Words(user)
        if let named = runs.interrupted.lastIndex(where: {
            memory[$0]?.message.anyonesWords.map { words.show($0) } ?? false
        }) {
            let id = runs.interrupted[named]
            // A later restart may have interrupted another client's run, whose words are not known.
            let isStrangers = runs.interrupted[(named + 1)...].contains { memory[$0]?.message.isUnknown == true }
            // A message of ours with the same words may have begun unseen.
            let isOther = runs.active.contains { $0 != id && memory[$0]?.message.isShown(as: words) == true }
            return (id, isStrangers || isOther)
        }
        let part = runs.interrupted.last {
            memory[$0]?.message.words.map { words.quote($0) } ?? false
        }
        // The gateway may have put several messages into its prompt, or the prompt is that of a longer message.
        return part.map { ($0, true) }
    }
}
