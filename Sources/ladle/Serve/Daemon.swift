import Access
import Activity
import Basics
import Bridge
import CSystem
import Configuration
import Store
import EventLoops
import Server
import Observability
import Outbox
import TLS
import Gateway
import Upstream

/// One serving process: everything it owns, started in order and stopped in reverse. It lives on its loop.
final class Daemon {
    /// Streams get this long to read their last event before their connections close.
    static let settleMilliseconds: Int64 = 250
    /// By then the store is read, the link is up or known to be down, and the start's code has run.
    private static let startUpMilliseconds: Int64 = 1000

    let loop: EventLoop
    let store: StateStore
    private let hub: EventHub
    let pipeline: EventPipeline
    let link: UpstreamLink
    let outbox: OutboxService
    let desk: GatewayEvents
    let bridge: Bridge
    let server: HTTPServer
    private let doors: ListenerSet
    private let access: AccessService
    private let tailscaled: TailscaledWatch
    private let rules: HostRules
    private let drainMilliseconds: Int64
    private var isStopping = false

    init(plan: ServePlan, store: StateStore, opening: StoreOpening, on loop: isolated EventLoop) throws {
        self.loop = loop
        self.store = store
        hub = EventHub(last: plan.lastEvent, bufferLimit: plan.subscriberBuffer)
        pipeline = EventPipeline(store: store, hub: hub)
        link = UpstreamLink(
            target: plan.target,
            signer: plan.device,
            tokens: plan.tokens,
            log: plan.settings.bool(.debugFrames) ? FrameLog() : nil,
            on: loop
        )
        outbox = OutboxService(policy: plan.outboxPolicy, pipeline: pipeline, link: link, seed: plan.seed)
        let live = RunPublisher(pipeline: pipeline)
        desk = GatewayEvents(
            link: link,
            pipeline: pipeline,
            outbox: outbox,
            live: live,
            labels: plan.labels,
            on: loop
        )
        access = AccessService(authenticator: plan.authenticator, pipeline: pipeline, audit: plan.audit)
        tailscaled = TailscaledWatch(paths: plan.tailscaledPaths, access: access)
        rules = HostRules(names: plan.settings.list(.accessHosts), origins: plan.origins)
        rules.certificateNames = plan.tls?.names ?? []
        bridge = Bridge(
            settings: plan.bridgeSettings(link: link, rules: rules),
            access: access,
            pipeline: pipeline,
            link: link,
            live: live,
            on: loop
        )
        bridge.attach(outbox, desk, on: loop)
        server = HTTPServer(
            responder: bridge,
            version: Version.text,
            limits: plan.serverLimits,
            firstRequestNumber: plan.seed >> 24,
            failure: { [log = plan.log] in log.warning("listener.failed", ["error": .string("\($0)")]) }
        )
        let documents = DocumentService(
            link: link,
            pipeline: pipeline,
            desk: desk,
            mayAskByChat: plan.settings.text(.identityWrite) == "chat",
            refreshMilliseconds: plan.settings.int(.identityRefresh)
        )
        bridge.documents = documents
        desk.documents = documents
        desk.defaults = plan.sessionDefaults
        doors = ListenerSet(server: server, plan: plan, rules: rules, tailscaled: tailscaled)
        drainMilliseconds = plan.settings.int(.limitsDrain)
        desk.log = plan.log
        outbox.log = plan.log
        pipeline.log = plan.log
        bridge.moreMetrics = { [unowned server] page in server.writeMetrics(to: &page) }
        desk.keepTokens = { tokens in plan.keep(tokens) }
        desk.linkMoved = plan.linkMoved
    }

    func listen(on loop: isolated EventLoop) throws {
        // Before the first connection is looked at.
        tailscaled.start(on: loop)
        try doors.open(on: loop)
    }

    func start(on loop: isolated EventLoop) {
        access.start(on: loop)
        outbox.load(on: loop)
        bridge.documents?.load(on: loop)
        desk.load(on: loop) { [link] in link.start(on: loop) }
        loop.after(milliseconds: Self.startUpMilliseconds) { ProcessLimits.releaseStartUpPages() }
    }

    /// The certificates were replaced.
    func renewed(names: [String]) {
        rules.certificateNames = names
    }

    /// Stops in reverse: no new connections, streams told and ended, answers under way finished, then the link and the
    /// database. What the outbox has not sent stays in it.
    func stop(on loop: isolated EventLoop, then done: @escaping () -> Void) {
        guard !isStopping else { return }
        isStopping = true
        doors.close(on: loop)
        tailscaled.stop(on: loop)
        access.writeTouched(on: loop)
        bridge.shutDownStreams(on: loop)
        server.drain(within: max(drainMilliseconds - Self.settleMilliseconds, 0), on: loop) { [link] in
            link.stop(on: loop)
            done()
        }
    }
}
