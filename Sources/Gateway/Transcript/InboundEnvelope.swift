import Basics

/// The metadata and notices that gateways put around a user's words before the model sees them.
package enum InboundEnvelope {
    /// Precedes a queued message that a restarted gateway processes again.
    private static let queuedMark = "[Queued user message that arrived while the previous turn was still active]\n"
    /// Follows such a message; it also starts a prompt of the gateway's own.
    static let interruptionNotice = "[System] Your previous turn was interrupted by a gateway restart"

    /// The gateway writes this into the row of a message that has files and no words.
    package static let wordless = "[User sent media without caption]"

    /// Begins a turn in which a busy gateway answers several messages; each follows a mark with its number.
    private static let joinedMark = "[Queued messages"

    /// The messages that a gateway joined into one turn; nil for the text of a single message.
    package static func joined(_ text: String) -> [String]? {
        guard text.hasPrefix(joinedMark), var begin = beginOfMessage(1, in: text[...]) else { return nil }
        var messages: [String] = []
        while let next = beginOfMessage(messages.count + 2, in: text[begin.upperBound...]) {
            messages.append(String(text[begin.upperBound..<next.lowerBound]))
            begin = next
        }
        return messages + [String(text[begin.upperBound...])]
    }

    /// The mark before the message with this number. Newer releases name the sender in its line.
    private static func beginOfMessage(_ number: Int, in text: Substring) -> Range<Substring.Index>? {
        guard let mark = text.rangeOfText("\n\n---\nQueued #\(number)"),
            let end = text[mark.upperBound...].firstIndex(where: \.isNewline),
            mark.upperBound == end || text[mark.upperBound...].hasPrefix(" (from ")
        else { return nil }
        return mark.lowerBound..<text.index(after: end)
    }

    package static func stripped(_ text: String) -> String {
        var rest = withoutInterruption(text)
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
        // A message that consists only of the envelope is shown unchanged.
        return rest.isEmpty ? text : String(rest)
    }

    /// A gateway that restarts again before the message is answered adds the mark and the notice once more.
    private static func withoutInterruption(_ text: String) -> Substring {
        var rest = text[...]
        while rest.hasPrefix(queuedMark) {
            rest = rest.dropFirst(queuedMark.count)
            // The gateway's notice is the last paragraph; the user's words may contain the same line.
            var end: Substring.Index?
            var from: Substring.Index?
            while let gap = rest.rangeOfText("\n\n", from: from) {
                if isNotice(rest[gap.upperBound...]) { end = gap.lowerBound }
                from = rest.index(after: gap.lowerBound)
            }
            if let end { rest = rest[..<end] }
        }
        return rest
    }

    /// Whether a prompt to resume a turn has nothing but notices, so that it does not show which turn it resumes. 2026.4.26 puts its
    /// mark before such a prompt when it is interrupted itself.
    static func isOnlyNotices(_ text: String) -> Bool {
        var rest = text[...]
        while rest.hasPrefix(queuedMark) { rest = rest.dropFirst(queuedMark.count) }
        return isNotice(rest)
    }

    private static func isNotice(_ paragraph: Substring) -> Bool {
        (withoutStamp(paragraph) ?? paragraph).hasPrefix(interruptionNotice)
    }

    /// The text after the notices, which precede the stamp one per line; a notice may be followed by a command's
    /// output.
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

    /// In characters. A long text without a line end is not searched to its end.
    private static let longestHeading = 256

    /// Skips `Conversation info (untrusted metadata):` and its fenced block.
    private static func withoutMetadata(_ text: Substring) -> Substring? {
        guard let end = text.prefix(longestHeading).firstIndex(where: \.isNewline),
            text[..<end].trimmingBlanks().hasSuffix("(untrusted metadata):")
        else {
            return nil
        }
        let block = text[end...].drop { $0.isNewline }
        guard block.hasPrefix("```"), let close = block.dropFirst(3).rangeOfText("\n```") else { return nil }
        return block[close.upperBound...].drop { !$0.isNewline }
    }

    /// Skips `[Fri 2026-11-20 13:59 UTC] `.
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
