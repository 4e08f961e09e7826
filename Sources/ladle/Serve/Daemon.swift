import API
import Access
import Basics
import CSystem
import Configuration
import EventLoops
import Gateway
import Observability
import Outbox
import Runs
import Server
import Service
import Store
import TLS
import Upstream

/// One serving process: everything it owns, started in order and stopped in reverse. It lives on its loop.
final class Daemon: ServiceEventReceiver {
    /// Streams get this long to read their last event before their connections close.
    static let settleMilliseconds: Int64 = 250
    /// By then the store is read, the link is up or known to be down, and the start's code has run.
    private static let startUpMilliseconds: Int64 = 1000

    let loop: EventLoop
    private let plan: ServePlan
    package let link: UpstreamLink
    private let gatewayEvents: GatewayEvents
    private let services: Services
    private let api: HTTPAPI
    let server: HTTPServer
    private let listeners: ListenerSet
    private let access: AccessService
    private let tailscaled: TailscaledWatch
    private let rules: HostRules
    private let drainMilliseconds: Int64
    private var isStopping = false

    init(plan: ServePlan, store: StateStore, on loop: isolated EventLoop) {
        self.loop = loop
        self.plan = plan
        link = UpstreamLink(
            target: plan.target,
            signer: plan.device,
            tokens: plan.tokens,
            log: plan.settings.bool(.debugFrames) ? FrameLog() : nil,
            on: loop
        )
        services = Services(plan.serviceSettings, gateway: link, journal: store)
        gatewayEvents = GatewayEvents(link: link, events: services.events, outbox: services.outbox, log: plan.log)
        let hub = EventHub(last: plan.lastEvent, bufferLimit: plan.subscriberBuffer)
        access = AccessService(authenticator: plan.authenticator, feed: services.feed, hub: hub, audit: plan.audit)
        tailscaled = TailscaledWatch(paths: plan.tailscaledPaths, access: access)
        rules = HostRules(names: plan.settings.list(.accessHosts), origins: plan.origins)
        rules.certificateNames = plan.tls?.names ?? []
        api = HTTPAPI(
            settings: plan.apiSettings(link: link, rules: rules),
            services: services,
            link: link,
            hub: hub,
            access: access,
            on: loop
        )
        server = HTTPServer(
            responder: api,
            version: Version.text,
            limits: plan.serverLimits,
            firstRequestNumber: plan.seed >> 24,
            failure: { [log = plan.log] in log.warning("listener.failed", ["error": .string("\($0)")]) }
        )
        api.serverMetrics = { [unowned server] page in server.writeMetrics(to: &page) }
        listeners = ListenerSet(server: server, plan: plan, rules: rules, tailscaled: tailscaled)
        drainMilliseconds = plan.settings.int(.limitsDrain)
        services.events.add(self)
    }

    func receive(_ event: ServiceEvent, on loop: isolated EventLoop) {
        switch event {
        case .linkChanged(let status): plan.manager.show(status)
        case .tokensIssued(let tokens): plan.keep(tokens)
        default: break
        }
    }

    func listen(on loop: isolated EventLoop) throws {
        // Before the first connection is looked at.
        tailscaled.start(on: loop)
        try listeners.open(on: loop)
    }

    func start(on loop: isolated EventLoop) {
        access.start(on: loop)
        services.start(on: loop) { [link] _ in link.start(on: loop) }
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
        listeners.close(on: loop)
        tailscaled.stop(on: loop)
        access.writeTouched(on: loop)
        api.shutDownStreams(on: loop)
        server.drain(within: max(drainMilliseconds - Self.settleMilliseconds, 0), on: loop) { [link] in
            link.stop(on: loop)
            done()
        }
    }
}
