/// A refused connection in terms people and the link can act on.
package struct Rejection: Sendable, Equatable {
    package enum Next: Sendable, Equatable {
        /// As after a plain drop, by the backoff.
        case retry
        /// Not before this; for what a person or the gateway needs time to change.
        case retryAfter(milliseconds: Int64)
        /// Ask again in the rhythm of pending approvals.
        case waitForApproval
        /// Only a changed configuration helps.
        case stop
        /// Once more, now, with the stored device token beside the shared secret.
        case retryWithDeviceToken
        /// The stored device token is void: forget it and try without, now.
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

    /// What the attempt carried, as the reaction depends on it.
    package struct Context: Sendable {
        package var hasSharedSecret: Bool
        package var sentDeviceToken: Bool
        package var hasStoredDeviceToken: Bool
        package var triedDeviceToken: Bool
        /// Loopback, or TLS with a pin: only there may a second secret follow a refused one.
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

    /// The gateway locks a peer out for five minutes; asking earlier starts the count again.
    static let rateLimitMs: Int64 = 300_000
    static let slowMs: Int64 = 60_000

    /// Commands that help, in one place.
    enum Hint {
        static let token = "openclaw config get gateway.auth.token  (then: ladle serve --token-file FILE)"
        static let password = "openclaw config get gateway.auth.password  (then: ladle serve --password-file FILE)"
        static let configureToken = "openclaw config set gateway.auth.token TOKEN"
        static let configurePassword = "openclaw config set gateway.auth.password PASSWORD"
        static let newKey = "mv device-key device-key.old in Ladle's state directory, then: ladle serve"
        /// Only the gateway knows more than its answer says.
        static let log = "openclaw logs --follow  (on the gateway's host)"
        static let upgrade = "update OpenClaw on the gateway's host, or Ladle here, so that both speak one protocol"
        static let devices = "openclaw devices list"
        static func approve(_ requestId: String?) -> String {
            requestId.map { "openclaw devices approve \($0)" } ?? devices
        }
    }
}
