import Basics
import JSONBytes

/// One part of a message's content; both the gateway's own names and those of the providers are understood.
enum HistoryBlock: Sendable {
    case text(String)
    case thinking(text: String, summary: String?, signature: String?)
    case toolCall(id: String?, name: String, arguments: JSONValue?)
    case toolResult(id: String?, value: JSONValue)
    case attachment(MessageAttachment)

    init?(_ value: JSONValue) {
        if let text = value.string {
            self = .text(text)
            return
        }
        switch value["type"]?.string?.lowercased() {
        case "text", "input_text", "output_text", nil:
            guard let text = value["text"]?.string else { return nil }
            self = .text(text)
        case "thinking", "reasoning":
            guard let text = value["thinking"]?.string ?? value["text"]?.string else { return nil }
            self = .thinking(
                text: text,
                summary: value["summary"]?.string,
                signature: Self.signature(value["thinkingSignature"])
            )
        case "toolcall", "tool_call", "tool_use", "tooluse":
            self = .toolCall(
                id: Self.identifier(value["id"] ?? value["toolCallId"] ?? value["tool_call_id"]),
                name: value["name"]?.string ?? value["toolName"]?.string ?? "tool",
                arguments: value["arguments"] ?? value["input"] ?? value["args"] ?? value["partialJson"]
            )
        case "toolresult", "tool_result":
            self = .toolResult(
                id: Self.identifier(
                    value["toolCallId"] ?? value["tool_call_id"] ?? value["tool_use_id"] ?? value["id"]
                ),
                value: value
            )
        case "image", "image_url", "input_image", "file", "audio", "video", "document", "input_file", "attachment":
            guard let attachment = MessageAttachment(block: value) else { return nil }
            self = .attachment(attachment)
        default: return nil
        }
    }

    static func identifier(_ value: JSONValue?) -> String? {
        guard let text = value?.string, !text.isEmpty else { return nil }
        return text.cut(toBytes: ActivityLimits.identifierBytes)
    }

    /// The id in a signature, which is an object or such an object's JSON text.
    private static func signature(_ value: JSONValue?) -> String? {
        guard let value else { return nil }
        if value.kind == .object { return identifier(value["id"]) }
        guard let text = value.string, text.hasPrefix("{") else { return nil }
        return identifier((try? JSONDocument(parsing: text))?.root["id"])
    }

    /// The blocks of a content that is a text, a list or missing.
    static func list(_ content: JSONValue?) -> [HistoryBlock] {
        guard let content else { return [] }
        if let text = content.string { return [.text(text)] }
        return content.elements.prefix(ActivityLimits.historyRows).compactMap { HistoryBlock($0) }
    }
}
