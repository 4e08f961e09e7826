import Basics
package import Gateway
package import Observability
package import WebSocket

/// The reason why there is no link: the explanation for the user, and the link's next step. Made from each error answer
/// to `connect`, each close frame and each failure of a connection.
package struct Rejection: Sendable, Equatable {
    package enum Next: Sendable, Equatable {
        /// Retry with the usual backoff, as after a dropped connection.
        case retry
        /// Retry no earlier than this, because a user or the gateway needs time to change something.
        case retryAfter(milliseconds: Int64)
        /// Retry at the interval for pending approvals.
        case waitForApproval
        /// Do not retry: only a changed configuration helps.
        case stop
        /// Retry once, now, with the stored device token beside the shared secret.
        case retryWithDeviceToken
        /// The stored device token is void: delete it and retry now without it.
        case dropDeviceToken
    }

    /// The secrets that the attempt carried, because the reaction depends on them.
    package struct Context: Sendable {
        var hasSharedSecret: Bool
        var sentDeviceToken = false
        var hasStoredDeviceToken = false
        var triedDeviceToken = false
        /// True for loopback and for TLS with a pin. Only on such a path may a second secret follow a refused one.
        var isTrustedPath = false
    }

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

    package var state: LinkState
    package var code: String
    package var detail: String
    package var hint: String?
    package var requestId: String?
    package var next: Next

    package init(
        _ state: LinkState,
        _ code: String,
        _ detail: String,
        hint: String? = nil,
        requestId: String? = nil,
        next: Next
    ) {
        self.state = state
        self.code = code
        self.detail = detail
        self.hint = hint
        self.requestId = requestId
        self.next = next
    }

    private static func refused(_ code: String, _ detail: String, hint: String) -> Rejection {
        Rejection(.refused, code, detail, hint: hint, next: .stop)
    }

    private static func offline(
        _ code: String,
        _ detail: String,
        hint: String? = nil,
        next: Next = .retry
    ) -> Rejection {
        Rejection(.offline, code, detail, hint: hint, next: next)
    }

    private static func pending(_ code: String, _ detail: String, requestId: String?) -> Rejection {
        let hint = requestId.map { "openclaw devices approve \($0)" } ?? Hint.devices
        return Rejection(.waitingForApproval, code, detail, hint: hint, requestId: requestId, next: .waitForApproval)
    }

    /// The gateway locks a peer out for five minutes; an earlier attempt starts the five minutes again.
    /// Answers of a proxy that wants to know who comes.
    private static let signInStatuses: Set<Int> = [301, 302, 303, 307, 308, 401, 403]
    private static let rateLimitMs: Int64 = 300_000
    /// The next attempt when a person must change something elsewhere first.
    private static let slowMs: Int64 = 60_000
    /// The next attempt when something other than a gateway answers at the address.
    private static let strangerMs: Int64 = 30_000
    /// A starting gateway names this time until it is ready.
    private static let startingMs: Int64 = 500
    /// A gateway refuses connections for some seconds while it starts or stops.
    private static let restartingMs: Int64 = 2_000
    /// The next attempt after too many; the answer seldom names a time.
    private static let throttledMs: Int64 = 5_000
    /// The longest wait that a gateway or a proxy may ask for: a mistake there does not stop the link for good.
    private static let longestAskedMs: Int64 = 600_000

    /// The commands that hints suggest, in one place.
    private enum Hint {
        static let token = "openclaw config get gateway.auth.token  (then: ladle serve --token-file FILE)"
        static let newToken = "openclaw config get gateway.auth.token  (for the token file; \(reading))"
        static let password = "openclaw config get gateway.auth.password  (then: ladle serve --password-file FILE)"
        static let newPassword = "openclaw config get gateway.auth.password  (for the password file; \(reading))"
        /// A running `ladle serve` needs no restart for a changed file.
        private static let reading = "Ladle reads it within 30 s, or at once: pkill -HUP -f 'ladle serve'"
        static let configureToken = "openclaw config set gateway.auth.token TOKEN"
        static let configurePassword = "openclaw config set gateway.auth.password PASSWORD"
        static let authentication = "openclaw config get gateway.auth"
        static let newKey = "mv device-key device-key.old in Ladle's state directory, then: ladle serve"
        /// Used if only the gateway's log explains its answer.
        static let log = "openclaw logs --follow  (on the gateway's host)"
        static let upgrade = "update OpenClaw on the gateway's host, or Ladle here, so that both speak one protocol"
        static let devices = "openclaw devices list"
        static let roles = "openclaw config get gateway.roles  (on the gateway's host)"
        static let proxy = "ladle serve --gateway URL  (an address of the gateway that does not lead through the proxy)"
        static let origin = "remove the Origin header in the proxy"

        static func reach(_ url: GatewayURL) -> String {
            "openclaw gateway status" + (url.hostClass == .loopback ? "" : "  (on \(url.host))")
        }

        /// A command that any gateway answers without authorization.
        static func probe(_ url: GatewayURL) -> String {
            "curl \(url.isTLS ? "-k https" : "http")://\(url.hostField)/healthz"
        }
    }

    // MARK: An error answer to connect

    package init(_ error: GatewayError, _ context: Context) {
        let code = error.detailsCode ?? error.code
        self =
            Self.credentials(code, error, context) ?? Self.approval(code, error) ?? Self.device(code)
            ?? Self.policy(code, error) ?? Self.unknown(code, error)
        // The gateway's own wait replaces our backoff.
        if let wait = error.retryAfterMs {
            switch next {
            case .retry: next = .retryAfter(milliseconds: min(wait, Self.longestAskedMs))
            case .retryAfter(let own): next = .retryAfter(milliseconds: min(max(wait, own), Self.longestAskedMs))
            default: break
            }
        }
    }

    private static func credentials(_ code: String, _ error: GatewayError, _ context: Context) -> Rejection? {
        switch code {
        case "AUTH_TOKEN_MISSING":
            return refused(code, "The gateway wants its token and none is configured.", hint: Hint.token)
        case "AUTH_PASSWORD_MISSING":
            return refused(code, "The gateway wants its password and none is configured.", hint: Hint.password)
        case "AUTH_REQUIRED", "AUTH_UNAUTHORIZED":
            return refused(code, "The gateway did not accept the credentials.", hint: Hint.newToken)
        case "AUTH_TOKEN_MISMATCH":
            if error.invitesDeviceToken, context.hasStoredDeviceToken, !context.triedDeviceToken,
                context.isTrustedPath
            {
                let detail = "The configured token is not the gateway's; trying the stored device token once."
                return Rejection(.connecting, code, detail, hint: Hint.token, next: .retryWithDeviceToken)
            }
            // Older releases report a device token that fails on its own under the shared token's code.
            if context.sentDeviceToken, !context.hasSharedSecret { return voidDeviceToken(code) }
            return refused(code, "The configured token is not the gateway's.", hint: Hint.newToken)
        case "AUTH_PASSWORD_MISMATCH":
            return refused(code, "The configured password is not the gateway's.", hint: Hint.newPassword)
        case "AUTH_TOKEN_NOT_CONFIGURED":
            return refused(code, "The gateway has no token configured.", hint: Hint.configureToken)
        case "AUTH_PASSWORD_NOT_CONFIGURED":
            return refused(code, "The gateway has no password configured.", hint: Hint.configurePassword)
        case "AUTH_BOOTSTRAP_TOKEN_INVALID":
            return refused(code, "The set-up code is used up or expired.", hint: "openclaw qr  (a fresh set-up code)")
        case "AUTH_DEVICE_TOKEN_MISMATCH":
            if context.sentDeviceToken || context.hasStoredDeviceToken { return voidDeviceToken(code) }
            return refused(code, "The gateway does not know this device's token.", hint: Hint.token)
        case "AUTH_RATE_LIMITED":
            let wait = error.retryAfterMs ?? rateLimitMs
            let minutes = max(1, (wait + 59_999) / 60_000)
            let detail =
                "The gateway has locked this address out after failed attempts; it opens again in \(minutes) min."
            return offline(code, detail, next: .retryAfter(milliseconds: wait))
        default: return nil
        }
    }

    private static func voidDeviceToken(_ code: String) -> Rejection {
        let detail = "The stored device token is no longer valid."
        return Rejection(.connecting, code, detail, hint: Hint.token, next: .dropDeviceToken)
    }

    private static func approval(_ code: String, _ error: GatewayError) -> Rejection? {
        let request = error.pairingRequestId.flatMap { shellSafe($0) }
        switch code {
        case "PAIRING_REQUIRED":
            let detail =
                switch error.detailsReason {
                case "scope-upgrade": "This device asks for more than it was approved for."
                case "role-upgrade": "This device asks for a role it was not approved for."
                case "metadata-upgrade": "This device changed and must be approved again."
                default: "This device is not approved on the gateway yet."
                }
            return pending(code, detail, requestId: request)
        case "AUTH_SCOPE_MISMATCH":
            let detail = "The stored device token covers less than is asked for; approve the larger request."
            return pending(code, detail, requestId: request)
        case "NOT_PAIRED":
            return pending(code, "The gateway wants this device approved.", requestId: request)
        default: return nil
        }
    }

    private static func device(_ code: String) -> Rejection? {
        switch code {
        case "DEVICE_IDENTITY_REQUIRED", "CONTROL_UI_DEVICE_IDENTITY_REQUIRED":
            let detail = "The gateway saw no device identity in the request, though Ladle sends one."
            return refused(code, detail, hint: Hint.log)
        case "DEVICE_AUTH_SIGNATURE_EXPIRED", "DEVICE_AUTH_NONCE_REQUIRED", "DEVICE_AUTH_NONCE_MISMATCH":
            // Only this connection's challenge is out of date; a new connection brings a new challenge.
            let detail = "The gateway found the signature out of date; something may delay the connection."
            return offline(code, detail, hint: Hint.log, next: .retryAfter(milliseconds: 10_000))
        case "DEVICE_AUTH_SIGNATURE_INVALID", "DEVICE_AUTH_PUBLIC_KEY_INVALID", "DEVICE_AUTH_DEVICE_ID_MISMATCH",
            "DEVICE_AUTH_INVALID":
            let detail = "The gateway did not accept this device's signature; a new key makes a new device."
            return refused(code, detail, hint: Hint.newKey)
        default: return nil
        }
    }

    private static func policy(_ code: String, _ error: GatewayError) -> Rejection? {
        if code == "PROTOCOL_MISMATCH" || (error.detailsCode == nil && error.namesProtocol) {
            let expected = error.expectedProtocol.map { "protocol \($0)" } ?? "another protocol"
            return refused("PROTOCOL_MISMATCH", "The gateway speaks \(expected), Ladle 3 and 4.", hint: Hint.upgrade)
        }
        switch code {
        case "CONTROL_UI_ORIGIN_NOT_ALLOWED":
            let detail = "The gateway saw an Origin header that Ladle does not send; a proxy in between adds it."
            return refused(code, detail, hint: Hint.origin)
        case "AUTH_VERIFIED_USER_REQUIRED":
            let detail =
                "The gateway has named roles and wants to know which person signs in; a device's token does not say."
            return refused(code, detail, hint: Hint.token)
        case "OPERATOR_ACCESS_DENIED":
            let detail = "The gateway does not admit this operator for now."
            return offline(code, detail, hint: Hint.roles, next: .retryAfter(milliseconds: slowMs))
        case "AUTH_IDENTITY_HEADER_REQUIRED":
            let detail = "The gateway expects an identity from a trusted proxy."
            return refused(code, detail, hint: "openclaw config get gateway.auth.mode")
        default: return nil
        }
    }

    /// Codes without a rule of their own, judged by the code's family, then by the other fields of the frame.
    private static func unknown(_ code: String, _ error: GatewayError) -> Rejection {
        let said = "The gateway said: \(sentence(error.message))"
        if code.hasPrefix("AUTH_") {
            let isUnconfigured = code.hasSuffix("_NOT_CONFIGURED") && !code.hasPrefix("AUTH_TAILSCALE_")
            return refused(code, said, hint: isUnconfigured ? Hint.configureToken : Hint.authentication)
        }
        if code.hasPrefix("DEVICE_AUTH_") { return refused(code, said, hint: Hint.log) }
        if error.isStartingUp, error.code == "UNAVAILABLE" || error.retryable == true {
            let next = Next.retryAfter(milliseconds: startingMs)
            return offline(error.detailsCode ?? "GATEWAY_STARTING", "The gateway is starting.", next: next)
        }
        if error.isSuspending {
            let isStopping = error.detailsReason == "gateway-restarting"
            let detail =
                isStopping
                ? "The gateway ends its work before it stops or restarts." : "The gateway's host suspends it."
            return offline(isStopping ? "GATEWAY_RESTARTING" : "GATEWAY_SUSPENDING", detail)
        }
        if error.code == "UNAVAILABLE" || error.retryable == true { return offline(code, said) }
        if error.message.hasPrefix("invalid connect params") || error.message.hasPrefix("invalid role") {
            return refused(code, said, hint: Hint.upgrade)
        }
        if error.message.hasPrefix("origin not allowed") { return refused(code, said, hint: Hint.origin) }
        // Unknown refusals are retried slowly, because an upgraded gateway may accept the link later.
        return offline(code, said, hint: Hint.log, next: .retryAfter(milliseconds: slowMs))
    }

    // MARK: A close frame

    /// A close frame without an error answer before it. `online` is true if it ended a working link.
    package init(_ close: WebSocketClose, online: Bool) {
        let said = close.reason.isEmpty ? "" : " (\(Self.sentence(close.reason)))"
        switch close.code {
        case WebSocketClose.protocolError where close.reason.contains("protocol mismatch"):
            let detail = "The gateway speaks another protocol."
            self = Self.refused("PROTOCOL_MISMATCH", detail, hint: Hint.upgrade)
        case WebSocketClose.policyViolation: self = Self.policyViolation(close.reason)
        case WebSocketClose.tooBig: self = Self.offline("FRAME_TOO_BIG", "The gateway found a frame too big\(said).")
        case WebSocketClose.serviceRestart: self = .restarting
        case WebSocketClose.tryAgainLater:
            let next = Next.retryAfter(milliseconds: Self.startingMs)
            self = Self.offline("GATEWAY_STARTING", "The gateway is starting.", next: next)
        case 4001: self = Self.invalidated(close.reason, said)
        default:
            let ended = online ? "The connection to the gateway ended" : "The gateway closed the handshake"
            self = Self.offline("LINK_DROPPED", "\(ended)\(said).")
        }
    }

    /// The gateway ended what this connection was allowed. Only words about the device or its token make the stored token void.
    private static func invalidated(_ reason: String, _ said: String) -> Rejection {
        if reason.hasPrefix("gateway auth changed") {
            return offline("GATEWAY_AUTH_CHANGED", "The gateway's secret or its way of signing in changed.")
        }
        if reason.containsText("role") {
            return offline("OPERATOR_ROLE_CHANGED", "The gateway changed this operator's role\(said).")
        }
        if reason.containsText("access denied") {
            let detail = "The gateway does not admit this operator for now\(said)."
            return offline("OPERATOR_ACCESS_DENIED", detail, hint: Hint.roles, next: .retryAfter(milliseconds: slowMs))
        }
        if reason.containsText("authority closed") {
            return offline("LINK_DROPPED", "The connection to the gateway ended\(said).")
        }
        let detail = "The gateway removed or revoked this device\(said)."
        return offline("DEVICE_REMOVED", detail, hint: Hint.devices, next: .dropDeviceToken)
    }

    /// The gateway cuts the reason to 120 bytes. An error answer before the close frame, if there was one, says more.
    private static func policyViolation(_ reason: String) -> Rejection {
        let said = "The gateway said: \(sentence(reason))"
        if reason.hasPrefix("pairing required") || reason.hasPrefix("device identity changed") {
            // A truncated id is useless: a complete one is a UUID, or ends before the text does.
            let request = reason.firstRange(of: "requestId: ").flatMap { range -> String? in
                let rest = reason[range.upperBound...]
                let id = shellSafe(String(rest.prefix { $0 != ")" }))
                return rest.contains(")") || id?.utf8.count == 36 ? id : nil
            }
            return pending("PAIRING_REQUIRED", said, requestId: request)
        }
        if reason.hasPrefix("unauthorized") || reason.hasPrefix("origin not allowed") {
            return refused("UNAUTHORIZED", said, hint: Hint.newToken)
        }
        if reason.hasPrefix("invalid connect params") || reason.hasPrefix("invalid role") {
            return refused("INVALID_REQUEST", said, hint: Hint.upgrade)
        }
        if reason.hasPrefix("slow consumer") {
            return offline("SLOW_CONSUMER", "Ladle read too slowly for the gateway.")
        }
        return offline("POLICY_VIOLATION", said, next: .retryAfter(milliseconds: strangerMs))
    }

    // MARK: A failure of the connection

    package init(_ failure: TransportFailure, url: GatewayURL) {
        let place = "\(url.host):\(url.port)"
        switch failure {
        case .unreachable(let reason):
            let detail = "\(place) does not answer (\(Self.sentence(reason)))."
            self = Self.offline("GATEWAY_UNREACHABLE", detail, hint: Hint.reach(url))
        case .nameNotFound(let reason):
            let detail = "The name \(url.host) cannot be looked up (\(Self.sentence(reason)))."
            self = Self.offline("GATEWAY_NAME_NOT_FOUND", detail, hint: "getent hosts \(url.host)")
        case .timedOut:
            self = Self.offline("GATEWAY_TIMEOUT", "\(place) did not answer in time.", hint: Hint.reach(url))
        case .certificateNotTrusted(let reason):
            let detail = "The gateway's certificate is not trusted (\(Self.sentence(reason)))."
            let hint = "ladle serve --gateway-pin SHA256  (of the certificate, as the gateway's host shows it)"
            // A renewed certificate fixes this without any action here. No secret is sent before the certificate is
            // trusted.
            self.init(.refused, "TLS_NOT_TRUSTED", detail, hint: hint, next: .retryAfter(milliseconds: Self.slowMs))
        case .pinMismatch(let seen):
            let hint = "ladle serve --gateway-pin \(seen ?? "SHA256")  (only if you changed the certificate)"
            self = Self.refused("TLS_PIN_MISMATCH", "The gateway's certificate is not the pinned one.", hint: hint)
        case .tls(let reason):
            let hint = "use ws:// if the gateway has no TLS (gateway.tls.enabled)"
            self = Self.offline("TLS_FAILED", "TLS failed: \(Self.sentence(reason)).", hint: hint)
        case .handshake(.refused(503, let retryAfter)):
            // A starting or stopping gateway answers like this. A proxy in front of it may name a time.
            let detail = "The gateway is restarting: it takes no connections for the moment (HTTP 503)."
            let next = Next.retryAfter(milliseconds: Self.asked(retryAfter, else: Self.restartingMs))
            self = Self.offline("GATEWAY_RESTARTING", detail, next: next)
        case .handshake(.refused(429, let retryAfter)):
            let next = Next.retryAfter(milliseconds: Self.asked(retryAfter, else: Self.throttledMs))
            self = Self.offline("UPGRADE_REFUSED", "The gateway's host answered HTTP 429.", next: next)
        case .handshake(.refused(let status, _)) where Self.signInStatuses.contains(status):
            let detail = "A proxy in front of the gateway asks for a sign-in (HTTP \(status))."
            let next = Next.retryAfter(milliseconds: Self.slowMs)
            self = Self.offline("PROXY_SIGN_IN", detail, hint: Hint.proxy, next: next)
        case .handshake(.refused(let status, _)):
            let detail = "\(url) answered HTTP \(status); is an OpenClaw gateway listening there?"
            self = Self.stranger("UPGRADE_REFUSED", detail, url)
        case .handshake:
            let detail = "\(url) does not speak WebSocket; is an OpenClaw gateway listening there?"
            self = Self.stranger("NOT_A_GATEWAY", detail, url)
        case .dropped:
            self = Self.offline("LINK_DROPPED", "The gateway closed the connection before it was ready.")
        }
    }

    private static func asked(_ seconds: Int?, else own: Int64) -> Int64 {
        seconds.map { min(max(Int64($0), 1), longestAskedMs / 1_000) * 1_000 } ?? own
    }

    /// A WebSocket server that does not speak the gateway's protocol.
    static func notAGateway(_ url: GatewayURL, _ reason: String) -> Rejection {
        let detail = "The server at \(url) is no gateway that Ladle understands: \(reason)."
        return stranger("NOT_A_GATEWAY", detail, url)
    }

    private static func stranger(_ code: String, _ detail: String, _ url: GatewayURL) -> Rejection {
        offline(code, detail, hint: Hint.probe(url), next: .retryAfter(milliseconds: strangerMs))
    }

    static let restarting = offline("GATEWAY_RESTARTING", "The gateway is restarting.")
    static let lost = offline("LINK_LOST", "The connection to the gateway was lost.")
    static let silent = offline("TICK_TIMEOUT", "The gateway fell silent.")
    static let unfinishedMessage = offline("LINK_STALLED", "The gateway stopped in the middle of a message.")
    static let unreadRequests = offline("LINK_STALLED", "The gateway stopped reading.")
    static let brokenFrames = offline("PROTOCOL_ERROR", "The gateway sent broken WebSocket frames.")
    static let unusableKey = refused(
        "DEVICE_KEY_UNUSABLE",
        "This device's key could not sign the gateway's challenge.",
        hint: Hint.newKey
    )

    // MARK: A configuration that cannot work

    package init(_ problem: GatewayURL.Problem) {
        switch problem {
        case .malformed(let text):
            let detail = "\(Self.sentence(text)) is no gateway URL."
            self = Self.refused("GATEWAY_URL_INVALID", detail, hint: "ws://HOST:18789")
        case .unsupportedScheme(let scheme):
            let detail = "\(Self.sentence(scheme)):// is not supported."
            self = Self.refused("GATEWAY_URL_INVALID", detail, hint: "ws:// or wss://")
        case .carriesCredentials:
            let detail = "The gateway URL carries a user, a query or a fragment; secrets do not belong there."
            self = Self.refused("GATEWAY_URL_INVALID", detail, hint: "--token-file FILE")
        case .malformedPin:
            self.init(.refused, "GATEWAY_PIN_INVALID", "A pin is a SHA-256 of 64 hex digits.", next: .stop)
        case .pinWithoutTLS:
            let detail = "A pinned certificate needs wss://; with ws:// nothing would check it."
            self = Self.refused("GATEWAY_PIN_INVALID", detail, hint: "wss://HOST:18789")
        case .plaintextRefused(let host):
            let detail = "\(host) is neither this host nor in the tailnet; ws:// would send the token unencrypted."
            let hint = "use wss://\(host), a tailnet address, or gateway.allowPlaintext=true"
            self = Self.refused("PLAINTEXT_REFUSED", detail, hint: hint)
        }
    }

    // MARK: Text from outside

    /// One line of bounded length for display.
    private static func sentence(_ text: String) -> String {
        let printable = text.unicodeScalars.prefix(300).map { $0.properties.generalCategory == .control ? " " : $0 }
        return String(String.UnicodeScalarView(printable))
    }

    /// An ID that is safe in a command a user will paste into a shell; nil for any other.
    static func shellSafe(_ id: String) -> String? {
        let allowed = id.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
                UInt8(ascii: ":"):
                true
            default: false
            }
        }
        return allowed && !id.isEmpty && id.utf8.count <= 128 && !id.hasPrefix("-") ? id : nil
    }
}
