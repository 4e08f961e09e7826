import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Ledger
import Observability
import Server
import Service

/// Problems of services: the gateway did not act, or the database failed.
extension Problem {
    init(_ fault: ServiceFault, doing action: String) {
        switch fault {
        case .gateway(let fault): self.init(fault, doing: action)
        case .store(let error): self = .storage(error)
        }
    }

    init(_ fault: GatewayFault, doing action: String) {
        switch fault {
        case .missingScope(let scope, let required, let hint, let capability):
            self.init(scope: scope, required: required, hint: hint, capability)
        case .unsupported(let capability, let needs, let gateway):
            self.init(unsupported: capability, needs: needs, by: gateway)
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
        case .notNow(let words, let wait): self.init(notNow: words, retryAfterMs: wait, action)
        case .unanswered:
            self.init(.gatewayTimeout, "The gateway did not answer (\(action)); whether it happened is not known.")
        case .unreadable(let method, let missing): self.init(method: method, lacks: missing)
        }
    }

    /// - Parameter what: the file or answer that was requested.
    init(_ fault: GatewayFault, reading what: String) {
        switch fault {
        case .refused(let refusal):
            self.init(
                refusal.isUnknownAgent ? .unknownAgent : .gatewayRefused,
                "\(what): \(refusal.message)",
                retryable: refusal.retryable,
                retryAfterMs: refusal.retryAfterMs
            )
            self = adding(member: "gatewayCode") { $0.string(refusal.code) }
        case .notNow(let words, let wait): self.init(notNow: words, retryAfterMs: wait, what)
        case .tooLarge, .notConnected, .unanswered:
            self.init(
                .gatewayUnavailable,
                "The gateway cannot be asked now: \(what) could not be read or written.",
                retryAfterMs: 3000
            )
        case .missingScope, .unsupported, .unreadable: self.init(fault, doing: what)
        }
    }

    private init(notNow words: String, retryAfterMs: Int64, _ action: String) {
        let words = HostPaths.removed(from: words).cut(to: Self.longestRefusal)
        self.init(
            .gatewayUnavailable,
            "The gateway takes nothing for the moment (\(action)): \(words)",
            retryAfterMs: retryAfterMs
        )
    }

    private init(scope: String, required: [String], hint: String, _ capability: String?) {
        self.init(
            .gatewayScopeMissing,
            "The gateway lets this link do that only with \(scope).",
            hint: hint,
            requiredScopes: required
        )
        if let capability { self = adding(member: "capability") { $0.string(capability) } }
    }

    static func unsupported(_ capability: Capability, _ api: HTTPAPI) -> Problem {
        let version = api.services.gateway.status.gatewayVersion
        return Problem(unsupported: capability.rawValue, needs: capability.firstRelease, by: version)
    }

    private init(unsupported capability: String, needs: String, by gateway: String?) {
        let version = gateway.map { " (\($0))" } ?? ""
        self.init(
            .gatewayUnsupported,
            "The connected gateway\(version) cannot do that: \(capability). Releases from \(needs) on can."
        )
        members.append(("capability", Self.quoted(capability)))
        members.append(("needs", Self.quoted(needs)))
        if let gateway { members.append(("gateway", Self.quoted(gateway))) }
    }

    private static func quoted(_ text: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.string(text)
        return writer.bytes
    }

    private init(method: String, lacks missing: String) {
        self.init(.gatewayAnswerUnreadable, "The gateway's answer to \(method) lacks `\(missing)`.")
    }
}

extension Problem {
    /// In characters: a refusal is a sentence or two, however long the gateway's text is.
    private static let longestRefusal = 300

    /// A change that the gateway did not make.
    /// - Parameters:
    ///   - isRepeatable: repeating the request does no more than sending it once.
    ///   - hint: how to find out the outcome if it is unknown.
    ///   - retryAfterMs: the time until the link tries to connect again.
    init(_ fault: GatewayFault, changing action: String, isRepeatable: Bool, hint: String?, retryAfterMs: Int64?) {
        switch fault {
        case .refused(let refusal):
            let words = HostPaths.removed(from: refusal.message).cut(to: Self.longestRefusal)
            let isInvalid = refusal.isInvalid
            self.init(
                isInvalid ? .gatewayRefused : .gatewayError,
                "The gateway did not \(action): \(words)",
                status: isInvalid ? .unprocessableContent : nil,
                retryable: isInvalid ? false : refusal.retryable,
                retryAfterMs: isInvalid ? nil : refusal.retryAfterMs
            )
            self = adding(member: "gatewayCode") { $0.string(refusal.code) }
        case .unanswered:
            let detail = "The gateway did not answer whether it did \(action)."
            self.init(.gatewayTimeout, detail, hint: hint, retryable: isRepeatable)
        case .notConnected:
            let detail = "The gateway is not connected, so it cannot \(action) now."
            self.init(.gatewayUnavailable, detail, retryAfterMs: retryAfterMs)
        default: self.init(fault, doing: action)
        }
    }
}
