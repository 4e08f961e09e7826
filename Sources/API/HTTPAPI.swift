import Access
import Basics
package import EventLoops
package import Follow
import HTTPModel
import Notifications
package import Observability
package import Server
package import Service

/// An object that adds its counters to the metrics page.
package protocol MetricsSource: AnyObject {
    func writeMetrics(to page: inout MetricsPage)
}

extension HTTPServer: MetricsSource {}

/// The responder behind the server, on one loop. A request comes twice: `admit` finds out from its head who asks, for
/// what, and whether they may; `respond` runs the handler once the body is there. The handlers stand in files of their
/// own, named after the resource.
///
/// Objects owned by the API refer to it `unowned`: the API outlives them, and retaining an object that was ever
/// referenced weakly costs twice, in every request.
package final class HTTPAPI: Responder, ServiceEventReceiver {
    let settings: APISettings
    let services: Services
    let access: AccessService
    /// The host names and origins that browsers may use.
    let rules: HostRules
    let hub: EventHub
    let open: OpenRequests
    let log: RequestLog
    let status: StatusAnswer
    let startedAt: Timestamp
    let warm = WarmAnswers()
    private(set) var source: any EventSource
    /// Nil unless this host follows a leader.
    private(set) var follower: Follower?
    let followers = KnownFollowers()
    private(set) lazy var frames = FrameFeed(self)
    private(set) lazy var openAI = OpenAIDoor(self)
    private struct Source {
        unowned let object: any MetricsSource
    }

    private let router: Router
    private let places: [ObjectIdentifier: Int]
    private let refusals = RefusalThrottle()
    private var pages = PageLimit()
    private var metricsSources: [Source] = []

    package init(
        settings: APISettings,
        services: Services,
        hub: EventHub,
        open: OpenRequests,
        access: AccessService,
        rules: HostRules,
        routes: [Route] = RouteTable.routes,
        on loop: isolated EventLoop
    ) {
        self.settings = settings
        self.services = services
        self.hub = hub
        self.open = open
        self.access = access
        self.rules = rules
        log = RequestLog(settings.log, routes: routes)
        status = StatusAnswer()
        source = OwnEvents(services)
        startedAt = loop.wallClock
        router = Router(routes)
        places = Dictionary(uniqueKeysWithValues: routes.enumerated().map { (ObjectIdentifier($1), $0) })
        services.events.add(self)
    }

    /// From now on streams and tokens are the leader's.
    package func follow(_ service: FollowService) -> Follower {
        let follower = Follower(service, self)
        self.follower = follower
        source = follower
        add(follower)
        return follower
    }

    var feed: EventFeed { services.feed }
    var outbox: OutboxService { services.outbox }
    var runs: RunService { services.runs }
    var documents: DocumentService { services.documents }
    var isShuttingDown: Bool { open.isShuttingDown }

    /// Whether a route begins with these path parts.
    func leadsSomewhere(_ parts: [String]) -> Bool { router.leadsSomewhere(parts) }

    func route(_ method: HTTPMethod, _ path: String) -> Router.Match { router.match(method, Array(path.utf8)[...]) }

    /// - Parameter source: outlives this object.
    package func add(_ source: any MetricsSource) {
        metricsSources.append(Source(object: source))
    }

    func writeMetricsOfSources(to page: inout MetricsPage) {
        for source in metricsSources { source.object.writeMetrics(to: &page) }
    }

    package func receive(_ event: ServiceEvent, on loop: isolated EventLoop) {
        switch event {
        case .published(let event):
            hub.deliver(event, on: loop)
            if event.type == "run.ended", let run = event.run { open.runEnded(run, on: loop) }
        case .entryChanged(let entry):
            log.changed(entry)
            open.entryChanged(entry, on: loop)
        case .frameLogged(let entry): frames.logged(entry, on: loop)
        default: break
        }
    }

    /// Ends every open request. The clients' reconnects are spread over some seconds.
    package func endOpenRequests(on loop: isolated EventLoop) {
        open.shutDown(on: loop)
        services.aborts.shutDown(on: loop)
        frames.shutDown(on: loop)
        hub.end(
            with: {
                .shutdown(
                    reason: "shutting_down",
                    retryMilliseconds: .random(in: 1000...10_000),
                    at: loop.wallClock
                )
            },
            on: loop
        )
    }

    // MARK: Admission, from the head alone

    private enum Preparation {
        /// The answer has been given already.
        case answered
        /// tailscaled must be asked for the caller's identity.
        case ask(WhoisQuestion)
        case ready(Call)
        /// The caller has guessed at credentials too often.
        case throttled(Problem)
    }

    package func admit(_ exchange: Exchange, on loop: isolated EventLoop) -> Admission {
        admit(exchange, mayAsk: true, on: loop)
    }

    private func admit(_ exchange: Exchange, mayAsk: Bool, on loop: isolated EventLoop) -> Admission {
        if settings.openAI.isEnabled, let face = DoorFace(path: exchange.head.path) {
            exchange.problemForm = { face.response($0, requestID: $1) }
        }
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
                // The leader knows what the gateway takes.
                case .message:
                    return .takes(bodyBytes: follower?.service.leader?.messageBytes ?? services.messageBodyLimit)
                }
            }
        } catch {
            exchange.respond(error, on: loop)
            return .answered
        }
    }

    private func ask(_ question: WhoisQuestion, for exchange: Exchange, on loop: isolated EventLoop) {
        access.whois?.ask(question, on: loop) { answer in
            if case .failed(let reason) = answer { self.log.unanswered(question, reason, on: loop) }
            self.access.authenticator.learn(answer, to: question, now: loop.wallClock)
            defer { if question.isForOneRequest { self.access.authenticator.forget(question) } }
            guard exchange.isOpen else { return }
            if case .takes(let limit) = self.admit(exchange, mayAsk: false, on: loop) {
                exchange.proceed(bodyBytes: limit, on: loop)
            }
        }
    }

    private func prepare(
        _ exchange: Exchange,
        mayAsk: Bool,
        on loop: isolated EventLoop
    ) throws(Problem) -> Preparation {
        if let known = try remembered(exchange, on: loop) { return known }
        let head = exchange.head
        let browsers = rules.policy(for: exchange.connection)
        switch browsers.check(head) {
        case .pass(let cors):
            exchange.commonFields = cors.map { ($0.name, $0.value) }
            AccessMemo.keep(for: exchange)
        case .preflight(let fields):
            exchange.respond(Response.preflight(fields), on: loop)
            return .answered
        case .refuse(let refusal): throw Problem(refusal).closing()
        }
        // Checked before the open routes: the internet may not even use those.
        if head.serve?.isFunnel ?? false { throw Problem(.funnel).closing() }
        let match = router.match(head.method, head.path)
        var caller = Caller.nobody
        if !match.isOpen {
            switch access.identify(settings.peer(exchange.connection), head, on: loop) {
            case .caller(let known): caller = known
            case .refused(let refusal):
                // A token may have been made meanwhile.
                if let follower, !follower.service.isLive { try follower.checkLeader(on: loop) }
                let problem = Problem(refusal).closing()
                if problem.code == .rateLimited { return .throttled(problem) }
                throw problem
            case .whois(let question):
                if mayAsk, access.whois != nil { return .ask(question) }
            }
            if caller == .nobody { throw Problem(.notPaired(credentialSent: false)).closing() }
            AccessMemo.keep(caller, for: exchange)
        }
        let result = try call(for: exchange, by: caller, match, mayHaveBody: true, on: loop)
        if case .ready(let call) = result {
            if case .refused(let refusal) = browsers.checkSimpleBody(
                head,
                hasToken: caller.tokenID != nil || call.request.route.hasSecret
            ) {
                throw Problem(refusal).closing()
            }
            AccessMemo.keep(call, access.authenticator.tokens)
        }
        return result
    }

    /// The shortcut for a connection whose last request had the same caller.
    private func remembered(_ exchange: Exchange, on loop: isolated EventLoop) throws(Problem) -> Preparation? {
        guard let memo = exchange.connection.memo as? AccessMemo else { return nil }
        if exchange.repeatsLast, let request = memo.repeated(access, on: loop) {
            return .ready(begin(request, exchange))
        }
        memo.keep(nil)
        guard memo.covers(exchange.head) else { return nil }
        let match = router.match(exchange.method, exchange.head.path)
        guard let caller = match.isOpen ? .nobody : memo.caller else { return nil }
        let result = try call(for: exchange, by: caller, match, mayHaveBody: false, on: loop)
        if case .ready(let call) = result { memo.keep(call.request) }
        return result
    }

    /// The caller is known; the route decides.
    private func call(
        for exchange: Exchange,
        by caller: Caller,
        _ match: Router.Match,
        mayHaveBody: Bool,
        on loop: isolated EventLoop
    ) throws(Problem) -> Preparation {
        let head = exchange.head
        if !match.isOpen, case .refused(let refusal) = caller.decide(path: head.path) { throw Problem(refusal) }
        switch match {
        case .none where head.method == .options && head.path.elementsEqual("*".utf8):
            exchange.respond(Response.options(router.methods), on: loop)
            return .answered
        case .none:
            let path = String(decoding: head.path.prefix(200), as: UTF8.self)
            throw Problem(.notFound, "There is no resource at \(path).")
        case .wrongMethod(let allowed, _):
            guard head.method == .options else { throw .methodNotAllowed(allowed) }
            exchange.respond(Response.options(allowed), on: loop)
            return .answered
        case .route(let route, let parameters):
            let request = Request(
                route: route,
                place: places[ObjectIdentifier(route)] ?? 0,
                parameters: parameters,
                query: try route.query(of: head),
                caller: caller,
                answerType: try head.answerType(among: route.produces)
            )
            let call = begin(request, exchange)
            if let scope = route.scope, case .refused(let refusal) = caller.decide(ScopeSet(scope)) {
                throw Problem(refusal)
            }
            if mayHaveBody { try route.body.checkType(head) }
            return .ready(call)
        }
    }

    /// A request that came another way than over HTTP. Its body is whole, and the way it came shows the caller.
    func perform(_ exchange: Exchange, by caller: Caller, on loop: isolated EventLoop) {
        do throws(Problem) {
            let match = router.match(exchange.method, exchange.head.path)
            guard case .ready = try call(for: exchange, by: caller, match, mayHaveBody: true, on: loop) else { return }
            respond(to: exchange, on: loop)
        } catch {
            exchange.respond(error, on: loop)
        }
    }

    private func begin(_ request: Request, _ exchange: Exchange) -> Call {
        let call = Call(exchange, request)
        if request.route.changesState { call.audit = access.audit }
        if request.hasToken { call.tokenRevision = access.authenticator.tokens.revision }
        exchange.notes = call
        return call
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
        if request.hasToken, !access.isStillGood(call, now: loop.wallClock) {
            return exchange.respond(Problem(.notPaired(credentialSent: true)).closing(), on: loop)
        }
        call.hasBegun = true
        call.attempt(on: loop) { () throws(Problem) in try request.route.handler(self, call, loop) }
        // Only an answer that is still open can outlive its caller's right to it.
        if request.mayEnd, exchange.isOpen || exchange.isStreaming {
            access.began(exchange, by: request.caller, on: loop)
        }
    }

    private func beginPages(of connection: ConnectionInfo, on loop: isolated EventLoop) {
        while let call = pages.next(of: connection) { respond(to: call.exchange, on: loop) }
    }

    /// No event reports that a peer has read its bytes, so the connection is polled while pages wait for that.
    private func watch(_ connection: ConnectionInfo, on loop: isolated EventLoop) {
        loop.after(milliseconds: PageLimit.patience) {
            self.beginPages(of: connection, on: loop)
            if !self.pages.isOver(connection) { self.watch(connection, on: loop) }
        }
    }

    /// A stream over a limit is still opened, gets the reason, and is closed: clients give up for good on an error
    /// status.
    func streamRefusal(for call: Call, now: Timestamp) -> String? {
        if isShuttingDown { return "shutting_down" }
        guard access.isCurrent(call.caller, now: now) else { return "token_revoked" }
        // Streams must leave room for the requests that share their connection.
        guard call.exchange.connection.openStreams < settings.streamsPerConnection else { return "too_many_streams" }
        return open.takeSlot(for: call) ? nil : "too_many_streams"
    }

    /// A stream counts as answered once its head is sent, however long it lasts.
    func beginStream(_ call: Call, _ head: ResponseHead, on loop: isolated EventLoop) {
        var head = head
        // Proxies must neither keep, change nor buffer events: clients need them at once.
        head.fields.append(.cacheControl, "no-store, no-transform")
        head.fields.append(.xAccelBuffering, "no")
        call.exchange.beginStream(head, on: loop)
        log.count(call)
    }

    // MARK: The end

    package func holder(of exchange: Exchange) -> MemoryHolder {
        let caller = (exchange.notes as? Call)?.caller ?? .nobody
        return caller.isLimited ? .caller(caller.principal.identity) : .owner
    }

    package func finished(_ exchange: Exchange, on loop: isolated EventLoop) {
        let notes = exchange.notes
        exchange.notes = nil
        guard let call = notes as? Call else {
            if let caller = (notes as? Subscriber)?.plan.caller { return access.finished(exchange, by: caller) }
            log.count(exchange)
            if exchange.problemCode != nil { log.finished(exchange, nil, on: loop) }
            return
        }
        let request = call.request
        if call.isOpenPage, pages.end(call) {
            // Deferred, because a connection that is closing ends all of its exchanges in a loop.
            loop.after(milliseconds: 0) { self.beginPages(of: exchange.connection, on: loop) }
        }
        log.count(call)
        if exchange.problemCode != nil || request.route.changesState { log.finished(exchange, call, on: loop) }
        if request.mayEnd { access.finished(exchange, by: request.caller) }
        // A handler that has begun settles the request itself.
        if !call.hasBegun, let status = exchange.status { call.settle(status, exchange.problemCode, on: loop) }
    }

    package func refused(
        _ problem: Problem,
        requestID: String,
        connection: ConnectionInfo,
        on loop: isolated EventLoop
    ) {
        log.refused(problem, requestID, connection, on: loop)
    }
}
