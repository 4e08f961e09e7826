package import JSONBytes

/// The outcome of a request, in the classes that the outbox needs.
package enum CallOutcome: Sendable {
    case ok(JSONValue?)
    case failed(GatewayError, payload: JSONValue?)
    /// The gateway never saw the request: repeating it cannot cause a duplicate.
    case notDispatched(NotDispatched)
    /// The request was sent and no answer came: the gateway may have acted.
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
