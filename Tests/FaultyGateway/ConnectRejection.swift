import DemoGateway
import JSONBytes

/// The rejections that a test can choose by code: those that the demo gateway produces itself, and others.
enum ConnectRejection {
    /// The gateway is starting; a client may try again soon.
    static let starting = "STARTUP_SIDECARS"

    static let codes = refusals.map(\.code) + ["PROTOCOL_MISMATCH", starting]

    /// The frame and the close with which a connect is refused.
    static func answer(
        _ code: String,
        to id: String,
        _ params: JSONValue?,
        _ release: DemoRelease
    ) -> (frame: [UInt8], close: DemoClose) {
        if code == starting {
            var error = DemoError(
                "UNAVAILABLE",
                "gateway starting; retry shortly",
                details: ["reason": "startup-sidecars"]
            )
            error.isRetryable = true
            error.retryAfterMs = 500
            return (DemoFrame.response(id, error: error), DemoClose(1013, "gateway starting"))
        }
        if let refusal = refusals.first(where: { $0.code == code }) {
            let error = refusal.error(for: release, mayRetryWithDeviceToken: params?["device"] != nil)
            return (DemoFrame.response(id, error: error), DemoClose(1008, String(refusal.message.prefix(120))))
        }
        let error = params.map { Refusal.protocolMismatch($0, release) } ?? DemoError("INVALID_REQUEST", code)
        return (DemoFrame.response(id, error: error), DemoClose(1002, error.message))
    }

    private static let refusals: [Refusal] =
        Refusal.all + [
            Refusal("PAIRING_REQUIRED", "pairing required", errorCode: "NOT_PAIRED"),
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
        ]
}
