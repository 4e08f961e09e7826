/// `error` of a response frame.
package struct DemoError: Error, Equatable {
    package var code: String
    package var message: String
    package var details: WireValue?
    package var isRetryable: Bool?
    package var retryAfterMs: Int?

    package init(_ code: String, _ message: String, details: WireValue? = nil) {
        self.code = code
        self.message = message
        self.details = details
    }

    /// The method was not done, and may be called again after a while.
    static func later(_ ms: Int, _ message: String, details: WireValue) -> DemoError {
        var error = DemoError("UNAVAILABLE", message, details: details)
        error.isRetryable = true
        error.retryAfterMs = ms
        return error
    }

    static func invalid(_ message: String) -> DemoError { DemoError("INVALID_REQUEST", message) }

    var wire: WireValue {
        [
            "code": code, "message": message, "details": details, "retryable": isRetryable,
            "retryAfterMs": retryAfterMs,
        ]
    }
}
