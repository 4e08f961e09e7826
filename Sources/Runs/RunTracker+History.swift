package import Basics
package import JSONBytes
import Labels

/// Takes history pages to the runs whose turns they show.
extension RunTracker {
    /// `payload` is the answer to `chat.history` for that session.
    package mutating func receive(history payload: JSONValue, session: SessionKey, now: Timestamp) -> [RunChange] {
        var changes: [RunChange] = []
        var inFlight: String?
        if let flight = payload["inFlightRun"], let written = flight["runId"]?.string, !isHidden(written),
            !written.isEmpty
        {
            let id = resolved(written)
            let text = flight["text"]?.string ?? ""
            inFlight = id
            let isOver = reducers[id].map { !$0.isActive } ?? false
            // June names the send that came last, also one that waits behind the run at work.
            if !isOver, !text.isEmpty || !isBusy(session, besides: id) {
                if reducers[id] == nil { make(id, session: session, now: now) }
                reducers[id]?.began(at: now)
                reducers[id]?.snapshot(text)
                publish(id, to: &changes)
            }
        }
        take(HistoryRow.rows(payload["messages"]), session: session, isPage: true, inFlight: inFlight, to: &changes)
        // A page without a turn of theirs has nothing to add to them either.
        for id in sessions[session]?.active ?? [] where reducers[id]?.heldUntil != nil {
            reducers[id]?.sawRows()
            publish(id, to: &changes)
        }
        settle(payload["sessionInfo"], session: session, now: now, to: &changes)
        return changes + takeOverdue()
    }

    mutating func take(
        _ rows: [HistoryRow],
        session: SessionKey,
        isPage: Bool,
        inFlight: String? = nil,
        to changes: inout [RunChange]
    ) {
        var touched: [String] = []
        for turn in HistoryTurn.split(rows) {
            guard let id = run(of: turn, session: session) else { continue }
            reducers[id]?.history(turn.rows)
            if isPage, id != inFlight, sessions[session]?.isUncertain == true { reducers[id]?.close(turn.rows) }
            if !touched.contains(id) { touched.append(id) }
        }
        for id in touched {
            if isPage { reducers[id]?.sawRows() }
            publish(id, to: &changes)
        }
    }

    /// By the key the gateway wrote, by a call that is known, by our own words, at last by the gateway's clock.
    func run(of turn: HistoryTurn, session: SessionKey) -> String? {
        if let key = turn.key {
            let id = resolved(key)
            if let reducer = reducers[id] { return reducer.session == session ? id : nil }
            if isHidden(key) { return nil }
        }
        guard let runs = sessions[session] else { return nil }
        // A key that is not known names a run that is not: none of those whose own keys we know.
        let candidates = runs.all.filter { id in
            guard let reducer = reducers[id], reducer.hasBegun else { return false }
            return turn.key == nil || !reducer.isOwn
        }
        let calls = turn.callIDs
        if !calls.isEmpty, let id = candidates.last(where: { id in calls.contains { reducers[id]?.places[$0] != nil } })
        {
            return id
        }
        guard let time = turn.time else {
            // Rows without any time can only be the newest run's.
            return candidates.count == 1 ? candidates.first : nil
        }
        let near = candidates.filter { id in
            guard let run = reducers[id] else { return false }
            let start = run.startedAt ?? run.firstEvent ?? run.createdAt
            guard time >= start.adding(milliseconds: -Self.clockTolerance) else { return false }
            return run.isActive || time <= (run.endedAt?.time ?? run.chatEndedAt ?? run.lastEvent)
        }
        let said = turn.userText
        let own = near.filter { id in reducers[id]?.sentText.map { !$0.isEmpty && said.hasSuffix($0) } ?? false }
        return (own.isEmpty ? near : own).min { distance($0, time) < distance($1, time) }
    }

    private func distance(_ id: String, _ time: Timestamp) -> Int64 {
        guard let run = reducers[id] else { return .max }
        return abs((run.startedAt ?? run.firstEvent ?? run.createdAt).milliseconds - time.milliseconds)
    }

    /// Both times are the gateway's own; a turn's first row is a little older than its run.
    static let clockTolerance: Int64 = 10_000

    /// After the link was lost, the page tells which runs are over.
    private mutating func settle(_ info: JSONValue?, session: SessionKey, now: Timestamp, to changes: inout [RunChange])
    {
        guard let runs = sessions[session], runs.isUncertain, let isActive = info?["hasActiveRun"]?.bool else {
            if sessions[session]?.active.isEmpty == true { sessions[session]?.isUncertain = false }
            return
        }
        if isActive {
            sessions[session]?.isUncertain = false
            return
        }
        let state: Run.State =
            switch info?["status"]?.string {
            case "killed": .aborted
            case "failed", "timeout": .failed
            default: .completed
            }
        for id in runs.active where reducers[id]?.hasBegun == true {
            if reducers[id]?.isUnaccountedFor == true, reducers[id]?.isTold == false {
                forget(id, session: session)
                continue
            }
            if reducers[id]?.isUnaccountedFor == true {
                reducers[id]?.lastEvent = now
                reducers[id]?.evidence.settled(.failed, error: RunTracker.unknownEnd)
            } else {
                reducers[id]?.evidence.settled(state, error: nil)
            }
            publish(id, to: &changes)
        }
        sessions[session]?.isUncertain = false
    }
}
