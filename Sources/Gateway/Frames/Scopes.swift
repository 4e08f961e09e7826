/// The gateway's permissions that Ladle uses.
package enum Scopes {
    package static let read = "operator.read"
    package static let write = "operator.write"
    package static let admin = "operator.admin"
    package static let approvals = "operator.approvals"
    package static let pairing = "operator.pairing"
    package static let questions = "operator.questions"

    /// The newest gateways: what a person may do with the sessions that are his own.
    static let sessionsRead = "operator.sessions.read"
    static let sessionsWrite = "operator.sessions.write"
    private static let sessionsArchive = "operator.sessions.archive"
    private static let talk = "operator.talk"

    /// The narrow scopes.
    static let ofSessions = [sessionsRead, sessionsWrite]

    /// The scopes that another one includes; admin includes all.
    private static func included(in scope: String) -> [String] {
        switch scope {
        case write: [read, sessionsRead, sessionsWrite, sessionsArchive, talk]
        case read: [sessionsRead]
        case sessionsWrite: [sessionsRead]
        default: []
        }
    }

    /// Whether a grant includes `scope`.
    package static func covers(_ granted: [String], _ scope: String) -> Bool {
        granted.contains { $0 == scope || $0 == admin || included(in: $0).contains(scope) }
    }

    /// The command that grants the link a missing scope: request it, or add it to the approved ones.
    package static func hint(toGain scope: String, requested: [String], deviceId: String) -> String {
        guard covers(requested, scope) else {
            return "ladle serve --gateway-scopes \((requested + [scope]).joined(separator: ","))"
        }
        let flags = requested.map { "--scope \($0)" }.joined(separator: " ")
        return "openclaw devices rotate --device \(deviceId) --role operator \(flags)"
    }
}
