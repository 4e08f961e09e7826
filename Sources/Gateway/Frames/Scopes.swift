/// The gateway's permissions that Ladle uses.
package enum Scopes {
    package static let read = "operator.read"
    package static let write = "operator.write"
    package static let admin = "operator.admin"
    package static let approvals = "operator.approvals"
    package static let pairing = "operator.pairing"
    package static let questions = "operator.questions"

    /// Whether a grant includes `scope`: write implies read, admin implies all.
    package static func covers(_ granted: [String], _ scope: String) -> Bool {
        granted.contains(scope) || granted.contains(admin) || (scope == read && granted.contains(write))
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
