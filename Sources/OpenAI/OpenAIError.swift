package import JSONBytes

/// An error in the form that OpenAI's clients read: they show `message` and turn `status` and `code` into an exception.
package struct OpenAIError: Error, Sendable, Equatable {
    package enum Kind: String, Sendable {
        case invalidRequest = "invalid_request_error"
        case authentication = "authentication_error"
        case permission = "permission_error"
        case rateLimit = "rate_limit_error"
        case server = "server_error"
    }

    package var status: Int
    package var kind: Kind
    package var code: String
    /// The field or header at fault.
    package var param: String?
    package var message: String
    /// A repeat is safe and may succeed. The SDKs repeat 408, 409, 429 and all of 5xx unless they are told not to, so false is always
    /// said.
    package var mayRepeat: Bool
    package var retryAfterSeconds: Int64?

    package init(
        _ status: Int,
        _ kind: Kind,
        _ code: String,
        _ message: String,
        param: String? = nil,
        mayRepeat: Bool = false,
        retryAfterSeconds: Int64? = nil
    ) {
        self.status = status
        self.kind = kind
        self.code = code
        self.param = param
        self.message = message
        self.mayRepeat = mayRepeat
        self.retryAfterSeconds = retryAfterSeconds
    }

    /// A request that cannot be carried out as it is.
    package static func invalid(_ param: String?, _ message: String, code: String = "invalid_request_error")
        -> OpenAIError
    {
        OpenAIError(400, .invalidRequest, code, message, param: param)
    }

    /// The message has come to its end, and a repeat would be another message. Programs between Ladle and its client repeat every
    /// answer of 5xx, whatever its fields say.
    package static func final(_ code: String, _ message: String) -> OpenAIError {
        OpenAIError(422, .server, code, message)
    }

    /// A parameter whose promise cannot be kept; ignored, it would change the meaning of the answer.
    package static func unsupported(_ param: String, _ message: String) -> OpenAIError {
        invalid(param, message, code: "unsupported_parameter")
    }

    package static func notFound(_ message: String, code: String = "not_found", param: String? = nil) -> OpenAIError {
        OpenAIError(404, .invalidRequest, code, message, param: param)
    }

    /// Whether the SDKs would repeat the request of themselves.
    package var isRepeatedByStatus: Bool { status >= 500 || [408, 409, 429].contains(status) }

    /// The whole answer, and inside a stream the last chunk: one with `error` and nothing beside it.
    package var body: [UInt8] {
        var writer = JSONWriter()
        writer.object { $0.object("error") { write(to: &$0) } }
        return writer.bytes
    }

    /// The members of `error`. Clients expect all four of them.
    package func write(to object: inout JSONWriter) {
        object.member("message", message)
        object.member("type", kind.rawValue)
        object.member("param", orNull: param)
        object.member("code", code)
    }
}

extension JSONWriter {
    /// A member that is written even if it has no value.
    package mutating func member(_ name: String, orNull value: String?) {
        key(name)
        if let value { string(value) } else { null() }
    }
}
