/// The effect of a command at the gateway. A string inside, so that a row of a kind this version does not know is kept and fails
/// visibly instead of being dropped.
package struct OutboxKind: RawRepresentable, Sendable, Hashable {
    package var rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let message = OutboxKind(rawValue: "message")
    package static let abort = OutboxKind(rawValue: "abort")

    package var isKnown: Bool { self == .message || self == .abort }

    /// Aborts overtake the messages that wait in the session.
    package var usesControlQueue: Bool { self == .abort }

    /// Only a message starts a run; for the others the gateway's answer is the whole result.
    package var startsRun: Bool { self == .message }

    /// Doing it twice changes nothing, so an unanswered one is repeated without looking first.
    var isIdempotent: Bool { self != .message }
}
