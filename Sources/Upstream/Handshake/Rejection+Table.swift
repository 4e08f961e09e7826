package import Gateway
import JSONBytes

/// Maps each error answer to `connect`.
extension Rejection {
    package init(_ error: GatewayError, _ context: Context) {
        let code = error.detailsCode ?? error.code
        self = Self.known(code, error, context) ?? Self.byShape(code, error)
        // The gateway's own wait replaces our backoff, but a cap keeps it from stopping the link for good.
        if let wait = error.retryAfterMs {
            switch next {
            case .retry: next = .retryAfter(milliseconds: min(wait, 600_000))
            case .retryAfter(let own): next = .retryAfter(milliseconds: min(max(wait, own), 600_000))
            default: break
            }
        }
    }

    private static func known(_ code: String, _ error: GatewayError, _ context: Context) -> Rejection? {
        credentials(code, context, error) ?? approval(code, error) ?? device(code, error) ?? policy(code, error)
    }

    private static func credentials(_ code: String, _ context: Context, _ error: GatewayError) -> Rejection? {
        switch code {
        case "AUTH_TOKEN_MISSING":
            return Rejection(
                .refused,
                code,
                "The gateway wants its token and none is configured.",
                hint: Hint.token,
                next: .stop
            )
        case "AUTH_PASSWORD_MISSING":
            return Rejection(
                .refused,
                code,
                "The gateway wants its password and none is configured.",
                hint: Hint.password,
                next: .stop
            )
        case "AUTH_REQUIRED", "AUTH_UNAUTHORIZED":
            return Rejection(
                .refused,
                code,
                "The gateway did not accept the credentials.",
                hint: Hint.token,
                next: .stop
            )
        case "AUTH_TOKEN_MISMATCH":
            let invited =
                error.details?["canRetryWithDeviceToken"]?.bool == true
                || error.details?["recommendedNextStep"]?.string == "retry_with_device_token"
            if invited, context.hasStoredDeviceToken, !context.triedDeviceToken, context.isTrustedPath {
                let detail = "The configured token is not the gateway's; trying the stored device token once."
                return Rejection(.connecting, code, detail, hint: Hint.token, next: .retryWithDeviceToken)
            }
            // Older releases report a device token that fails on its own under the shared token's code.
            if context.sentDeviceToken, !context.hasSharedSecret {
                return Rejection(
                    .connecting,
                    code,
                    "The stored device token is no longer valid.",
                    hint: Hint.token,
                    next: .dropDeviceToken
                )
            }
            return Rejection(
                .refused,
                code,
                "The configured token is not the gateway's.",
                hint: Hint.token,
                next: .stop
            )
        case "AUTH_PASSWORD_MISMATCH":
            return Rejection(
                .refused,
                code,
                "The configured password is not the gateway's.",
                hint: Hint.password,
                next: .stop
            )
        case "AUTH_TOKEN_NOT_CONFIGURED", "AUTH_PASSWORD_NOT_CONFIGURED":
            return Rejection(
                .refused,
                code,
                "The gateway has no such credential configured.",
                hint: code == "AUTH_TOKEN_NOT_CONFIGURED" ? Hint.configureToken : Hint.configurePassword,
                next: .stop
            )
        case "AUTH_BOOTSTRAP_TOKEN_INVALID":
            return Rejection(
                .refused,
                code,
                "The set-up code is used up or expired.",
                hint: "openclaw qr  (a fresh set-up code)",
                next: .stop
            )
        case "AUTH_DEVICE_TOKEN_MISMATCH":
            guard context.sentDeviceToken || context.hasStoredDeviceToken else {
                return Rejection(
                    .refused,
                    code,
                    "The gateway does not know this device's token.",
                    hint: Hint.token,
                    next: .stop
                )
            }
            return Rejection(
                .connecting,
                code,
                "The stored device token is no longer valid.",
                hint: Hint.token,
                next: .dropDeviceToken
            )
        case "AUTH_RATE_LIMITED":
            let detail =
                "The gateway has locked this address out after failed attempts; it opens again in five minutes."
            return Rejection(.offline, code, detail, next: .retryAfter(milliseconds: rateLimitMs))
        default: return nil
        }
    }

    private static func approval(_ code: String, _ error: GatewayError) -> Rejection? {
        let request = error.details?["requestId"]?.string.flatMap { shellSafe($0) }
        switch code {
        case "PAIRING_REQUIRED":
            let detail =
                switch error.detailsReason {
                case "scope-upgrade": "This device asks for more than it was approved for."
                case "role-upgrade": "This device asks for a role it was not approved for."
                case "metadata-upgrade": "This device changed and must be approved again."
                default: "This device is not approved on the gateway yet."
                }
            return Rejection(
                .waitingForApproval,
                code,
                detail,
                hint: Hint.approve(request),
                requestId: request,
                next: .waitForApproval
            )
        case "AUTH_SCOPE_MISMATCH":
            let detail = "The stored device token covers less than is asked for; approve the larger request."
            return Rejection(
                .waitingForApproval,
                code,
                detail,
                hint: Hint.approve(request),
                requestId: request,
                next: .waitForApproval
            )
        case "NOT_PAIRED":
            return Rejection(
                .waitingForApproval,
                code,
                "The gateway wants this device approved.",
                hint: Hint.approve(request),
                requestId: request,
                next: .waitForApproval
            )
        default: return nil
        }
    }

    private static func device(_ code: String, _ error: GatewayError) -> Rejection? {
        switch code {
        case "DEVICE_IDENTITY_REQUIRED", "CONTROL_UI_DEVICE_IDENTITY_REQUIRED":
            return Rejection(
                .refused,
                code,
                "The gateway saw no device identity in the request, though Ladle sends one.",
                hint: Hint.log,
                next: .stop
            )
        case "DEVICE_AUTH_SIGNATURE_EXPIRED", "DEVICE_AUTH_NONCE_REQUIRED", "DEVICE_AUTH_NONCE_MISMATCH":
            // Only this connection's challenge is out of date; a new connection brings a new challenge.
            let detail = "The gateway found the signature out of date; something may delay the connection."
            return Rejection(.offline, code, detail, hint: Hint.log, next: .retryAfter(milliseconds: 10_000))
        case "DEVICE_AUTH_SIGNATURE_INVALID", "DEVICE_AUTH_PUBLIC_KEY_INVALID", "DEVICE_AUTH_DEVICE_ID_MISMATCH",
            "DEVICE_AUTH_INVALID":
            return Rejection(
                .refused,
                code,
                "The gateway did not accept this device's signature; a new key makes a new device.",
                hint: Hint.newKey,
                next: .stop
            )
        default: return nil
        }
    }

    private static func policy(_ code: String, _ error: GatewayError) -> Rejection? {
        if code == "PROTOCOL_MISMATCH" || (error.detailsCode == nil && error.details?["expectedProtocol"] != nil) {
            let expected = error.details?["expectedProtocol"]?.int.map { "protocol \($0)" } ?? "another protocol"
            return Rejection(
                .refused,
                "PROTOCOL_MISMATCH",
                "The gateway speaks \(expected), Ladle 3 and 4.",
                hint: Hint.upgrade,
                next: .stop
            )
        }
        switch code {
        case "CONTROL_UI_ORIGIN_NOT_ALLOWED":
            let detail = "The gateway saw an Origin header that Ladle does not send; a proxy in between adds it."
            return Rejection(.refused, code, detail, hint: "remove the Origin header in the proxy", next: .stop)
        case "OPERATOR_ACCESS_DENIED":
            let detail = "The gateway does not admit this operator for now."
            return Rejection(.offline, code, detail, hint: Hint.devices, next: .retryAfter(milliseconds: slowMs))
        case "AUTH_IDENTITY_HEADER_REQUIRED":
            let detail = "The gateway expects an identity from a trusted proxy."
            return Rejection(.refused, code, detail, hint: "openclaw config get gateway.auth.mode", next: .stop)
        default: return nil
        }
    }

    /// Codes that are not in the table: decided by the code's family, then by the other fields of the frame.
    private static func byShape(_ code: String, _ error: GatewayError) -> Rejection {
        let said = "The gateway said: \(sentence(error.message))"
        if code.hasPrefix("AUTH_TAILSCALE_") {
            return Rejection(.refused, code, said, hint: "openclaw config get gateway.auth", next: .stop)
        }
        if code.hasPrefix("AUTH_") {
            let hint = code.hasSuffix("_NOT_CONFIGURED") ? Hint.configureToken : "openclaw config get gateway.auth"
            return Rejection(.refused, code, said, hint: hint, next: .stop)
        }
        if code.hasPrefix("DEVICE_AUTH_") {
            return Rejection(.refused, code, said, hint: Hint.log, next: .stop)
        }
        if error.code == "UNAVAILABLE" || error.retryable == true {
            let starting = error.detailsReason == "startup-sidecars"
            let detail = starting ? "The gateway is starting." : said
            let next: Next = starting ? .retryAfter(milliseconds: 500) : .retry
            return Rejection(.offline, error.detailsCode ?? (starting ? "GATEWAY_STARTING" : code), detail, next: next)
        }
        if error.message.hasPrefix("invalid connect params") || error.message.hasPrefix("invalid role") {
            return Rejection(.refused, code, said, hint: Hint.upgrade, next: .stop)
        }
        if error.message.hasPrefix("origin not allowed") {
            return Rejection(.refused, code, said, hint: "remove the Origin header in the proxy", next: .stop)
        }
        // Unknown refusals are retried slowly, because an upgraded gateway may accept the link later.
        return Rejection(.offline, code, said, hint: Hint.log, next: .retryAfter(milliseconds: slowMs))
    }

    /// One line of bounded length for display.
    static func sentence(_ text: String) -> String {
        let printable = text.unicodeScalars.prefix(300).map { $0.properties.generalCategory == .control ? " " : $0 }
        return String(String.UnicodeScalarView(printable))
    }

    /// An ID that is safe in a command a user will paste into a shell; nil for any other.
    static func shellSafe(_ id: String) -> String? {
        let allowed = id.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        return allowed && !id.isEmpty && id.utf8.count <= 128 && !id.hasPrefix("-") ? id : nil
    }
}
