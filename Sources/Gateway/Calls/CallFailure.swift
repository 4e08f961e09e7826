package import JSONBytes

/// The reason why a typed call has no result.
package enum CallFailure: Error, Sendable {
    case gateway(GatewayError, payload: JSONValue?)
    case notDispatched(CallOutcome.NotDispatched)
    case ambiguous(CallOutcome.Ambiguity)
    /// The gateway acted, but its answer lacks a member that every known release sends.
    case unreadable(GatewayShapeError)

    /// The outcome of a call with its payload read as the call's own type.
    package static func result<Call: GatewayCall>(
        of type: Call.Type,
        _ outcome: CallOutcome
    ) -> Result<Call.Output, CallFailure> {
        switch outcome {
        case .failed(let error, let payload): return .failure(.gateway(error, payload: payload))
        case .notDispatched(let reason): return .failure(.notDispatched(reason))
        case .ambiguous(let reason): return .failure(.ambiguous(reason))
        case .ok(let payload):
            guard let payload else {
                return .failure(.unreadable(GatewayShapeError(method: Call.method, missing: "payload")))
            }
            do throws(GatewayShapeError) {
                return .success(try Call.output(from: payload))
            } catch {
                return .failure(.unreadable(error))
            }
        }
    }
}
