import Gateway

/// What one link is to do. A change of any of it starts the link anew.
package struct LinkConfiguration: Sendable, Equatable {
    package var url: GatewayURL
    package var token: String?
    package var password: String?
    /// Nil: what `Scopes.standard` gives for the host.
    package var scopes: [String]
    package var clientVersion: String
    package var displayName: String
    /// Ask for session events of all sessions right after each hello, before anything else is sent.
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

/// Where the link should go, or why it cannot go anywhere.
package enum LinkTarget: Sendable, Equatable {
    case gateway(LinkConfiguration)
    /// No retry by the link: whoever configures it tries again. `url` for people, where there is one.
    case none(Rejection, url: String?)

    /// Neither configured nor found on this host.
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

    /// The gateway's secret was found where others may read it.
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

    /// This host may have another answer in a while.
    package var isLookedForAgain: Bool {
        guard case .none(let rejection, _) = self else { return false }
        return self == .notFound || rejection.code == "GATEWAY_SECRET_EXPOSED"
    }

    package init(_ problem: GatewayURL.Problem, url: String) {
        self = .none(Rejection(problem), url: url)
    }
}

extension Rejection {
    /// Configuration that cannot work, told like a refusal of the gateway.
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
    /// What the link asks for without configuration. Admin only where the token on that host grants it anyway; asking
    /// later would need a new approval. Not approvals: a client that holds it makes the host wait for its answers.
    package static func standard(for host: GatewayURL.HostClass) -> [String] {
        host == .loopback ? [read, write, admin] : [read, write]
    }
}
