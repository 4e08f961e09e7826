/// The effect of a command at the gateway. Stored as a string, so that a row of an unknown kind is kept and fails
/// visibly instead of being dropped.
package struct OutboxKind: RawRepresentable, Sendable, Hashable {
    package var rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let message = OutboxKind(rawValue: "message")
    package static let abort = OutboxKind(rawValue: "abort")

    package var isKnown: Bool { self == .message || self == .abort }

    /// Whether the kind uses the control queue: aborts overtake the session's waiting messages.
    package var usesControlQueue: Bool { self == .abort }

    /// Only a message starts a run; for the others the gateway's answer is the whole result.
    package var startsRun: Bool { self == .message }

    /// Whether repeating the command is harmless, so that an unanswered one is repeated without a search in the
    /// history.
    var isIdempotent: Bool { self != .message }
}
