/// Whether a caller may proceed.
package enum AccessDecision: Equatable, Sendable {
    case allowed
    case refused(AccessRefusal)
}

/// A refusal with everything for its problem document and headers. Texts never distinguish a valid name from an invalid
/// one.
package struct AccessRefusal: Error, Equatable, Sendable {
    package enum Kind: Sendable {
        case notPaired, missingScope, sessionNotAllowed, pathNotAllowed, crossOrigin, wrongHost, hostRequired,
            funnelRefused, rateLimited
    }

    package let kind: Kind
    package let detail: String
    package var hint: String?
    package var requiredScopes: [Scope] = []
    /// The value of `WWW-Authenticate` (RFC 6750 §3).
    package var authenticate: String?
    package var retryAfterMilliseconds: Int64?
    /// The values of `RateLimit` and `RateLimit-Policy`.
    package var rateLimit: RateLimitHeaders?

    package init(
        _ kind: Kind,
        detail: String,
        hint: String? = nil,
        requiredScopes: [Scope] = [],
        authenticate: String? = nil,
        retryAfterMilliseconds: Int64? = nil,
        rateLimit: RateLimitHeaders? = nil
    ) {
        self.kind = kind
        self.detail = detail
        self.hint = hint
        self.requiredScopes = requiredScopes
        self.authenticate = authenticate
        self.retryAfterMilliseconds = retryAfterMilliseconds
        self.rateLimit = rateLimit
    }
}

extension AccessRefusal {
    private static let wayIn =
        "on the host: ladle token create --name NAME --scopes read,send; or POST /v1/pairing and there: ladle clients approve CODE"

    /// The same text for every invalid credential, whatever is wrong with it.
    package static func notPaired(credentialSent: Bool) -> AccessRefusal {
        AccessRefusal(
            .notPaired,
            detail: credentialSent
                ? "The credential is not valid here." : "This needs a token, and the request carries none.",
            hint: wayIn,
            authenticate: credentialSent ? "Bearer realm=\"ladle\", error=\"invalid_token\"" : "Bearer realm=\"ladle\""
        )
    }

    package static func missingScope(_ required: ScopeSet) -> AccessRefusal {
        let names = required.names.joined(separator: " ")
        return AccessRefusal(
            .missingScope,
            detail: "The credential is valid, but lacks the scope this needs: \(names).",
            hint: "on the host: ladle token create --name NAME --scopes \(required.names.joined(separator: ","))",
            requiredScopes: required.list,
            authenticate: "Bearer realm=\"ladle\", error=\"insufficient_scope\", scope=\"\(names)\""
        )
    }

    package static let foreignSession = AccessRefusal(
        .sessionNotAllowed,
        detail: "The credential is limited to other sessions."
    )

    static func foreignPath(_ paths: AllowedPaths) -> AccessRefusal {
        AccessRefusal(
            .pathNotAllowed,
            detail: "The credential is limited to other paths: \(paths.list.joined(separator: ", ")).",
            hint: "on the host: ladle token create --name NAME --scopes read makes one without such a limit"
        )
    }

    package static func crossOrigin(_ detail: String, hint: String? = nil) -> AccessRefusal {
        AccessRefusal(.crossOrigin, detail: detail, hint: hint)
    }

    package static let wrongHost = AccessRefusal(
        .wrongHost,
        detail: "The Host of this request is not one this server answers to.",
        hint: "use the address it listens on, with the port, or add the name to access.hosts"
    )

    static let noHost = AccessRefusal(
        .hostRequired,
        detail: "An HTTP/1.1 request needs exactly one Host."
    )

    package static let funnel = AccessRefusal(
        .funnelRefused,
        detail: "Requests from the public internet through Tailscale Funnel are not served.",
        hint: "use tailscale serve, or a token on another listener"
    )

    package static func rateLimited(_ kind: RateLimitKind, _ verdict: RateLimitVerdict) -> AccessRefusal {
        AccessRefusal(
            .rateLimited,
            detail: "Too many of one kind in a short time: \(kind.rawValue).",
            retryAfterMilliseconds: verdict.retryAfterMilliseconds,
            rateLimit: verdict.headers
        )
    }
}
