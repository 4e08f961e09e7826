/// `error` of a response frame.
struct GatewayError: Error, Equatable {
    var code: String
    var message: String
    var details: WireValue?
    var isRetryable: Bool?
    var retryAfterMs: Int?

    init(_ code: String, _ message: String, details: WireValue? = nil) {
        self.code = code
        self.message = message
        self.details = details
    }

    static func invalid(_ message: String) -> GatewayError { GatewayError("INVALID_REQUEST", message) }

    var wire: WireValue {
        [
            "code": code, "message": message, "details": details, "retryable": isRetryable,
            "retryAfterMs": retryAfterMs,
        ]
    }
}
