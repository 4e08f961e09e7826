import Basics
package import JSONBytes

/// An error answer of the gateway, kept whole; `details` is a view into the received frame.
package struct GatewayError: Error, Sendable {
    package let code: String
    package let message: String
    package let details: JSONValue?
    package let retryable: Bool?
    /// At most `longestWaitMs`.
    package let retryAfterMs: Int64?

    /// A longer wait can only be a mistake; the bound keeps sums with it from overflowing.
    private static let longestWaitMs: Int64 = 86_400_000

    package init(_ error: JSONValue?) {
        code = error?["code"]?.string ?? "UNKNOWN"
        message = error?["message"]?.string ?? "the gateway gave no reason"
        details = error?["details"]
        retryable = error?["retryable"]?.bool
        retryAfterMs = (error?["retryAfterMs"]?.int ?? error?["details"]?["retryAfterMs"]?.int).flatMap {
            $0 < 0 ? nil : min($0, Self.longestWaitMs)
        }
    }

    /// A fault of 2026.6.11 in every session older than the gateway's process: a message is acknowledged but not run.
    package static func isSessionConflict(_ text: String?) -> Bool {
        text?.rangeOfText("reply session initialization conflicted") != nil
    }

    /// The gateway was restarted within its process, and lost the run.
    static func isOfEarlierLifecycle(_ text: String?) -> Bool {
        text?.rangeOfText("stale gateway lifecycle") != nil
    }

    /// The words in place of an answer before a restart: the message was acknowledged, and it is neither run nor kept. 2026.3.1 says the
    /// first, 2026.4.26 the second.
    package static func isDraining(_ text: String?) -> Bool {
        guard let text else { return false }
        return drainingWords.contains { text.rangeOfText($0) != nil }
    }
    private static let drainingWords = [
        "Gateway is draining for restart", "Gateway is restarting. Please wait a few seconds and try again.",
    ]

    package init(code: String, message: String) {
        self.code = code
        self.message = message
        details = nil
        retryable = nil
        retryAfterMs = nil
    }

    /// The finer code, verbatim.
    package var detailsCode: String? { details?["code"]?.string }
    package var detailsReason: String? { details?["reason"]?.string }

    /// The call was refused for the moment, and nothing of it was done: what it was based on had changed, and it may go again as it is.
    package var isOutdated: Bool {
        code == "INVALID_REQUEST"
            && (detailsReason.map(Self.outdatedReasons.contains) ?? false || message.hasSuffix("Retry."))
    }
    private static let outdatedReasons: Set<String> = [
        "session-routing-changed", "active-leaf-changed", "session-settings-changed",
    ]
    /// The gateway names a time after which the call may go again. Nothing of it was done, and the caller did not ask too often.
    package var isForNow: Bool {
        code == "UNAVAILABLE" && retryable == true && retryAfterMs != nil && detailsCode == nil
            && details?["limit"] == nil
    }
    /// The gateway takes nothing of anybody for a while: it starts, suspends, drains or is busy.
    package var isPause: Bool {
        isForNow && (isSuspending || isStartingUp || message.containsText("server is busy"))
    }
    /// The gateway's host is about to freeze it, or has; or the gateway ends its work before a restart.
    package var isSuspending: Bool { detailsReason == "gateway-suspending" || detailsReason == "gateway-restarting" }
    /// The gateway has kept the message of an earlier call with the same key, and says why it does not take it now.
    package var isAboutKeptMessage: Bool {
        code == "UNAVAILABLE" && Self.keptMessageMarks.contains { message.containsText($0) }
    }
    /// The gateway kept the message of an earlier call with this key, and will not run it any more.
    package var hasGivenUpMessage: Bool {
        code == "UNAVAILABLE" && Self.givenUpMarks.contains { message.containsText($0) }
    }
    private static let givenUpMarks = ["Pending input ownership ended", "Pending input idempotency key conflicts"]
    private static let keptMessageMarks = [
        "already admitted", "accepted chat turn recovery", "ownership changed; automatic retry stopped",
    ]

    /// The id of the request that an operator of the gateway must approve.
    package var pairingRequestId: String? { details?["requestId"]?.string }
    /// Whether the gateway would accept this device's token beside the shared one that it refused.
    package var invitesDeviceToken: Bool {
        details?["canRetryWithDeviceToken"]?.bool == true
            || details?["recommendedNextStep"]?.string == "retry_with_device_token"
    }
    /// The answer is about the protocol version; `expectedProtocol` is the gateway's own, if it is a number.
    package var namesProtocol: Bool { details?["expectedProtocol"] != nil }
    package var expectedProtocol: Int64? { details?["expectedProtocol"]?.int }
    /// The gateway accepts connections, but not yet all calls.
    package var isStartingUp: Bool { detailsReason == "startup-sidecars" }

    /// The scope that a call lacked. Newer gateways name it in `details`, older ones only in the message.
    package var missingScope: String? {
        if detailsCode == "MISSING_SCOPE", let scope = details?["missingScope"]?.string { return scope }
        guard code == "FORBIDDEN" || code == "INVALID_REQUEST" else { return nil }
        let marker = "missing scope: "
        guard let range = message.firstRange(of: marker) else { return nil }
        let scope = message[range.upperBound...].prefix {
            $0.isASCII && ($0.isLetter || $0 == "." || $0 == "_" || $0 == "-")
        }
        return scope.isEmpty ? nil : String(scope)
    }

    package var requiredScopes: [String] {
        let listed = details?["requiredScopes"]?.elements.compactMap(\.string) ?? []
        return listed.isEmpty ? missingScope.map { [$0] } ?? [] : listed
    }
}
