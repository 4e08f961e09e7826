package import JSONBytes

/// A frame that the gateway sends without a request.
package struct GatewayEvent: Sendable {
    package let name: String
    /// The number of a broadcast; events to chosen connections have none.
    package let seq: Int64?
    package let payload: GatewayEventPayload

    /// Sent by the newest releases when the host's administrator has changed the configuration.
    package static let configurationChanged = "config.changed"

    package init(name: String, _ frame: JSONValue) {
        self.name = name
        seq = frame["seq"]?.int
        payload = GatewayEventPayload(event: name, frame["payload"])
    }
}

/// The events that Ladle reads. Each is recognized once; its members are read from the frame when needed.
package enum GatewayEventPayload: Sendable {
    case agent(AgentEvent)
    /// Tool events of all runs, sent to connections with `sessions.subscribe`.
    case sessionTool(AgentEvent)
    case chat(ChatEvent)
    case sessionMessage(SessionMessageEvent)
    case sessionsChanged(SessionsChangedEvent)
    case approval(ApprovalEvent)
    case question(QuestionEvent)
    case cron(CronEvent)
    /// Somebody connected to the gateway or disconnected.
    case presence
    /// A device waits for the approval of the gateway's operator, or has received it.
    case pairing(PairingEvent)
    case challenge(nonce: String?, timestampMs: Int64?)
    case shutdown(restartExpectedMs: Int64?)
    /// The gateway's host is about to freeze it, or lets it go on.
    case suspension(phase: String)
    case tick(timestampMs: Int64?)
    case other

    package init(event name: String, _ payload: JSONValue?) {
        // The most frequent events first.
        switch (name, payload) {
        case ("agent", let payload?): self = .agent(AgentEvent(payload))
        case ("chat", let payload?): self = .chat(ChatEvent(payload))
        case ("session.tool", let payload?): self = .sessionTool(AgentEvent(payload))
        case ("session.message", let payload?): self = .sessionMessage(SessionMessageEvent(payload))
        case ("sessions.changed", let payload?): self = .sessionsChanged(SessionsChangedEvent(payload))
        case ("tick", _): self = .tick(timestampMs: payload?["ts"]?.int)
        case ("exec.approval.requested", let payload?): self = .approval(ApprovalEvent(payload, kind: .exec))
        case ("exec.approval.resolved", let payload?):
            self = .approval(ApprovalEvent(payload, kind: .exec, isResolved: true))
        case ("plugin.approval.requested", let payload?): self = .approval(ApprovalEvent(payload, kind: .plugin))
        case ("plugin.approval.resolved", let payload?):
            self = .approval(ApprovalEvent(payload, kind: .plugin, isResolved: true))
        case ("openclaw.approval.requested", let payload?):
            self = .approval(ApprovalEvent(payload, kind: .systemAgent))
        case ("openclaw.approval.resolved", let payload?):
            self = .approval(ApprovalEvent(payload, kind: .systemAgent, isResolved: true))
        case ("question.requested", let payload?): self = .question(QuestionEvent(payload))
        case ("question.resolved", let payload?): self = .question(QuestionEvent(payload, isResolved: true))
        case ("cron", let payload?): self = .cron(CronEvent(payload))
        case ("presence", _), ("node.presence", _): self = .presence
        case ("device.pair.requested", let payload?): self = .pairing(PairingEvent(payload, .device))
        case ("device.pair.resolved", let payload?): self = .pairing(PairingEvent(payload, .device, isResolved: true))
        case ("node.pair.requested", let payload?): self = .pairing(PairingEvent(payload, .node))
        case ("node.pair.resolved", let payload?): self = .pairing(PairingEvent(payload, .node, isResolved: true))
        case ("connect.challenge", _):
            self = .challenge(nonce: payload?["nonce"]?.string, timestampMs: payload?["ts"]?.int)
        case ("shutdown", _): self = .shutdown(restartExpectedMs: payload?["restartExpectedMs"]?.int)
        case ("gateway.suspension", let payload?): self = .suspension(phase: payload["phase"]?.string ?? "")
        default: self = .other
        }
    }
}

/// An event about one run.
package protocol RunEvent: Sendable {
    var runId: String? { get }
    var sessionKey: String? { get }
    /// Whether the gateway started the run itself, on its timer.
    var isHeartbeat: Bool { get }
}
