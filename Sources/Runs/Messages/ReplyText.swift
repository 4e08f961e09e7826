import Basics
import JSONBytes

/// The text of a message as people see it.
enum ReplyText {
    /// Text of a chat event's or a row's message: parts joined by new lines, reasoning tags taken out.
    static func of(message: JSONValue?) -> String? {
        guard let message else { return nil }
        if let text = message.string { return clean(text) }
        let content = message["content"]
        if content == nil { return message["text"]?.string.map { clean($0) } }
        let parts = HistoryBlock.list(content).compactMap { if case .text(let text) = $0 { text } else { nil } }
        return parts.isEmpty ? nil : clean(parts.joined(separator: "\n"))
    }

    /// `<think>…</think>` is hidden, `<final>` only marks what is shown.
    static func clean(_ text: String) -> String {
        guard text.contains("<") else { return text }
        var result = text
        for tag in ["think", "thinking", "thought"] {
            while let open = result.rangeOfText("<\(tag)>") {
                let close = result.rangeOfText("</\(tag)>", from: open.upperBound)
                result.removeSubrange(open.lowerBound..<(close?.upperBound ?? result.endIndex))
            }
        }
        guard result.utf8.count < text.utf8.count || result.containsText("<final>") else { return text }
        return result.replacingText("<final>", with: "").replacingText("</final>", with: "").trimmingBlanks()
    }
}
