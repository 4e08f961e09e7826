import Access
package import Basics
package import EventLoops
package import Server
import HTTPModel
package import Observability
import Gateway
package import Upstream

/// Everything behind the HTTP edge, on one loop: who may, which route, what it does. The handlers stand in files of their
/// own, named after the resource.
///
/// What it owns refers to it `unowned`: it outlives them, and each retain of an object that was ever referenced weakly costs
/// twice, on the way of every request.
package final class Bridge: Responder {
    package let settings: BridgeSettings
    package let access: AccessService
    package let pipeline: EventPipeline
    package let link: UpstreamLink
    package let live: RunPublisher
    package let startedAt: Timestamp
    let router: Router
    var streamSlots: StreamSlots
    package var outbox: OutboxService?
    package var desk: GatewayEvents?
    var messages: MessageService?
    var sessions: SessionService?
    /// Lists of the gateway as last written to the database.
    var keptLists: [String: [UInt8]] = [:]
    package var documents: DocumentService?
    private(set) lazy var frames = FrameFeed(self)
    package internal(set) var isShuttingDown = false
    /// Long polls that wait for an event.
    var polls: [ObjectIdentifier: LongPoll] = [:]
    /// Requests that stay open for an entry of theirs.
    var followers: [ObjectIdentifier: any EntryFollower] = [:]
    /// Idempotency keys whose first request is not on disk yet.
    var sendsUnderWay: Set<String> = []
    let refusals = RefusalThrottle()
    private var pages = PageLimit()
    var tally: RequestTally
    var statusAnswer = StatusAnswer()
    /// Lines about requests that were refused, whoever sent them.
    var refusedLines = LogBudget()
    var silentLines = LogBudget()
    /// Questions that tailscaled did not answer.
    var silences: UInt64 = 0
    /// What others count goes on the same page.
    package var moreMetrics: (inout MetricsPage) -> Void = { _ in }
    let places: [ObjectIdentifier: Int]

    package init(
        settings: BridgeSettings,
        access: AccessService,
        pipeline: EventPipeline,
        link: UpstreamLink,
        live: RunPublisher,
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
