package import HTTPModel
package import JSONBytes

/// An RFC 9457 problem document: the failure, its reason, and the command to type next.
package struct Problem: Error, Sendable {
    /// Stable and documented, so clients may branch on it.
    package let code: ProblemCode
    package var status: HTTPStatus
    package var detail: String
    /// The exact command or setting that fixes the problem.
    package var hint: String?
    package var retryable: Bool
    package var retryAfterMs: Int64?
    package var requiredScopes: [String]?
    /// The parameter, header or body field at fault.
    package var field: String?
    /// Additional members, already encoded as JSON.
    package var members: [(name: String, json: [UInt8])] = []
    /// True if the connection closes after this answer.
    package var closes = false
    /// Additional response fields, such as `Allow` or `WWW-Authenticate`.
    package var fields: [(name: FieldName, value: String)] = []

    /// - Parameters:
    ///   - status, hint, retryable, retryAfterMs: where they differ from those of `code`.
    package init(
        _ code: ProblemCode,
        _ detail: String,
        status: HTTPStatus? = nil,
        hint: String? = nil,
        field: String? = nil,
        retryable: Bool? = nil,
        retryAfterMs: Int64? = nil,
        requiredScopes: [String]? = nil
    ) {
        let kind = code.kind
        self.code = code
        self.status = status ?? kind.status
        self.detail = detail
        self.hint = hint ?? kind.hint
        self.field = field
        self.retryable = retryable ?? (retryAfterMs != nil || kind.retryable)
        self.retryAfterMs = self.retryable ? retryAfterMs ?? kind.retryAfterMs : nil
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
            object.member("type", "urn:ladle:problem:\(code.rawValue)")
            object.member("title", code.kind.title)
            object.member("status", Int(status.code))
            object.member("detail", detail)
            object.member("code", code.rawValue)
            object.member("field", field)
            object.member("hint", hint)
            object.member("retryable", retryable)
            object.member("retryAfterMs", retryAfterMs)
            if let requiredScopes { object.array("requiredScopes", of: requiredScopes) }
            for member in members { object.member(member.name, raw: member.json) }
            object.member("requestId", requestID)
        }
        return writer.bytes + [UInt8(ascii: "\n")]
    }
}
