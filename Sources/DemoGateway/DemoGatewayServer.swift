import Basics
import CSystem
package import EventLoops

/// The demo gateway on a loop: a listener on 127.0.0.1, its connections, one timer, and the model they all feed.
///
/// Everything here belongs to the loop it was started on; `DemoGatewayHandle` is what other threads hold.
package final class DemoGatewayServer {
    /// A client that reads nothing is cut here; the policy in the hello announces the same number.
    static let sendLimit = 52_428_800

    private let model: GatewayModel
    private let record: RecordFile?
    private var listener: Listener?
    private var sockets: [ConnectionID: DemoSocket] = [:]
    private var lastConnection: UInt64 = 0
    private var timer: (id: TimerID, deadline: UInt64)?
    private var isStopped = false

    private init(_ options: DemoGatewayOptions, now: GatewayInstant) throws(SystemError) {
        var file: RecordFile?
        if let path = options.recordFile { file = try RecordFile(path: path) }
        record = file
        model = GatewayModel(options: options, primitives: .system, now: now)
    }

    /// Listens and serves until `stop`.
    package static func start(
        _ options: DemoGatewayOptions,
        on loop: isolated EventLoop
    ) throws(SystemError) -> DemoGatewayHandle {
        let server = try DemoGatewayServer(options, now: instant())
        let address = SocketAddress.ip(.loopback4, port: options.port)
        let listener = try Listener(
            Socket.listen(on: address),
            configured: address,
            on: loop,
            failed: { _ in },
            // Kept alive by its listener until it is stopped.
            accepted: { socket, peer in server.accept(socket, from: peer, on: loop) }
        )
        server.listener = listener
        server.rearm(on: loop)
        return DemoGatewayHandle(
            port: listener.address.port ?? options.port,
            token: options.token,
            server: LoopBound(server, on: loop),
            loop: loop
        )
    }

    static func instant() -> GatewayInstant {
        GatewayInstant(wall: Timestamp(milliseconds: cs_wall_ms()), monotonic: cs_monotonic_ns())
    }

    var delivery: GatewayFaults.Delivery { model.faults.delivery }

    // MARK: - Connections

    private func accept(_ socket: consuming Socket, from peer: SocketAddress, on loop: isolated EventLoop) {
        lastConnection += 1
        let id = ConnectionID(lastConnection)
        let stream = DemoSocket(socket, id: id, isLoopback: peer.isLoopback, server: self)
        sockets[id] = stream
        stream.start(on: loop)
    }

    func upgraded(_ id: ConnectionID, peer: GatewayPeer, on loop: isolated EventLoop) {
        perform(model.connected(id, peer: peer, now: Self.instant()), on: loop)
    }

    func received(_ message: [UInt8], from id: ConnectionID, on loop: isolated EventLoop) {
        perform(model.received(message, from: id, now: Self.instant()), on: loop)
    }

    func heardClose(_ code: UInt16, _ reason: String) { model.lastClose = (code, reason) }

    func closed(_ id: ConnectionID, on loop: isolated EventLoop) {
        guard sockets.removeValue(forKey: id) != nil else { return }
        perform(model.closed(id, now: Self.instant()), on: loop)
    }

    func control(
        _ method: String,
        _ path: String,
        _ query: [(name: String, value: String)],
        _ body: [UInt8],
        on loop: isolated EventLoop
    ) -> ControlAnswer {
        let answer = model.control(method: method, path: path, query: query, body: body, now: Self.instant())
        perform(answer.actions, on: loop)
        return answer
    }

    func stop(on loop: isolated EventLoop) {
        guard !isStopped else { return }
        isStopped = true
        perform(model.stop(now: Self.instant()), on: loop)
        listener?.close(on: loop)
        listener = nil
        if let timer { loop.cancel(timer.id) }
        timer = nil
        for socket in sockets.values { socket.finish(on: loop) }
        sockets = [:]
    }

    // MARK: - Work

    private func perform(_ actions: [GatewayAction], on loop: isolated EventLoop) {
        for action in actions {
            switch action {
            case .send(let id, let bytes): sockets[id]?.send(bytes, on: loop)
            case .sendRaw(let id, let bytes): sockets[id]?.sendRaw(bytes, on: loop)
            case .close(let id, let code, let reason): sockets[id]?.close(code, reason, on: loop)
            case .drop(let id): sockets[id]?.finish(on: loop)
            case .record(let line): record?.append(line)
            }
        }
        rearm(on: loop)
    }

    /// Keeps one timer on the model's next moment.
    private func rearm(on loop: isolated EventLoop) {
        guard !isStopped, let deadline = model.nextDeadline else { return }
        if let timer, timer.deadline == deadline { return }
        if let timer { loop.cancel(timer.id) }
        let delay = deadline > loop.now ? deadline - loop.now : 0
        let id = loop.after(nanoseconds: delay) { [weak self] in self?.advance(on: loop) }
        timer = (id, deadline)
    }

    private func advance(on loop: isolated EventLoop) {
        timer = nil
        perform(model.advance(to: Self.instant()), on: loop)
    }
}
