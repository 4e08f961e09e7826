package import Basics
package import JSONBytes

/// One row of a transcript, from `chat.history`, `sessions.get` or a `session.message` event.
package struct HistoryRow: Sendable {
    enum Role: Sendable {
        case user, assistant, toolResult, system, other
    }

    var role: Role
    var value: JSONValue
    /// The transcript's own id; stable where there is one.
    var id: String?
    var sequence: Int64?
    package var time: Timestamp?
    /// The send that caused the row, where the gateway says so: its key is the run's id.
    package var key: String?
    var blocks: [HistoryBlock]
    var stopReason: String?
    var errorMessage: String?
    /// Written by the gateway itself: a command's answer, an abort's partial text.
    var isInjected: Bool
    var isAbortNote: Bool

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
        id = HistoryBlock.identifier(own?["id"]) ?? HistoryBlock.identifier(value["id"])
        sequence = own?["seq"]?.int
        time =
            GatewayTime.read(value["timestamp"]) ?? GatewayTime.read(value["createdAtMs"])
            ?? GatewayTime.read(value["ts"])
        blocks = HistoryBlock.list(value["content"])
        if blocks.isEmpty, let text = value["text"]?.string { blocks = [.text(text)] }
        stopReason = value["stopReason"]?.string
        errorMessage = value["errorMessage"]?.string.flatMap { $0.isEmpty ? nil : $0 }
        isInjected = value["model"]?.equals("gateway-injected") ?? false
        isAbortNote = value["openclawAbort"]?["aborted"]?.bool ?? false
        let written =
            HistoryBlock.identifier(value["openclawAbort"]?["runId"]) ?? HistoryBlock.identifier(value["runId"])
            ?? HistoryBlock.identifier(value["idempotencyKey"]) ?? HistoryBlock.identifier(own?["idempotencyKey"])
        key = written.map { Self.run(ofKey: $0) }
    }

    /// Keys come bare and as `KEY:user`, `KEY:assistant`.
    static func run(ofKey key: String) -> String {
        for ending in [":user", ":assistant"] where key.hasSuffix(ending) && key.count > ending.count {
            return String(key.dropLast(ending.count))
        }
        return key
    }

    /// Text parts joined by new lines.
    var text: String {
        blocks.compactMap { if case .text(let text) = $0 { text } else { nil } }.joined(separator: "\n")
    }

    package var isUser: Bool { role == .user }

    /// What the user wrote.
    package var words: String { InboundEnvelope.stripped(text) }

    var toolCallID: String? {
        HistoryBlock.identifier(value["toolCallId"] ?? value["tool_call_id"] ?? value["tool_use_id"])
    }

    var toolName: String? { (value["toolName"] ?? value["tool_name"] ?? value["name"])?.string }

    /// Tells rows apart where the gateway gives no id.
    var identity: String {
        if let id { return id }
        let content = value["content"]?.raw ?? value.raw
        return "\(role):\(time?.milliseconds ?? 0):\(toolCallID ?? ""):\(Fingerprint.of(content))"
    }

    static func rows(_ messages: JSONValue?) -> [HistoryRow] {
        guard let messages else { return [] }
        return messages.elements.prefix(ActivityLimits.historyRows).compactMap { HistoryRow($0) }
    }
}

/// A short stable name for bytes: FNV-1a, 64 bits. It names things and protects nothing.
enum Fingerprint {
    static func of(_ bytes: some Sequence<UInt8>) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        let text = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }
}
