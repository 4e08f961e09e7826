import Basics

/// The metadata and notices that gateways put in front of a user's words before the model sees them.
package enum InboundEnvelope {
    package static func stripped(_ text: String) -> String {
        if let words = resumed(text) { return stripped(String(words)) }
        var rest = text[...]
        while true {
            let before = rest.startIndex
            rest = rest.drop { $0.isNewline }
            if rest.hasPrefix("System: [") {
                rest = behindNotices(rest)
            } else if let behind = withoutMetadata(rest) {
                rest = behind
            } else if let behind = withoutStamp(rest) {
                rest = behind
            }
            if rest.startIndex == before { break }
        }
        // A message that is nothing but envelope is shown as it is.
        return rest.isEmpty ? text : String(rest)
    }

    /// The user's words in the row with which a restarted gateway goes on with an interrupted run.
    private static func resumed(_ text: String) -> Substring? {
        let opening = "[Queued user message that arrived while the previous turn was still active]\n"
        let closing = "\n\n[System] Your previous turn was interrupted by a gateway restart"
        guard text.hasPrefix(opening) else { return nil }
        let rest = text.dropFirst(opening.count)
        // The words may quote such a row themselves; the gateway's own note is the last one.
        var end: Substring.Index?
        while let found = rest.rangeOfText(closing, from: end.map { rest.index(after: $0) }) { end = found.lowerBound }
        return end.map { rest[..<$0] }
    }

    /// Notices stand in front of the stamp, one to a line; a notice may be followed by lines that a command printed.
    private static func behindNotices(_ text: Substring) -> Substring {
        var rest = text
        while let gap = rest.rangeOfText("\n\n") {
            rest = rest[gap.upperBound...]
            if let behind = withoutStamp(rest) { return behind }
        }
        rest = text
        while rest.hasPrefix("System: [") {
            rest = rest.drop { !$0.isNewline }.drop { $0.isNewline }
        }
        return rest
    }

    /// `Conversation info (untrusted metadata):` and its fenced block.
    private static func withoutMetadata(_ text: Substring) -> Substring? {
        guard let end = text.firstIndex(where: \.isNewline),
            text[..<end].trimmingBlanks().hasSuffix("(untrusted metadata):")
        else {
            return nil
        }
        let block = text[end...].drop { $0.isNewline }
        guard block.hasPrefix("```"), let close = block.dropFirst(3).rangeOfText("\n```") else { return nil }
        return block[close.upperBound...].drop { !$0.isNewline }
    }

    /// `[Fri 2026-11-20 13:59 UTC] `
    private static func withoutStamp(_ text: Substring) -> Substring? {
        guard text.first == "[", let close = text.prefix(64).firstIndex(of: "]") else { return nil }
        let parts = text[text.index(after: text.startIndex)..<close].split(separator: " ")
        let hasDate = parts.contains { part in
            part.count == 10 && part.filter { $0 == "-" }.count == 2 && part.allSatisfy { $0.isNumber || $0 == "-" }
        }
        let hasTime = parts.contains { $0.contains(":") && $0.allSatisfy { $0.isNumber || $0 == ":" } }
        guard hasDate, hasTime else { return nil }
        return text[text.index(after: close)...].drop { $0 == " " }
    }
}
