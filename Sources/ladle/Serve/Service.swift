import API
import Access
import DemoGateway
import EventLoops
import Observability
import Service
import Store
import TLS

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
    private let voice: StartupOutput

    init(
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
        voice: StartupOutput
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
        if let tls { CertificateClock.start { [self] in renew(tls) } }
        signals.watch(SIGHUP) { [self] in
            manager.reloading()
            if let tls { renew(tls) }
            search?.look(always: true)
            manager.ready()
        }
    }

    private func renew(_ tls: ListenerTLS) {
        switch tls.reload() {
        case .unchanged: break
        case .replaced:
            voice.log.notice("tls.renewed", ["sha256": .string(tls.pins.joined(separator: ","))])
            loop.post { [self] loop in daemon.value(on: loop)?.renewed(names: tls.names) }
        case .kept(let fault): voice.log.warning("tls.kept", ["error": .string(fault)])
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
