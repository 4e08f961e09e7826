/// The events of one run, numbered separately.
final class RunFrames {
    let id: String
    /// The ids under which the run's end is told: its own, or those of the messages it answers.
    let endIDs: [String]
    private let session: DemoSession
    private unowned let host: DemoHost
    private(set) var seq = 0
    /// Whether chat events are no longer sent; `isMuted` stops all events.
    var isChatMuted = false
    var isMuted = false

    private var release: DemoRelease { host.release }
    private var clock: DemoClock { host.clock }

    init(_ id: String, _ session: DemoSession, _ host: DemoHost, endIDs: [String]? = nil) {
        self.id = id
        self.endIDs = endIDs ?? [id]
        self.session = session
        self.host = host
    }

    @discardableResult
    func nextSeq() -> Int {
        seq += 1
        return seq
    }

    private func payload(_ stream: String, _ data: WireValue, seq: Int) -> WireValue {
        [
            "runId": id, "stream": stream, "data": data, "sessionKey": session.key, "seq": seq, "ts": clock.wallMs,
            "isHeartbeat": release >= .june ? false : nil,
        ]
    }

    func agent(_ stream: String, _ data: WireValue, seq: Int? = nil) {
        let payload = payload(stream, data, seq: seq ?? nextSeq())
        if !isMuted { host.connections.broadcastToReaders("agent", payload) }
    }

    /// Later releases name the session in lifecycle events, and the agent in the phases that the agent reports.
    func lifecycle(_ data: WireValue, namesAgent: Bool = false) {
        let names: WireValue = [
            "sessionId": release >= .june ? session.sessionID : nil,
            "agentId": release >= .june && namesAgent ? session.agentID : nil,
        ]
        let payload = payload("lifecycle", data, seq: nextSeq())
        if !isMuted { host.connections.broadcastToReaders("agent", payload.adding(names)) }
    }

    /// The agent's own report about an aborted run.
    func lateLifecycle(_ phase: String, stopReason: String) {
        let data: WireValue = [
            "phase": phase, "stopReason": stopReason, "aborted": true, "livenessState": "working",
            "endedAt": clock.wallMs,
        ]
        host.connections.broadcastToReaders(
            "agent",
            [
                "runId": id, "sessionKey": session.key, "stream": "lifecycle", "data": data, "seq": nextSeq(),
                "ts": clock.wallMs,
            ]
        )
    }

    /// March takes a run's next attempt for a gap in its numbers.
    func reportGap() {
        let data: WireValue = ["reason": "seq gap", "expected": 1, "received": seq + 1]
        host.connections.broadcastToReaders(
            "agent",
            ["runId": id, "stream": "error", "ts": clock.wallMs, "data": data]
        )
    }

    /// A chat event has the number of the run's last agent event, unless one is given.
    func chat(_ rest: WireValue, seq: Int? = nil) { chat(rest, seq: seq, under: [id]) }

    /// Tells the end of the run in a chat event.
    func chatEnd(_ rest: WireValue, seq: Int? = nil) { chat(rest, seq: seq, under: endIDs) }

    private func chat(_ rest: WireValue, seq: Int?, under ids: [String]) {
        guard !isChatMuted, !isMuted else { return }
        for id in ids {
            let head: WireValue = [
                "runId": id, "sessionKey": session.key, "agentId": release.namesRuns ? session.agentID : nil,
                "seq": seq ?? self.seq,
            ]
            host.connections.broadcastToReaders("chat", head.adding(rest))
        }
    }

    func message(_ text: String) -> WireValue {
        ["role": "assistant", "content": [wireObject(["type": "text", "text": text])], "timestamp": clock.wallMs]
    }

    // MARK: - Tools

    /// Tool events have no number and go to the senders that requested them; subscribers get them as `session.tool`.
    func tool(_ data: WireValue, to recipients: Set<DemoConnectionID>) {
        var payload = payload("tool", data, seq: nextSeq())
        guard !isMuted else { return }
        if release >= .april {
            payload = payload.adding(["session": session.row(release)]).adding(session.summary(release))
        }
        if release >= .june { payload = payload.adding(["goal": WireValue.null]) }
        let direct = host.connections.all.filter {
            recipients.contains($0.id) && $0.caps.contains("tool-events")
                && (!release.needsReadScopeForEvents || $0.may(release.eventScope))
        }
        host.connections.send("agent", payload, to: direct)
        guard release.hasSubscriptions else { return }
        let reached = Set(direct.map(\.id))
        host.connections.send(
            "session.tool",
            payload,
            to: host.connections.subscribers.filter { !reached.contains($0.id) }
        )
    }

    /// The item event of the call, and for a command a second one with the members of `command`.
    func items(
        _ planned: RunTimeline.PlannedCall,
        _ phase: String,
        _ rest: WireValue,
        status: String = "running",
        command: WireValue = [:]
    ) {
        guard release.hasItemStreams else { return }
        let call = planned.call
        func item(_ kind: String, _ title: String, _ rest: WireValue) {
            let data: WireValue = [
                "itemId": "\(kind):\(planned.id)", "phase": phase, "status": status, "kind": kind, "title": title,
                "name": call.name, "meta": call.meta, "toolCallId": planned.id,
            ]
            agent("item", data.adding(rest))
        }
        item("tool", "\(call.name) \(call.meta)", rest)
        if call.isCommand { item("command", "command \(call.meta)", rest.adding(command)) }
    }

    func commandOutput(_ planned: RunTimeline.PlannedCall, _ rest: WireValue) {
        guard release.hasItemStreams, planned.call.isCommand else { return }
        let head: WireValue = [
            "itemId": "command:\(planned.id)", "title": "command \(planned.call.meta)", "toolCallId": planned.id,
            "name": planned.call.name,
        ]
        agent("command_output", head.adding(rest))
    }
}
