import Basics
import Gateway
import Ledger

/// Which run answers a message of ours that the gateway put behind another one. No event says so, and other clients may say the same words.
/// The order in which the gateway took the messages decides, as far as it is known.
extension RunMatching {
    /// Gateways begin with the next message within a second of an end, and in 2 s under load.
    private static let restMs: Int64 = 5_000
    /// Nothing can wait any more.
    static let longRestMs: Int64 = 60_000

    /// Finds the runs that answer deferred messages. The user's row of such a run has the message's words and the time of the run's
    /// start. The gateway answers equal messages one by one, and messages that it joined into one turn together.
    func answerDeferred(
        _ turns: [TranscriptTurn],
        _ arrival: RowArrival,
        in memory: inout RunMemory,
        to changes: inout [RunChange]
    ) {
        let (session, isPage) = (arrival.session, arrival.isPage)
        guard let runs = memory[session: session] else { return }
        // Only a page shows that a message may have waited unnoticed.
        guard isPage || !runs.deferred.isEmpty || !runs.putAside.isEmpty else { return }
        if isPage { for id in runs.active { memory[id]?.message.decide() } }
        let strangers = runs.all.compactMap { id -> Attribution.Claimant? in
            guard let run = memory[id], mayAnswerAnother(run) else { return nil }
            return run.claimant(aheadMs: clockSkewMs)
        }
        guard !strangers.isEmpty else { return }
        let everybodys = attribute(turns, session: session, areNew: !isPage, in: memory)
        let owners = Attribution(turns.map { $0.row() }, strangers, beginsInside: true).owners.filter { place, owner in
            // A row that is surely another run's is that one's.
            everybodys[place].map { $0.turn == owner.turn || $0.tie != .certain } ?? true
        }
        let unseen = !isPage ? [] : mayBeDeferred(everybodys, besides: owners, session: session, in: memory)
        let waiting = (runs.deferred + runs.putAside + unseen.filter { !runs.deferred.contains($0) })
            .compactMap { memory[$0] }
        guard !waiting.isEmpty else { return }
        let unowned = !isPage ? [] : unowned(turns, besides: owners, waiting, everybodys)
        let hasEnded = isPage && !arrival.isBusy && isAtRest(session, forMs: 0, now: arrival.now, in: memory)
        let isAtRest = hasEnded && self.isAtRest(session, forMs: Self.restMs, now: arrival.now, in: memory)
        var likely: [String: Timestamp] = [:]
        let claimants = waiting.map { run in
            let equal = equalRuns(to: run, turns, owners, in: memory)
            let known = knownBefore(run, equal, turns, owners, in: memory)
            if let known, let deferral = run.message.deferral,
                let news = memory[run.id]?.message.waits(Deferral(at: deferral.at, behind: known))
            {
                changes.append(.waits(run.id, news))
            }
            let ours = waiting.count { $0.message.words == run.message.words }
            let rows = unowned.filter { turns[$0].messages.contains { run.message.isShown(as: $0) } }
            likely[run.id] = likelyBefore(run, equal, rows: rows.compactMap { turns[$0].time }, ours: ours, in: memory)
            let behind = [run.message.deferral?.behind, known, likely[run.id]]
            var message = Attribution.Claimant(run.id, words: run.message.words)
            message.written = waitingSince(run).behind(behind.compactMap(\.self).max())
            message.earlier = run.message.earlier
            return message
        }
        let said = turns.indices.filter { owners[$0] != nil }.flatMap { place in
            turns[place].messages.map { words in
                var row = Attribution.Row(words: [words], at: turns[place].time)
                row.id = turns[place].user?.messageID
                return (place, row)
            }
        }
        let answered = Attribution(said.map(\.1), claimants, isQueue: true).owners
        for (id, start) in likely { memory[id]?.message.wait(behind: start) }
        var undecided: [Words] = []
        for (index, found) in answered.sorted(by: { $0.key < $1.key }) {
            let (turn, id) = (turns[said[index].0], found.turn)
            guard let answer = owners[said[index].0]?.turn, let run = memory[id], let other = memory[answer] else {
                continue
            }
            // A turn that had its answer before that run was seen is the message's own.
            if run.isKnownByRowsAlone, let end = turn.answeredAt, end < other.times.firstEvent ?? end {
                continue
            }
            // Equal messages are answered in order, so the first one's run decides those of the others.
            let isDoubtful = mayBeInTheWay(other, of: run, in: memory)
            if let words = run.message.words, !isAtRest && isDoubtful || undecided.contains(words) {
                undecided.append(words)
                memory[id]?.message.wait(behind: other.times.start, asksAgain: hasEnded)
                continue
            }
            // While the link was away, another client may have said the same words.
            let isKnown = runs.deferred.contains(id) || (runs.putAside.contains(id) && !run.contact.isUncertain)
            let hasOrder = profile.sendsRows || likely[id] == nil
            let isShared =
                !isKnown || isDoubtful || !hasOrder || other.message.mayBeStrangers || turn.messages.count > 1
                || turn.messages.contains { runs.haveOthersSaid($0) }
            handOver(run, answeredBy: answer, isShared: isShared, in: &memory, to: &changes)
        }
    }

    // MARK: Before the message

    /// The start of a run that surely does not answer this message: its row comes after that of the run.
    /// - Parameter owners: the runs of the turns that may answer it, by the turn's place.
    private func knownBefore(
        _ waiting: RunReducer,
        _ equal: [RunReducer],
        _ turns: [TranscriptTurn],
        _ owners: [Int: (turn: String, tie: Tie)],
        in memory: RunMemory
    ) -> Timestamp? {
        var starts = equal.filter { $0.isClosed && wasOver($0, before: waiting) }.map(\.times.start)
        // A run whose start was missed began before the link was opened over which the message was sent.
        if waiting.isFollowedSinceSent {
            starts += owners.compactMap { place, owner in
                guard let run = memory[owner.turn], run.times.starts.isEmpty, !run.publication.isFromDisk else {
                    return nil
                }
                return turns[place].time
            }
        }
        return starts.max()
    }

    /// Whether the run's end was known when the message was sent. An earlier process of Ladle knew it when it came.
    private func wasOver(_ run: RunReducer, before waiting: RunReducer) -> Bool {
        let sent = waiting.times.knownAt
        guard run.publication.isFromDisk || waiting.publication.isFromDisk else { return run.contact.heardAt < sent }
        return run.times.lastSeen < waiting.onGatewayClock(sent, aheadMs: clockSkewMs)
    }

    /// The start of the last run with the message's words that rather answers another client's.
    /// - Parameters:
    ///   - rows: the times of rows with the words whose runs were not seen.
    ///   - ours: how many messages of ours with the words wait.
    private func likelyBefore(
        _ waiting: RunReducer,
        _ equal: [RunReducer],
        rows: [Timestamp],
        ours: Int,
        in memory: RunMemory
    ) -> Timestamp? {
        let sent = ClockWindow.row(sentAt: waiting.onGatewayClock(waiting.times.knownAt, aheadMs: clockSkewMs))
        // The gateway had taken equal messages of other clients before ours was sent, and had not begun with them.
        let since = equal.filter { run in
            run.times.starts.contains { sent.contains($0) } && !wasKnown(run, at: waiting.times.knownAt, of: waiting)
        }
        var starts = Array(since.map(\.times.start).sorted().prefix(waiting.message.equalsBefore))
        guard let deferral = waiting.message.deferral else { return starts.max() }
        // Another client's message waited when the run began, and ours did not yet.
        starts += equal.filter { $0.message.mayBeStrangers && wasKnown($0, at: deferral.at, of: waiting) }
            .map(\.times.start)
        // The run began before it was told that ours waits, and enough later ones have the words that no other message can have waited for.
        let later = equal.filter { !$0.message.mayBeStrangers }.map(\.times.start) + rows
        starts += equal.filter { run in
            mayBeInTheWay(run, of: waiting, in: memory)
                && later.count { ClockWindow.always.behind(run.times.start).contains($0) } >= ours
        }.map(\.times.start)
        return starts.max()
    }

    /// The runs of others that have the message's words.
    private func equalRuns(
        to waiting: RunReducer,
        _ turns: [TranscriptTurn],
        _ owners: [Int: (turn: String, tie: Tie)],
        in memory: RunMemory
    ) -> [RunReducer] {
        let shown = owners.filter { place, _ in
            turns[place].messages.count == 1 && turns[place].messages.contains { waiting.message.isShown(as: $0) }
        }
        let ids = Set(shown.values.map(\.turn))
        return (memory[session: waiting.session]?.all ?? []).compactMap { memory[$0] }.filter { run in
            mayAnswerAnother(run) && (ids.contains(run.id) || waiting.message.isSaid(by: run.message))
        }
    }

    /// The places of turns of which no run was seen, and which no message of ours has that does not wait.
    private func unowned(
        _ turns: [TranscriptTurn],
        besides strangers: [Int: (turn: String, tie: Tie)],
        _ waiting: [RunReducer],
        _ owners: [Int: (turn: String, tie: Tie)]
    ) -> [Int] {
        // Releases that announce every message tell the order.
        guard !profile.sendsRows else { return [] }
        return turns.indices.filter { place in
            guard strangers[place] == nil, turns[place].messages.count == 1 else { return false }
            return owners[place].map { owner in waiting.contains { $0.id == owner.turn } } ?? true
        }
    }

    /// Whether the gateway may have put our message behind this run, instead of answering it there: the run began first, and then the
    /// gateway told that the message waits. A gateway under load tells so when the run that answers has begun.
    private func mayBeInTheWay(_ run: RunReducer, of waiting: RunReducer, in memory: RunMemory) -> Bool {
        // Releases that announce every message tell how many equal ones came before.
        guard !profile.sendsRows, let deferral = waiting.message.deferral else { return false }
        return wasKnown(run, at: deferral.at, of: waiting) || firstRun(since: waiting, in: memory)?.id == run.id
    }

    /// The start of the newest run that may be in the way of this message, for which the gateway has just told that it waits.
    func startPerhapsInTheWay(of waiting: RunReducer, in memory: RunMemory) -> Timestamp? {
        let since = waitingSince(waiting)
        let others = memory[session: waiting.session]?.all.compactMap { memory[$0] } ?? []
        return others.filter { run in
            mayAnswerAnother(run) && run.times.starts.contains { since.contains($0) }
                && mayBeInTheWay(run, of: waiting, in: memory)
        }.map(\.times.start).max()
    }

    /// Whether the run was known at this time of our clock. An earlier process of Ladle knew it from its start.
    private func wasKnown(_ run: RunReducer, at time: Timestamp, of waiting: RunReducer) -> Bool {
        guard run.publication.isFromDisk else { return run.times.knownAt < time }
        return run.times.start < waiting.onGatewayClock(time, aheadMs: clockSkewMs)
    }

    /// The start of the run behind which the gateway puts this message of ours now: a run at work that is not the one to answer it.
    func startInTheWay(of waiting: RunReducer, in memory: RunMemory) -> Timestamp? {
        guard waiting.isFollowedSinceSent else { return nil }
        // A run whose start was missed began before the link was opened over which the message was sent.
        let earlier = (memory[session: waiting.session]?.active ?? []).compactMap { memory[$0] }.filter { run in
            run.id != waiting.id && run.hasBegun && run.times.starts.isEmpty && run.message.words == nil
        }
        let first = firstRun(since: waiting, in: memory).flatMap { $0.isActive && !$0.isEndHeld ? $0 : nil }
        return (earlier + [first].compactMap(\.self)).map(\.times.start).max()
    }

    /// The first run since our message was sent, if none was at work before. It does not answer the message, if that waits: the run that does
    /// follows another one. Nil if Ladle may have missed something.
    private func firstRun(since waiting: RunReducer, in memory: RunMemory) -> RunReducer? {
        guard waiting.isFollowedSinceSent, let runs = memory[session: waiting.session] else { return nil }
        let sent = waiting.onGatewayClock(waiting.times.knownAt, aheadMs: clockSkewMs)
        let since = ClockWindow.atWork(before: sent).from
        let others = runs.all.compactMap { memory[$0] }.filter { run in
            run.id != waiting.id && run.hasBegun && (run.isActive || since <= run.times.lastSeen)
        }
        guard let first = others.min(by: { $0.times.start < $1.times.start }), !runs.hasWorkedUnseen(since: since),
            let start = first.times.starts.first, sent <= start
        else { return nil }
        return first
    }

    // MARK: What waits

    /// Nothing has been at work for this long, and the link was there.
    func isAtRest(_ session: SessionKey, forMs milliseconds: Int64, now: Timestamp, in memory: RunMemory) -> Bool {
        let since = now.adding(milliseconds: -milliseconds)
        guard memory.linkedAt.map({ $0 <= since }) ?? true else { return false }
        guard let runs = memory[session: session] else { return true }
        let isAnyAtWork = runs.all.compactMap { memory[$0] }.contains { run in
            run.hasBegun && !run.isBetweenTries && (since < run.contact.heardAt || (run.isActive && !run.isEndHeld))
        }
        return !isAnyAtWork && !runs.hasWorkedUnseen(since: since.adding(milliseconds: clockSkewMs))
    }

    /// Messages that the gateway may have put behind another run while Ladle was away: nothing of their runs was seen, and a page shows no
    /// row that is theirs alone. The last row before a run was first seen at work is that run's, also if it has the words of a message.
    private func mayBeDeferred(
        _ owners: [Int: (turn: String, tie: Tie)],
        besides strangers: [Int: (turn: String, tie: Tie)],
        session: SessionKey,
        in memory: RunMemory
    ) -> [String] {
        guard !profile.pagesTellRuns else { return [] }
        let owned = Set(owners.filter { $0.value.tie == .certain || strangers[$0.key] == nil }.map(\.value.turn))
        return memory[session: session]?.active.filter { id in
            !owned.contains(id) && memory[id]?.mayBeDeferred ?? false
        } ?? []
    }

    /// Whether a run that may answer this deferred message has begun since it was sent.
    func mayBeAnswered(_ id: String, in memory: RunMemory) -> Bool {
        guard let deferred = memory[id] else { return false }
        let since = waitingSince(deferred)
        return memory[session: deferred.session]?.all.contains { other in
            guard let run = memory[other], mayAnswerAnother(run) else { return false }
            return run.times.starts.isEmpty || run.times.starts.contains { since.contains($0) }
        } ?? false
    }

    /// The time in which the gateway can have begun with a message of ours that it has not begun under our key.
    func waitingSince(_ run: RunReducer) -> ClockWindow {
        let start = run.isKnownByRowsAlone ? run.times.sentAt : run.times.start
        let sent = run.onGatewayClock(start, aheadMs: clockSkewMs)
        guard run.isClosed else { return .row(sentAt: sent) }
        return .row(sentAt: sent, putAsideAt: run.onGatewayClock(run.contact.heardAt, aheadMs: clockSkewMs))
    }

    /// The run is not known to answer a message of ours.
    func mayAnswerAnother(_ run: RunReducer) -> Bool { run.hasBegun && run.message.words == nil }
}
