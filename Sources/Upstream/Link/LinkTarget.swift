import Observability

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

    package init(_ problem: GatewayURL.Problem, url: String) {
        self = .none(Rejection(problem), url: url)
    }
}
