package import Basics
package import JSONBytes

/// One row of a transcript, from `chat.history` or a `session.message` event.
package struct HistoryRow: Sendable {
    package enum Role: Sendable {
        case user, assistant, toolResult, system, other
    }

    /// Why the model stopped.
    package enum StopReason: Sendable {
        case completed, toolUse, error, aborted, other
    }

    package let role: Role
    /// The transcript's own id; stable where there is one.
    package let id: String?
    package let time: Timestamp?
    /// The send that caused the row, where the gateway says so: its key is the run's id. Nil where it masked the key.
    package let runKey: String?
    package let blocks: [HistoryBlock]
    package let stopReason: StopReason?
    package let errorMessage: String?
    /// The gateway's note of the partial text of an aborted run.
    package let isAbortNote: Bool
    private let value: JSONValue

    /// The name under which the gateway's own answers stand.
    static let gatewayModel = "gateway-injected"
    /// Stands behind a text that the gateway has cut, which leaves thousands of characters.
    static let cutMark = "\n...(truncated)..."
    private static let fewestShown = 1_000
    /// Stands for a row that the gateway has left out of its answer.
    private static let omission = "[chat.history omitted"

    package init?(_ value: JSONValue) {
        guard value.kind == .object, let role = value["role"]?.string else { return nil }
        self.value = value
        switch role.lowercased() {
        case "user": self.role = .user
        case "assistant": self.role = .assistant
        case "toolresult", "tool_result", "tool": self.role = .toolResult
        case "system": self.role = .system
        default: self.role = .other
        }
        let own = value["__openclaw"]
        id = own?["id"]?.identifier ?? value["id"]?.identifier
        time =
            GatewayTime.read(value["timestamp"]) ?? GatewayTime.read(value["createdAtMs"])
            ?? GatewayTime.read(value["ts"])
        let listed = HistoryBlock.list(value["content"])
        blocks = listed.isEmpty ? value["text"]?.string.map { [.text($0)] } ?? [] : listed
        stopReason = value["stopReason"]?.string.map { Self.stopReason($0) }
        errorMessage = value["errorMessage"]?.string.flatMap { $0.isEmpty ? nil : $0 }
        isAbortNote = value["openclawAbort"]?["aborted"]?.bool ?? false
        let written =
            value["openclawAbort"]?["runId"]?.identifier ?? value["runId"]?.identifier
            ?? value["idempotencyKey"]?.identifier ?? own?["idempotencyKey"]?.identifier
        runKey = written.flatMap { MaskedKey($0) == nil ? Self.bareKey($0) : nil }
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

    /// Keys come bare and as `KEY:user`, `KEY:assistant`.
    package static func bareKey(_ key: String) -> String {
        for ending in [":user", ":assistant"] where key.hasSuffix(ending) && key.count > ending.count {
            return String(key.dropLast(ending.count))
        }
        return key
    }

    /// The row's own idempotency key, as written: the run that a row names may be another, which answers it.
    package var idempotencyKey: String? { Self.idempotencyKey(of: value) }

    static func idempotencyKey(of row: JSONValue) -> String? {
        row["idempotencyKey"]?.string ?? row["__openclaw"]?["idempotencyKey"]?.string
    }

    /// Text parts joined by new lines.
    package var text: String { blocks.compactMap(\.text).joined(separator: "\n") }

    /// The text that a cut row still shows; nil for a whole row. A row that was left out shows nothing.
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

    /// The text without what the gateway put around the user's words.
    package var words: String { InboundEnvelope.stripped(text) }

    /// The gateway's prompt with which it takes up a turn that its own restart interrupted; newer ones repeat the user's
    /// words in it.
    package var resumesTurn: Bool {
        role == .user && text.containsText(InboundEnvelope.interruptionNotice)
    }

    /// Its prompt is the notice alone, so that nothing in it says whose turn it takes up.
    package var resumesUnnamedTurn: Bool { resumesTurn && text.hasPrefix(InboundEnvelope.interruptionNotice) }

    package var toolCallId: String? {
        (value["toolCallId"] ?? value["tool_call_id"] ?? value["tool_use_id"])?.identifier
    }

    package var toolName: String? { (value["toolName"] ?? value["tool_name"] ?? value["name"])?.string }
    package var toolResult: ToolResult { ToolResult(value) }
    package var isError: Bool { ToolResult.isError(value) }
    package var usage: TokenUsage? { TokenUsage(value["usage"]) }

    /// A prompt between sessions, or from the gateway itself.
    package var isInternalPrompt: Bool {
        guard let kind = value["provenance"]?["kind"]?.string else { return false }
        return kind == "inter_session" || kind == "internal_system"
    }

    /// Files that came with a user's message, where the blocks do not name them.
    package var mediaFiles: [(path: String, mimeType: String?)] {
        let types = value["MediaTypes"]?.elements.map(\.string) ?? []
        let paths = value["MediaPaths"]?.elements.compactMap(\.string) ?? []
        return paths.enumerated().map { ($1, types.indices.contains($0) ? types[$0] : nil) }
    }

    /// Tells rows apart where the gateway gives no id.
    package var identity: String {
        if let id { return id }
        let content = value["content"]?.raw ?? value.raw
        return "\(role):\(time?.milliseconds ?? 0):\(toolCallId ?? ""):\(FNV1a.name(content))"
    }

    package static func list(_ messages: JSONValue?) -> [HistoryRow] {
        guard let messages else { return [] }
        return messages.elements.prefix(GatewayLimits.historyRows).compactMap { HistoryRow($0) }
    }
}
