package import Access
package import HTTPModel
package import Server

/// Problems that many operations share.
extension Problem {
    package static func badParameter(_ name: String, _ detail: String) -> Problem {
        Problem(.badRequest, "BAD_PARAMETER", "Bad parameter", detail, field: name, retryable: false)
    }

    package static func unprocessable(_ field: String, _ detail: String, hint: String? = nil) -> Problem {
        Problem(
            .unprocessableContent,
            "INVALID_FIELD",
            "Invalid field",
            detail,
            hint: hint,
            field: field,
            retryable: false
        )
    }

    package static func notFound(_ detail: String, code: String = "NOT_FOUND") -> Problem {
        Problem(.notFound, code, "Not found", detail, retryable: false)
    }

    package static func methodNotAllowed(_ methods: [HTTPMethod]) -> Problem {
        let list = methods.map(\.name).joined(separator: ", ")
        return Problem(
            .methodNotAllowed,
            "METHOD_NOT_ALLOWED",
            "Method not allowed",
            "This resource takes \(list).",
            retryable: false
        ).adding(.allow, list)
    }

    package static func notAcceptable(_ types: [MediaType]) -> Problem {
        Problem(
            .notAcceptable,
            "NOT_ACCEPTABLE",
            "Not acceptable",
            "This resource answers with \(types.map(\.essence).joined(separator: ", ")).",
            retryable: false
        )
    }

    package static func unsupportedMediaType(_ types: [MediaType]) -> Problem {
        Problem(
            .unsupportedMediaType,
            "UNSUPPORTED_MEDIA_TYPE",
            "Unsupported media type",
            "This operation takes \(types.map(\.essence).joined(separator: ", ")).",
            retryable: false
        ).adding(.accept, types.map(\.essence).joined(separator: ", "))
    }

    package static func storeUnavailable(_ detail: String) -> Problem {
        Problem(
            .serviceUnavailable,
            "STORE_UNAVAILABLE",
            "Store unavailable",
            "The database cannot be used now: \(detail).",
            hint: "ladle doctor",
            retryable: true,
            retryAfterMs: 5000
        )
    }

    package static let tooManyStreams = Problem(
        .tooManyRequests,
        "TOO_MANY_STREAMS",
        "Too many streams",
        "As many streams and waiting polls are open as one caller, or all together, may have.",
        retryable: true,
        retryAfterMs: 30_000
    )

    package static func preflight(_ fields: [CORSField]) -> Response {
        var response = Response(.noContent)
        for field in fields { response.head.fields.append(field.name, field.value) }
        return response
    }

    package static func options(_ methods: [HTTPMethod]) -> Response {
        Response(.noContent).adding(.allow, methods.map(\.name).joined(separator: ", "))
    }

    /// The connection ends with the refusal: what follows on it is not to be trusted to be a request.
    package func closing(if condition: Bool = true) -> Problem {
        var copy = self
        copy.closes = condition
        return copy
    }

    package init(_ refusal: AccessRefusal) {
        self.init(
            HTTPStatus(refusal.status),
            refusal.code,
            HTTPStatus(refusal.status).reason,
            refusal.detail,
            hint: refusal.hint,
            retryable: refusal.retryAfterMilliseconds != nil,
            retryAfterMs: refusal.retryAfterMilliseconds,
            requiredScopes: refusal.requiredScopes.isEmpty ? nil : refusal.requiredScopes.map(\.rawValue)
        )
        if let authenticate = refusal.authenticate { fields.append((.wwwAuthenticate, authenticate)) }
        if let rateLimit = refusal.rateLimit {
            fields.append((.rateLimitPolicy, rateLimit.policy))
            fields.append((.rateLimit, rateLimit.limit))
        }
    }
}
