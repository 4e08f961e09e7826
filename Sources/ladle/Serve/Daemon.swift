import API
import Access
import Basics
import Commands
import Discovery
import EventLoops
import Follow
import Observability
import Outbound
import POSIX
import Server
import Service
import Store
import TLS
import Upstream

/// The objects that serve, made in order and stopped in reverse: link, services, API, HTTP server, listeners. They live on
/// one loop.
final class Daemon: ServiceEventReceiver {
    /// Streams get this long to read their last event before their connections close.
    private static let settleMilliseconds: Int64 = 250
    /// By then the store is read, and the link is up or known to be down. Memory that only the start needs is then released.
    private static let startUpMilliseconds: Int64 = 1000

    let link: UpstreamLink
    private let configuration: ServeConfiguration
    private let tls: ListenerTLS?
    private let deviceTokenFile: PrivateFile
    /// Puts the tokens where the other hosts find them; nil where there is one host.
    private let keepTokens: (@Sendable (DeviceTokenStore) -> Void)?
    private let manager: ServiceManager
    private let log: Log
    private let services: Services
    private let gatewayEvents: GatewayEvents
    private let access: AccessService
    private let api: HTTPAPI
    private let server: HTTPServer
    /// Nil for a Ladle with a gateway of its own.
    private let follower: Follower?
    private var brokerCommands: BrokerCommands?
    private let rules: HostRules
    private let tailscaled: TailscaledWatch
    private let listeners: ListenerSet
    private let advertiser: Advertiser?
    /// The id under which Ladle is announced. It stays the same and does not reveal the device key.
    private let advertisedID: String
    private var isStopping = false

    /// The addresses on which Ladle listens, with the port that the system chose for port 0.
    var addresses: [SocketAddress] { server.addresses }

    init(
        _ configuration: ServeConfiguration,
        _ saved: SavedState,
        tls: ListenerTLS?,
        target: LinkTarget,
        store: any ServedStore,
        permit: Permit?,
        keepTokens: (@Sendable (DeviceTokenStore) -> Void)?,
        audit: AuditTrail?,
        manager: ServiceManager,
        log: Log,
        on loop: isolated EventLoop
    ) {
        self.configuration = configuration
        self.tls = tls
        deviceTokenFile = saved.deviceTokenFile
        self.keepTokens = keepTokens
        self.manager = manager
        self.log = log
        let seed = SecureRandom.bytes(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        link = UpstreamLink(
            target: target,
            signer: saved.device,
            tokens: saved.deviceTokens,
            log: configuration.keepsFrames ? FrameLog() : nil,
            permit: permit,
            on: loop
        )
        var serviceSettings = configuration.services(saved, seed: seed, log: log)
        serviceSettings.sinkTransport = {
            OutboundTransport(HTTPSender(permit: permit), ProgramRunner(permit: permit))
        }
        services = Services(serviceSettings, gateway: link, journal: store)
        gatewayEvents = GatewayEvents(link: link, events: services.events, outbox: services.outbox, log: log)
        var settings = configuration.api(log: log)
        settings.tls = { tls?.report }
        let open = OpenRequests(slots: configuration.streamSlots)
        let hub = EventHub(
            last: saved.lastEvent,
            bufferLimit: settings.streamBufferBytes,
            open: open,
            audience: services.audience
        )
        access = AccessService(
            authenticator: configuration.authenticator(saved.tokens),
            rows: services.tokenRows,
            hub: hub,
            open: open,
            audit: audit
        )
        rules = HostRules(names: configuration.hostNames, origins: configuration.origins)
        rules.certificateNames = tls?.names ?? []
        api = HTTPAPI(
            settings: settings,
            services: services,
            hub: hub,
            open: open,
            access: access,
            rules: rules,
            routes: configuration.follow == nil ? RouteTable.routes : RouteTable.ofFollower,
            on: loop
        )
        follower = configuration.follow.map { [api] in api.follow(FollowService($0, log: log)) }
        server = HTTPServer(
            responder: api,
            version: Version.text,
            limits: configuration.server,
            firstRequestNumber: seed >> 24,
            failure: { log.warning("listener.failed", ["error": .string("\($0)")]) }
        )
        api.add(server)
        tailscaled = TailscaledWatch(paths: configuration.tailscaledPaths, access: access, rules: rules)
        listeners = ListenerSet(configuration, tls: tls, server: server, rules: rules, tailscaled: tailscaled, log: log)
        advertiser = configuration.isAdvertised ? Advertiser(Program.environment, log: log) : nil
        let marked = Array("ladle advertise".utf8) + saved.device.publicKey
        advertisedID = Hex.encode(Digest.sha256(marked).prefix(8))
        services.events.add(self)
        brokerCommands = services.broker.map { BrokerCommands(api, $0) }
        if let brokerCommands { api.add(brokerCommands) }
    }

    /// Listens, then connects to the gateway.
    func start(on loop: isolated EventLoop) throws {
        // Starts before the listeners, because the first connection may already come from tailscaled.
        tailscaled.start(on: loop)
        do {
            try listeners.open(on: loop)
        } catch let error as SystemError {
            let hint = error.isAddressInUse ? "; another program has that port: choose one with --listen" : ""
            throw StartFailure(
                message: "\(error)\(hint)",
                status: error.isPermission ? .noPermission : .unavailable
            )
        }
        advertise()
        access.start(on: loop)
        if let follower {
            follower.start(on: loop)
        } else {
            services.start(on: loop) { [link] in link.start(on: loop) }
        }
        loop.after(milliseconds: Self.startUpMilliseconds) { ProcessLimits.releaseStartUpPages() }
    }

    func receive(_ event: ServiceEvent, on loop: isolated EventLoop) {
        switch event {
        case .linkChanged(let status): manager.show(status)
        case .tokensIssued(let tokens): save(tokens)
        default: break
        }
    }

    /// If the file cannot be written, the gateway asks for approval again at the next start.
    private func save(_ tokens: DeviceTokenStore) {
        keepTokens?(tokens)
        BackgroundWork.run { [deviceTokenFile, log] in
            do {
                try deviceTokenFile.replace(with: tokens.bytes)
            } catch {
                log.warning("link.tokenNotKept", ["error": .string("\(error)")])
            }
        }
    }

    /// The files of the broker's password and certificates may have changed.
    func reload(on loop: isolated EventLoop) { services.broker?.retryNow(on: loop) }

    /// The right to act has ended, or is back.
    func leaseChanged(mayAct: Bool, on loop: isolated EventLoop) {
        if mayAct { link.retryNow(on: loop) } else { link.cut(on: loop) }
    }

    /// New certificates are in use. Clients may send their names in `Host`.
    func renewed(names: [String]) {
        rules.certificateNames = names
        advertise()
    }

    /// Announces the first listener that faces the network, with its present certificate.
    private func advertise() {
        guard let advertiser else { return }
        guard let place = addresses.first(where: \.facesNetwork), case .ip(_, port: let port) = place else {
            return log.warning("advertise.failed", ["error": "no listener faces the network"])
        }
        let certificate = tls?.shown.first
        advertiser.announce(
            LadleAnnouncement(
                host: HostName.current,
                port: port,
                isEncrypted: certificate != nil,
                fingerprint: certificate.flatMap { $0.isSelfSigned ? $0.sha256 : nil },
                id: advertisedID,
                version: Version.text
            )
        )
    }

    /// Takes no more connections, ends the streams, finishes the answers under way, then closes the link. Messages that
    /// are not sent yet stay in the outbox.
    func stop(on loop: isolated EventLoop, then done: @escaping () -> Void) {
        guard !isStopping else { return }
        isStopping = true
        advertiser?.stop()
        listeners.close(on: loop)
        tailscaled.stop(on: loop)
        access.writeTouched(on: loop)
        services.broker?.stop(on: loop)
        follower?.stop(on: loop)
        api.endOpenRequests(on: loop)
        let drain = max(configuration.drainMilliseconds - Self.settleMilliseconds, 0)
        server.drain(within: drain, on: loop) { [link] in
            link.stop(on: loop)
            done()
        }
    }
}
