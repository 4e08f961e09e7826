/// A rejection of the handshake: one row of the protocol's table of rejections.
package struct Refusal: Sendable, Equatable {
    package var code: String
    var errorCode: String
    var message: String
    /// `details.reason` for device checks, `details.authReason` for secrets.
    var reason: String?
    var nextStep: String?
    var closeCode: UInt16 = 1008
    var retryAfterMs: Int?

    private init(
        _ code: String,
        _ message: String,
        errorCode: String = "INVALID_REQUEST",
        reason: String? = nil,
        nextStep: String? = nil,
        closeCode: UInt16 = 1008,
        retryAfterMs: Int? = nil
    ) {
        self.code = code
        self.errorCode = errorCode
        self.message = message
        self.reason = reason
        self.nextStep = nextStep
        self.closeCode = closeCode
        self.retryAfterMs = retryAfterMs
    }

    package init?(code: String) {
        guard let found = Refusal.table.first(where: { $0.code == code }) else { return nil }
        self = found
    }

    package static var allCodes: [String] { table.map(\.code) }

    static let tokenMissing = Refusal(
        "AUTH_TOKEN_MISSING",
        "unauthorized: gateway token missing (provide gateway auth token)",
        reason: "token_missing",
        nextStep: "update_auth_configuration"
    )
    static let tokenMismatch = Refusal(
        "AUTH_TOKEN_MISMATCH",
        "unauthorized: gateway token mismatch (provide gateway auth token)",
        reason: "token_mismatch",
        nextStep: "update_auth_credentials"
    )
    static let passwordMissing = Refusal(
        "AUTH_PASSWORD_MISSING",
        "unauthorized: gateway password missing (provide gateway auth password)",
        reason: "password_missing",
        nextStep: "update_auth_configuration"
    )
    static let passwordMismatch = Refusal(
        "AUTH_PASSWORD_MISMATCH",
        "unauthorized: gateway password mismatch (provide gateway auth password)",
        reason: "password_mismatch",
        nextStep: "update_auth_credentials"
    )
    static let deviceTokenMismatch = Refusal(
        "AUTH_DEVICE_TOKEN_MISMATCH",
        "unauthorized: device token mismatch (rotate/reissue device token)",
        reason: "device_token_mismatch",
        nextStep: "update_auth_credentials"
    )
    static let identityRequired = Refusal(
        "DEVICE_IDENTITY_REQUIRED",
        "device identity required",
        errorCode: "NOT_PAIRED"
    )
    static let controlUIIdentityRequired = Refusal(
        "CONTROL_UI_DEVICE_IDENTITY_REQUIRED",
        "control ui requires device identity (use HTTPS or localhost secure context)"
    )
    static let originNotAllowed = Refusal(
        "CONTROL_UI_ORIGIN_NOT_ALLOWED",
        "origin not allowed (open the Control UI from the gateway host or allow it in gateway.controlUi.allowedOrigins)",
        reason: "origin not allowed"
    )
    static let deviceIDMismatch = Refusal(
        "DEVICE_AUTH_DEVICE_ID_MISMATCH",
        "device identity mismatch",
        reason: "device-id-mismatch"
    )
    static let signatureExpired = Refusal(
        "DEVICE_AUTH_SIGNATURE_EXPIRED",
        "device signature expired",
        reason: "device-signature-stale"
    )
    static let nonceRequired = Refusal(
        "DEVICE_AUTH_NONCE_REQUIRED",
        "device nonce required",
        reason: "device-nonce-missing"
    )
    static let nonceMismatch = Refusal(
        "DEVICE_AUTH_NONCE_MISMATCH",
        "device nonce mismatch",
        reason: "device-nonce-mismatch"
    )
    static let signatureInvalid = Refusal(
        "DEVICE_AUTH_SIGNATURE_INVALID",
        "device signature invalid",
        reason: "device-signature"
    )
    static let publicKeyInvalid = Refusal(
        "DEVICE_AUTH_PUBLIC_KEY_INVALID",
        "device public key invalid",
        reason: "device-public-key"
    )
    static let pairingRequired = Refusal("PAIRING_REQUIRED", "pairing required", errorCode: "NOT_PAIRED")
    static let protocolMismatch = Refusal("PROTOCOL_MISMATCH", "protocol mismatch", closeCode: 1002)
    static let scopeMismatch = Refusal(
        "AUTH_SCOPE_MISMATCH",
        "unauthorized: device token scope mismatch",
        reason: "scope_mismatch",
        nextStep: "review_auth_configuration"
    )

    private static let table: [Refusal] = [
        tokenMissing, tokenMismatch, passwordMissing, passwordMismatch, deviceTokenMismatch, scopeMismatch,
        identityRequired, controlUIIdentityRequired, originNotAllowed, deviceIDMismatch, signatureExpired,
        nonceRequired, nonceMismatch, signatureInvalid, publicKeyInvalid, pairingRequired, protocolMismatch,
        Refusal("AUTH_REQUIRED", "unauthorized", reason: "unauthorized", nextStep: "update_auth_configuration"),
        Refusal(
            "AUTH_UNAUTHORIZED",
            "unauthorized",
            reason: "unauthorized",
            nextStep: "review_auth_configuration"
        ),
        Refusal(
            "AUTH_TOKEN_NOT_CONFIGURED",
            "unauthorized: gateway token not configured on gateway (set gateway.auth.token)",
            reason: "token_missing_config",
            nextStep: "update_auth_configuration"
        ),
        Refusal(
            "AUTH_PASSWORD_NOT_CONFIGURED",
            "unauthorized: gateway password not configured on gateway (set gateway.auth.password)",
            reason: "password_missing_config",
            nextStep: "update_auth_configuration"
        ),
        Refusal(
            "AUTH_BOOTSTRAP_TOKEN_INVALID",
            "unauthorized: bootstrap token invalid or expired (scan a fresh setup code)",
            reason: "bootstrap_token_invalid",
            nextStep: "update_auth_credentials"
        ),
        Refusal(
            "AUTH_RATE_LIMITED",
            "unauthorized: too many failed authentication attempts (retry later)",
            reason: "rate_limited",
            nextStep: "wait_then_retry"
        ),
        Refusal(
            "AUTH_TAILSCALE_IDENTITY_MISSING",
            "unauthorized: tailscale identity missing (use Tailscale Serve auth or gateway token/password)",
            reason: "tailscale_user_missing",
            nextStep: "review_auth_configuration"
        ),
        Refusal(
            "AUTH_IDENTITY_HEADER_REQUIRED",
            "unauthorized: identity header required",
            reason: "trusted_proxy_user_missing",
            nextStep: "review_auth_configuration"
        ),
        Refusal(
            "OPERATOR_ACCESS_DENIED",
            "operator access denied",
            reason: "operator_access_denied",
            nextStep: "review_auth_configuration"
        ),
        Refusal(
            "STARTUP_SIDECARS",
            "gateway starting; retry shortly",
            errorCode: "UNAVAILABLE",
            reason: "startup-sidecars",
            closeCode: 1013,
            retryAfterMs: 500
        ),
    ]

    /// The close frame's text; the gateway cuts it to what a close frame can hold.
    var closeReason: String { code == "STARTUP_SIDECARS" ? "gateway starting" : message }

    /// `error.details` as the release writes them.
    func details(for release: GatewayRelease, mayRetryWithDeviceToken: Bool) -> WireValue? {
        if code == "STARTUP_SIDECARS" { return ["reason": reason] }
        if code == "CONTROL_UI_ORIGIN_NOT_ALLOWED", release == .march { return nil }
        let isAboutSecrets = code.hasPrefix("AUTH_") || code == "OPERATOR_ACCESS_DENIED"
        guard isAboutSecrets else { return ["code": code, "reason": reason] }
        guard release != .march else { return ["code": code, "authReason": reason] }
        return [
            "code": code, "authReason": reason, "canRetryWithDeviceToken": mayRetryWithDeviceToken,
            "recommendedNextStep": mayRetryWithDeviceToken ? "retry_with_device_token" : nextStep,
        ]
    }
}
