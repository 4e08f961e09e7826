import Basics
package import EventLoops
package import POSIX

/// The demo gateway on an event loop: a listener on 127.0.0.1, its connections, one timer, and the core they all feed.
///
/// It belongs to the loop it was started on; other threads hold a `DemoGatewayHandle`.
package final class DemoGatewayServer {
    /// A client with more unread bytes is disconnected; the hello announces the limit.
    static let sendLimit = DemoHost.maximumBuffered

    package private(set) var port: UInt16
    private let core: any DemoGatewayCore
    private let makeDelivery: () -> any DemoDelivery
    private var listener: Listener?
    private var sockets: [DemoConnectionID: DemoSocket] = [:]
    private var lastConnection: UInt64 = 0
    private var timer: (id: TimerID, deadline: UInt64)?

    private init(_ core: any DemoGatewayCore, port: UInt16, _ makeDelivery: @escaping () -> any DemoDelivery) {
        self.core = core
        self.port = port
        self.makeDelivery = makeDelivery
    }

    /// Listens and serves until the handle stops it.
    package static func start(
        _ options: DemoGatewayOptions,
        on loop: isolated EventLoop
    ) throws(SystemError) -> DemoGatewayHandle {
        let model = DemoGatewayModel(options: options, primitives: .system, now: now())
        let server = try start(model, port: options.port, on: loop)
        return DemoGatewayHandle(server, token: options.token, on: loop)
    }

    /// The same with a test double in place of the model.
    package static func start(
        _ core: any DemoGatewayCore,
        port: UInt16,
        delivery: @escaping () -> any DemoDelivery = { DirectDelivery() },
        on loop: isolated EventLoop
    ) throws(SystemError) -> DemoGatewayServer {
        let server = DemoGatewayServer(core, port: port, delivery)
        let address = SocketAddress.ip(.loopback4, port: port)
        let listener = try Listener(
            Socket.listen(on: address),
            configured: address,
            on: loop,
            failed: { _ in },
            // The listener keeps the server alive until it is stopped.
            accepted: { socket, peer in server.accept(socket, from: peer, on: loop) }
        )
        server.listener = listener
        server.port = listener.address.port ?? port
        server.rearm(on: loop)
        return server
    }

    package static func now() -> DemoInstant {
        DemoInstant(
            wall: Timestamp(milliseconds: HostClock.wallMilliseconds),
            monotonic: HostClock.monotonicNanoseconds
        )
    }

    // MARK: - Connections

    private func accept(_ socket: consuming Socket, from peer: SocketAddress, on loop: isolated EventLoop) {
        lastConnection += 1
        let id = DemoConnectionID(lastConnection)
        let stream = DemoSocket(
            socket,
            id: id,
            isLoopback: peer.isLoopback,
            delivery: makeDelivery(),
            server: self
        )
        sockets[id] = stream
        stream.start(on: loop)
    }

    func upgraded(_ id: DemoConnectionID, peer: DemoPeer, on loop: isolated EventLoop) {
        perform(core.connected(id, peer: peer, now: Self.now()), on: loop)
    }

    var refusesUpgrade: Bool { core.refusesUpgrade(now: Self.now()) }

    func received(_ message: [UInt8], from id: DemoConnectionID, on loop: isolated EventLoop) {
        perform(core.received(message, from: id, now: Self.now()), on: loop)
    }

    func closed(_ id: DemoConnectionID, _ close: DemoClose?, on loop: isolated EventLoop) {
        guard sockets.removeValue(forKey: id) != nil else { return }
        perform(core.closed(id, close, now: Self.now()), on: loop)
    }

    package func stop(on loop: isolated EventLoop) {
        guard let listener else { return }
        perform(core.stop(now: Self.now()), on: loop)
        listener.close(on: loop)
        self.listener = nil
        if let timer { loop.cancel(timer.id) }
        timer = nil
        for socket in sockets.values { socket.finish(on: loop) }
        sockets = [:]
    }

    // MARK: - Actions and time

    package func perform(_ actions: [DemoAction], on loop: isolated EventLoop) {
        for action in actions {
            switch action {
            case .send(let id, let message): sockets[id]?.send(message, on: loop)
            case .close(let id, let close): sockets[id]?.close(close, on: loop)
            case .drop(let id): sockets[id]?.finish(on: loop)
            }
        }
        rearm(on: loop)
    }

    /// Keeps one timer on the core's next deadline.
    private func rearm(on loop: isolated EventLoop) {
        guard listener != nil, let deadline = core.nextDeadline else { return }
        if let timer, timer.deadline == deadline { return }
        if let timer { loop.cancel(timer.id) }
        let delay = deadline > loop.now ? deadline - loop.now : 0
        let id = loop.after(nanoseconds: delay) { [weak self] in self?.advance(on: loop) }
        timer = (id, deadline)
    }

    private func advance(on loop: isolated EventLoop) {
        timer = nil
        perform(core.advance(to: Self.now()), on: loop)
    }
}
