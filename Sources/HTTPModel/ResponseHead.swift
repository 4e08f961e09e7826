/// The head of a response that Ladle sends, or that it receives as a client.
package struct ResponseHead: Sendable {
    package var status: HTTPStatus
    package var fields: HeaderFields
    package var version: HTTPVersion

    package init(_ status: HTTPStatus, fields: HeaderFields = HeaderFields(), version: HTTPVersion = .http11) {
        self.status = status
        self.fields = fields
        self.version = version
    }

    package init(_ status: HTTPStatus, contentType: String) {
        self.init(status)
        fields.append(.contentType, contentType)
    }
}
