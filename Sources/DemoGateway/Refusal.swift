package import JSONBytes

/// A rejection of `connect` in the protocol's words.
package struct Refusal: Sendable, Equatable {
    package let code: String
    package let message: String
    private let errorCode: String
    /// `details.reason` for device checks, `details.authReason` for secrets.
    private let reason: String?
    private let nextStep: String?

    package init(
        _ code: String,
        _ message: String,
        errorCode: String = "INVALID_REQUEST",
        reason: String? = nil,
        nextStep: String? = nil
    ) {
        self.code = code
        self.message = message
        self.errorCode = errorCode
        self.reason = reason
        self.nextStep = nextStep
    }

    /// The error in the form of the release.
    package func error(for release: DemoRelease, mayRetryWithDeviceToken: Bool) -> DemoError {
        DemoError(
            errorCode,
            message,
            details: details(for: release, mayRetryWithDeviceToken: mayRetryWithDeviceToken)
        )
    }

    private func details(for release: DemoRelease, mayRetryWithDeviceToken: Bool) -> WireValue? {
        if self == .originNotAllowed, release == .march { return nil }
        let isAboutSecrets = code.hasPrefix("AUTH_") || code == "OPERATOR_ACCESS_DENIED"
        guard isAboutSecrets else { return ["code": code, "reason": reason] }
        guard release != .march else { return ["code": code, "authReason": reason] }
        return [
            "code": code, "authReason": reason, "canRetryWithDeviceToken": mayRetryWithDeviceToken,
            "recommendedNextStep": mayRetryWithDeviceToken ? "retry_with_device_token" : nextStep,
        ]
    }

    /// A rejection that names the versions of both sides in its details.
    package static func protocolMismatch(_ params: JSONValue, _ release: DemoRelease) -> DemoError {
        let spoken = release.protocolVersion
        let details: WireValue =
            release == .march
            ? ["expectedProtocol": spoken]
            : [
                "code": "PROTOCOL_MISMATCH", "clientMinProtocol": params["minProtocol"]?.int,
                "clientMaxProtocol": params["maxProtocol"]?.int, "expectedProtocol": spoken,
                "minimumProbeProtocol": release >= .autumn ? 3 : spoken,
            ]
        return DemoError("INVALID_REQUEST", "protocol mismatch", details: details)
    }

    /// All other rejections of this gateway.
    package static let all = [
        tokenMissing, tokenMismatch, passwordMissing, passwordMismatch, deviceTokenMismatch, bootstrapTokenInvalid,
        scopeMismatch, identityRequired, controlUIIdentityRequired, originNotAllowed, deviceIDMismatch,
        signatureExpired, nonceRequired, nonceMismatch, signatureInvalid, publicKeyInvalid,
    ]

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
    static let bootstrapTokenInvalid = Refusal(
        "AUTH_BOOTSTRAP_TOKEN_INVALID",
        "unauthorized: bootstrap token invalid or expired (scan a fresh setup code)",
        reason: "bootstrap_token_invalid",
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
    static let scopeMismatch = Refusal(
        "AUTH_SCOPE_MISMATCH",
        "unauthorized: device token scope mismatch",
        reason: "scope_mismatch",
        nextStep: "review_auth_configuration"
    )
}
