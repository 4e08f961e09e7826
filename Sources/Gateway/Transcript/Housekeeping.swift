import Basics

/// Messages between programs and the agent: no person wrote them, and no person is to see them.
package enum Housekeeping {
    /// A user's row that a program sent: verbose switches, identity frames, heartbeats, session start prompts.
    package static func isPrompt(_ text: String) -> Bool {
        let words = text.trimmingBlanks()
        let lowered = words.prefix(400).lowercased()
        if isVerboseSwitch(lowered) || isIdentityFrame(words) { return true }
        return prompts.contains { lowered.hasPrefix($0) }
            || (lowered.containsText("heartbeat.md") && words.containsText("HEARTBEAT_OK"))
    }

    /// The answer to such a prompt is hidden too. The answer to a heartbeat may be an alert and is shown.
    package static func hidesAnswer(_ prompt: String) -> Bool {
        let words = prompt.trimmingBlanks()
        return isVerboseSwitch(words.prefix(40).lowercased()) || isIdentityFrame(words)
    }

    package static func isAnswer(_ text: String) -> Bool {
        SilentReply.matches(Array(text.utf8.prefix(257))) || isIdentityFrame(text)
            || text.trimmingBlanks().hasPrefix("⚙️ Verbose logging")
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
