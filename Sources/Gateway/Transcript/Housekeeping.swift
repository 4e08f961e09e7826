import Basics

/// Messages between programs and the agent, neither written by a person nor meant for one. Each is recognized by its
/// exact beginning, so that a person's message that only mentions one is still shown.
package enum Housekeeping {
    /// The first words of our own request for an agent's files.
    package static let fileRequestMark = "[ladle housekeeping: file sync, not part of the conversation]"

    /// Whether a program sent this user row: verbose switches, requests for files, heartbeats, prompts of the gateway.
    package static func isPrompt(_ text: String) -> Bool {
        let words = text.trimmingBlanks()
        return hidesAnswer(words) || prompts.contains { words.hasPrefix($0) } || isHeartbeat(words)
    }

    /// Whether the answer to this prompt is hidden too. An answer to a heartbeat is shown, because it may be an alert.
    package static func hidesAnswer(_ prompt: String) -> Bool {
        let words = prompt.trimmingBlanks()
        return isVerboseSwitch(words.prefix(40).lowercased()) || words.hasPrefix(fileRequestMark) || isFileFrame(words)
    }

    /// Whether the answer says nothing to a person, whatever the prompt was.
    package static func isAnswer(_ text: String) -> Bool {
        SilentReply.matches(ArraySlice(text.utf8.prefix(257))) || isVerboseReply(text)
    }

    /// Whether the text consists of exactly the agent's files.
    package static func isFileAnswer(_ text: String) -> Bool {
        let words = text.trimmingBlanks()
        return words.hasPrefix(identityLine) && isFileFrame(words)
    }

    /// Whether a title or preview was made from such a text, of which only the beginning may be left.
    package static func isExcerpt(_ text: String) -> Bool {
        let words = text.trimmingBlanks()
        if isPrompt(words) || words.hasPrefix(identityLine) || words.containsText("\n" + identityLine) { return true }
        let beginning = words.hasSuffix("…") ? words.dropLast().trimmingBlanks() : words
        guard beginning.utf8.count >= fewestOfExcerpt else { return false }
        return (prompts + [fileRequestMark]).contains { $0.hasPrefix(beginning) }
    }

    private static let fewestOfExcerpt = 20

    private static func isVerboseSwitch(_ lowered: String) -> Bool {
        let parts = lowered.split(whereSeparator: \.isWhitespace)
        guard let first = parts.first, first == "/verbose" || first == "/v" || first == "/verbose:" else {
            return false
        }
        return parts.count == 1 || (parts.count == 2 && ["on", "off", "full", "default", "inherit"].contains(parts[1]))
    }

    private static func isVerboseReply(_ text: String) -> Bool {
        let words = text.trimmingBlanks()
        return words.hasPrefix("⚙️ Verbose logging ") && words.utf8.count <= 64 && !words.contains(where: \.isNewline)
    }

    private static func isHeartbeat(_ words: String) -> Bool {
        words.hasPrefix("Read HEARTBEAT.md if it exists") && words.containsText("HEARTBEAT_OK")
    }

    private static let identityLine = "---IDENTITY---"

    /// Whether the text has the frame of the profile files, in a request or an answer: three marks on lines of their
    /// own, in this order, the last one at the end.
    private static func isFileFrame(_ words: String) -> Bool {
        guard words.hasSuffix("\n---END---"), words.containsText(identityLine) else { return false }
        var marks = [identityLine, "---USER---"][...]
        for line in words.split(whereSeparator: \.isNewline) where line == marks.first ?? "" {
            marks.removeFirst()
            if marks.isEmpty { return true }
        }
        return false
    }

    private static let prompts = [
        "A new session was started via /new or /reset. Execute your Session Startup sequence now",
        "A new session was started via /new or /reset while bootstrap is still pending for this workspace",
        "[Inter-session message] source", "Pre-compaction memory flush. Store durable memories",
        InboundEnvelope.interruptionNotice + " while OpenClaw was waiting on tool/model work.",
        "An async command the user already approved has completed.\nDo not run the command again.",
        "An async command did not run.\nDo not run the command again.",
    ]
}
