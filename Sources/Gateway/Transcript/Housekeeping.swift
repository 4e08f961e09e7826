import Basics

/// Messages between programs and the agent: no person wrote them, and no person is to see them. Each is known by the whole
/// beginning that a program gives it, in its own spelling, so that a person who only mentions it is still seen.
package enum Housekeeping {
    /// The first words of a request of ours for an agent's files.
    package static let fileRequestMark = "[ladle housekeeping: file sync, not part of the conversation]"

    /// A user's row that a program sent: verbose switches, requests for files, heartbeats, prompts of the gateway.
    package static func isPrompt(_ text: String) -> Bool {
        let words = text.trimmingBlanks()
        return hidesAnswer(words) || prompts.contains { words.hasPrefix($0) } || isHeartbeat(words)
    }

    /// The answer to such a prompt is hidden too. The answer to a heartbeat may be an alert and is shown.
    package static func hidesAnswer(_ prompt: String) -> Bool {
        let words = prompt.trimmingBlanks()
        return isVerboseSwitch(words.prefix(40).lowercased()) || words.hasPrefix(fileRequestMark) || isFileFrame(words)
    }

    /// An answer that says nothing to a person, whatever was asked.
    package static func isAnswer(_ text: String) -> Bool {
        SilentReply.matches(Array(text.utf8.prefix(257))) || isVerboseReply(text)
    }

    /// The agent's files, all of them and nothing else.
    package static func isFileAnswer(_ text: String) -> Bool {
        let words = text.trimmingBlanks()
        return words.hasPrefix(identityLine) && isFileFrame(words)
    }

    /// A title or preview made of such a text, of which only the beginning may be left.
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

    /// The frame in which clients ask for, and agents give, the profile files: its three marks, each a line of its own, in
    /// this order, the last one at the end.
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
