import HTTPModel
import JSONBytes
import Server
import Service

/// Problems of services: the gateway did not do it, or the database failed.
extension Problem {
    init(_ fault: ServiceFault, doing action: String) {
        switch fault {
        case .gateway(let fault): self.init(fault, doing: action)
        case .store(let error): self = .storage(error)
        }
    }

    init(_ fault: GatewayFault, doing action: String) {
        switch fault {
        case .missingScope(let scope, let required, let hint):
            self.init(scope: scope, required: required, hint: hint)
        case .refused(let refusal):
            self.init(
                .gatewayError,
                "The gateway refused (\(action)): \(refusal.message).",
                retryable: refusal.retryable,
                retryAfterMs: refusal.retryAfterMs
            )
            self = adding(member: "gatewayCode") { $0.string(refusal.code) }
        case .tooLarge(let bytes, let limit):
            self.init(.messageTooLarge, "The request takes \(bytes) bytes and the gateway takes \(limit).")
        case .notConnected:
            self.init(.gatewayUnavailable, "The gateway is not connected, so this cannot be done now (\(action)).")
        case .unanswered:
            self.init(.gatewayTimeout, "The gateway did not answer (\(action)); whether it happened is not known.")
        case .unreadable(let method, let missing): self.init(method: method, lacks: missing)
        }
    }

    /// - Parameter what: the file or answer that was wanted.
    init(_ fault: GatewayFault, reading what: String) {
        switch fault {
        case .missingScope(let scope, let required, let hint):
            self.init(scope: scope, required: required, hint: hint)
        case .refused(let refusal):
            self.init(
                refusal.isUnknownAgent ? .unknownAgent : .gatewayRefused,
                "\(what): \(refusal.message)",
                retryable: refusal.retryable,
                retryAfterMs: refusal.retryAfterMs
            )
            self = adding(member: "gatewayCode") { $0.string(refusal.code) }
        case .tooLarge, .notConnected, .unanswered:
            self.init(
                .gatewayUnavailable,
                "The gateway cannot be asked now: \(what) could not be read or written.",
                retryAfterMs: 3000
            )
        case .unreadable(let method, let missing): self.init(method: method, lacks: missing)
        }
    }

    private init(scope: String, required: [String], hint: String) {
        self.init(
            .gatewayScopeMissing,
            "The gateway lets this link do that only with \(scope).",
            hint: hint,
            requiredScopes: required
        )
    }

    private init(method: String, lacks missing: String) {
        self.init(.gatewayAnswerUnreadable, "The gateway's answer to \(method) lacks `\(missing)`.")
    }
}
