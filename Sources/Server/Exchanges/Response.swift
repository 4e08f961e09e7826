package import HTTPModel
package import JSONBytes

/// A whole answer.
package struct Response: Sendable {
    package var head: ResponseHead
    package var body: [UInt8]
    /// False keeps the body uncompressed for every client, because it holds a secret beside text that callers choose.
    package var mayCompress = true
    /// In a 304, the size of the whole answer that it replaces.
    var bytesOfWhole: Int?
    /// The connection ends with this answer: the request was refused before it had a handler.
    package var closes = false

    package init(_ status: HTTPStatus) {
        head = ResponseHead(status)
        body = []
    }

    package init(_ status: HTTPStatus, contentType: String, body: [UInt8]) {
        head = ResponseHead(status, contentType: contentType)
        self.body = body
    }

    /// Built once, because most answers start with this head.
    private static let jsonHead = ResponseHead(.ok, contentType: "application/json")

    package static func json(_ status: HTTPStatus = .ok, _ body: (inout JSONWriter) -> Void) -> Response {
        var writer = JSONWriter()
        body(&writer)
        var response = Response(status)
        response.head.fields = jsonHead.fields
        response.body = writer.bytes
        // A terminal's prompt begins on a line of its own.
        response.body.append(UInt8(ascii: "\n"))
        return response
    }

    package static func json(_ status: HTTPStatus, _ value: some JSONWritable) -> Response {
        json(status) { value.write(to: &$0) }
    }

    /// A JSON object with these members.
    package static func object(_ status: HTTPStatus = .ok, _ members: (inout JSONWriter) -> Void) -> Response {
        json(status) { $0.object(nil, members) }
    }

    package static func text(_ status: HTTPStatus, _ text: String) -> Response {
        Response(status, contentType: "text/plain; charset=utf-8", body: Array(text.utf8))
    }

    package func adding(_ name: FieldName, _ value: String) -> Response {
        var copy = self
        copy.head.fields.append(name, value)
        return copy
    }

    /// The answer for a client that has a current copy: no body, but the fields that say how long the copy stays valid
    /// (RFC 9110 §15.4.5).
    package var unmodified: Response {
        var short = Response(.notModified)
        for name in [FieldName.cacheControl, .vary] {
            if let value = head.fields.list(for: name) { short.head.fields.append(name, value) }
        }
        short.mayCompress = mayCompress
        short.bytesOfWhole = body.count
        return short
    }
}
