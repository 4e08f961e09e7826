import Access
package import Basics
package import EventLoops
package import Exchanges
import HTTPModel
package import Observability
package import Upstream

/// Everything behind the HTTP edge, on one loop: who may, which route, what it does. The handlers stand in files of their
/// own, named after the resource.
///
/// What it owns refers to it `unowned`: it outlives them, and each retain of an object that was ever referenced weakly costs
/// twice, on the way of every request.
package final class Bridge: Responder {
    package let settings: BridgeSettings
    package let access: AccessDesk
    package let pipeline: EventPipeline
    package let link: UpstreamLink
    package let live: LiveRuns
    package let startedAt: Timestamp
    private let router: Router
    var streamSlots: StreamSlots
    package var outbox: OutboxDesk?
    package var desk: GatewayDesk?
    var messages: MessageDesk?
    var sessions: SessionDesk?
    /// Lists of the gateway as last written to the database.
    var keptLists: [String: [UInt8]] = [:]
    package var documents: DocumentDesk?
    private(set) lazy var frames = FrameFeed(self)
    package internal(set) var isShuttingDown = false
    /// Requests that stay open for an entry of theirs.
    var followers: [ObjectIdentifier: any EntryFollower] = [:]
    /// Idempotency keys whose first request is not on disk yet.
    var sendsUnderWay: Set<String> = []
    private let refusals = RefusalPace()
    private var pages = PageTurns()
    var tally: RequestTally
    var statusAnswer = StatusAnswer()
    /// Lines about requests that were refused, whoever sent them.
    var refusedLines = LogBudget()
    var silentLines = LogBudget()
    /// Questions that tailscaled did not answer.
    var silences: UInt64 = 0
    /// What others count goes on the same page.
    package var moreMetrics: (inout MetricsPage) -> Void = { _ in }
    private let places: [ObjectIdentifier: Int]

    package init(
        settings: BridgeSettings,
        access: AccessDesk,
        pipeline: EventPipeline,
        link: UpstreamLink,
        live: LiveRuns,
        routes: [Route] = RouteTable.routes,
        on loop: isolated EventLoop
    ) {
        self.settings = settings
        self.access = access
        self.pipeline = pipeline
        self.link = link
        self.live = live
        startedAt = loop.wallClock
        streamSlots = StreamSlots(perCaller: settings.streamsPerCaller, total: settings.streams)
        router = Router(routes)
        tally = RequestTally(routes: routes)
        places = Dictionary(uniqueKeysWithValues: routes.enumerated().map { (ObjectIdentifier($1), $0) })
        pipeline.hub.ended = { [unowned self] caller in streamSlots.release(caller) }
    }

    package var hub: EventHub { pipeline.hub }
    var linkStatus: LinkStatus { link.status }

    func route(_ method: HTTPMethod, _ path: String) -> Router.Match { router.match(method, Array(path.utf8)[...]) }

    // MARK: Admission

    private enum Preparation {
        /// The answer has been given already.
        case answered
        /// tailscaled has to be asked who this is.
        case ask(WhoisQuestion)
        case ready(Call)
        /// One guess at a credential too many.
        case throttled(Problem)
    }

    package func admit(_ exchange: Exchange, on loop: isolated EventLoop) -> Admission {
        admit(exchange, mayAsk: true, on: loop)
    }

    private func admit(_ exchange: Exchange, mayAsk: Bool, on loop: isolated EventLoop) -> Admission {
        do throws(Problem) {
            switch try prepare(exchange, mayAsk: mayAsk, on: loop) {
            case .answered:
                return .answered
            case .ask(let question):
                ask(question, for: exchange, on: loop)
                return .later
            case .throttled(let problem):
                return refusals.hold(exchange, problem, on: loop) ? .later : .answered
            case .ready(let call):
                switch call.route.body {
                case .none: return .takes(bodyBytes: 0)
                case .unused, .upTo(Route.jsonBytes, _): return .takes(bodyBytes: settings.bodyBytes)
                case .upTo(let limit, _): return .takes(bodyBytes: limit)
                case .message: return .takes(bodyBytes: settings.messageBodyLimit())
                }
            }
        } catch {
            exchange.respond(error, on: loop)
            return .answered
        }
    }

    private func ask(_ question: WhoisQuestion, for exchange: Exchange, on loop: isolated EventLoop) {
        access.whois?.ask(question, on: loop) { answer in
            if case .failed(let reason) = answer { self.logSilence(of: question, reason, on: loop) }
            self.access.authenticator.learn(answer, to: question, now: loop.wallClock)
            defer { if question.isForOneRequest { self.access.authenticator.forget(question) } }
            guard exchange.isOpen else { return }
            if case .takes(let limit) = self.admit(exchange, mayAsk: false, on: loop) {
                exchange.proceed(bodyBytes: limit, on: loop)
            }
        }
    }

    /// Who and whether, from the head alone.
    private func prepare(
        _ exchange: Exchange,
        mayAsk: Bool,
        on loop: isolated EventLoop
    ) throws(Problem) -> Preparation {
        if let memo = exchange.connection.memo as? AccessMemo {
            if exchange.repeatsLast, let request = memo.repeated(access, on: loop) {
                return .ready(begin(request, exchange))
            }
            memo.keep(nil)
            if memo.covers(exchange.head) {
                let match = router.match(exchange.method, exchange.head.path)
                if let caller = match.isOpen ? .nobody : memo.caller {
                    let result = try prepare(exchange, by: caller, match, mayHaveBody: false, on: loop)
                    if case .ready(let call) = result { memo.keep(call.request) }
                    return result
                }
            }
        }
        let head = exchange.head
        let facts = RequestFacts(of: head)
        let browsers = settings.browsers(exchange.connection)
        switch browsers.check(facts) {
        case .pass(let cors):
            exchange.commonFields = cors.map { ($0.name, $0.value) }
            AccessMemo.keep(facts, for: exchange)
        case .preflight(let fields):
            exchange.respond(Problem.preflight(fields), on: loop)
            return .answered
        case .refuse(let refusal): throw Problem(refusal).closing()
        }
        // Before the routes that are open to all: the internet is more than all.
        if facts.serve?.isFunnel ?? false { throw Problem(.funnel).closing() }
        let match = router.match(head.method, head.path)
        var caller = Caller.nobody
        if !match.isOpen {
            switch access.identify(settings.peer(exchange.connection), facts, on: loop) {
            case .caller(let known): caller = known
            case .refused(let refusal):
                let problem = Problem(refusal).closing()
                if problem.status == .tooManyRequests { return .throttled(problem) }
                throw problem
            case .whois(let question):
                if mayAsk, access.whois != nil { return .ask(question) }
            }
            if caller == .nobody { throw Problem(.notPaired(credentialSent: false)).closing() }
            AccessMemo.keep(caller, facts, for: exchange)
        }
        let result = try prepare(exchange, by: caller, match, mayHaveBody: true, on: loop)
        if case .ready(let call) = result {
            if case .refused(let refusal) = browsers.checkSimpleBody(facts, hasToken: caller.tokenID != nil) {
                throw Problem(refusal).closing()
            }
            AccessMemo.keep(call, facts, access.authenticator.tokens)
        }
        return result
    }

    /// What is asked for, by someone who is known.
    private func prepare(
        _ exchange: Exchange,
        by caller: Caller,
        _ match: Router.Match,
        mayHaveBody: Bool,
        on loop: isolated EventLoop
    ) throws(Problem) -> Preparation {
        let head = exchange.head
        switch match {
        case .none where head.method == .options && head.path.elementsEqual("*".utf8):
            exchange.respond(Problem.options(router.methods), on: loop)
            return .answered
        case .none:
            throw .notFound("There is no resource at \(String(decoding: head.path.prefix(200), as: UTF8.self)).")
        case .wrongMethod(let allowed, _):
            guard head.method == .options else { throw .methodNotAllowed(allowed) }
            exchange.respond(Problem.options(allowed), on: loop)
            return .answered
        case .route(let route, let parameters):
            let request = Request(
                route: route,
                place: places[ObjectIdentifier(route)] ?? 0,
                parameters: parameters,
                query: try Self.query(of: head, for: route),
                caller: caller,
                answerType: try Self.answerType(of: head, among: route.produces)
            )
            let call = begin(request, exchange)
            if let scope = route.scope, case .refused(let refusal) = caller.decide(ScopeSet(scope)) {
                throw Problem(refusal)
            }
            if mayHaveBody { try Self.checkBodyType(head, route.body) }
            return .ready(call)
        }
    }

    private func begin(_ request: Request, _ exchange: Exchange) -> Call {
        let call = Call(exchange, request)
        if request.route.changesState { call.audit = access.audit }
        if request.hasToken { call.tokenRevision = access.authenticator.tokens.revision }
        exchange.notes = call
        return call
    }

    private static func checkBodyType(_ head: RequestHead, _ body: Route.Body) throws(Problem) {
        if let coding = head.fields[.contentEncoding], !coding.elementsEqual("identity".utf8) {
            throw Problem(
                .unsupportedMediaType,
                "UNSUPPORTED_ENCODING",
                "Unsupported encoding",
                "Bodies are taken as they are, without a Content-Encoding.",
                field: "Content-Encoding",
                retryable: false
            ).adding(.acceptEncoding, "identity")
        }
        let types: [MediaType]
        switch body {
        case .none, .message: return
        case .unused: types = [.json]
        case .upTo(_, let listed): types = listed
        }
        guard let field = head.fields[.contentType] else { return }
        guard let type = try? MediaType(parsing: field),
            types.contains(where: { $0.isSameEssence(as: type) || ($0.isJSON && type.isJSON) })
        else { throw .unsupportedMediaType(types) }
    }

    private static func query(of head: RequestHead, for route: Route) throws(Problem) -> QueryItems {
        let items: QueryItems
        do throws(RequestTargetError) {
            items = try head.queryItems()
        } catch {
            throw Problem(.badRequest, "BAD_TARGET", "Bad query", error.description, field: "query", retryable: false)
        }
        if let name = items.repeatedName { throw .badParameter(name, "`\(name)` stands more than once.") }
        // Names of others are passed over, such as what keeps caches out; a slip of the pen is not.
        for item in items.items where !route.query.contains(item.name) {
            guard let meant = NearestName.of(item.name, in: route.query) else { continue }
            throw .badParameter(item.name, "There is no parameter `\(item.name)` here. Did you mean `\(meant)`?")
        }
        return items
    }

    static func answerType(of head: RequestHead, among offers: [MediaType]) throws(Problem) -> MediaType {
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
        guard let call = exchange.notes as? Call, !call.hasBegun else { return }
        let request = call.request
        if request.route.isPage, !call.isOpenPage {
            switch pages.turn(of: call) {
            case .now: break
            case .later(let isWatched): return isWatched ? () : watch(exchange.connection, on: loop)
            }
        }
        if request.hasToken, !exchange.body.isEmpty, !access.isStillGood(call, now: loop.wallClock) {
            return exchange.respond(Problem(.notPaired(credentialSent: true)).closing(), on: loop)
        }
        call.hasBegun = true
        request.route.handler(self, call, loop)
        // What was answered at once cannot outlive its caller's right to it.
        if request.mayEnd, exchange.isOpen || exchange.isStreaming {
            access.began(exchange, by: request.caller, on: loop)
        }
    }

    private func beginPages(of connection: ConnectionInfo, on loop: isolated EventLoop) {
        while let call = pages.next(of: connection) { respond(to: call.exchange, on: loop) }
    }

    /// Nobody tells when a peer has taken what it was sent: while pages wait for that it is looked at again and again.
    private func watch(_ connection: ConnectionInfo, on loop: isolated EventLoop) {
        loop.after(milliseconds: PageTurns.patience) {
            self.beginPages(of: connection, on: loop)
            if !self.pages.isOver(connection) { self.watch(connection, on: loop) }
        }
    }

    private func count(_ call: Call) {
        guard !call.isCounted else { return }
        call.isCounted = true
        tally.count(call.exchange, place: call.request.place)
    }

    /// A stream counts as answered with its head, however long it lasts.
    func beginStream(_ call: Call, _ head: ResponseHead, on loop: isolated EventLoop) {
        var head = head
        // Proxies must neither keep, change nor gather what has to arrive at once.
        head.fields.append(.cacheControl, "no-store, no-transform")
        head.fields.append(.xAccelBuffering, "no")
        call.exchange.beginStream(head, on: loop)
        count(call)
    }

    package func finished(_ exchange: Exchange, on loop: isolated EventLoop) {
        let notes = exchange.notes
        exchange.notes = nil
        guard let call = notes as? Call else {
            if let caller = (notes as? Subscriber)?.plan.caller { return access.finished(exchange, by: caller) }
            tally.count(exchange, place: nil)
            if exchange.problemCode != nil { log(exchange, nil, on: loop) }
            return
        }
        let request = call.request
        if call.isOpenPage, pages.end(call) {
            // Not in the midst of this: a connection that is closing ends them all.
            loop.after(milliseconds: 0) { self.beginPages(of: exchange.connection, on: loop) }
        }
        count(call)
        if exchange.problemCode != nil || request.route.changesState { log(exchange, call, on: loop) }
        if request.mayEnd { access.finished(exchange, by: request.caller) }
        // A handler that has begun says itself how it went.
        if !call.hasBegun, let status = exchange.status { call.settle(status, exchange.problemCode, on: loop) }
    }

    package func refused(
        _ problem: Problem,
        requestID: String,
        connection: ConnectionInfo,
        on loop: isolated EventLoop
    ) {
        logRefusal(problem, requestID, connection, on: loop)
    }
}
