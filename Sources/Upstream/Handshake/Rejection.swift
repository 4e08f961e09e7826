/// A refused connection: the explanation for the user, and the link's next step.
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

    /// The secrets that the attempt carried, because the reaction depends on them.
    package struct Context: Sendable {
        package var hasSharedSecret: Bool
        package var sentDeviceToken: Bool
        package var hasStoredDeviceToken: Bool
        package var triedDeviceToken: Bool
        /// True for loopback and for TLS with a pin. Only on such a path may a second secret follow a refused one.
        package var isTrustedPath: Bool

        package init(
            hasSharedSecret: Bool,
            sentDeviceToken: Bool = false,
            hasStoredDeviceToken: Bool = false,
            triedDeviceToken: Bool = false,
            isTrustedPath: Bool = false
        ) {
            self.hasSharedSecret = hasSharedSecret
            self.sentDeviceToken = sentDeviceToken
            self.hasStoredDeviceToken = hasStoredDeviceToken
            self.triedDeviceToken = triedDeviceToken
            self.isTrustedPath = isTrustedPath
        }
    }

    /// The gateway locks a peer out for five minutes; an earlier attempt starts the five minutes again.
    static let rateLimitMs: Int64 = 300_000
    static let slowMs: Int64 = 60_000

    /// The commands that hints suggest, in one place.
    enum Hint {
        static let token = "openclaw config get gateway.auth.token  (then: ladle serve --token-file FILE)"
        static let password = "openclaw config get gateway.auth.password  (then: ladle serve --password-file FILE)"
        static let configureToken = "openclaw config set gateway.auth.token TOKEN"
        static let configurePassword = "openclaw config set gateway.auth.password PASSWORD"
        static let newKey = "mv device-key device-key.old in Ladle's state directory, then: ladle serve"
        /// Used if only the gateway's log can explain its answer.
        static let log = "openclaw logs --follow  (on the gateway's host)"
        static let upgrade = "update OpenClaw on the gateway's host, or Ladle here, so that both speak one protocol"
        static let devices = "openclaw devices list"
        static func approve(_ requestId: String?) -> String {
            requestId.map { "openclaw devices approve \($0)" } ?? devices
        }
    }
}
