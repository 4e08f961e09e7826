import Access
import Basics
import Bridge
import CSystem
import Commands
import Configuration
import DemoGateway
import EventLog
import EventLoops
import EventStream
import Exchanges
import Observability
import Server
import Store
import TLS
import Upstream

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The daemon with what surrounds it: state directory, store, loops and signals.
final class Service: Sendable {
    private let loop: EventLoop
    private let daemon: LoopBound<Daemon>
    private let store: StateStore
    private let directory: StateDirectory
    private let demo: DemoGatewayHandle?
    private let signals = Signals()
    private let addresses: [SocketAddress]
    private let notes: [String]
    private let tls: ListenerTLS?
    private let audit: AuditTrail?
    private let manager: ServiceManager
    private let finder: GatewayFinder
    private let voice: ServeVoice

    private init(
        loop: EventLoop,
        daemon: LoopBound<Daemon>,
        store: StateStore,
        directory: StateDirectory,
        demo: DemoGatewayHandle?,
        addresses: [SocketAddress],
        notes: [String],
        tls: ListenerTLS?,
        audit: AuditTrail?,
        manager: ServiceManager,
        finder: GatewayFinder,
        voice: ServeVoice
    ) {
        self.loop = loop
        self.daemon = daemon
        self.store = store
        self.directory = directory
        self.demo = demo
        self.addresses = addresses
        self.notes = notes
        self.tls = tls
        self.audit = audit
        self.manager = manager
        self.finder = finder
        self.voice = voice
    }

    static func start(_ settings: Settings, places: SettingsPlaces, _ voice: ServeVoice) async throws -> Service {
        guard let path = places.stateDirectory(settings) else {
            throw StartFailure(
                message: "no state directory: set HOME, XDG_STATE_HOME or --state",
                status: .configuration
            )
        }
        let directory = try open(path)
        let isDemo = settings.bool(.demo)
        let data = isDemo ? try open(path + "/demo") : directory
        let loop = try EventLoop()
        loop.start()
        var demo: DemoGatewayHandle?
        if isDemo { demo = try await startDemo(settings) }
        let relay = EventRelay(loop)
        let (store, opening) = try openStore(data, settings, relay)
        let newest = try await store.reader.read { try EventTable($0).bounds().newest }
        let finder = GatewayFinder(settings: settings, places: places)
        let found = try finder.target(demo: demo)
        var plan = try ServePlan.make(
            settings,
            log: voice.log,
            found: found,
            data: data.path,
            state: path,
            isDemo: isDemo,
            lastEvent: newest
        )
        let tokens = try await FirstToken.load(store, data)
        plan.accessTokens = tokens.records
        let audit = Self.audit(settings, data, voice.log)
        plan.audit = audit
        let manager = ServiceManager(Program.environment)
        plan.linkMoved = { manager.show($0) }
        let (daemon, addresses) = try await loop.launch(plan, store, opening, relay)
        return Service(
            loop: loop,
            daemon: daemon,
            store: store,
            directory: directory,
            demo: demo,
            addresses: addresses,
            notes: Self.warnings(store.health) + Self.notes(opening, isDemo: isDemo, tokens, plan)
                + addresses.map(Exposure(settings).line),
            tls: plan.tls,
            audit: audit,
            manager: manager,
            finder: finder,
            voice: voice
        )
    }

    static func open(_ path: String) throws -> StateDirectory {
        do throws(StateDirectoryError) {
            return try StateDirectory(path: path)
        } catch {
            let isBusy = if case .inUse = error { true } else { false }
            throw StartFailure(message: "\(error)", status: isBusy ? .temporary : .noPermission)
        }
    }

    static func openStore(
        _ directory: StateDirectory,
        _ settings: Settings,
        _ relay: EventRelay? = nil
    ) throws -> (StateStore, StoreOpening) {
        var configuration = StoreConfiguration(
            directory: directory,
            modules: TokenTable.migrations,
            clock: { Timestamp(milliseconds: cs_wall_ms()) },
            makeEpoch: { EventEpoch.make(random: .random(in: 0 ... .max)) },
            published: { relay?.pass($0) }
        )
        configuration.keepEvents = Int(settings.int(.eventsKeep))
        configuration.keepEventsMs = settings.int(.eventsKeepFor)
        return try StateStore.open(configuration)
    }

    private static func audit(_ settings: Settings, _ directory: StateDirectory, _ log: Log) -> AuditTrail? {
        guard settings.bool(.audit) else { return nil }
        return AuditTrail(
            path: directory.path + "/audit.log",
            limit: UInt64(clamping: settings.int(.auditMaxBytes)),
            keep: Int(settings.int(.auditKeep))
        ) { log.error("audit.failed", ["path": .string($0.path), "error": .string($0.reason)]) }
    }

    private static func startDemo(_ settings: Settings) async throws -> DemoGatewayHandle {
        let loop = try EventLoop(label: "ladle.demo")
        loop.start()
        var options = DemoGatewayOptions()
        try options.set("protocol", to: settings.text(.demoProtocol) ?? "4")
        options.port = UInt16(clamping: settings.int(.demoPort))
        options.speed = settings.fraction(.demoSpeed)
        let chosen = options
        return try await loop.startDemo(chosen)
    }

    private static func warnings(_ health: StoreHealth) -> [String] {
        guard case .quarantined(let path, let reason) = health else { return [] }
        return ["\(reason) and was set aside in \(path); nothing can be sent until: ladle outbox recover"]
    }

    private static func notes(
        _ opening: StoreOpening,
        isDemo: Bool,
        _ tokens: FirstToken.Loaded,
        _ plan: ServePlan
    ) -> [String] {
        var notes: [String] = []
        if case .setAside = opening { notes.append("its events and tokens are not in the new database") }
        if case .readOnly(let reason) = opening { notes.append("the database is read-only: \(reason)") }
        if let path = tokens.createdAt { notes.append("a token with every scope is in \(path), for other devices") }
        for pin in plan.tls?.pins ?? [] { notes.append("certificate SHA-256 \(pin)") }
        if !plan.tailnetPorts.isEmpty, !plan.listen.contains(where: { $0.source == .tailnet }) {
            notes.append("this host has no tailnet address yet: listening there as soon as it has one")
        }
        if let shortage = plan.connections.shortage { notes.append("\(shortage); more: \(plan.connections.remedy)") }
        if isDemo { notes.append("demo: an embedded gateway with scripted runs; nothing leaves this machine") }
        return notes
    }

    private func announce() {
        let scheme = tls == nil ? "http" : "https"
        for note in notes { voice.say("serve.note", note) }
        for address in addresses {
            switch address {
            case .ip: voice.say("serve.listening", "listening on \(scheme)://\(address)")
            case .unix(let path):
                voice.say("serve.listening", "listening on \(path.isEmpty ? Exposure.inherited : path)")
            }
        }
        if let first = addresses.first(where: { $0.port != nil }) {
            voice.suggest("curl -d 'append the weather to weather.txt' '\(scheme)://\(first)/v1/messages?wait=30'")
        }
    }

    /// SIGHUP looks at certificate and gateway again at once; in a while what changed is noticed without it.
    private func followFiles() {
        let search = demo == nil ? GatewaySearch(finder: finder, loop: loop, daemon: daemon, log: voice.log) : nil
        search?.start()
        if let tls { CertificateClock.start { [log = voice.log] in Self.renew(tls, log) } }
        signals.watch(SIGHUP) { [tls, manager, log = voice.log] in
            manager.reloading()
            if let tls { Self.renew(tls, log) }
            search?.look(always: true)
            manager.ready()
        }
    }

    private static func renew(_ tls: ListenerTLS, _ log: Log) {
        switch tls.reload() {
        case .unchanged: break
        case .replaced: log.notice("tls.renewed", ["sha256": .string(tls.pins.joined(separator: ","))])
        case .kept(let fault): log.warning("tls.kept", ["error": .string(fault)])
        }
    }

    /// The loop and the store have to answer before the service manager hears that all is well.
    private func feedWatchdog() {
        guard let milliseconds = manager.heartbeatMilliseconds else { return }
        BackgroundWork.after(milliseconds: milliseconds) { [self] in
            loop.post { [self] _ in
                Task {
                    await store.answer()
                    manager.alive()
                    feedWatchdog()
                }
            }
        }
    }

    /// Serves until it is asked to stop. Who reads that it listens may signal it.
    func run() async {
        followFiles()
        feedWatchdog()
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            let resume = Once { done.resume() }
            signals.whenAskedToStop { [self] in
                voice.log.info("serve.stopping")
                manager.stopping()
                loop.post { loop in
                    guard let daemon = self.daemon.value(on: loop) else { return resume.run() }
                    daemon.stop(on: loop) { resume.run() }
                }
            }
            announce()
            manager.ready()
        }
        await store.close()
        await audit?.finish()
        await loop.stop()
        voice.log.info("serve.stopped")
    }
}

/// Runs once, whoever comes first.
final class Once: Sendable {
    private let work: Locked<(@Sendable () -> Void)?>

    init(_ work: @escaping @Sendable () -> Void) {
        self.work = Locked(work)
    }

    func run() {
        let taken = work.withLock { work in
            defer { work = nil }
            return work
        }
        taken?()
    }
}

/// Committed events find the pipeline, which is made after the store that commits them.
final class EventRelay: Sendable {
    private let loop: EventLoop
    private let target = Locked<LoopBound<EventPipeline>?>(nil)

    init(_ loop: EventLoop) {
        self.loop = loop
    }

    func aim(at pipeline: LoopBound<EventPipeline>) {
        target.withLock { $0 = pipeline }
    }

    func pass(_ events: [StoredEvent]) {
        guard let pipeline = target.withLock({ $0 }) else { return }
        loop.post { pipeline.value(on: $0)?.published(events, on: $0) }
    }
}

extension EventLoop {
    func launch(
        _ plan: ServePlan,
        _ store: StateStore,
        _ opening: StoreOpening,
        _ relay: EventRelay
    ) throws -> (LoopBound<Daemon>, [SocketAddress]) {
        let daemon = try Daemon(plan: plan, store: store, opening: opening, on: self)
        relay.aim(at: LoopBound(daemon.pipeline, on: self))
        do {
            try daemon.listen(on: self)
        } catch let error as SystemError {
            let isTaken = error.isAddressInUse
            throw StartFailure(
                message: "\(error)" + (isTaken ? "; another program has that port: choose one with --listen" : ""),
                status: isTaken ? .unavailable : .noPermission
            )
        }
        daemon.start(on: self)
        return (LoopBound(daemon, on: self), daemon.server.addresses)
    }

    func startDemo(_ options: DemoGatewayOptions) throws -> DemoGatewayHandle {
        try DemoGatewayServer.start(options, on: self)
    }
}
