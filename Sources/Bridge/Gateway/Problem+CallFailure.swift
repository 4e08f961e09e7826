import Exchanges
import HTTPModel
import JSONBytes
import Upstream

/// What a failed call to the gateway means to the one who caused it.
extension Problem {
    init(_ failure: CallFailure, for action: String) {
        switch failure {
        case .gateway(let error, _):
            let scopes = error.requiredScopes
            guard scopes.isEmpty else {
                self.init(
                    .forbidden,
                    "GATEWAY_SCOPE_MISSING",
                    "Gateway scope missing",
                    "The gateway does not let this link do that: \(error.message).",
                    hint: "add \(scopes.joined(separator: ",")) to gateway.scopes and approve the device again",
                    retryable: false,
                    requiredScopes: scopes
                )
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
