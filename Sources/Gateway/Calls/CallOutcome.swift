package import JSONBytes

/// How a request ended, in the classes the outbox needs.
package enum CallOutcome: Sendable {
    case ok(JSONValue?)
    case failed(GatewayError, payload: JSONValue?)
    /// The gateway never saw it: repeating is free of duplicates.
    case notDispatched(NotDispatched)
    /// The request was written and no answer came: it may have happened.
    case ambiguous(Ambiguity)

    package enum NotDispatched: Sendable, Equatable {
        case offline
        case queueFull
        case tooLarge(bytes: Int, limit: Int)
        case timedOut
        case stopped
    }

    package enum Ambiguity: Sendable, Equatable {
        case timedOut
        case linkLost
    }
}
