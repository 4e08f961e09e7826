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
            .forbidden,
            "GATEWAY_SCOPE_MISSING",
            "Gateway scope missing",
            "The gateway lets this link do that only with \(scope).",
            hint: link.hint(toGain: scope),
            retryable: false,
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
                .badGateway,
                "GATEWAY_ERROR",
                "Gateway error",
                "The gateway refused (\(action)): \(error.message).",
                retryable: error.retryable,
                retryAfterMs: error.retryAfterMs
            )
            self = adding(member: "gatewayCode") { $0.string(error.detailsCode ?? error.code) }
        case .notDispatched(.tooLarge(let bytes, let limit)):
            self.init(
                .contentTooLarge,
                "MESSAGE_TOO_LARGE",
                "Too large",
                "The request takes \(bytes) bytes and the gateway takes \(limit).",
                retryable: false
            )
        case .notDispatched:
            self.init(
                .serviceUnavailable,
                "GATEWAY_UNAVAILABLE",
                "Gateway unavailable",
                "The gateway is not connected, so this cannot be done now (\(action)).",
                hint: "ladle status",
                retryable: true,
                retryAfterMs: 5000
            )
        case .ambiguous:
            self.init(
                .gatewayTimeout,
                "GATEWAY_TIMEOUT",
                "Gateway timeout",
                "The gateway did not answer (\(action)); whether it happened is not known.",
                retryable: true,
                retryAfterMs: 5000
            )
        case .unreadable(let error):
            self.init(
                .badGateway,
                "GATEWAY_ANSWER_UNREADABLE",
                "Gateway answer unreadable",
                "The gateway's answer to \(error.method) lacks `\(error.missing)`.",
                retryable: false
            )
        }
    }
}
