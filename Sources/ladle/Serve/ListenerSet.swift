import API
import Access
import Basics
import Commands
import Discovery
import EventLoops
import Observability
import POSIX
import Server
import Service
import TLS

/// Opens the listeners. Opens and closes the tailnet listeners as this host gets and loses tailnet addresses.
final class ListenerSet {
    /// The Linux kernel announces changed addresses. This timer is for a missed announcement, and for other systems.
    private static let followMilliseconds: Int64 = 10_000

    private let configuration: ServeConfiguration
    private let tls: ListenerTLS?
    private let server: HTTPServer
    private let rules: HostRules
    private let tailscaled: TailscaledWatch
    private let log: Log
    private let peers = PeerLookup()
    private var files: [SocketFile] = []
    private var tailnet: [SocketAddress: SocketAddress] = [:]
    /// Tailnet addresses where listening failed, and why. Each reason is logged once, however often it is tried.
    private var failures: [SocketAddress: String] = [:]
    private var timer: TimerID?
    private var watch: AddressWatch?

    init(
        _ configuration: ServeConfiguration,
        tls: ListenerTLS?,
        server: HTTPServer,
        rules: HostRules,
        tailscaled: TailscaledWatch,
        log: Log
    ) {
        self.configuration = configuration
        self.tls = tls
        self.server = server
        self.rules = rules
        self.tailscaled = tailscaled
        self.log = log
    }

    func open(on loop: isolated EventLoop) throws {
        for address in configuration.listen { try open(address, on: loop) }
        if configuration.tailnetPorts.isEmpty { return }
        watch = try? AddressWatch(on: loop) { [weak self] in self?.update(on: loop) }
        follow(on: loop)
    }

    private func open(_ listen: ListenAddress, on loop: isolated EventLoop) throws {
        switch listen.source {
        case .inherited(let inherited):
            let socket = Socket(try Descriptor(adopting: inherited.number))
            guard socket.isListening else {
                throw StartFailure(
                    message: "descriptor \(inherited.number) from the service manager does not listen",
                    status: .configuration
                )
            }
            var place = listen
            place.address = socket.localAddress ?? .unix(path: "")
            if case .ip(let address, port: _) = place.address {
                if let fault = ListenAddress.exposure(of: address, "fd:", configuration.listenRules) {
                    throw StartFailure(message: "--listen \(fault)", status: .configuration)
                }
            } else if place.kind == .tcp {
                place.kind = .unix
            }
            try add(place, socket, on: loop)
        case .bound, .tailnet:
            if case .unix(let path) = listen.address {
                if listen.kind == .control {
                    try SocketFile.removeControlSocket(path)
                } else {
                    return try claim(path, for: listen, on: loop)
                }
            }
            try add(listen, try Socket.listen(on: listen.address, mode: listen.mode), on: loop)
        }
    }

    private func claim(_ path: String, for listen: ListenAddress, on loop: isolated EventLoop) throws {
        do {
            let file = try SocketFile(claiming: path)
            files.append(file)
            // The socket has mode 0600 until the owner is set.
            let socket = try Socket.listen(on: listen.address)
            try file.give(to: listen.owner, mode: listen.mode)
            try add(listen, socket, on: loop)
        } catch let fault as SocketFile.Fault {
            throw StartFailure(message: fault.message, status: fault.status)
        }
    }

    private func add(_ listen: ListenAddress, _ socket: consuming Socket, on loop: isolated EventLoop) throws {
        var tls: (() -> TLSServerContext)?
        if listen.kind == .tcp, configuration.isEncrypted(listen.address), let keeper = self.tls {
            tls = { keeper.context }
        }
        let actual = try server.listen(
            on: socket,
            as: listen.kind,
            at: listen.address,
            tls: tls,
            identify: identify(listen.kind),
            loop: loop
        )
        if listen.source == .tailnet { tailnet[listen.address] = actual }
        rules.listening = server.addresses
    }

    private func identify(_ kind: ListenerKind) -> HTTPServer.Identify {
        let (peers, tailscaled) = (peers, tailscaled)
        switch kind {
        case .tcp:
            return { socket, _, _ in
                guard case .loopback(_, let uid) = peers.tcpPeer(socket.descriptor.rawNumber)?.origin else {
                    return nil
                }
                tailscaled.lookIfUnknown()
                return uid
            }
        case .control, .unix, .serve:
            return { socket, _, _ in
                guard case .unix(let uid) = peers.unixPeer(socket.descriptor.rawNumber, listener: .unix).origin else {
                    return nil
                }
                return uid
            }
        }
    }

    // MARK: The tailnet

    private func follow(on loop: isolated EventLoop) {
        timer = loop.after(milliseconds: Self.followMilliseconds) { [weak self] in
            guard let self else { return }
            self.update(on: loop)
            self.follow(on: loop)
        }
    }

    /// If an address is gone, closes only its listener: the connections end by themselves.
    private func update(on loop: isolated EventLoop) {
        let present = NetworkInterface.tailnetAddresses(NetworkInterface.all())
        var wanted: [SocketAddress] = []
        for port in configuration.tailnetPorts { wanted += present.map { .ip($0, port: port) } }
        for (address, actual) in tailnet where !wanted.contains(address) {
            server.stopListening(at: actual, on: loop)
            tailnet[address] = nil
            log.notice("tailnet.gone", ["address": .string("\(actual)")])
        }
        failures = failures.filter { wanted.contains($0.key) }
        for address in wanted where tailnet[address] == nil {
            let listen = ListenAddress(kind: .tcp, address: address, source: .tailnet)
            do {
                try open(listen, on: loop)
                failures[address] = nil
                log.notice("tailnet.listening", ["url": .string("\(configuration.scheme(of: address))://\(address)")])
            } catch {
                let reason = "\(error)"
                guard failures.updateValue(reason, forKey: address) != reason else { continue }
                log.warning("tailnet.failed", ["error": .string(reason)])
            }
        }
        rules.listening = server.addresses
    }

    func close(on loop: isolated EventLoop) {
        if let timer { loop.cancel(timer) }
        timer = nil
        watch?.close(on: loop)
        server.stopListening(on: loop)
        for file in files { file.remove() }
        for listen in configuration.listen where listen.kind == .control {
            if case .unix(let path) = listen.address { try? SocketFile.removeControlSocket(path) }
        }
    }
}
