package import Gateway
import Upstream

/// The reason why the gateway did not act, without frames in its text.
package enum GatewayFault: Error {
    /// The gateway's own error.
    package struct Refusal {
        package let code: String
        package let message: String
        package let retryable: Bool?
        package let retryAfterMs: Int64?
        /// The call itself is wrong, independent of the gateway's state.
        package let isInvalid: Bool
        /// The named agent does not exist.
        package let isUnknownAgent: Bool
        /// The reason why a session was not changed; nil for any other error.
        package let session: SessionRefusal?
        /// The reason why a job was not run or changed.
        package let automation: CronRefusal?
        /// The reason why a node did not act.
        package var node: NodeRefusal? = nil
    }

    /// The gateway cannot be asked now, and what is known from before stands in.
    var isAbsence: Bool {
        switch self {
        case .notConnected, .notNow, .unanswered: true
        case .missingScope, .unsupported, .refused, .tooLarge, .unreadable: false
        }
    }

    /// The link lacks a scope; `hint` is the command that grants it.
    case missingScope(String, required: [String], hint: String, capability: String? = nil)
    /// This gateway release lacks the capability.
    case unsupported(capability: String, needs: String, gateway: String?)
    case refused(Refusal)
    case tooLarge(bytes: Int, limit: Int)
    case notConnected
    /// The gateway takes nothing for the moment, and names a time after which to ask again.
    case notNow(message: String, retryAfterMs: Int64)
    /// The outcome is unknown.
    case unanswered
    case unreadable(method: String, missing: String)

    package init(_ failure: CallFailure, over gateway: any GatewayCalls) {
        switch failure {
        case .gateway(let error, _):
            if let scope = error.missingScope ?? error.requiredScopes.first {
                self = .missingScope(scope, required: error.requiredScopes, hint: gateway.hint(toGain: scope))
                return
            }
            if error.isForNow, error.nodeRefusal == nil, let wait = error.retryAfterMs {
                self = .notNow(message: error.message, retryAfterMs: wait)
                return
            }
            self = .refused(
                Refusal(
                    code: error.detailsCode ?? error.code,
                    message: error.message,
                    retryable: error.retryable,
                    retryAfterMs: error.retryAfterMs,
                    isInvalid: error.code == "INVALID_REQUEST",
                    isUnknownAgent: error.message.contains("unknown agent") || error.code == "NOT_FOUND",
                    session: error.sessionRefusal,
                    automation: error.cronRefusal,
                    node: error.nodeRefusal
                )
            )
        case .notDispatched(.tooLarge(let bytes, let limit)): self = .tooLarge(bytes: bytes, limit: limit)
        case .notDispatched: self = .notConnected
        case .ambiguous: self = .unanswered
        case .unreadable(let error): self = .unreadable(method: error.method, missing: error.missing)
        }
    }
}

/// The reason why a service has no answer.
package enum ServiceFault: Error {
    case gateway(GatewayFault)
    /// The database could not be read or written.
    case store(any Error)
}
