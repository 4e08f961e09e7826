package import Basics

/// The origin of a session, derived from its key: gateways call most of them `direct`.
package enum SessionKind: String, Sendable, CaseIterable {
    case chat, group, cron, subagent, hook
    /// Sessions of the gateway itself and of programs that use its other interfaces.
    case system

    /// The kinds of sessions that people take part in.
    package static let ofPeople: Set<SessionKind> = [.chat, .group]

    /// - Parameter named: the gateway's own name of the kind, if it sends one.
    package init(_ key: SessionKey, named: String?) {
        switch named {
        case "group": self = .group
        case "cron": self = .cron
        default: self = Self.kind(of: key)
        }
    }

    private static func kind(of key: SessionKey) -> SessionKind {
        if key.text == "unknown" { return .system }
        guard key.agent != nil else { return .chat }
        let rest = SessionKey.parts(key.text)[2]
        let words = rest.utf8.split(separator: UInt8(ascii: ":")).map { String(Substring($0)) }
        switch words.first {
        case "cron": return .cron
        case "subagent", "acp": return .subagent
        case "hook": return .hook
        case "openai", "openresponses", "dreaming", "heartbeat": return .system
        default: return words.dropFirst().prefix(2).contains { $0 == "group" || $0 == "channel" } ? .group : .chat
        }
    }
}
