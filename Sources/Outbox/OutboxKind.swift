/// What a command does upstream. A string inside, so that a row of a kind this version does not know is kept and fails
/// visibly instead of being dropped.
package struct OutboxKind: RawRepresentable, Sendable, Hashable {
    package var rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let message = OutboxKind(rawValue: "message")
    package static let abort = OutboxKind(rawValue: "abort")
    package static let approval = OutboxKind(rawValue: "approval")
    package static let sessionPatch = OutboxKind(rawValue: "sessionPatch")

    package var isKnown: Bool {
        [.message, .abort, .approval, .sessionPatch].contains(self)
    }

    /// Aborts and approval answers overtake what waits in the session.
    package var usesControlLane: Bool { self == .abort || self == .approval }

    /// Only a message starts a run; for the others the gateway's answer is the whole result.
    package var startsRun: Bool { self == .message }

    /// Doing it twice changes nothing, so an unanswered one is repeated without looking first.
    package var isIdempotent: Bool { self != .message }
}
