/// A request method. Method names are case-sensitive: `get` is another token.
package enum HTTPMethod: Sendable, Hashable {
    case get, head, post, put, patch, delete, options
    /// Known, and of no route: what TRACE echoes may hold a credential, and a QUERY (RFC 10008) is a GET here.
    case trace, query
    /// Any other token; no route has it.
    case other(String)

    /// The method whose token these bytes are. The caller has checked that they are token bytes.
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

/// The version of HTTP a message came with.
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
