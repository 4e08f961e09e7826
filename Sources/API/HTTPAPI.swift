import Access
package import Basics
package import EventLoops
import Gateway
import HTTPModel
package import Observability
package import Server
package import Service
package import Upstream

/// Everything behind the HTTP edge, on one loop: who may, which route, what it does. The handlers stand in files of their
/// own, named after the resource.
///
/// What it owns refers to it `unowned`: it outlives them, and each retain of an object that was ever referenced weakly costs
/// twice, on the way of every request.
package final class HTTPAPI: Responder, ServiceEventReceiver {
    package let settings: APISettings
    package let services: Services
    package let link: UpstreamLink
    package let access: AccessService
    /// The host names and origins that browsers may use.
    let rules: HostRules
    package let hub: EventHub
    package let startedAt: Timestamp
    let router: Router
    var streamSlots: StreamSlots
    /// Lists of the gateway as last written to the database.
    var keptLists: [String: [UInt8]] = [:]
    private(set) lazy var frames = FrameFeed(self)
    package internal(set) var isShuttingDown = false
    /// Long polls that wait for an event.
    var polls: [ObjectIdentifier: LongPoll] = [:]
    /// Requests that stay open for one entry.
    var followers: [ObjectIdentifier: any EntryFollower] = [:]
    /// Idempotency keys whose first request is not on disk yet.
    var sendsUnderWay: Set<String> = []
    let refusals = RefusalThrottle()
    private var pages = PageLimit()
    var tally: RequestTally
    var statusAnswer = StatusAnswer()
    /// Lines about refused requests, whoever sent them.
    var refusedLines = LogBudget()
    var silentLines = LogBudget()
    /// Questions that tailscaled did not answer.
    var silences: UInt64 = 0
    /// Adds the counters of the HTTP server to the metrics page.
    package var serverMetrics: (inout MetricsPage) -> Void = { _ in }
    let places: [ObjectIdentifier: Int]

    package init(
        settings: APISettings,
        services: Services,
        link: UpstreamLink,
        hub: EventHub,
        access: AccessService,
        rules: HostRules,
        routes: [Route] = RouteTable.routes,
        on loop: isolated EventLoop
    ) {
        self.settings = settings
        self.services = services
        self.link = link
        self.hub = hub
        self.access = access
        self.rules = rules
        startedAt = loop.wallClock
        streamSlots = StreamSlots(perCaller: settings.streamsPerCaller, total: settings.streams)
        router = Router(routes)
        tally = RequestTally(routes: routes)
        places = Dictionary(uniqueKeysWithValues: routes.enumerated().map { (ObjectIdentifier($1), $0) })
        hub.ended = { [unowned self] caller in streamSlots.release(caller) }
        access.tokenEnded = { [unowned self] id, reason in tokenEnded(id, reason: reason, on: loop) }
        services.events.add(self)
    }

    var feed: EventFeed { services.feed }
    var outbox: OutboxService { services.outbox }
    var runs: RunService { services.runs }
    var messages: MessageService { services.messages }
    var sessions: SessionService { services.sessions }
    var documents: DocumentService { services.documents }
    var linkStatus: LinkStatus { link.status }

    /// The largest body of a new message: the gateway's largest frame, or before the first connection an estimate of it.
    var messageBodyLimit: Int { link.hello?.policy.maxPayload ?? 24 << 20 }

    func route(_ method: HTTPMethod, _ path: String) -> Router.Match { router.match(method, Array(path.utf8)[...]) }

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
        loop.after(milliseconds: PageLimit.patience) {
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
