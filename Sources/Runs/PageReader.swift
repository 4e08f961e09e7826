import Basics
import Gateway
import Ledger

/// Gives the rows of a session's transcript to their runs, and ends the runs that a page of it shows to be over.
struct PageReader: Sendable {
    let matching: RunMatching
    let profile: GatewayProfile

    /// The rows of each run.
    struct Found {
        fileprivate(set) var rows: [String: [TranscriptRow]] = [:]
        /// The run of the last turn.
        fileprivate var last: String?
        /// Runs behind whose last turn another run's turn was answered.
        fileprivate var passed: Set<String> = []
    }

    // MARK: A page

    /// - Parameter askedAt: when the page was asked for. Events since then are newer than the page.
    func read(
        _ page: ChatHistory.Output,
        session: SessionKey,
        askedAt: Timestamp,
        now: Timestamp,
        in memory: inout RunMemory,
        to changes: inout [RunChange]
    ) {
        if page.rows.contains(where: { $0.role == .assistant }) { memory[session: session]?.hasTranscript = true }
        endReplaced(by: page, session, now: now, in: &memory, to: &changes)
        let inFlight = takeInFlight(page, session, now: now, in: &memory, to: &changes)
        let arrival = RowArrival(session: session, now: now, isPage: true, isBusy: page.hasActiveRun == true)
        let found = take(page.rows, arrival, in: &memory, to: &changes)
        // The session's last end is only about the run of the last turn.
        let lastEnd = Ending.How(page.lastRunEnd)
        for id in found.rows.keys where memory[id]?.message.isStored == true {
            memory.prove(id, byRow: .row, mayBeOfRefused: profile.mayRefuseStoredMessages, to: &changes)
        }
        for id in memory[session: session]?.active ?? [] {
            // After our clock was set back, an event from before the question may seem to come from the future.
            let isNews = memory[id].map { $0.contact.heardAt <= askedAt || $0.contact.heardAt > now } ?? false
            if isNews {
                let rows = found.rows[id] ?? []
                // A run without rows has not completed; the session's last end may be older than the run.
                let end = id == found.last && (lastEnd != .completed || !rows.isEmpty) ? lastEnd : nil
                if found.rows[id] == nil {
                    memory[id]?.settleDoubt(page.rows, askedAt: askedAt, aheadMs: matching.clockSkewMs, now: now)
                }
                let isNamed = id == inFlight || page.activeRuns?.contains { memory.resolved($0) == id } ?? false
                let isPassed = found.passed.contains(id)
                judge(id, page, rows, end, isPassed: isPassed, isInFlight: isNamed, now: now, in: &memory, to: &changes)
            }
            if let shown = page.conversation { memory[id]?.conversation = shown }
            if isNews || memory[id]?.isOver == false { memory[id]?.pageSeen() }
            memory.publish(id, to: &changes)
        }
        // The rows may correct a published end.
        for (id, rows) in found.rows where memory[id]?.isClosed == true {
            memory[id]?.end(by: rows)
            memory.publish(id, to: &changes)
        }
        for id in memory[session: session]?.ended ?? [] { memory[id]?.answerRead() }
    }

    /// Ends the runs of an earlier conversation before the rows of this one are given to runs. Where two clients begin a session at one
    /// time, March and April write a run's rows to another conversation than its start names; such a run goes on.
    private func endReplaced(
        by page: ChatHistory.Output,
        _ session: SessionKey,
        now: Timestamp,
        in memory: inout RunMemory,
        to changes: inout [RunChange]
    ) {
        guard let shown = page.conversation else { return }
        let replaced = (memory[session: session]?.active ?? []).filter { id in
            memory[id].map { $0.isOf(another: shown) && !$0.mayBeginAgain } ?? false
        }
        guard !replaced.isEmpty else { return }
        let turns = TranscriptTurn.split(page.rows)
        let owners = matching.match(turns, session: session, in: memory)
        let begun = Set(owners.filter { turns[$0.key].beginsRun }.values)
        for id in replaced where !begun.contains(id) {
            memory[id]?.end(.conversationReset, now: now)
            memory[id]?.pageSeen()
            memory.publish(id, to: &changes)
        }
    }

    /// The run that the page calls under way. June releases name the newest send, even if it waits behind the run at work.
    private func takeInFlight(
        _ page: ChatHistory.Output,
        _ session: SessionKey,
        now: Timestamp,
        in memory: inout RunMemory,
        to changes: inout [RunChange]
    ) -> String? {
        guard let written = page.inFlightRunId, memory.mayShow(written) else { return nil }
        let id = memory.resolved(written)
        guard memory[id].map({ $0.session == session }) ?? true else { return nil }
        let text = page.inFlightText ?? ""
        guard memory[id]?.isClosed != true else { return id }
        let others = memory[session: session]?.active.contains { $0 != id && memory[$0]?.hasBegun == true } ?? false
        guard !text.isEmpty || !others else { return id }
        if memory[id] == nil { memory.make(id, session: session, now: now) }
        // So our own message may wait behind a run of which nothing was seen.
        guard !text.isEmpty || memory[id]?.mayWait == false else { return id }
        memory[id]?.began(at: now.adding(milliseconds: matching.clockSkewMs))
        memory[id]?.take(snapshot: text)
        memory.publish(id, to: &changes)
        return id
    }

    /// Ends a run if the page shows that it is over.
    private func judge(
        _ id: String,
        _ page: ChatHistory.Output,
        _ rows: [TranscriptRow],
        _ end: Ending.How?,
        isPassed: Bool,
        isInFlight: Bool,
        now: Timestamp,
        in memory: inout RunMemory,
        to changes: inout [RunChange]
    ) {
        guard let run = memory[id] else { return }
        var shown = run
        shown.end(by: rows)
        let look = RunEndTable.Look(
            run,
            shown: shown,
            hasTraces: !rows.isEmpty,
            page,
            isPassed: isPassed,
            isInFlight: isInFlight,
            lastEnd: end,
            profile: profile,
            now: now
        )
        switch RunEndTable.row(for: look).act(look) {
        case .leave: break
        case .drop: memory.drop(id, to: &changes)
        case .hear: memory[id]?.heard(at: now)
        case .read: memory[id] = shown
        case .lookAgain:
            shown.shownOver(at: now)
            memory[id] = shown
        case .wait:
            if !look.hasBegun { begin(&shown, in: &memory) }
            memory[id] = shown
        case .end(let reason):
            if !look.hasBegun { begin(&shown, in: &memory) }
            shown.end(reason, now: now)
            memory[id] = shown
        }
    }

    /// The transcript has the message, so its run began, though Ladle saw no event of it.
    private func begin(_ run: inout RunReducer, in memory: inout RunMemory) {
        run.began(at: run.times.start)
        if run.contact.isProcessGone { memory[session: run.session]?.interrupt(run.id) }
    }

    // MARK: Rows

    /// Gives the rows of each turn to its run.
    func take(
        _ rows: [TranscriptRow],
        _ arrival: RowArrival,
        in memory: inout RunMemory,
        to changes: inout [RunChange]
    ) -> Found {
        let (session, isPage) = (arrival.session, arrival.isPage)
        var found = Found()
        guard memory[session: session] != nil else { return found }
        for row in rows { noteJoined(row, isEvent: !isPage, in: &memory, to: &changes) }
        let turns = TranscriptTurn.split(rows)
        matching.tie(turns, arrival, in: &memory, to: &changes)
        // A page with fewer rows is the whole transcript.
        let beginsInside = !isPage || rows.count >= RunTracker.pageRows
        let before = !isPage ? memory[session: session]?.lastTurn : nil
        var owners = matching.match(
            turns,
            session: session,
            beginsInside: beginsInside,
            continued: before,
            areNew: !isPage,
            in: memory
        )
        if isPage {
            let unseen = matching.answeredUnseen(turns, owned: owners, session: session, in: memory)
            for id in unseen.values { memory[id]?.continuedUnseen(now: arrival.now) }
            owners.merge(unseen) { known, _ in known }
        }
        for (place, turn) in turns.enumerated() {
            guard let id = owners[place], memory[id]?.session == session else { continue }
            let rows = turn.rows.filter { !turn.isNote($0) }
            memory[id]?.take(rows)
            if isPage, turn.user != nil, !turn.isJoined { memory[id]?.message.stored() }
            if let user = turn.user, !turn.isJoined {
                memory[id]?.message.shown(as: Words(user), isPrompt: user.resumesTurn)
            }
            found.rows[id, default: []] += rows
            if place == turns.count - 1 { found.last = id }
        }
        if isPage, let answered = turns.lastIndex(where: \.endsEarlierRuns) {
            let later = Set(owners.lazy.filter { $0.key >= answered }.map(\.value))
            found.passed = Set(owners.values).subtracting(later)
        }
        if let last = turns.lastIndex(where: { $0.user != nil }) { memory[session: session]?.lastTurn = owners[last] }
        for id in found.rows.keys { memory.publish(id, to: &changes) }
        return found
    }

    /// A message of ours that a run at work read has no run of its own.
    private func noteJoined(
        _ row: TranscriptRow,
        isEvent: Bool,
        in memory: inout RunMemory,
        to changes: inout [RunChange]
    ) {
        guard let run = row.joinedRun, let key = row.runKey, let message = memory[key], message.mayBeAnotherRun,
            !message.publication.isStartPublished
        else { return }
        changes.append(.joined(key, run: memory.resolved(run), isEvent ? .rowEvent : .row))
        memory.drop(key, to: &changes)
    }
}
