import API
import Access
import Basics
import Commands
import Configuration
import DemoGateway
import EventLoops
import Follow
import Observability
import POSIX
import Service
import Store
import Upstream

/// The serving process: state directory, database, event loop, daemon, signals and service manager.
final class ServeProcess: Sendable {
    private let configuration: ServeConfiguration
    private let output: StartupOutput
    private let manager: ServiceManager
    private let signals: Signals
    private let stop: StopRequest
    private let loop: EventLoop
    private let demo: DemoGatewayHandle?
    /// Holds the lock of the state directory.
    private let directory: StateDirectory
    private let store: any ServedStore
    /// Nil for a state in a file, which has one host.
    private let leadership: Leadership?
    private let audit: AuditTrail?
    private let finder: GatewayFinder
    private let tls: ListenerTLS?
    private let daemon: LoopBound<Daemon>
    private let addresses: [SocketAddress]
    /// Lines to print once the process listens.
    private let notes: [String]

    /// Everything that can fail happens here; `run` then serves.
    init(_ configuration: ServeConfiguration, output: StartupOutput) async throws {
        let (settings, log) = (configuration.settings, output.log)
        let directory = try StateDirectory.open(configuration.stateDirectory)
        let data = configuration.isDemo ? try StateDirectory.open(configuration.dataDirectory) : directory
        let closed = data.closeFiles()
        let tls = try configuration.tls.map { try ListenerTLS($0) }
        let demo = configuration.isDemo ? try await DemoGatewayHandle.start(settings) : nil
        let manager = ServiceManager(Program.environment)
        let (signals, stop) = (Signals(), StopRequest())
        try data.checkPlace(of: configuration.database)
        let store: any ServedStore
        let opening: StoreOpening
        let leadership: Leadership?
        let keepTokens: (@Sendable (DeviceTokenStore) -> Void)?
        if let database = configuration.database {
            stop.watch(signals)
            let led = try await Self.lead(database, in: data, settings, output, manager, stop)
            (store, opening, leadership) = (led.store, led.opening, led.leadership)
            keepTokens = { tokens in database.identity?.keep(tokens, in: led.store, log) }
            _ = tls?.reload()
        } else {
            (store, opening) = try data.openStore(settings)
            (leadership, keepTokens) = (nil, nil)
        }
        let audit = configuration.audit(in: data.path, log: log)
        let finder = GatewayFinder(settings: settings, places: configuration.places)
        let saved: SavedState
        do {
            saved = try await SavedState(store, in: data, isFollower: configuration.follow != nil)
            let target = try finder.target(demo: demo)
            loop = try EventLoop()
            loop.start()
            (daemon, addresses) = try await loop.run { loop in
                let daemon = Daemon(
                    configuration,
                    saved,
                    tls: tls,
                    target: target,
                    store: store,
                    permit: leadership?.permit,
                    keepTokens: keepTokens,
                    audit: audit,
                    manager: manager,
                    log: log,
                    on: loop
                )
                try daemon.start(on: loop)
                return (LoopBound(daemon, on: loop), daemon.addresses)
            }
        } catch {
            // Another host may do better, and at once.
            await leadership?.resign()
            throw error
        }
        self.configuration = configuration
        self.output = output
        self.directory = directory
        self.demo = demo
        self.store = store
        self.leadership = leadership
        self.signals = signals
        self.stop = stop
        self.audit = audit
        self.manager = manager
        self.finder = finder
        self.tls = tls
        let exposure = Exposure(settings)
        notes =
            Self.notes(configuration, saved, opening, store.health, closed: closed)
            + (tls.map { CertificateNotes.lines($0.report) } ?? []) + addresses.map(exposure.line)
    }

    /// Waits until this host leads, and then reads what the one before has left.
    private static func lead(
        _ database: DatabaseConfiguration,
        in directory: StateDirectory,
        _ settings: Settings,
        _ output: StartupOutput,
        _ manager: ServiceManager,
        _ stop: StopRequest
    ) async throws -> (store: ServerStore, opening: StoreOpening, leadership: Leadership) {
        let leave: @Sendable (String) -> Void = { reason in Self.leave(reason, output.log) }
        let configuration = directory.storeConfiguration(settings)
        do {
            let opening = try ServerStore.prepare(configuration, database.settings())
            try SharedIdentity.check(database.identity, against: ServerStore.secrets(at: database.place))
            let seen = SeenCommits(in: directory.path)
            let leadership = try Leadership(
                database,
                in: directory,
                seen,
                log: output.log,
                leave: leave
            )
            let lead = try await leadership.take(output, manager, stop: stop)
            do {
                var place = database.settings(leader: lead.mark, leave: leave)
                (place.failover, place.seen) = (lead.failover, seen)
                let store = try ServerStore.open(configuration, place)
                await leadership.opened()
                let isOwn = try await database.identity?.adopt(store, in: directory.path) ?? false
                if isOwn, !lead.last.isEmpty, lead.last != database.host {
                    let reason = "\(lead.last) led without cluster.keyFile; for the gateway this host is another device"
                    output.log.warning("cluster.otherDevice", ["error": .string(reason)])
                }
                if let loss = store.loss { output.log.error("store.lost", ["error": .string(loss)]) }
                return (store, store.loss.map { .lost(reason: $0) } ?? opening, leadership)
            } catch {
                await leadership.resign()
                throw error
            }
        } catch let fault as ServerFault {
            throw DatabaseConfiguration.failure(fault, url: database.url)
        }
    }

    /// Ends this process at once: what it has in memory may not be what the database has. The service manager starts it anew.
    private static func leave(_ reason: String, _ log: Log) {
        log.error("store.left", ["error": .string(reason)])
        log.flush()
        CurrentProcess.endAtOnce(status: ExitCode.temporary.rawValue)
    }

    /// Serves until SIGTERM or SIGINT, which may come as soon as the first line is printed.
    func run() async -> ExitCode {
        followFiles()
        feedWatchdog()
        MemoryClock.start()
        StoreClock.start(store, log: output.log, last: store.health)
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            let resume = Once { done.resume() }
            stop.watch(signals)
            stop.whenAsked { [self] in
                output.log.info("serve.stopping")
                manager.stopping()
                loop.post { loop in
                    guard let daemon = self.daemon.value(on: loop) else { return resume.run() }
                    daemon.stop(on: loop) { resume.run() }
                }
            }
            announce()
            manager.ready()
            followLease()
        }
        await store.close()
        await leadership?.resign()
        await audit?.finish()
        await loop.stop()
        output.log.info("serve.stopped")
        // The service manager starts it again, and it waits behind the next leader.
        return leadership?.hasStepped == true ? .temporary : .ok
    }

    private func followLease() {
        leadership?.follow(stop: stop, leave: { [log = output.log] reason in Self.leave(reason, log) }) {
            [self] mayAct in
            if mayAct {
                output.log.notice("lease.resumed")
            } else {
                output.log.warning("lease.suspended", ["error": "the database has confirmed no beat in time"])
            }
            loop.post { [self] loop in daemon.value(on: loop)?.leaseChanged(mayAct: mayAct, on: loop) }
        }
    }

    // MARK: Output

    private func announce() {
        for note in notes { output.say("serve.note", note) }
        for address in addresses {
            switch address {
            case .ip: output.say("serve.listening", "listening on \(configuration.scheme(of: address))://\(address)")
            case .unix(let path):
                output.say("serve.listening", "listening on \(path.isEmpty ? Exposure.inherited : path)")
            }
        }
        let command = FirstCommand(
            addresses,
            isEncrypted: configuration.isEncrypted,
            ownerNeedsToken: Exposure(configuration.settings).ownerNeedsToken,
            control: configuration.controlSocket
        )
        output.suggest(command.text)
    }

    private static func notes(
        _ configuration: ServeConfiguration,
        _ saved: SavedState,
        _ opening: StoreOpening,
        _ health: StoreHealth,
        closed: [String]
    ) -> [String] {
        var notes: [String] = []
        if !closed.isEmpty {
            notes.append(
                "other users had rights to these state files, and have none now: \(closed.joined(separator: ", "))"
            )
        }
        if case .quarantined(let path, let reason) = health {
            // Where the state was named, the command needs its name too.
            let isNamed = configuration.settings.isSet(.state)
            let place = isNamed ? " --state \(Printable.argument(configuration.stateDirectory))" : ""
            notes.append(
                "\(reason) and was set aside in \(path); nothing can be sent until: ladle outbox recover\(place)"
            )
        }
        if case .setAside = opening { notes.append("its events and tokens are not in the new database") }
        if case .lost(let reason) = opening {
            notes.append(
                "the database has lost commits: \(reason). Events begin a new log, and messages that wait are looked for at the gateway "
                    + "before they are sent. A token that was revoked just before may be back: ladle token list"
            )
        }
        if case .readOnly(let reason) = opening { notes.append("the database is read-only: \(reason)") }
        if !saved.unreadableTokens.isEmpty {
            let ids = saved.unreadableTokens.map(Printable.line).joined(separator: ", ")
            notes.append("damaged tokens open nothing; make them anew with ladle token create: \(ids)")
        }
        if let path = saved.newTokenPath { notes.append("a token with every scope is in \(path), for other devices") }
        if let note = NotificationConfiguration.exposure(configuration.settings) { notes.append(note) }
        if !configuration.tailnetPorts.isEmpty, !configuration.listen.contains(where: { $0.source == .tailnet }) {
            notes.append("this host has no tailnet address yet: listening there as soon as it has one")
        }
        // The default is more than most people need, so only a configured number is worth a line.
        let connections = configuration.connections
        if configuration.settings.isSet(.limitsConnections), let shortage = connections.shortage {
            notes.append("\(shortage); more: \(connections.remedy)")
        }
        if let follow = configuration.follow {
            notes.append(
                "follows \(Printable.line(follow.url)): its events and tokens are served here, other requests go there"
            )
        }
        if configuration.isDemo {
            notes.append("demo: an embedded gateway with scripted runs; nothing leaves this machine")
        }
        return notes
    }

    // MARK: Changes while serving

    /// Looks at the certificate files and for the gateway every half minute, and at SIGHUP.
    private func followFiles() {
        let hasGateway = demo == nil && configuration.follow == nil
        let search = hasGateway ? GatewaySearch(finder: finder, loop: loop, daemon: daemon, log: output.log) : nil
        search?.start()
        let keeper = certificateKeeper()
        keeper?.start()
        if let tls { CertificateClock.start { [self] in renew(tls) } }
        signals.watch(.hangUp) { [self] in
            manager.reloading()
            if let tls { renew(tls) }
            keeper?.restart()
            search?.look(always: true)
            loop.post { loop in self.daemon.value(on: loop)?.reload(on: loop) }
            manager.ready()
        }
    }

    private func certificateKeeper() -> TailnetCertificateKeeper? {
        guard let tls, let file = configuration.tls?.tailnet else { return nil }
        return TailnetCertificateKeeper(
            file,
            tailscaled: configuration.tailscaledPaths,
            tls: tls,
            loop: loop,
            log: output.log
        ) { [self] in renew(tls) }
    }

    private func renew(_ tls: ListenerTLS) {
        switch tls.reload() {
        case .unchanged: break
        case .replaced:
            output.log.notice(
                "tls.renewed",
                ["sha256": .string(tls.shown.map { Hex.encode($0.sha256) }.joined(separator: ","))]
            )
            loop.post { [self] loop in daemon.value(on: loop)?.renewed(names: tls.names) }
        case .kept(let fault): output.log.warning("tls.kept", ["error": .string(fault)])
        }
    }

    /// The loop and the store must answer before the service manager hears that the process is alive.
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
}

extension EventLoop {
    /// Runs `body` on the loop and returns its result.
    func run<Result: Sendable>(_ body: @Sendable (isolated EventLoop) throws -> Result) rethrows -> Result {
        try body(self)
    }
}
