package import Access
import EventLoops
package import HTTPModel
import Server

/// One operation of the API: its `operationId` in the OpenAPI document, and everything the router needs.
package final class Route: Sendable {
    package enum Part: Sendable, Equatable {
        case literal(String)
        case parameter(String)
    }

    /// The kind of request body the route accepts.
    package enum Body: Sendable, Equatable {
        case none
        /// A body of JSON, or of the listed types; at most so many bytes.
        case upTo(Int, types: [MediaType])
        /// The route needs no body, and ignores a JSON one.
        case unused
        /// A message body, as large as the link's policy allows.
        case message
    }

    package let operation: String
    package let method: HTTPMethod
    package let path: String
    /// The scope the route needs; nil for an open route.
    package let scope: Scope?
    package let body: Body
    /// The media types of the answer, the preferred first; empty if the answer has no body.
    package let produces: [MediaType]
    /// The query parameters of the route.
    package let query: [String]
    package let handler: Handler
    package let parts: [Part]
    /// Requests to the route leave a line in the audit file.
    let changesState: Bool
    /// The path contains a secret that is as good as a token, so it needs no other credential.
    let hasSecret: Bool
    /// A field of the body that Ladle does not know is refused: left out, a misspelt one would seem to change something,
    /// or to limit what is granted.
    let refusesUnknownFields: Bool
    /// The answer is a list that may be large: one connection gets few at a time.
    let isPage: Bool

    package init(
        _ operation: String,
        _ method: HTTPMethod,
        _ path: String,
        scope: Scope?,
        body: Body = .none,
        produces: [MediaType] = [.json],
        query: [String] = [],
        isPage: Bool = false,
        grantsOrLimits: Bool = false,
        handler: @escaping Handler
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
        refusesUnknownFields = method == .patch || grantsOrLimits
        hasSecret = path.contains("{secret}")
        self.isPage = isPage
        parts = path.split(separator: "/", omittingEmptySubsequences: true).map { part in
            part.hasPrefix("{") ? .parameter(String(part.dropFirst().dropLast())) : .literal(String(part))
        }
    }

    /// The same operation, answered by the leader.
    var forwarded: Route {
        .init(
            operation,
            method,
            path,
            scope: scope,
            body: body,
            produces: produces,
            query: query,
            isPage: isPage,
            grantsOrLimits: refusesUnknownFields,
            handler: Forward.handle
        )
    }

    /// A handler that works in steps that wait, from top to bottom. A problem that it throws is the answer.
    static func flow(_ flow: @escaping Flow) -> Handler {
        { api, call, loop in
            loop.start {
                do throws(Problem) {
                    try await flow(api, call, loop)
                } catch {
                    call.fail(error, on: loop)
                }
            }
        }
    }

    /// The limit of ordinary JSON bodies: the API's own objects are small.
    static let jsonBytes = 1 << 20
    /// The largest file that the gateway would load, as JSON text with every byte escaped to at most twice its size.
    static let documentBytes = 5 << 20
    static let avatarBytes = 2 << 20
    package static let json = Body.upTo(jsonBytes, types: [.json])
}
