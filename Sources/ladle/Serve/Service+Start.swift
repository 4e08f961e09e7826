import API
import Access
import Basics
import CSystem
import Commands
import Configuration
import DemoGateway
import EventLoops
import EventStream
import Observability
import Runs
import Server
import Service
import Store

extension Service {
    /// All that can fail is done here: whoever has a service can run it.
    static func start(_ settings: Settings, places: SettingsPlaces, _ voice: StartupOutput) async throws -> Service {
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
        let (store, opening) = try openStore(data, settings)
        let kept = try await KeptState(store, data)
        let finder = GatewayFinder(settings: settings, places: places)
        let audit = Self.audit(settings, data, voice.log)
        let manager = ServiceManager(Program.environment)
        let plan = try ServePlan.make(
            settings,
            log: voice.log,
            found: try finder.target(demo: demo),
            data: data.path,
            state: path,
            isDemo: isDemo,
            kept: kept,
            audit: audit,
            manager: manager
        )
        let (daemon, addresses) = try await loop.launch(plan, store)
        return Service(
            loop: loop,
            daemon: daemon,
            store: store,
            directory: directory,
            demo: demo,
            addresses: addresses,
            notes: Self.warnings(store.health) + Self.notes(opening, isDemo: isDemo, kept.tokens, plan)
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
            throw StartFailure(message: "\(error)", status: error.isPermission ? .noPermission : .temporary)
        }
    }

    static func openStore(
        _ directory: StateDirectory,
        _ settings: Settings
    ) throws -> (StateStore, StoreOpening) {
        var configuration = StoreConfiguration(
            directory: directory,
            clock: { Timestamp(milliseconds: cs_wall_ms()) },
            makeEpoch: { EventEpoch.make(random: .random(in: 0 ... .max)) }
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
}

extension EventLoop {
    func launch(
        _ plan: ServePlan,
        _ store: StateStore
    ) throws -> (LoopBound<Daemon>, [SocketAddress]) {
        let daemon = Daemon(plan: plan, store: store, on: self)
        do {
            try daemon.listen(on: self)
        } catch let error as SystemError {
            let isTaken = error.isAddressInUse
            throw StartFailure(
                message: "\(error)" + (isTaken ? "; another program has that port: choose one with --listen" : ""),
                status: error.isPermission ? .noPermission : .unavailable
            )
        }
        daemon.start(on: self)
        return (LoopBound(daemon, on: self), daemon.server.addresses)
    }

    func startDemo(_ options: DemoGatewayOptions) throws -> DemoGatewayHandle {
        try DemoGatewayServer.start(options, on: self)
    }
}

/// What an earlier process left that has to be known before anything is served.
struct KeptState {
    let lastEvent: EventID
    let tokens: FirstToken.Loaded
    let sessionDefaults: SessionDefaults

    init(_ store: StateStore, _ directory: StateDirectory) async throws {
        lastEvent = try await store.read { try $0.events.bounds().newest }
        tokens = try await FirstToken.load(store, directory)
        sessionDefaults = try await SessionDefaults.kept(in: store)
    }
}
