/// An editable field; the raw value is its name in the API.
package enum DocumentField: String, Sendable, CaseIterable {
    case name, creature, vibe, theme, emoji, avatar
    case callName, pronouns, timezone, notes, context

    /// The label of a new line, as in OpenClaw's templates.
    var label: String {
        switch self {
        case .name: "Name"
        case .creature: "Creature"
        case .vibe: "Vibe"
        case .theme: "Theme"
        case .emoji: "Emoji"
        case .avatar: "Avatar"
        case .callName: "What to call them"
        case .pronouns: "Pronouns"
        case .timezone: "Timezone"
        case .notes: "Notes"
        case .context: "Context"
        }
    }

    /// Whether a value may hold line feeds.
    var takesLines: Bool { self == .notes || self == .context }

    /// The most code points of a new value. An avatar may be a data URI; people read the others.
    var maximumLength: Int {
        switch self {
        case .emoji: 64
        case .avatar: 256 << 10
        case .notes: 32 << 10
        case .context: 256 << 10
        default: 1 << 10
        }
    }
}
