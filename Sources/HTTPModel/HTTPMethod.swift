/// A request method. Method names are case-sensitive: `get` is a different token.
package enum HTTPMethod: Sendable, Hashable {
    case get, head, post, put, patch, delete, options
    /// Known methods without a route: TRACE could echo a credential, and Ladle offers GET instead of QUERY (RFC 10008).
    case trace, query
    /// Any other token; no route uses it.
    case other(String)

    /// Finds the method whose name these bytes spell. The caller has checked that they are token bytes.
    package init(_ token: some Collection<UInt8>) {
        for known in Self.known where known.name.utf8.elementsEqual(token) {
            self = known
            return
        }
        self = .other(String(decoding: token, as: UTF8.self))
    }

    package static let known: [HTTPMethod] = [.get, .head, .post, .put, .patch, .delete, .options, .trace, .query]

    package var name: String {
        switch self {
        case .get: "GET"
        case .head: "HEAD"
        case .post: "POST"
        case .put: "PUT"
        case .patch: "PATCH"
        case .delete: "DELETE"
        case .options: "OPTIONS"
        case .trace: "TRACE"
        case .query: "QUERY"
        case .other(let token): token
        }
    }
}

/// The HTTP version of a message.
package enum HTTPVersion: UInt8, Sendable, Hashable {
    case http10, http11, http2

    package var name: String {
        switch self {
        case .http10: "HTTP/1.0"
        case .http11: "HTTP/1.1"
        case .http2: "HTTP/2"
        }
    }
}
