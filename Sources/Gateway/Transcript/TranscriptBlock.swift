package import JSONBytes

/// One part of a message's content, named as by the gateway or by a model provider.
package enum TranscriptBlock: Sendable {
    case text(String)
    case thinking(text: String, summary: String?, signature: String?)
    case toolCall(id: String?, name: String, arguments: JSONValue?)
    case toolResult(id: String?, name: String?, isError: Bool, ToolResult)
    case attachment(HistoryAttachment)

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
                id: (value["id"] ?? value["toolCallId"] ?? value["tool_call_id"])?.identifier,
                name: value["name"]?.string ?? value["toolName"]?.string ?? "tool",
                arguments: value["arguments"] ?? value["input"] ?? value["args"] ?? value["partialJson"]
            )
        case "toolresult", "tool_result":
            self = .toolResult(
                id: (value["toolCallId"] ?? value["tool_call_id"] ?? value["tool_use_id"] ?? value["id"])?.identifier,
                name: value["name"]?.string ?? value["toolName"]?.string,
                isError: ToolResult.isError(value),
                ToolResult(value)
            )
        case "image", "image_url", "input_image", "file", "audio", "video", "document", "input_file", "attachment":
            self = .attachment(HistoryAttachment(value))
        default: return nil
        }
    }

    package var text: String? { if case .text(let text) = self { text } else { nil } }

    /// The id in a signature: an object, or the JSON text of one.
    private static func signature(_ value: JSONValue?) -> String? {
        guard let value else { return nil }
        if value.kind == .object { return value["id"]?.identifier }
        guard let text = value.string, text.hasPrefix("{") else { return nil }
        return (try? JSONDocument(parsing: text))?.root["id"]?.identifier
    }

    /// The blocks of a content, which may be a text, a list or missing.
    static func list(_ content: JSONValue?) -> [TranscriptBlock] {
        guard let content else { return [] }
        if let text = content.string { return [.text(text)] }
        return content.elements.prefix(GatewayLimits.historyRows).compactMap { TranscriptBlock($0) }
    }
}

/// The name, type and size of a file in a block; never its content.
package struct HistoryAttachment: Sendable {
    package let name: String?
    package let mimeType: String?
    package let bytes: Int64?

    init(_ block: JSONValue) {
        name = (block["fileName"] ?? block["name"] ?? block["filename"])?.string
        let type = block["mimeType"] ?? block["media_type"] ?? block["source"]?["media_type"] ?? block["mediaType"]
        let isImage = block["type"]?.string?.contains("image") ?? false
        mimeType = type?.string ?? (isImage ? "image/*" : nil)
        bytes = (block["bytes"] ?? block["size"])?.int.map { max($0, 0) }
    }
}
