package import Basics
package import JSONBytes

/// One row of a transcript, from `chat.history` or a `session.message` event.
package struct TranscriptRow: Sendable {
    package enum Role: Sendable {
        case user, assistant, toolResult, system, other
    }

    /// The reason why the model stopped.
    package enum StopReason: Sendable {
        case completed, toolUse, error, aborted, other
    }

    package let role: Role
    /// The transcript's own id, which never changes; nil if there is none.
    package let id: String?
    package let time: Timestamp?
    /// The key of the send that caused the row, which is also its run's id. Nil if the gateway does not name it or
    /// masked it.
    package let runKey: String?
    /// The run that wrote the row, as the newest gateways name it. It need not be the run of the message's key.
    package let writingRun: String?
    /// The run at work that read this message of a user, as the newest gateways name it. The message has no run of its own.
    package let joinedRun: String?
    /// Keys of messages that a busy gateway joined into this row. The page names them, and the row has no key.
    package internal(set) var joinedKeys: [String] = []
    package let blocks: [TranscriptBlock]
    package let stopReason: StopReason?
    package let errorMessage: String?
    /// Whether the row is the gateway's note with the partial text of an aborted run.
    package let isAbortNote: Bool
    private let value: JSONValue

    /// The model name in rows written by the gateway itself.
    static let gatewayModel = "gateway-injected"
    /// How its row about a run begins that failed before the model was called. 2026.4.26 writes it as if it were an answer.
    private static let failureNotice = "⚠️ Agent failed before reply:"
    /// The words that newer gateways show for a model's row without any, which is an error of its provider.
    private static let wordless: Set = [
        "[assistant turn failed before producing content]", "The agent run failed before producing a reply.",
    ]
    /// The end of a text that the gateway has cut after thousands of characters.
    static let cutMark = "\n...(truncated)..."
    /// The kind of the row that the newest gateways write about such a run.
    private static let failureKind = "run-failed-before-reply"
    private static let fewestShown = 1_000
    /// The start of a row that the gateway left out of its answer.
    private static let omission = "[chat.history omitted"

    package init?(_ value: JSONValue) {
        guard value.kind == .object, let role = value["role"]?.string else { return nil }
        self.value = value
        switch role.lowercased() {
        case "user": self.role = .user
        case "assistant": self.role = .assistant
        case "toolresult", "tool_result", "tool": self.role = .toolResult
        case "system": self.role = .system
        case "custom" where value["customType"]?.equals(Self.failureKind) == true: self.role = .assistant
        default: self.role = .other
        }
        let own = value["__openclaw"]
        id = own?["id"]?.identifier ?? value["id"]?.identifier
        time =
            GatewayTime.read(value["timestamp"]) ?? GatewayTime.read(value["createdAtMs"])
            ?? GatewayTime.read(value["ts"])
        let listed = TranscriptBlock.list(value["content"])
        blocks = listed.isEmpty ? value["text"]?.string.map { [.text($0)] } ?? [] : listed
        let failure = Self.failure(value, blocks.lazy.compactMap(\.text).first)
        stopReason = failure == nil ? value["stopReason"]?.string.map { Self.stopReason($0) } : .error
        errorMessage = failure ?? value["errorMessage"]?.string.flatMap { $0.isEmpty ? nil : $0 }
        isAbortNote = value["openclawAbort"]?["aborted"]?.bool ?? false
        let written =
            value["openclawAbort"]?["runId"]?.identifier ?? value["runId"]?.identifier
            ?? value["idempotencyKey"]?.identifier ?? own?["idempotencyKey"]?.identifier
        runKey = written.flatMap { MaskedKey($0) == nil ? Self.bareKey($0) : nil }
        writingRun = self.role == .user ? nil : own?["runId"]?.identifier
        joinedRun = self.role == .user ? own?["steerTargetRunId"]?.identifier : nil
    }

    /// The gateway's own words in a message that stands in the place of an answer; nil for an answer.
    static func failure(_ message: JSONValue, _ text: String?) -> String? {
        if message["customType"]?.equals(failureKind) == true { return text ?? "" }
        guard message["model"]?.equals(gatewayModel) == true, let text else { return nil }
        return text.hasPrefix(failureNotice) || GatewayError.isDraining(text) ? text : nil
    }

    private static func stopReason(_ name: String) -> StopReason {
        switch name {
        case "stop", "length", "end_turn", "max_tokens": .completed
        case "toolUse": .toolUse
        case "error": .error
        case "aborted": .aborted
        default: .other
        }
    }

    /// Removes the endings of keys such as `KEY:user` and `KEY:assistant`.
    package static func bareKey(_ key: String) -> String {
        for ending in [":user", ":assistant"] where key.hasSuffix(ending) && key.count > ending.count {
            return String(key.dropLast(ending.count))
        }
        return key
    }

    /// The row's own idempotency key, as written. It may differ from the run named in the row, since another run may
    /// answer it.
    package var idempotencyKey: String? { Self.idempotencyKey(of: value) }

    static func idempotencyKey(of row: JSONValue) -> String? {
        row["idempotencyKey"]?.string ?? row["__openclaw"]?["idempotencyKey"]?.string
    }

    /// Text parts joined by new lines.
    package var text: String { blocks.compactMap(\.text).joined(separator: "\n") }

    /// The visible text of a cut row; nil for a whole row, empty for an omitted one.
    package var cutText: String? {
        let texts = blocks.compactMap(\.text)
        if texts.contains(where: Self.isCut) {
            return texts.map { Self.isCut($0) ? String($0.dropLast(Self.cutMark.count)) : $0 }.joined(separator: "\n")
        }
        let isLeftOut = value["__openclaw"]?["truncated"]?.bool ?? false
        return isLeftOut || texts.first?.hasPrefix(Self.omission) == true ? "" : nil
    }

    private static func isCut(_ text: String) -> Bool {
        text.utf8.count > fewestShown && text.hasSuffix(cutMark)
    }

    /// The user's words, without the text that the gateway put around them.
    package var words: String { InboundEnvelope.stripped(text) }

    /// Whether the row is the gateway's prompt to resume a turn that its restart interrupted; newer releases repeat the
    /// user's words in it.
    package var resumesTurn: Bool {
        role == .user && text.containsText(InboundEnvelope.interruptionNotice)
    }

    /// Whether such a prompt is only the notice, so that it does not show which turn it resumes.
    package var resumesUnnamedTurn: Bool { resumesTurn && InboundEnvelope.isOnlyNotices(text) }

    /// Whether the gateway wrote the row by itself, behind whatever stood there: a note that somebody injected, or, after an abort
    /// in a run's first moments, the previous answer repeated.
    package var isInjected: Bool {
        value["model"]?.equals(Self.gatewayModel) == true && stopReason != .error && !isAbortNote && runKey == nil
    }

    /// The gateway wrote the row by itself, also that a run failed or was stopped.
    package var isByGateway: Bool {
        value["model"]?.equals(Self.gatewayModel) == true || value["customType"]?.equals(Self.failureKind) == true
    }

    /// Whether the model said or called something in the row.
    package var hasModelsWords: Bool {
        !isByGateway && !blocks.isEmpty && !(stopReason == .error && Self.wordless.contains(text))
    }

    /// Whether the gateway says in the row that it was about to restart and did not take a message, of which it keeps no row.
    package var turnsAway: Bool { isByGateway && GatewayError.isDraining(errorMessage) }

    /// Whether the gateway says that a command-line model wrote the row.
    package var isByCommandLine: Bool { value["api"]?.equals("cli") == true }

    package var toolCallId: String? {
        (value["toolCallId"] ?? value["tool_call_id"] ?? value["tool_use_id"])?.identifier
    }

    package var toolName: String? { (value["toolName"] ?? value["tool_name"] ?? value["name"])?.string }
    package var toolResult: ToolResult { ToolResult(value) }
    package var isError: Bool { ToolResult.isError(value) }
    package var usage: TokenUsage? { TokenUsage(value["usage"]) }

    /// Whether the row is a prompt between sessions, or from the gateway itself.
    package var isInternalPrompt: Bool {
        guard let kind = value["provenance"]?["kind"]?.string else { return false }
        return kind == "inter_session" || kind == "internal_system"
    }

    /// The files of a user's message that the blocks do not name.
    package var mediaFiles: [(path: String, mimeType: String?)] {
        let types = value["MediaTypes"]?.elements.map(\.string) ?? []
        let paths = value["MediaPaths"]?.elements.compactMap(\.string) ?? []
        return paths.enumerated().map { ($1, types.indices.contains($0) ? types[$0] : nil) }
    }

    /// The row's identity: its id, or else a name made from its content.
    package var identity: String {
        if let id { return id }
        let content = value["content"]?.raw ?? value.raw
        return "\(role):\(time?.milliseconds ?? 0):\(toolCallId ?? ""):\(FNV1a.name(content))"
    }

    package static func list(_ messages: JSONValue?) -> [TranscriptRow] {
        guard let messages else { return [] }
        return messages.elements.prefix(GatewayLimits.historyRows).compactMap { TranscriptRow($0) }
    }
}
