/// The reason why a command is not carried out, with the members of a problem document.
package struct BrokerRefusal: Error, Equatable, Sendable {
    package enum Code: String, CaseIterable, Sendable {
        case bodyTooLarge = "BODY_TOO_LARGE"
        case commandTooOld = "COMMAND_TOO_OLD"
        case decisionNotAllowed = "DECISION_NOT_ALLOWED"
        case invalidField = "INVALID_FIELD"
        case loopSuspected = "LOOP_SUSPECTED"
        case malformedJSON = "MALFORMED_JSON"
        case malformedText = "MALFORMED_TEXT"
        case messageTooLarge = "MESSAGE_TOO_LARGE"
        case missingScope = "MISSING_SCOPE"
        case notFound = "NOT_FOUND"
        case rateLimited = "RATE_LIMITED"
        case responseTopicNotAllowed = "RESPONSE_TOPIC_NOT_ALLOWED"
        case retainedCommand = "RETAINED_COMMAND"

        package var status: Int {
            switch self {
            case .malformedJSON, .malformedText: 400
            case .missingScope: 403
            case .notFound: 404
            case .retainedCommand: 409
            case .commandTooOld: 410
            case .bodyTooLarge, .messageTooLarge: 413
            case .decisionNotAllowed, .invalidField, .responseTopicNotAllowed: 422
            case .loopSuspected, .rateLimited: 429
            }
        }
    }

    package let code: Code
    package let detail: String
    package let hint: String?
    /// The member or property at fault.
    package let field: String?

    package init(_ code: Code, _ detail: String, hint: String? = nil, field: String? = nil) {
        self.code = code
        self.detail = detail
        self.hint = hint
        self.field = field
    }

    package var status: Int { code.status }

    /// Whether the same command may succeed later.
    package var isRetryable: Bool { code == .rateLimited || code == .loopSuspected }

    package static let rateLimited = BrokerRefusal(
        .rateLimited,
        "More than 5 commands a second came from the broker.",
        hint: "Wait a second, and send the command again."
    )

    /// The message itself was taken.
    package static let tooManyWaits = BrokerRefusal(
        .rateLimited,
        "Sixteen commands wait for the ends of their runs already. The message was taken; how its run ends is not told here.",
        hint: "Read the event run.ended, or send the command again under the same id."
    )

    package static let loopSuspected = BrokerRefusal(
        .loopSuspected,
        "The same text went to the same session more than three times in a minute. It is refused for ten minutes.",
        hint: "Look for an automation that sends each reply back as a message."
    )

    static func field(_ name: String, _ detail: String, hint: String? = nil) -> BrokerRefusal {
        BrokerRefusal(.invalidField, detail, hint: hint, field: name)
    }
}
