/// The meaning of `model`: an agent, one of its sessions, or the room for side calls. A name that means none of these is refused, because a
/// misspelt one would run code on a host.
package enum ModelName: Sendable, Equatable {
    /// Nil is the default agent.
    case agent(String?)
    /// A session of the agent, by its name behind the agent's id.
    case label(agent: String, name: String)
    /// A whole session key.
    case session(String)
    /// Never begins a run.
    case tasks

    package static let tasksName = "ladle/tasks"

    package init?(_ name: String) {
        var rest = name[...]
        // LiteLLM puts the name of the provider first.
        if rest.hasPrefix("openai/") { rest = rest.dropFirst(7) }
        // Ollama's programs name a version.
        if rest.hasPrefix("ladle"), rest.hasSuffix(":latest") { rest = rest.dropLast(7) }
        if rest == "ladle/tasks" {
            self = .tasks
            return
        }
        switch rest {
        case "ladle", "openclaw", "openclaw/default", "ladle/default":
            self = .agent(nil)
            return
        default: break
        }
        for prefix in ["ladle/", "openclaw/", "openclaw:"] where rest.hasPrefix(prefix) {
            let agent = rest.dropFirst(prefix.count)
            let parts = agent.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
            guard let id = parts.first, Self.isAgent(id) else { return nil }
            if parts.count == 1 {
                self = .agent(String(id))
            } else {
                guard !parts[1].isEmpty else { return nil }
                self = .label(agent: String(id), name: String(parts[1]))
            }
            return
        }
        guard rest.hasPrefix("agent:") else { return nil }
        let parts = rest.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count > 1, Self.isAgent(parts[1]) else { return nil }
        self = parts.count == 2 ? .agent(String(parts[1])) : .session(String(rest))
    }

    /// Whether the text may be an agent's id: it becomes part of session keys.
    package static func isAgent(_ text: some StringProtocol) -> Bool {
        let bytes = text.utf8
        return (1...64).contains(bytes.count)
            && bytes.allSatisfy { byte in
                (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "-")
                    || byte == UInt8(ascii: "_")
            }
    }
}
