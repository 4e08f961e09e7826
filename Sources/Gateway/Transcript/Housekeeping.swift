import Basics

/// Rows that are the products' own talk with the agent and no one's message.
package enum Housekeeping {
    /// A user's row that was sent by a program: verbose switches, identity frames, heartbeats, session start prompts.
    package static func isPrompt(_ text: String) -> Bool {
        let words = text.trimmingBlanks()
        let lowered = words.prefix(400).lowercased()
        if isVerboseSwitch(lowered) || isIdentityFrame(words) { return true }
        return prompts.contains { lowered.hasPrefix($0) }
            || (lowered.containsText("heartbeat.md") && words.containsText("HEARTBEAT_OK"))
    }

    /// Such a prompt's own answer must not be shown either; a heartbeat's may be an alert and is.
    static func hidesAnswer(_ prompt: String) -> Bool {
        let words = prompt.trimmingBlanks()
        return isVerboseSwitch(words.prefix(40).lowercased()) || isIdentityFrame(words)
    }

    package static func isAnswer(_ text: String) -> Bool {
        SilentReply.matches(text.utf8) || isIdentityFrame(text) || text.trimmingBlanks().hasPrefix("⚙️ Verbose logging")
    }

    private static func isVerboseSwitch(_ lowered: String) -> Bool {
        let parts = lowered.split(whereSeparator: \.isWhitespace)
        guard let first = parts.first, first == "/verbose" || first == "/v" || first == "/verbose:" else {
            return false
        }
        return parts.count == 1 || (parts.count == 2 && ["on", "off", "full", "default", "inherit"].contains(parts[1]))
    }

    /// The frame in which clients ask for, and agents give, the profile files: at least two of its marks.
    private static func isIdentityFrame(_ text: String) -> Bool {
        ["---IDENTITY---", "---USER---", "---END---"].count { text.containsText($0) } >= 2
    }

    private static let prompts = [
        "a new session was started via /new or /reset", "read heartbeat.md if it exists", "[inter-session message]",
        "pre-compaction memory flush",
    ]
}

/// What gateways put around a user's words before the model sees them.
package enum InboundEnvelope {
    package static func stripped(_ text: String) -> String {
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

    /// Notices stand in front of the stamp, one to a line; what a command printed may follow one in lines of its own.
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
