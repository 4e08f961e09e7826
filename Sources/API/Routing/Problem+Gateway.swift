import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Observability
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
        case .unanswered:
            self.init(.gatewayTimeout, "The gateway did not answer (\(action)); whether it happened is not known.")
        case .unreadable(let method, let missing): self.init(method: method, lacks: missing)
        }
    }

    /// - Parameter what: the file or answer that was wanted.
    init(_ fault: GatewayFault, reading what: String) {
        switch fault {
        case .missingScope(let scope, let required, let hint, let capability):
            self.init(scope: scope, required: required, hint: hint, capability)
        case .unsupported(let capability, let needs, let gateway):
            self.init(unsupported: capability, needs: needs, by: gateway)
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

    private init(scope: String, required: [String], hint: String, _ capability: String?) {
        self.init(
            .gatewayScopeMissing,
            "The gateway lets this link do that only with \(scope).",
            hint: hint,
            requiredScopes: required
        )
        if let capability { self = adding(member: "capability") { $0.string(capability) } }
    }

    static func unsupported(_ capability: String, needs release: String, _ api: HTTPAPI) -> Problem {
        Problem(unsupported: capability, needs: release, by: api.services.gateway.status.gatewayVersion)
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

extension Call {
    /// The gateway did not do at once what the caller wants of it.
    /// - Parameters:
    ///   - repeatable: whether a second try does no more than the first, where nobody knows what became of that.
    ///   - hint: the request that shows what became of it.
    func fail(
        _ fault: GatewayFault,
        doing action: String,
        repeatable: Bool = true,
        hint: String? = nil,
        _ api: HTTPAPI,
        on loop: isolated EventLoop
    ) {
        switch fault {
        case .notConnected:
            let retryAt = api.services.gateway.status.retryAt?.milliseconds
            let problem = Problem(
                .gatewayUnavailable,
                "The gateway is not connected, and this is done at once or not at all (\(action)).",
                retryAfterMs: retryAt.map { max($0 - loop.wallClock.milliseconds, 1000) }
            )
            fail(problem, on: loop)
        case .unanswered:
            var problem = Problem(fault, doing: action)
            problem.retryable = repeatable
            if !repeatable { problem.retryAfterMs = nil }
            problem.hint = hint ?? problem.hint
            fail(problem, on: loop)
        case .refused(let refusal) where refusal.message.hasPrefix("rate limit exceeded"):
            let detail = "The gateway takes no more such changes for a while (\(action))."
            fail(Problem(.rateLimited, detail, retryAfterMs: refusal.retryAfterMs ?? 60_000), on: loop)
        case .refused(let refusal) where refusal.code == "INVALID_REQUEST":
            let problem = Problem(.gatewayRefused, refusal.message.withoutPaths, status: .unprocessableContent)
            fail(problem.adding(member: "gatewayCode") { $0.string(refusal.code) }, on: loop)
        case .refused(let refusal):
            let problem = Problem(
                .gatewayError,
                "The gateway refused (\(action)): \(refusal.message.withoutPaths)",
                retryable: refusal.retryable,
                retryAfterMs: refusal.retryAfterMs
            )
            fail(problem.adding(member: "gatewayCode") { $0.string(refusal.code) }, on: loop)
        default: fail(Problem(fault, doing: action), on: loop)
        }
    }
}

extension String {
    /// In bytes: the gateway's sentence, not a listing.
    private static let longestRefusal = 300

    /// The gateway's words for its clients, without files of its host.
    var withoutPaths: String {
        let words = split(separator: " ", omittingEmptySubsequences: false).map { word -> Substring in
            let bare = word.drop { "\"'`([".contains($0) }
            let isPath = bare.hasPrefix("/") || bare.hasPrefix("~/") || bare.containsText(":\\")
            return isPath && bare.utf8.count > 1 ? "(path)" : word
        }
        return words.joined(separator: " ").cut(toBytes: Self.longestRefusal)
    }
}
