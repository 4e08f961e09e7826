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

    static func invalid(_ message: String) -> DemoError { DemoError("INVALID_REQUEST", message) }

    var wire: WireValue {
        [
            "code": code, "message": message, "details": details, "retryable": isRetryable,
            "retryAfterMs": retryAfterMs,
        ]
    }
}
