import Basics

/// Removes the model's own tags from the text of a reply.
enum ReplyText {
    /// Removes `<think>…</think>` with its content. `<final>` marks the shown text, so only the tag is removed.
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
