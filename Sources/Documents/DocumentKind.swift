/// Which of the agent's two workspace files a document is.
package enum DocumentKind: String, Sendable, CaseIterable {
    case identity
    case profile

    /// The name the gateway's file methods know; it is compared exactly there.
    package var fileName: String {
        switch self {
        case .identity: "IDENTITY.md"
        case .profile: "USER.md"
        }
    }

    /// The editable fields in the order a new file lists them; an inserted field goes behind its nearest predecessor.
    package var fields: [DocumentField] {
        switch self {
        case .identity: [.name, .creature, .vibe, .theme, .emoji, .avatar]
        case .profile: [.name, .callName, .pronouns, .timezone, .notes, .context]
        }
    }

    /// The heading of a file that did not exist.
    var title: String {
        switch self {
        case .identity: "# IDENTITY.md - Who Am I?"
        case .profile: "# USER.md - About Your Human"
        }
    }

    /// Names the API shows but does not let anyone set: they are entries the agent itself keeps.
    var readOnlyFields: [String] { self == .profile ? ["directives"] : [] }

    /// All names of the API.
    package var names: [String] { fields.map(\.rawValue) + readOnlyFields }

    /// The field a label stands for, after `DocumentLabel.normalized`.
    func field(forLabel label: String) -> DocumentField? {
        switch self {
        case .identity: DocumentLabel.identity[label]
        case .profile: DocumentLabel.profile[label]
        }
    }
}
