package import Access
package import EventLoops
package import HTTPModel

/// One operation of the API: what the OpenAPI document calls `operationId`, and everything the router decides by.
package final class Route: Sendable {
    package enum Part: Sendable, Equatable {
        case literal(String)
        case parameter(String)
    }

    /// How a request body is taken.
    package enum Body: Sendable, Equatable {
        case none
        /// JSON, or what else is listed; at most so many bytes.
        case upTo(Int, types: [MediaType])
        /// No body is needed; a JSON one is not looked at.
        case unused
        /// As large as the link's policy lets a message be.
        case message
    }

    package let operation: String
    package let method: HTTPMethod
    package let path: String
    /// nil: open to all.
    package let scope: Scope?
    package let body: Body
    /// Media types it can answer with, the preferred first; none where its answer has no body.
    package let produces: [MediaType]
    /// Query parameters it understands.
    package let query: [String]
    package let handler: @Sendable (HTTPAPI, Call, isolated EventLoop) -> Void
    package let parts: [Part]
    /// Such requests leave a line in the audit file.
    let changesState: Bool
    /// Whoever knows the path may: it is as good as a token.
    let hasSecret: Bool
    /// A list that may be large: one connection gets few at a time.
    let isPage: Bool

    package init(
        _ operation: String,
        _ method: HTTPMethod,
        _ path: String,
        scope: Scope?,
        body: Body = .none,
        produces: [MediaType] = [.json],
        query: [String] = [],
        handler: @escaping @Sendable (HTTPAPI, Call, isolated EventLoop) -> Void
    ) {
        self.operation = operation
        self.method = method
        self.path = path
        self.scope = scope
        self.body = body
        self.produces = produces
        self.query = query
        self.handler = handler
        changesState = method != .get
        hasSecret = path.contains("{secret}")
        isPage = method == .get && query.contains("limit") && !produces.contains(.eventStream)
        parts = path.split(separator: "/", omittingEmptySubsequences: true).map { part in
            part.hasPrefix("{") ? .parameter(String(part.dropFirst().dropLast())) : .literal(String(part))
        }
    }

    /// Ordinary JSON bodies: the API's own objects are small.
    static let jsonBytes = 1 << 20
    /// A file the gateway would load at all, as JSON text with every byte escaped at worst twice.
    static let documentBytes = 5 << 20
    static let avatarBytes = 2 << 20
    package static let json = Body.upTo(jsonBytes, types: [.json])
}
