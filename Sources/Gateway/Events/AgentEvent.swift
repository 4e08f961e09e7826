package import Basics
package import JSONBytes

/// A step, a piece of text or a phase of a run: `agent` and `session.tool` events.
package struct AgentEvent: RunEvent {
    package enum Stream: Sendable {
        case assistant, tool, lifecycle, item, commandOutput, thinking, compaction, fallback, approval
        /// A note by the server that frames of this run did not reach us.
        case error
        case other
    }

    package enum Content: Sendable {
        case assistant(Text)
        case thinking(Text)
        case tool(ToolCall)
        case lifecycle(Lifecycle)
        case item(Item)
        case commandOutput(CommandOutput)
        case compaction(isStart: Bool)
        case fallback(Fallback)
        case approval(Approval)
        case framesLost
        case other
    }

    package let runId: String?
    /// Nil if the event names no stream.
    package let stream: Stream?
    private let payload: JSONValue

    package init(_ payload: JSONValue) {
        self.payload = payload
        runId = payload["runId"]?.string
        stream = payload["stream"].map { Self.stream($0) }
    }

    package var sessionKey: String? { payload["sessionKey"]?.string ?? payload["session"]?["key"]?.string }
    package var isHeartbeat: Bool { payload["isHeartbeat"]?.bool ?? false }
    /// The number of the event within the run, from 1.
    package var sequence: Int64 { payload["seq"]?.int ?? 0 }
    package var time: Timestamp? { GatewayTime.read(payload["ts"]) }

    /// Whether the run begins or is working: after this event an unknown run is known to exist.
    package var opensRun: Bool {
        switch stream {
        case .assistant, .tool, .thinking, .item: true
        case .lifecycle: payload["data"]?["phase"]?.equals("start") ?? false
        default: false
        }
    }

    /// Whether the run, or one of its tries, is over.
    package var isEnd: Bool {
        guard stream == .lifecycle, let phase = payload["data"]?["phase"] else { return false }
        return phase.equals("end") || phase.equals("error")
    }

    /// Nil if the stream or its data is missing.
    package var content: Content? {
        guard let stream, let data = payload["data"] else { return nil }
        return switch stream {
        case .assistant: .assistant(Text(data))
        case .thinking: .thinking(Text(data))
        case .tool: .tool(ToolCall(data))
        case .lifecycle: .lifecycle(Lifecycle(data))
        case .item: .item(Item(data))
        case .commandOutput: .commandOutput(CommandOutput(data))
        case .compaction: .compaction(isStart: data["phase"]?.equals("start") ?? false)
        case .fallback: .fallback(Fallback(data))
        case .approval: .approval(Approval(data))
        case .error: .framesLost
        case .other: .other
        }
    }

    private static func stream(_ name: JSONValue) -> Stream {
        if name.equals("assistant") { return .assistant }
        if name.equals("tool") { return .tool }
        if name.equals("lifecycle") { return .lifecycle }
        if name.equals("item") { return .item }
        if name.equals("command_output") { return .commandOutput }
        if name.equals("thinking") { return .thinking }
        if name.equals("compaction") { return .compaction }
        if name.equals("fallback") { return .fallback }
        if name.equals("approval") { return .approval }
        if name.equals("error") { return .error }
        return .other
    }
}

extension AgentEvent {
    /// Text of the assistant or of a thought: the whole text so far, or the part to append.
    package struct Text: Sendable {
        private let data: JSONValue

        init(_ data: JSONValue) { self.data = data }

        package var soFar: ArraySlice<UInt8>? { data["text"]?.utf8 }
        package var delta: ArraySlice<UInt8>? { data["delta"]?.utf8 }
        package var replaces: Bool { data["replace"]?.bool ?? false }
    }

    package struct ToolCall: Sendable {
        package enum Phase: Sendable {
            case start, result, other
        }

        /// Nil if the event names no phase.
        package let phase: Phase?
        private let data: JSONValue

        init(_ data: JSONValue) {
            self.data = data
            phase = data["phase"].map { phase in
                phase.equals("start") ? .start : phase.equals("result") || phase.equals("end") ? .result : .other
            }
        }

        package var id: String? { data["toolCallId"]?.identifier }
        package var name: String { (data["name"] ?? data["toolName"] ?? data["tool"])?.string ?? "tool" }
        package var arguments: JSONValue? { data["args"] ?? data["params"] ?? data["input"] }
        package var result: ToolResult? { data["result"].map { ToolResult($0) } }
        package var isError: Bool { data["isError"]?.bool ?? false }
    }

    package struct Lifecycle: Sendable {
        package enum Phase: Sendable {
            case start, end, error, fallback, other
        }

        package let phase: Phase
        private let data: JSONValue

        init(_ data: JSONValue) {
            self.data = data
            phase =
                switch data["phase"]?.string {
                case "start": .start
                case "end", "done": .end
                case "error": .error
                case "fallback", "fallback_step": .fallback
                default: .other
                }
        }

        package var startedAt: Timestamp? { GatewayTime.read(data["startedAt"]) }
        package var endedAt: Timestamp? { GatewayTime.read(data["endedAt"]) }
        package var isAborted: Bool { data["aborted"]?.bool ?? data["stopReason"]?.equals("aborted") ?? false }
        package var error: String? { data["error"]?.string ?? data["error"]?["message"]?.string }
        /// Whether no further try follows: no other model is left, or the newest gateways say that the work is settled.
        package var isLastTry: Bool {
            data["fallbackExhaustedFailure"]?.bool == true || data["executionSettled"]?.bool == true
        }
        package var fallback: Fallback { Fallback(data) }
    }

    /// A step in the finished form of newer gateways.
    package struct Item: Sendable {
        private let data: JSONValue

        init(_ data: JSONValue) { self.data = data }

        package var toolCallId: String? { data["toolCallId"]?.identifier }
        package var itemId: String? { data["itemId"]?.identifier }
        package var name: String? { (data["name"] ?? data["toolName"])?.string }
        package var title: String? { data["title"]?.string }
        package var meta: String? { data["meta"]?.string }
        package var startedAt: Timestamp? { GatewayTime.read(data["startedAt"]) }
        package var endedAt: Timestamp? { GatewayTime.read(data["endedAt"]) }
        package var isEnd: Bool { data["phase"]?.equals("end") ?? false }
        package var isFailed: Bool { data["status"].map { $0.equals("failed") || $0.equals("blocked") } ?? false }
        package var isHidden: Bool {
            ["hidden", "hide", "hideFromChat", "hideFromChannels"].contains { data[$0]?.bool == true }
        }
    }

    package struct CommandOutput: Sendable {
        private let data: JSONValue

        init(_ data: JSONValue) { self.data = data }

        package var toolCallId: String? { data["toolCallId"]?.identifier }
        package var name: String? { data["name"]?.string }
        package var isEnd: Bool { data["phase"]?.equals("end") ?? false }
        package var isFailed: Bool { data["status"]?.equals("failed") ?? false }
        package var exitCode: Int64? { data["exitCode"]?.int }
        package var durationMs: Int64? { GatewayTime.duration(data["durationMs"]) }
        package var output: ToolResult? { data["output"].map { ToolResult($0) } }
    }

    /// A switch to another model.
    package struct Fallback: Sendable {
        private let data: JSONValue

        init(_ data: JSONValue) { self.data = data }

        /// Nil also if the gateway names itself, as in its own command replies.
        package var model: String? {
            let written = data["fallbackStepToModel"] ?? data["toModel"] ?? data["activeModel"] ?? data["model"]
            guard let model = written?.string, model != TranscriptRow.gatewayModel, !model.isEmpty else { return nil }
            return model
        }

        package var reason: String? {
            (data["fallbackStepFromFailureDetail"] ?? data["reasonSummary"] ?? data["reason"])?.string
        }
    }

    /// An approval in the stream that only the newest gateways have.
    package struct Approval: Sendable {
        private let data: JSONValue

        init(_ data: JSONValue) { self.data = data }

        package var id: String? { (data["approvalId"] ?? data["id"])?.visibleIdentifier }
        package var toolCallId: String? { data["toolCallId"]?.identifier }
        package var name: String? { data["name"]?.string }
        package var request: ApprovalRequest { ApprovalRequest(data["request"] ?? data) }

        /// Nil until somebody has decided.
        package var decision: ApprovalEvent.Decision? {
            switch (data["decision"] ?? data["status"])?.string?.lowercased() {
            case nil, "pending", "requested", "running", "waiting": nil
            case "deny", "denied", "rejected": .deny
            case "allow", "allow-once", "allow-always", "allowed", "approved": .allow
            default: .unknown
            }
        }
    }
}
