/// Starts the runs of accepted messages, one at a time per session, and remembers the outcomes of their keys.
final class DemoDispatcher {
    let host: DemoHost
    private(set) var runs: [String: DemoRun] = [:]
    private var finishedKeys: FinishedKeys
    /// Only in releases with queue modes.
    var sentInputs = SentInputs()
    /// The first run after a restart takes longer to begin.
    private var isFresh: Bool
    /// Runs whose ends are not written yet.
    private var ending: Set<String> = []

    var release: DemoRelease { host.release }
    var shape: ReleaseShape { host.shape }
    var clock: DemoClock { host.clock }
    var sessions: DemoSessions { host.sessions }

    init(_ host: DemoHost) {
        self.host = host
        isFresh = host.isRestarted
        finishedKeys = FinishedKeys(lifetimeMs: host.shape.repeats.lifetimeMs)
    }

    /// The ids of all runs that have begun, or will begin under their own keys.
    var activeRuns: [String] {
        (Array(runs.keys) + sessions.all.values.flatMap { $0.queue.direct.map(\.key) }).sorted()
    }

    // MARK: - Keys

    func forgetFinishedKeys() {
        finishedKeys = FinishedKeys(lifetimeMs: shape.repeats.lifetimeMs)
        sentInputs = SentInputs()
    }

    /// The outcome of a key's run, as long as it is remembered.
    func outcome(of key: String) -> FinishedKeys.Outcome? {
        guard case .outcome(let outcome, _)? = finishedKeys.memory(of: key, now: clock.wallMs) else { return nil }
        return outcome
    }

    func endedAt(of key: String) -> Int64? {
        guard case .outcome(_, let time)? = finishedKeys.memory(of: key, now: clock.wallMs) else { return nil }
        return time
    }

    func finish(_ key: String, _ outcome: FinishedKeys.Outcome) {
        finishedKeys.store(outcome, for: key, now: clock.wallMs)
    }

    /// At work, or waiting for its turn.
    func isUnderWay(_ key: String) -> Bool {
        let isWaiting = sessions.all.values.contains { session in
            session.queue.direct.contains { $0.key == key }
                || session.queue.late.contains { $0.message.key == key && !$0.isAnswered }
        }
        return runs[key] != nil || ending.contains(key) || isWaiting
    }

    /// The answer for a key whose run is active or ended lately; the text of the repeat does not matter.
    func answer(forKnown key: String, saying text: String, in canonical: String) -> DemoReply? {
        if case .byMode(let queueing) = shape.busySends { return answer(forKnown: key, saying: text, queueing) }
        if isUnderWay(key) { return .ok(["runId": key, "status": "in_flight"]) }
        switch finishedKeys.memory(of: key, now: clock.wallMs) {
        case nil: return nil
        case .outcome(.failed(let summary), _) where shape.repeats.tellFailures:
            return .failed(
                DemoError("UNAVAILABLE", summary),
                payload: ["runId": key, "status": "error", "summary": summary]
            )
        case .outcome(.aborted, let endedAt) where shape.repeats.tellAborts:
            return .ok(["runId": key, "status": "timeout", "summary": "aborted", "endedAt": endedAt])
        case .outcome: return .ok(["runId": key, "status": "ok"])
        case .used:
            finishedKeys.forget(key)
            guard !shape.repeats.runWhenForgotten else { return nil }
            answerEmpty(key, canonical, afterMs: 10)
            return .ok(["runId": key, "status": "started"])
        }
    }

    // MARK: - The queue

    func accept(_ message: DemoMessage, in session: DemoSession) {
        session.wasAborted = false
        if case .byMode(let queueing) = shape.busySends { return accept(message, in: session, queueing) }
        if shape.announcesAccepted, !session.isNew {
            clock.after(ms: clock.paced(15)) { [sessions] in sessions.announceAccepted(message.userRow, in: session) }
        }
        session.run?.addRecipient(message.owner)
        guard case .loseKey(let late) = shape.busySends, isBusy(session, late) else {
            session.queue.add(message)
            if session.queue.direct.count == 1 { startLater(in: session) }
            return
        }
        session.queue.addLate(message)
        // While another message waits for its start, the answer comes with that start.
        if session.queue.direct.isEmpty { answerLate(in: session, afterMs: late.emptyFinalMs) }
        if session.queue.late.count == 1, session.queue.direct.isEmpty { startLater(in: session) }
    }

    private func isBusy(_ session: DemoSession, _ late: ReleaseShape.Late) -> Bool {
        if session.run != nil { return true }
        if !late.overtakes, !session.queue.direct.isEmpty { return true }
        if !late.yields, !session.queue.late.isEmpty { return true }
        guard late.lingersMs > 0, let endedAt = session.lastEnd else { return false }
        return clock.now.monotonic < endedAt + UInt64(clock.paced(late.lingersMs)) * 1_000_000
    }

    private func answerLate(in session: DemoSession, afterMs delay: Int) {
        for message in session.queue.takeUnanswered() { answerEmpty(message.key, session.key, afterMs: delay) }
    }

    private func answerEmpty(_ key: String, _ canonical: String, afterMs delay: Int) {
        clock.after(ms: clock.paced(delay)) { [weak self] in
            self?.finish(key, .completed)
            let payload: WireValue = ["runId": key, "sessionKey": canonical, "seq": 1, "state": "final"]
            self?.host.connections.broadcastToReaders("chat", payload)
        }
    }

    func startLater(in session: DemoSession) {
        guard session.run == nil, !session.queue.isEmpty else { return }
        var delay = isFresh ? shape.firstStartMs : shape.startMs
        if session.queue.direct.isEmpty, case .loseKey(let late) = shape.busySends { delay = late.startMs }
        if isConflicted(session) { delay = Self.conflictMs }
        let turn = session.queue.newTurn()
        clock.after(ms: clock.paced(delay)) { [weak self] in
            if let self, session.queue.turn == turn { startNext(in: session) }
        }
    }

    private func startNext(in session: DemoSession) {
        guard session.run == nil else { return }
        if case .loseKey(let late) = shape.busySends {
            answerLate(in: session, afterMs: late.emptyFinalAtStartMs)
            if late.overtakes { session.queue.overtake() }
        }
        guard let (message, keepsKey) = next(in: session) else { return }
        guard !isConflicted(session) else {
            refuse(message, in: session)
            return startLater(in: session)
        }
        isFresh = false
        session.isInterrupted = false
        session.wasAborted = false
        settle(session, message)
        let id = keepsKey ? message.key : host.primitives.uuid()
        let run = DemoRun(id, message, session, host) { [weak self] run, ending in
            self?.ended(run, ending, isRecovery: message.isRecovery)
        }
        runs[id] = run
        session.run = run
        session.updatedAt = clock.wallMs
        run.start()
    }

    private func next(in session: DemoSession) -> (message: DemoMessage, keepsKey: Bool)? {
        if case .byMode = shape.busySends, session.queue.direct.isEmpty {
            return session.queue.takeTurn().map { ($0, false) }
        }
        return session.queue.takeNext()
    }

    private func ended(_ run: DemoRun, _ ending: DemoRun.Ending, isRecovery: Bool) {
        let session = run.session
        runs[run.id] = nil
        session.run = nil
        session.lastEnd = clock.now.monotonic
        session.updatedAt = clock.wallMs
        let outcome: FinishedKeys.Outcome
        let isSilent: Bool
        switch ending {
        case .completed: (outcome, isSilent) = (.completed, false)
        case .aborted: (outcome, isSilent) = (.aborted, shape.aborts == .storePartial)
        case .failed(let summary): (outcome, isSilent) = (.failed(summary), false)
        case .dropped: (outcome, isSilent) = (.completed, true)
        }
        session.lastRunID = run.id
        if case .failed(let summary) = outcome { session.lastRunError = summary } else { session.lastRunError = nil }
        if isSilent {
            finish(run.id, outcome)
        } else {
            var times = shape.runEnd
            // An abort is announced before it is answered.
            if case .aborted = ending { times = ReleaseShape.RunEnd() }
            tellEnd(of: run, outcome, times, keepsStates: isRecovery && shape.recovery?.keepsStates == true)
        }
        settle(run.inputs, outcome, in: session)
        startLater(in: session)
    }

    private func tellEnd(
        of run: DemoRun,
        _ outcome: FinishedKeys.Outcome,
        _ times: ReleaseShape.RunEnd,
        keepsStates: Bool
    ) {
        let session = run.session
        let endedAt = clock.wallMs
        let (status, phase) =
            switch outcome {
            case .completed: ("done", "end")
            case .aborted: ("killed", "end")
            case .failed: ("failed", "error")
            }
        ending.insert(run.id)
        later(times.toldMs) { [sessions] in
            let written = session.status
            (session.status, session.endedAt) = (status, endedAt)
            sessions.announceChange(of: session, phase: phase, runID: run.id)
            if session.run == nil { session.status = written }
        }
        later(times.writtenMs) { [weak self] in
            self?.ending.remove(run.id)
            self?.finish(run.id, outcome)
            if session.run == nil, !keepsStates { session.status = status }
        }
    }

    private func later(_ delay: Int, _ work: @escaping () -> Void) {
        if delay == 0 { work() } else { clock.after(ms: clock.paced(delay), work) }
    }

    // MARK: - Conflicts of the initialisation

    private static let conflictMs = 80

    private func isConflicted(_ session: DemoSession) -> Bool {
        shape.conflicts && (session.messagesSinceFound ?? 0) > 0
    }

    /// A run begins: in a new session it settles the conflicts of all others.
    private func settle(_ session: DemoSession, _ message: DemoMessage) {
        if session.rows.isEmpty, session.messagesSinceFound == nil {
            for other in sessions.all.values { other.messagesSinceFound = nil }
        } else if !message.isRecovery {
            session.messagesSinceFound = session.messagesSinceFound.map { $0 + 1 }
        } else {
            session.messagesSinceFound = nil
        }
    }

    /// A refused message still appears in the transcript.
    private func refuse(_ message: DemoMessage, in session: DemoSession) {
        let text = "Error: reply session initialization conflicted for \(session.key)"
        let shown: WireValue = [
            "role": "assistant", "content": [wireObject(["type": "text", "text": text])], "timestamp": clock.wallMs,
        ]
        finish(message.key, .failed(text))
        host.connections.broadcastToReaders(
            "chat",
            [
                "runId": message.key, "sessionKey": session.key, "seq": 1, "state": "error", "errorMessage": text,
                "message": shown,
            ]
        )
        sessions.restore(message.userRow, to: session)
        let (seq, endedAt) = (session.rows.count, clock.wallMs)
        clock.after(ms: clock.paced(50)) { [sessions] in sessions.announce(message.userRow, at: seq, in: session) }
        clock.after(ms: clock.paced(200)) { [sessions] in
            session.status = "failed"
            session.startedAt = message.acceptedAt
            session.endedAt = endedAt
            sessions.announceChange(of: session, reason: "chat.dispatch-error")
        }
    }

    // MARK: - Runs without a client

    /// Starts a run as a message from another channel does; nil if the session is busy.
    func startRun(_ text: String, in key: String) -> String? {
        guard let canonical = sessions.canonical(key) else { return nil }
        if let found = sessions[canonical], found.run != nil || !found.queue.isEmpty { return nil }
        return start(text, row: text, in: sessions.make(canonical))
    }

    private func start(_ text: String, row: String, in session: DemoSession, isRecovery: Bool = false) -> String {
        let id = host.primitives.uuid()
        session.queue.add(
            DemoMessage(
                key: id,
                rawKey: session.key,
                text: text,
                userRow: sessions.row(.user(key: nil), [.text(row)]),
                owner: DemoConnectionID(0),
                ownerDevice: nil,
                acceptedAt: clock.wallMs,
                isRecovery: isRecovery
            )
        )
        startLater(in: session)
        return id
    }

    // MARK: - Recovery

    private static let interruption =
        "[System] Your previous turn was interrupted by a gateway restart while OpenClaw was waiting on tool/model work. "
        + "Continue from the existing transcript and finish the interrupted response."
    private static let queuedMark = "[Queued user message that arrived while the previous turn was still active]"

    /// Resumes the sessions whose runs were active when an earlier process ended.
    func recover(afterCrash isCrash: Bool) {
        guard let recovery = shape.recovery, isCrash || !recovery.onlyAfterCrash else { return }
        let interrupted = sessions.all.values.filter { $0.status == "running" }.sorted { $0.key < $1.key }
        for session in interrupted {
            session.isInterrupted = true
            session.wasAborted = true
        }
        clock.after(ms: clock.paced(recovery.afterMs)) { [weak self] in
            for session in interrupted { self?.resume(session, recovery) }
        }
    }

    /// A message that came first has taken over the session.
    private func resume(_ session: DemoSession, _ recovery: ReleaseShape.Recovery) {
        guard session.isInterrupted, session.queue.isEmpty else { return }
        guard let last = session.rows.last, last.isUser else {
            session.isInterrupted = false
            session.status = "failed"
            session.endedAt = clock.wallMs
            return
        }
        let text = last.plainText
        let replaced = "\(Self.queuedMark)\n\(text)\n\n\(Self.interruption)"
        _ = start(text, row: recovery.replacesRow ? replaced : Self.interruption, in: session, isRecovery: true)
        sessions.announceChange(of: session, reason: "send")
        if !recovery.keepsStates { session.wasAborted = false }
    }

    // MARK: - Aborts

    /// Aborts the active run of a session and the messages that would run under their own keys.
    func abortAll(in session: DemoSession?, reason: String) -> [String] {
        guard let session else { return [] }
        let withdrawn = withdrawAll(in: session, reason: reason)
        let waiting = session.queue.removeDirect()
        let run = session.run
        run?.abort(reason: reason)
        for message in waiting { abort(message, session, reason: reason) }
        return (run.map { [$0.id] } ?? []) + waiting.map(\.key) + withdrawn
    }

    /// Aborts one message that waits for its run.
    func abortWaiting(_ key: String, in session: DemoSession, reason: String) -> Bool {
        guard let message = session.queue.remove(key) else { return false }
        abort(message, session, reason: reason)
        return true
    }

    private func abort(_ message: DemoMessage, _ session: DemoSession, reason: String) {
        finish(message.key, .aborted)
        session.custody.cancel(message.key)
        if shape.announcesAccepted { startAborted(message, in: session) }
        host.connections.broadcastToReaders(
            "chat",
            ["runId": message.key, "sessionKey": session.key, "seq": 1, "state": "aborted", "stopReason": reason]
        )
    }

    /// April starts the run anyway, and stops it then.
    private func startAborted(_ message: DemoMessage, in session: DemoSession) {
        let rest = clock.paced(shape.startMs) - Int(clock.wallMs - message.acceptedAt)
        clock.after(ms: max(rest, 0)) { [weak self] in
            guard let self, session.run == nil else { return }
            session.status = "running"
            session.startedAt = clock.wallMs
            let frames = RunFrames(message.key, session, host)
            frames.lifecycle(["phase": "start", "startedAt": clock.wallMs], namesAgent: true)
            sessions.announceChange(of: session, phase: "start", runID: message.key)
            RunTranscript(message, session, host).begin()
        }
    }

    // MARK: - Deletions

    /// `sessions.delete`, which does not wait for the end of a run.
    func delete(_ request: DemoRequest) -> DemoReply {
        guard let canonical = request.string("key").flatMap({ sessions.canonical($0) }) else {
            return .invalid("malformed session key")
        }
        if canonical == sessions.mainSessionKey { return .invalid("Cannot delete the main session (\(canonical)).") }
        if let session = sessions[canonical], session.isActive {
            let message = "Session \(canonical) is still active; try again in a moment."
            return .failed(DemoError("UNAVAILABLE", message))
        }
        return sessions.delete(canonical, expected: request.string("expectedSessionId"))
    }

    // MARK: - Resets

    /// `sessions.reset`; the release's shape decides about an active run.
    func reset(_ request: DemoRequest) -> DemoReply {
        guard let canonical = request.string("key").flatMap({ sessions.canonical($0) }) else {
            return .invalid("malformed session key")
        }
        let session = sessions.make(canonical)
        if let run = session.run {
            switch shape.resetInRun {
            case .aborts: _ = abortAll(in: session, reason: "reset")
            case .drops: run.drop()
            case .refuses(let delay):
                run.mute()
                let message = "Session \(canonical) is still active; try again in a moment."
                return .later(ms: clock.paced(delay), .failed(DemoError("UNAVAILABLE", message)))
            }
        }
        sessions.reset(session)
        let entry: WireValue = ["sessionId": session.sessionID, "updatedAt": session.updatedAt, "systemSent": false]
        return .ok(["ok": true, "key": canonical, "entry": entry])
    }
}
