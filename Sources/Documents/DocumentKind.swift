/// The two files of an agent's workspace.
package enum DocumentKind: String, Sendable, CaseIterable {
    case identity
    case profile

    /// The exact name that the gateway's file methods know.
    package var fileName: String {
        switch self {
        case .identity: "IDENTITY.md"
        case .profile: "USER.md"
        }
    }

    /// The editable fields in the order of a new file. An inserted field follows its nearest predecessor.
    package var fields: [DocumentField] {
        switch self {
        case .identity: [.name, .creature, .vibe, .theme, .emoji, .avatar]
        case .profile: [.name, .callName, .pronouns, .timezone, .notes, .context]
        }
    }

    /// The title of a new file.
    var title: String {
        switch self {
        case .identity: "# IDENTITY.md - Who Am I?"
        case .profile: "# USER.md - About Your Human"
        }
    }

    /// Names that the API shows but cannot set: the agent keeps these entries itself.
    var readOnlyFields: [String] { self == .profile ? ["directives"] : [] }

    /// All names in the API.
    package var names: [String] { fields.map(\.rawValue) + readOnlyFields }

    /// The field of a label in the form of `DocumentLabel.normalized`.
    func field(forLabel label: String) -> DocumentField? {
        switch self {
        case .identity: DocumentLabel.identity[label]
        case .profile: DocumentLabel.profile[label]
        }
    }
}
