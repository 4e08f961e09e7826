package import Access
import Basics
package import HTTPModel
package import Server

/// Problems that many operations share.
extension Problem {
    package static func badParameter(_ name: String, _ detail: String) -> Problem {
        Problem(.badParameter, detail, field: name)
    }

    static func badHeader(_ name: String, _ error: HeaderValueError) -> Problem {
        Problem(.badHeader, error.description, field: name)
    }

    package static func invalidField(_ field: String, _ detail: String, hint: String? = nil) -> Problem {
        Problem(.invalidField, detail, hint: hint, field: field)
    }

    package static func methodNotAllowed(_ methods: [HTTPMethod]) -> Problem {
        let list = methods.map(\.name).joined(separator: ", ")
        return Problem(.methodNotAllowed, "This resource takes \(list).").adding(.allow, list)
    }

    package static func notAcceptable(_ types: [MediaType]) -> Problem {
        Problem(.notAcceptable, "This resource answers with \(types.map(\.essence).joined(separator: ", ")).")
    }

    package static func unsupportedMediaType(_ types: [MediaType], detail: String? = nil) -> Problem {
        let list = types.map(\.essence).joined(separator: ", ")
        return Problem(.unsupportedMediaType, detail ?? "This operation takes \(list).").adding(.accept, list)
    }

    static let shuttingDown = Problem(.shuttingDown, "This process is ending and accepts no more messages.")

    static let tooManyStreams = Problem(
        .tooManyStreams,
        "As many streams and waiting polls are open as one caller, or all together, may have."
    )

    /// The refusal for a token that is limited to sessions.
    static let ofNoSession = Problem(
        .sessionNotAllowed,
        "The credential is limited to sessions, and this belongs to none of them."
    )

    /// - Parameter what: `entry`, `run` or `message`.
    static func noPlace(_ name: String, _ what: String) -> Problem {
        let detail = "`\(name)` is the id of a \(what) of the page before; there is none of that id."
        return Problem(.placeNotFound, detail, field: name)
    }

    package static func storeUnavailable(_ detail: String) -> Problem {
        Problem(.storeUnavailable, "The database cannot be used now: \(detail).")
    }

    static func storeUnavailable(_ error: any Error) -> Problem {
        switch error as? StoreError {
        case .storageFull: storeUnavailable("the disk is full")
        case .outboxClosed(let reason, _), .unavailable(let reason, _): storeUnavailable(reason)
        case .overloaded: storeUnavailable("too many operations wait for the disk")
        case .closed: shuttingDown
        case nil: storeUnavailable("\(error)")
        }
    }

    /// The log cannot be read now: the database failed, or the leader that has it is away.
    static func unread(_ error: any Error) -> Problem {
        (error as? NoLeader).map { .noLeader($0.reason) } ?? .storage(error)
    }

    /// The database failed: nothing was read, or nothing was stored.
    static func storage(_ error: any Error) -> Problem {
        switch error as? StoreError {
        case .storageFull:
            Problem(.storageFull, "The disk has no room for the message; what was accepted before is kept.")
        case .outboxClosed(let reason, let directory):
            Problem(
                .storeUnavailable,
                "The outbox takes nothing until someone has looked at it: \(reason).",
                hint: "ladle outbox recover --state \(Printable.argument(directory))",
                retryable: false
            )
        case .unavailable, .overloaded, .closed, nil: .storeUnavailable(error)
        }
    }

    /// Closes the connection with the refusal: the bytes that follow may not be a request.
    package func closing(if condition: Bool = true) -> Problem {
        var copy = self
        copy.closes = condition
        return copy
    }

    package init(_ refusal: AccessRefusal) {
        self.init(
            ProblemCode(refusal.kind),
            refusal.detail,
            hint: refusal.hint,
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

extension ProblemCode {
    package init(_ kind: AccessRefusal.Kind) {
        switch kind {
        case .notPaired: self = .notPaired
        case .missingScope: self = .missingScope
        case .sessionNotAllowed: self = .sessionNotAllowed
        case .pathNotAllowed: self = .pathNotAllowed
        case .crossOrigin: self = .crossOrigin
        case .wrongHost: self = .wrongHost
        case .hostRequired: self = .hostRequired
        case .funnelRefused: self = .funnelRefused
        case .rateLimited: self = .rateLimited
        }
    }
}

extension Response {
    static func preflight(_ fields: [CORSField]) -> Response {
        var response = Response(.noContent)
        for field in fields { response.head.fields.append(field.name, field.value) }
        return response
    }

    static func options(_ methods: [HTTPMethod]) -> Response {
        Response(.noContent).adding(.allow, methods.map(\.name).joined(separator: ", "))
    }
}
