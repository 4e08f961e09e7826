package import HTTPModel
package import JSONBytes

/// An RFC 9457 problem: what happened, why, and what to type next.
package struct Problem: Error, Sendable {
    package var status: HTTPStatus
    /// Stable and documented; clients may branch on it.
    package var code: String
    package var title: String
    package var detail: String
    /// The exact command or setting that mends it.
    package var hint: String?
    package var retryable: Bool?
    package var retryAfterMs: Int64?
    package var requiredScopes: [String]?
    /// The parameter, header or body field at fault.
    package var field: String?
    /// More members, already written as JSON.
    package var members: [(name: String, json: [UInt8])] = []
    /// The connection is not to be used again.
    package var closes = false
    /// Extra response fields, as `Allow` or `WWW-Authenticate`.
    package var fields: [(name: FieldName, value: String)] = []

    package init(
        _ status: HTTPStatus,
        _ code: String,
        _ title: String,
        _ detail: String,
        hint: String? = nil,
        field: String? = nil,
        retryable: Bool? = nil,
        retryAfterMs: Int64? = nil,
        requiredScopes: [String]? = nil
    ) {
        self.status = status
        self.code = code
        self.title = title
        self.detail = detail
        self.hint = hint
        self.field = field
        self.retryable = retryable
        self.retryAfterMs = retryAfterMs
        self.requiredScopes = requiredScopes
    }

    package func adding(_ name: FieldName, _ value: String) -> Problem {
        var copy = self
        copy.fields.append((name, value))
        return copy
    }

    package func adding(member name: String, _ write: (inout JSONWriter) -> Void) -> Problem {
        var copy = self
        var writer = JSONWriter()
        write(&writer)
        copy.members.append((name, writer.bytes))
        return copy
    }

    package func response(requestID: String) -> Response {
        var response = Response(status, contentType: "application/problem+json", body: body(requestID: requestID))
        response.mayCompress = false
        response.closes = closes
        for (name, value) in fields { response.head.fields.append(name, value) }
        if let retryAfterMs {
            response.head.fields.append(.retryAfter, String((max(retryAfterMs, 0) + 999) / 1000))
        }
        return response
    }

    private func body(requestID: String) -> [UInt8] {
        var writer = JSONWriter(capacity: 512)
        writer.object { object in
            object.member("type", "urn:ladle:problem:\(code)")
            object.member("title", title)
            object.member("status", Int(status.code))
            object.member("detail", detail)
            object.member("code", code)
            object.member("field", field)
            object.member("hint", hint)
            object.member("retryable", retryable)
            object.member("retryAfterMs", retryAfterMs)
            if let requiredScopes { object.array("requiredScopes", of: requiredScopes) }
            for member in members { object.member(member.name, raw: member.json) }
            object.member("requestId", requestID)
        }
        return writer.bytes
    }
}
