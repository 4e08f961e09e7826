package import Access
package import Basics
package import EventLoops
package import Exchanges
import HTTPModel
package import Upstream

/// Everything behind the HTTP edge, on one loop: who may, which route, what it does. The handlers stand in files of their
/// own, named after the resource.
package final class Bridge: Responder {
    /// Notes of an exchange between its admission and its handler.
    private final class Pending {
        let route: Route
        let parameters: [String]
        let query: QueryItems
        let answerType: MediaType
        let facts: RequestFacts
        let caller: Caller?

        init(
            route: Route,
            parameters: [String],
            query: QueryItems,
            answerType: MediaType,
            facts: RequestFacts,
            caller: Caller?
        ) {
            self.route = route
            self.parameters = parameters
            self.query = query
            self.answerType = answerType
            self.facts = facts
            self.caller = caller
        }
    }

    package let settings: BridgeSettings
    package var authenticator: Authenticator
    package let pipeline: EventPipeline
    package let link: UpstreamLink
    package let live: LiveRuns
    package let startedAt: Timestamp
    private let router: Router
    var streamSlots: StreamSlots
    package var outbox: OutboxDesk?
    package var desk: GatewayDesk?
    package var documents: DocumentDesk?
    package internal(set) var isShuttingDown = false
    /// Requests that stay open for an entry of theirs.
    var followers: [ObjectIdentifier: any EntryFollower] = [:]
    /// Idempotency keys whose first request is not on disk yet.
    var sendsUnderWay: Set<String> = []
    /// Counted by operation, for metrics.
    package private(set) var requests: [String: UInt64] = [:]

    package init(
        settings: BridgeSettings,
        authenticator: Authenticator,
        pipeline: EventPipeline,
        link: UpstreamLink,
        live: LiveRuns,
        routes: [Route] = RouteTable.routes,
        on loop: isolated EventLoop
    ) {
        self.settings = settings
        self.authenticator = authenticator
        self.pipeline = pipeline
        self.link = link
        self.live = live
        startedAt = loop.wallClock
        streamSlots = StreamSlots(perCaller: settings.streamsPerCaller)
        router = Router(routes)
    }

    package var hub: EventHub { pipeline.hub }
    var linkStatus: LinkStatus { link.status }

    // MARK: Admission

    package func admit(_ exchange: Exchange, on loop: isolated EventLoop) -> Admission {
        do throws(Problem) {
            guard let pending = try prepare(exchange, on: loop) else { return .answered }
            exchange.notes = pending
            switch pending.route.body {
            case .none: return .takes(bodyBytes: 0)
            case .upTo(let limit, _): return .takes(bodyBytes: limit)
            case .message: return .takes(bodyBytes: settings.messageBodyLimit())
            }
        } catch {
            exchange.respond(error, on: loop)
            return .answered
        }
    }

    /// nil when the answer has been given already.
    private func prepare(_ exchange: Exchange, on loop: isolated EventLoop) throws(Problem) -> Pending? {
        let head = exchange.head
        let facts = RequestFacts(of: head)
        switch settings.browsers(exchange.connection).check(facts) {
        case .pass: break
        case .preflight(let fields):
            exchange.respond(Problem.preflight(fields), on: loop)
            return nil
        case .refuse(let refusal): throw Problem(refusal).closing()
        }
        let match = router.match(head.method, head.path)
        var caller: Caller?
        if case .route(let route, _) = match, route.scope == nil {
            caller = .nobody
        } else {
            caller = try identify(exchange, facts, on: loop)
        }
        switch match {
        case .none:
            throw .notFound("There is no resource at \(String(decoding: head.path.prefix(200), as: UTF8.self)).")
        case .wrongMethod(let allowed):
            guard head.method == .options else { throw .methodNotAllowed(allowed) }
            exchange.respond(Problem.options(allowed), on: loop)
            return nil
        case .route(let route, let parameters):
            if let scope = route.scope, let caller, case .refused(let refusal) = caller.decide(ScopeSet(scope)) {
                throw Problem(refusal).closing(if: refusal.status == 401)
            }
            return Pending(
                route: route,
                parameters: parameters,
                query: try Self.query(of: head),
                answerType: try Self.answerType(of: head, among: route.produces),
                facts: facts,
                caller: caller
            )
        }
    }

    /// nil: tailscaled has to be asked first.
    private func identify(
        _ exchange: Exchange,
        _ facts: RequestFacts,
        on loop: isolated EventLoop
    ) throws(Problem) -> Caller? {
        switch authenticator.identify(settings.peer(exchange.connection), facts, now: loop.wallClock) {
        case .caller(.nobody): throw Problem(.notPaired(credentialSent: false)).closing()
        case .caller(let caller): return caller
        case .refused(let refusal): throw Problem(refusal).closing()
        case .whois: return nil
        }
    }

    private static func query(of head: RequestHead) throws(Problem) -> QueryItems {
        let items: QueryItems
        do throws(RequestTargetError) {
            items = try head.queryItems()
        } catch {
            throw Problem(.badRequest, "BAD_TARGET", "Bad query", error.description, field: "query", retryable: false)
        }
        if let name = items.repeatedName { throw .badParameter(name, "`\(name)` stands more than once.") }
        return items
    }

    private static func answerType(of head: RequestHead, among offers: [MediaType]) throws(Problem) -> MediaType {
        guard let field = head.fields[.accept] else { return offers[0] }
        if field.elementsEqual("*/*".utf8) { return offers[0] }
        let list: AcceptList
        do throws(HeaderValueError) {
            list = try AcceptList(parsing: (head.fields.list(for: .accept) ?? [])[...])
        } catch {
            throw Problem(.badRequest, "BAD_HEADER", "Bad header", error.description, field: "Accept", retryable: false)
        }
        guard let place = list.choose(among: offers) else { throw .notAcceptable(offers) }
        return offers[place]
    }

    // MARK: The handler's turn

    package func respond(to exchange: Exchange, on loop: isolated EventLoop) {
        guard let pending = exchange.notes as? Pending else { return }
        exchange.notes = nil
        guard let caller = pending.caller else { return }
        do throws(Problem) {
            try checkBody(exchange, pending, caller)
        } catch {
            return exchange.respond(error, on: loop)
        }
        let call = Call(
            exchange: exchange,
            route: pending.route,
            parameters: pending.parameters,
            query: pending.query,
            caller: caller,
            answerType: pending.answerType
        )
        requests[pending.route.operation, default: 0] += 1
        pending.route.handler(self, call, loop)
    }

    private func checkBody(_ exchange: Exchange, _ pending: Pending, _ caller: Caller) throws(Problem) {
        let hasToken = caller.tokenID != nil
        let policy = settings.browsers(exchange.connection)
        if case .refused(let refusal) = policy.checkSimpleBody(pending.facts, hasToken: hasToken) {
            throw Problem(refusal).closing()
        }
        guard !exchange.body.isEmpty else { return }
        if let coding = exchange.head.fields[.contentEncoding], !coding.elementsEqual("identity".utf8) {
            throw .codedBody
        }
        guard case .upTo(_, let types) = pending.route.body else { return }
        guard let type = exchange.head.fields[.contentType].flatMap({ try? MediaType(parsing: $0) }),
            types.contains(where: { $0.isSameEssence(as: type) || ($0.isJSON && type.isJSON) })
        else { throw .unsupportedMediaType(types) }
    }

    package func finished(_ exchange: Exchange, on loop: isolated EventLoop) {}

    package func refused(
        _ problem: Problem,
        requestID: String,
        connection: ConnectionInfo,
        on loop: isolated EventLoop
    ) {}
}
