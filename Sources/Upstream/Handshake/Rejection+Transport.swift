package import WebSocket

/// Connections that end without an error answer: sockets, TLS, the upgrade, close frames.
extension Rejection {
    /// A failure before the WebSocket was open.
    package enum TransportFailure: Sendable, Equatable {
        case unreachable(String)
        case nameNotFound(String)
        case timedOut
        case certificateNotTrusted(String)
        /// `seen` is the fingerprint of the leaf certificate in lower-case hex.
        case pinMismatch(seen: String?)
        case tls(String)
        case handshake(HandshakeError)
        /// The connection was closed or lost without a close frame.
        case dropped
    }

    package init(_ failure: TransportFailure, url: GatewayURL) {
        switch failure {
        case .unreachable(let reason):
            let detail = "\(url.host):\(url.port) does not answer (\(Self.sentence(reason)))."
            self.init(.offline, "GATEWAY_UNREACHABLE", detail, hint: Self.reachHint(url), next: .retry)
        case .nameNotFound(let reason):
            let detail = "The name \(url.host) cannot be looked up (\(Self.sentence(reason)))."
            self.init(.offline, "GATEWAY_NAME_NOT_FOUND", detail, hint: "getent hosts \(url.host)", next: .retry)
        case .timedOut:
            let detail = "\(url.host):\(url.port) did not answer in time."
            self.init(.offline, "GATEWAY_TIMEOUT", detail, hint: Self.reachHint(url), next: .retry)
        case .certificateNotTrusted(let reason):
            let detail = "The gateway's certificate is not trusted (\(Self.sentence(reason)))."
            let hint = "ladle serve --gateway-pin SHA256  (of the certificate, as the gateway's host shows it)"
            // A renewed certificate fixes this without any action here. No secret is sent before the certificate is
            // trusted.
            self.init(.refused, "TLS_NOT_TRUSTED", detail, hint: hint, next: .retryAfter(milliseconds: Self.slowMs))
        case .pinMismatch(let seen):
            let detail = "The gateway's certificate is not the pinned one."
            let hint = "ladle serve --gateway-pin \(seen ?? "SHA256")  (only if you changed the certificate)"
            self.init(.refused, "TLS_PIN_MISMATCH", detail, hint: hint, next: .stop)
        case .tls(let reason):
            let hint = "use ws:// if the gateway has no TLS (gateway.tls.enabled)"
            self.init(.offline, "TLS_FAILED", "TLS failed: \(Self.sentence(reason)).", hint: hint, next: .retry)
        case .handshake(let error): self.init(error, url: url)
        case .dropped:
            self.init(.offline, "LINK_DROPPED", "The gateway closed the connection before it was ready.", next: .retry)
        }
    }

    private init(_ error: HandshakeError, url: GatewayURL) {
        switch error {
        case .refused(let status, let retryAfter) where status == 503 || status == 429:
            let wait = Int64(min(max(retryAfter ?? 5, 1), 600)) * 1_000
            let detail = "The gateway's host answered HTTP \(status)."
            self.init(.offline, "UPGRADE_REFUSED", detail, next: .retryAfter(milliseconds: wait))
        case .refused(let status, _):
            let detail = "\(url) answered HTTP \(status); is an OpenClaw gateway listening there?"
            self.init(
                .offline,
                "UPGRADE_REFUSED",
                detail,
                hint: Self.probeHint(url),
                next: .retryAfter(milliseconds: 30_000)
            )
        default:
            let detail = "\(url) does not speak WebSocket; is an OpenClaw gateway listening there?"
            self.init(
                .offline,
                "NOT_A_GATEWAY",
                detail,
                hint: Self.probeHint(url),
                next: .retryAfter(milliseconds: 30_000)
            )
        }
    }

    /// A close frame without an error answer before it. `online` is true if it ended a working link.
    package init(_ close: WebSocketClose, online: Bool) {
        let said = close.reason.isEmpty ? "" : " (\(Self.sentence(close.reason)))"
        switch close.code {
        case WebSocketClose.protocolError where close.reason.contains("protocol mismatch"):
            self.init(
                .refused,
                "PROTOCOL_MISMATCH",
                "The gateway speaks another protocol.",
                hint: Hint.upgrade,
                next: .stop
            )
        case WebSocketClose.policyViolation:
            self = Self.policyViolation(close.reason)
        case WebSocketClose.tooBig:
            let detail = "The gateway found a frame too big\(said)."
            self.init(.offline, "FRAME_TOO_BIG", detail, next: .retry)
        case WebSocketClose.serviceRestart:
            self.init(.offline, "GATEWAY_RESTARTING", "The gateway is restarting.", next: .retry)
        case WebSocketClose.tryAgainLater:
            self.init(.offline, "GATEWAY_STARTING", "The gateway is starting.", next: .retryAfter(milliseconds: 500))
        case 4001:
            let detail = "The gateway removed or revoked this device\(said)."
            self.init(.offline, "DEVICE_REMOVED", detail, hint: Hint.devices, next: .dropDeviceToken)
        default:
            let detail =
                online ? "The connection to the gateway ended\(said)." : "The gateway closed the handshake\(said)."
            self.init(.offline, "LINK_DROPPED", detail, next: .retry)
        }
    }

    /// The gateway cuts the reason to 120 bytes. An error answer before the close frame, if there was one, says more.
    private static func policyViolation(_ reason: String) -> Rejection {
        let said = "The gateway said: \(sentence(reason))"
        if reason.hasPrefix("pairing required") || reason.hasPrefix("device identity changed") {
            let request = reason.firstRange(of: "requestId: ").flatMap { range in
                shellSafe(String(reason[range.upperBound...].prefix { $0 != ")" }))
            }
            // A truncated ID is useless, so only a complete UUID is offered.
            let whole = request.flatMap { $0.utf8.count == 36 ? $0 : nil }
            return Rejection(
                .waitingForApproval,
                "PAIRING_REQUIRED",
                said,
                hint: Hint.approve(whole),
                requestId: whole,
                next: .waitForApproval
            )
        }
        if reason.hasPrefix("unauthorized") || reason.hasPrefix("origin not allowed") {
            return Rejection(.refused, "UNAUTHORIZED", said, hint: Hint.token, next: .stop)
        }
        if reason.hasPrefix("invalid connect params") || reason.hasPrefix("invalid role") {
            return Rejection(.refused, "INVALID_REQUEST", said, hint: Hint.upgrade, next: .stop)
        }
        if reason.hasPrefix("slow consumer") {
            return Rejection(.offline, "SLOW_CONSUMER", "Ladle read too slowly for the gateway.", next: .retry)
        }
        return Rejection(.offline, "POLICY_VIOLATION", said, next: .retryAfter(milliseconds: 30_000))
    }

    private static func reachHint(_ url: GatewayURL) -> String {
        "openclaw gateway status" + (url.hostClass == .loopback ? "" : "  (on \(url.host))")
    }

    /// A command that any gateway answers without authorization.
    static func probeHint(_ url: GatewayURL) -> String {
        "curl \(url.isTLS ? "-k https" : "http")://\(url.hostField)/healthz"
    }
}
