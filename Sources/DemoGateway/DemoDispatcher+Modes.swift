/// Messages in releases with queue modes.
///
/// On an idle session each message runs under its own key. On a busy one its mode decides. One that waits runs later
/// under an id of the gateway's own, and its key stays known by `agent.wait`, by its receipt, and by its row. The two
/// releases differ in what they tell its sender: 2026.9.7 an empty `final` while it still waits, and then no more;
/// 2026.10.2 nothing while it waits, and the end of its turn under its own key.
extension DemoDispatcher {
    typealias Queueing = ReleaseShape.Queueing

    private var queueing: Queueing? {
        if case .byMode(let queueing) = shape.busySends { queueing } else { nil }
    }

    // MARK: - Repeats

    private static let conflict =
        "This message ID was already used for different input. Check the conversation history and use a new message ID "
        + "to send again."

    /// The answer for a key that this process knows; nil for any other.
    func answer(forKnown key: String, saying text: String, _ queueing: Queueing) -> DemoReply? {
        if let known = sentInputs[key], known.text != text {
            return .failed(
                DemoError("INVALID_REQUEST", Self.conflict, details: ["reason": "chat-request-conflict"])
            )
        }
        let hasWaited = sentInputs[key]?.hasWaited ?? false
        switch outcome(of: key) {
        case .failed(let summary)?:
            return .failed(
                DemoError("UNAVAILABLE", summary),
                payload: ["runId": key, "status": "error", "summary": summary]
            )
        case .aborted?:
            return .ok([
                "runId": key, "status": "timeout", "summary": "aborted", "endedAt": endedAt(of: key),
                "stopReason": "rpc",
            ])
        case .completed? where hasWaited && !queueing.endsEarly:
            return .ok(["runId": key, "status": "completed", "endedAt": endedAt(of: key)])
        // 2026.9.7 says so of a message that still waits, too.
        case .completed?: return .ok(["runId": key, "status": "ok"])
        case nil where isQueued(key):
            return .ok(["runId": key, "status": queueing.endsEarly ? "in_flight" : "accepted"])
        case nil: return isUnderWay(key) ? .ok(["runId": key, "status": "in_flight"]) : nil
        }
    }

    /// The answer for a key that only the disk knows; nil if its message has to be taken.
    func answer(forStored key: String, _ request: String, in session: DemoSession?) -> DemoReply? {
        guard release.hasCustody, let session else { return nil }
        guard let input = session.custody[key], input.sessionID == session.sessionID else {
            return session.lastRunID == key ? .ok(["runId": key, "status": "ok"]) : nil
        }
        guard input.request == request else {
            return setupFailure(key, in: session, "Pending input idempotency key conflicts with the accepted input")
        }
        switch input.state {
        case .consumed: return .ok(["runId": key, "status": "ok"])
        case .queued:
            return setupFailure(key, in: session, "Pending input is already admitted; wait for its current turn")
        case .cancelled:
            return setupFailure(key, in: session, "Pending input ownership ended; submit a new turn to continue")
        // The demo takes every connection for its owner's, so each may take its inputs up again.
        case .interrupted: return nil
        }
    }

    /// Nothing runs; the answer has a payload, and an event says the same.
    private func setupFailure(_ key: String, in session: DemoSession, _ message: String) -> DemoReply {
        let text = "Error: \(message)"
        let event: WireValue = [
            "runId": key, "sessionKey": session.key, "agentId": session.agentID, "seq": 0, "state": "error",
            "errorMessage": text,
        ]
        clock.after(ms: clock.paced(10)) { [host] in host.connections.broadcastToReaders("chat", event) }
        return .failed(
            DemoError("UNAVAILABLE", text),
            payload: ["runId": key, "status": "error", "summary": text]
        )
    }

    // MARK: - New messages

    /// Ends the active run for a message that wants its place; false if there is none.
    func interrupt(for mode: QueueMode?, in session: DemoSession?) -> Bool {
        guard mode == .interrupt, queueing != nil, let run = session?.run else { return false }
        // The reason for the end of an interrupted run is not established.
        run.abort(reason: "interrupt")
        return true
    }

    func accept(_ message: DemoMessage, in session: DemoSession, _ queueing: Queueing) {
        sentInputs.add(message.key, message.text)
        let isBusy = session.run != nil || !session.queue.isEmpty
        // The first message of a session is in no custody.
        if !session.isNew { session.custody.store(message, sessionID: session.sessionID) }
        if message.mode == .steer, session.run?.steer(message) == true {
            finish(message.key, .completed)
            announce("steer", of: session)
            return endEarly(message, in: session, queueing)
        }
        if !session.isNew { announce("send", of: session) }
        guard isBusy, message.mode != .interrupt else {
            session.queue.add(message)
            if session.queue.direct.count == 1 { startLater(in: session) }
            return
        }
        if session.queue.late.count >= queueing.limit { drop(in: session, queueing) }
        session.queue.addLate(message)
        sentInputs.markWaiting(message.key)
        if queueing.endsEarly { endEarly(message, in: session, queueing) }
    }

    /// Tells subscribers of an accepted message, after its sender has the answer.
    private func announce(_ reason: String, of session: DemoSession) {
        clock.after(ms: clock.paced(15)) { [sessions] in sessions.announceChange(of: session, reason: reason) }
    }

    /// The empty `final` of a message that has joined a run, or that 2026.9.7 lets wait.
    private func endEarly(_ message: DemoMessage, in session: DemoSession, _ queueing: Queueing) {
        clock.after(ms: clock.paced(queueing.emptyFinalMs)) { [weak self] in
            self?.finish(message.key, .completed)
            self?.tell("final", [:], of: message.key, in: session)
            self?.sessions.announceChange(of: session, reason: "agent.input.settled")
        }
    }

    /// Drops the oldest waiting message. 2026.9.7 tells nobody, and keeps it as pending.
    private func drop(in session: DemoSession, _ queueing: Queueing) {
        guard let oldest = session.queue.late.first?.message, session.queue.removeLate(oldest.key) != nil else {
            return
        }
        guard !queueing.endsEarly else { return }
        let text = "Queued input was dropped (overflow)."
        session.custody.discard(oldest.key)
        finish(oldest.key, .failed(text))
        tell("error", ["errorMessage": text], of: oldest.key, in: session)
    }

    private func tell(_ state: String, _ rest: WireValue, of key: String, in session: DemoSession) {
        let head: WireValue = [
            "runId": key, "sessionKey": session.key, "agentId": session.agentID, "seq": 0, "state": state,
        ]
        host.connections.broadcastToReaders("chat", head.adding(rest))
    }

    // MARK: - Turns

    /// Whether the key's message waits for a turn under another id, or is answered by it right now.
    func isQueued(_ key: String) -> Bool {
        sessions.all.values.contains { session in
            session.queue.late.contains { $0.message.key == key } || session.run?.inputs.contains(key) == true
        }
    }

    /// The turn of these messages is over. They share its outcome, unless they had theirs when they began to wait.
    func settle(_ inputs: [String], _ outcome: FinishedKeys.Outcome, in session: DemoSession) {
        guard let queueing, !queueing.endsEarly, !inputs.isEmpty else { return }
        for key in inputs { finish(key, outcome) }
        sessions.announceChange(of: session, reason: "agent.input.settled")
    }

    // MARK: - Withdrawals

    /// Withdraws a waiting message, or one that an ended process left. Its input stays visible unless it is discarded.
    /// The answer to a withdrawal that finds only a stored input is not established.
    func withdraw(_ key: String, in session: DemoSession, discards: Bool, reason: String) -> Bool {
        guard let queueing else { return false }
        let waiting = session.queue.removeLate(key)
        guard waiting != nil || discards && session.custody[key]?.state == .interrupted else { return false }
        if discards { session.custody.discard(key) } else { session.custody.cancel(key) }
        if waiting != nil, !queueing.endsEarly {
            finish(key, .aborted)
            tell("aborted", ["stopReason": reason], of: key, in: session)
        }
        sessions.announceChange(of: session, reason: "agent.input.settled")
        return true
    }

    /// Withdraws all waiting messages of a session.
    func withdrawAll(in session: DemoSession, reason: String) -> [String] {
        session.queue.late.map(\.message.key).filter { withdraw($0, in: session, discards: false, reason: reason) }
    }
}

/// The messages that this process has accepted by key: at most a thousand, only in memory.
struct SentInputs {
    private static let limit = 1_000

    private var inputs: [String: (text: String, hasWaited: Bool)] = [:]
    private var order: [String] = []

    subscript(key: String) -> (text: String, hasWaited: Bool)? { inputs[key] }

    mutating func add(_ key: String, _ text: String) {
        if inputs.updateValue((text, false), forKey: key) == nil { order.append(key) }
        if order.count > Self.limit { inputs[order.removeFirst()] = nil }
    }

    mutating func markWaiting(_ key: String) { inputs[key]?.hasWaited = true }
}
