import Gateway
import HTTPModel
import JSONBytes
import Server
import Service
import Upstream

/// What a failed call to the gateway means to the one who caused it.
extension Problem {
    /// The link lacks a scope; nil for any other refusal. The hint is the command that gives it this one.
    init?(missingScope error: GatewayError, over link: any GatewayCalls) {
        let scopes = error.requiredScopes
        guard let scope = error.missingScope ?? scopes.first else { return nil }
        self.init(
            .gatewayScopeMissing,
            "The gateway lets this link do that only with \(scope).",
            hint: link.hint(toGain: scope),
            requiredScopes: scopes
        )
    }

    init(_ failure: CallFailure, for action: String, over link: any GatewayCalls) {
        switch failure {
        case .gateway(let error, _):
            if let missing = Problem(missingScope: error, over: link) {
                self = missing
                return
            }
            self.init(
                .gatewayError,
                "The gateway refused (\(action)): \(error.message).",
                retryable: error.retryable,
                retryAfterMs: error.retryAfterMs
            )
            self = adding(member: "gatewayCode") { $0.string(error.detailsCode ?? error.code) }
        case .notDispatched(.tooLarge(let bytes, let limit)):
            self.init(.messageTooLarge, "The request takes \(bytes) bytes and the gateway takes \(limit).")
        case .notDispatched:
            self.init(.gatewayUnavailable, "The gateway is not connected, so this cannot be done now (\(action)).")
        case .ambiguous:
            self.init(.gatewayTimeout, "The gateway did not answer (\(action)); whether it happened is not known.")
        case .unreadable(let error):
            self.init(.gatewayAnswerUnreadable, "The gateway's answer to \(error.method) lacks `\(error.missing)`.")
        }
    }
}
