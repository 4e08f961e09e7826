package import JSONBytes

/// An error answer of the gateway, kept whole; `details` is a view into the received frame.
package struct GatewayError: Error, Sendable {
    package let code: String
    package let message: String
    package let details: JSONValue?
    package let retryable: Bool?
    /// At most `longestWaitMs`.
    package let retryAfterMs: Int64?

    /// More is no wait but a mistake, and others add to it.
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

    package init(code: String, message: String) {
        self.code = code
        self.message = message
        details = nil
        retryable = nil
        retryAfterMs = nil
    }

    /// The finer code, word for word as sent.
    package var detailsCode: String? { details?["code"]?.string }
    package var detailsReason: String? { details?["reason"]?.string }

    /// The scope a call lacked. Newer gateways say it in `details`, older ones only in the message.
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
