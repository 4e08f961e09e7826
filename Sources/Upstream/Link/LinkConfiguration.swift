import Gateway

/// The configuration of one link. Any change restarts the link.
package struct LinkConfiguration: Sendable, Equatable {
    package var url: GatewayURL
    package var token: String?
    package var password: String?
    /// The initialiser replaces nil with `Scopes.standard` for the host.
    package var scopes: [String]
    package var clientVersion: String
    package var displayName: String
    /// Subscribes to the events of all sessions right after each hello, before any other request.
    package var subscribesToSessions: Bool

    package init(
        url: GatewayURL,
        token: String? = nil,
        password: String? = nil,
        scopes: [String]? = nil,
        clientVersion: String,
        displayName: String = "Ladle",
        subscribesToSessions: Bool = true
    ) {
        self.url = url
        self.token = token.flatMap { $0.isEmpty ? nil : $0 }
        self.password = password.flatMap { $0.isEmpty ? nil : $0 }
        self.scopes = scopes ?? Scopes.standard(for: url.hostClass)
        self.clientVersion = clientVersion
        self.displayName = displayName
        self.subscribesToSessions = subscribesToSessions
    }
}

/// The gateway to connect to, or the reason why there is none.
package enum LinkTarget: Sendable, Equatable {
    case gateway(LinkConfiguration)
    /// There is no gateway to connect to. The link does not retry; its owner configures it again. `url` is shown to
    /// users.
    case none(Rejection, url: String?)

    /// No gateway is configured, and none was found on this host.
    package static let notFound = LinkTarget.none(
        Rejection(
            .offline,
            "GATEWAY_NOT_FOUND",
            "No OpenClaw gateway is configured, and none was found on this host.",
            hint: "ladle serve --gateway ws://HOST:18789 --token-file FILE",
            next: .stop
        ),
        url: nil
    )

    /// Other users can read the file that holds the gateway's secret.
    package static func exposed(_ file: OpenClawFile, url: String) -> LinkTarget {
        let mode = String(file.mode, radix: 8)
        let detail = "\(file.path) holds the gateway's secret, and others may read it (mode \(mode))."
        let rejection = Rejection(
            .refused,
            "GATEWAY_SECRET_EXPOSED",
            detail,
            hint: "chmod 600 \(file.path)",
            next: .stop
        )
        return .none(rejection, url: url)
    }

    /// True if a later search on this host may find a gateway.
    package var isLookedForAgain: Bool {
        guard case .none(let rejection, _) = self else { return false }
        return self == .notFound || rejection.code == "GATEWAY_SECRET_EXPOSED"
    }

    package init(_ problem: GatewayURL.Problem, url: String) {
        self = .none(Rejection(problem), url: url)
    }
}

extension Rejection {
    /// A configuration that cannot work, reported like a refusal by the gateway.
    package init(_ problem: GatewayURL.Problem) {
        switch problem {
        case .malformed(let text):
            self.init(
                .refused,
                "GATEWAY_URL_INVALID",
                "\(Self.sentence(text)) is no gateway URL.",
                hint: "ws://HOST:18789",
                next: .stop
            )
        case .unsupportedScheme(let scheme):
            self.init(
                .refused,
                "GATEWAY_URL_INVALID",
                "\(Self.sentence(scheme)):// is not supported.",
                hint: "ws:// or wss://",
                next: .stop
            )
        case .carriesCredentials:
            let detail = "The gateway URL carries a user, a query or a fragment; secrets do not belong there."
            self.init(.refused, "GATEWAY_URL_INVALID", detail, hint: "--token-file FILE", next: .stop)
        case .malformedPin:
            self.init(.refused, "GATEWAY_PIN_INVALID", "A pin is a SHA-256 of 64 hex digits.", next: .stop)
        case .pinWithoutTLS:
            let detail = "A pinned certificate needs wss://; with ws:// nothing would check it."
            self.init(.refused, "GATEWAY_PIN_INVALID", detail, hint: "wss://HOST:18789", next: .stop)
        case .plaintextRefused(let host):
            let detail = "\(host) is neither this host nor in the tailnet; ws:// would send the token unencrypted."
            self.init(
                .refused,
                "PLAINTEXT_REFUSED",
                detail,
                hint: "use wss://\(host), a tailnet address, or gateway.allowPlaintext=true",
                next: .stop
            )
        }
    }
}

extension Scopes {
    /// The scopes requested by default. Admin only on loopback, where the shared token grants it anyway and a later
    /// request would need a new approval. The approvals scope is left out: if a client holds it, the host waits for
    /// that client's answers.
    package static func standard(for host: GatewayURL.HostClass) -> [String] {
        host == .loopback ? [read, write, admin] : [read, write]
    }
}
