package import Gateway
import Upstream

/// Why the gateway did not do what it was asked, in words without frames.
package enum GatewayFault: Error {
    /// Its own error.
    package struct Refusal {
        package let code: String
        package let message: String
        package let retryable: Bool?
        package let retryAfterMs: Int64?
        /// The call itself is at fault, not the gateway's state.
        package let isInvalid: Bool
        /// There is no agent of the id that was named.
        package let isUnknownAgent: Bool
        /// Why a session was not changed; nil for every other reason.
        package let session: SessionRefusal?
        /// Why a job was not run or changed.
        package let automation: CronRefusal?
        /// Why a node did not do it.
        package var node: NodeRefusal? = nil
    }

    /// The link lacks a scope; `hint` is the command that gives it this one.
    case missingScope(String, required: [String], hint: String, capability: String? = nil)
    /// This release of the gateway cannot do it.
    case unsupported(capability: String, needs: String, gateway: String?)
    case refused(Refusal)
    case tooLarge(bytes: Int, limit: Int)
    case notConnected
    /// Nobody knows whether it happened.
    case unanswered
    case unreadable(method: String, missing: String)

    package init(_ failure: CallFailure, over gateway: any GatewayCalls) {
        switch failure {
        case .gateway(let error, _):
            if let scope = error.missingScope ?? error.requiredScopes.first {
                self = .missingScope(scope, required: error.requiredScopes, hint: gateway.hint(toGain: scope))
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

/// Why a service has no answer.
package enum ServiceFault: Error {
    case gateway(GatewayFault)
    /// The database could not be read or written.
    case store(any Error)
}
