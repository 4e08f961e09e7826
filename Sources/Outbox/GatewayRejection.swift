/// The parts of an error frame that the outbox judges.
package struct GatewayRejection: Sendable, Equatable {
    package var code: String
    package var message: String
    package var retryable: Bool?
    package var retryAfterMs: Int64?

    package init(code: String, message: String, retryable: Bool? = nil, retryAfterMs: Int64? = nil) {
        self.code = code
        self.message = message
        self.retryable = retryable
        self.retryAfterMs = retryAfterMs
    }

    /// Whether to try again. `retryable: false` wins over any code. `retryable: true` is ignored for scope and
    /// validation codes. Unknown errors are tried again.
    package var isTransient: Bool {
        if retryable == false || isDefinite { return false }
        if retryable == true { return true }
        return !Self.terminalCodes.contains(normalisedCode)
    }

    /// Whether the gateway may answer a repeat of the same key from its memory of this refusal. Limits and start-up are
    /// checked before that memory.
    var mayBeRemembered: Bool { !Self.limitCodes.contains(normalisedCode) }

    /// Whether the command itself is invalid or forbidden, so that the same command can never succeed.
    private var isDefinite: Bool {
        Self.definiteCodes.contains(normalisedCode) || message.hasPrefix("missing scope")
    }

    private var normalisedCode: String { code.uppercased() }

    private static let definiteCodes: Set<String> = [
        "INVALID_REQUEST", "INVALID_PARAMS", "VALIDATION_ERROR", "FORBIDDEN", "MISSING_SCOPE", "UNAUTHORIZED",
        "PERMISSION_DENIED", "POLICY_DENIED", "METHOD_NOT_FOUND", "UNKNOWN_METHOD",
    ]
    private static let terminalCodes: Set<String> = [
        "NOT_FOUND", "SESSION_NOT_FOUND", "AGENT_NOT_FOUND", "CONFLICT", "TOO_LARGE", "PAYLOAD_TOO_LARGE",
        "ALREADY_EXISTS", "UNSUPPORTED", "NOT_SUPPORTED", "GONE",
    ]
    private static let limitCodes: Set<String> = [
        "RATE_LIMITED", "RATE_LIMIT", "TOO_MANY_REQUESTS", "RESOURCE_EXHAUSTED", "STARTING",
    ]
}
