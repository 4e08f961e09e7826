package import Basics
package import EventLoops
import HTTP1
import HTTP2
import HTTPModel
package import POSIX
package import TLS

/// Listeners and the connections they accept, on one loop. The responder answers the requests.
package final class HTTPServer {
    /// Finds the user at the other end of a new connection, by its socket and both addresses.
    package typealias Identify = (borrowing Socket, SocketAddress, SocketAddress) -> UInt32?

    /// In a drain, peers that keep their end open must not delay the process's exit, however their connection ended.
    private static let drainLingerMilliseconds: Int64 = 250
    /// Over the limit, this many connections get an explanation; further ones are closed silently, so that a flood of
    /// refusals cannot use up all descriptors.
    package static let mostRefused = 32

    package let limits: ServerLimits
    /// Header lines sent with every answer: the version, and the fields that every API answer needs.
    let commonFields: [UInt8]
    private let version: String
    package internal(set) var counters = ServerCounters()
    let responder: any Responder
    private var listeners: [Listener] = []
    private var connections: [HTTPConnection] = []
    private var perPeer: [PeerKey: Int] = [:]

    /// Connections with the same key count together: those of another user on this host, or of one remote network.
    private enum PeerKey: Hashable {
        case user(UInt32)
        /// The owner of one IPv6 address has its whole network, so the network counts.
        case network(NetworkAddress)
    }
    private var sweep: TimerID?
    private var nextNumber: UInt64
    private(set) var isDraining = false
    private var drained: (() -> Void)?
    private var spareBuffer: [UInt8] = []
    private(set) var date = HTTP1DateLine(unixSeconds: 0)
    private var commonHTTP2: (second: Int64, fields: HTTP2CommonFields)?
    private let failure: (SystemError) -> Void

    package init(
        responder: any Responder,
        version: String,
        limits: ServerLimits = ServerLimits(),
        firstRequestNumber: UInt64,
        failure: @escaping (SystemError) -> Void
    ) {
        self.responder = responder
        self.limits = limits
        self.failure = failure
        nextNumber = firstRequestNumber
        self.version = version
        commonFields = Array("Ladle-Version: \(version)\r\nX-Content-Type-Options: nosniff\r\n".utf8)
    }

    /// The addresses in use; port 0 is replaced by the real port.
    package var addresses: [SocketAddress] { listeners.map(\.address) }
    package var openConnections: Int { connections.count }
    var sentBytes: UInt64 { connections.reduce(counters.bytesOut) { $0 &+ $1.stream.takenBytes } }

    /// - Parameters:
    ///   - address: as configured; for `unix:` the path.
    ///   - tls: serves TLS if set. It is read again for each connection, so that a reload takes effect without a restart.
    /// - Returns: the address in use.
    @discardableResult
    package func listen(
        on socket: consuming Socket,
        as kind: ListenerKind,
        at address: SocketAddress,
        tls: (() -> TLSServerContext)? = nil,
        identify: @escaping Identify = { _, _, _ in nil },
        loop: isolated EventLoop
    ) throws(SystemError) -> SocketAddress {
        let listener = try Listener(
            socket,
            configured: address,
            on: loop,
            failed: failure,
            // Strong references, here and in the timers: the server lives as long as its listeners, and one weak
            // reference to an object makes every later retain of it slower.
            accepted: { socket, peer in
                let local = kind == .tcp ? socket.localAddress ?? address : address
                self.accept(socket, kind, from: peer, to: local, tls: tls, identify: identify, on: loop)
            }
        )
        listeners.append(listener)
        return listener.address
    }

    private func accept(
        _ socket: consuming Socket,
        _ kind: ListenerKind,
        from peer: SocketAddress,
        to local: SocketAddress,
        tls: (() -> TLSServerContext)?,
        identify: Identify,
        on loop: isolated EventLoop
    ) {
        counters.accepted += 1
        guard connections.count < limits.connections + Self.mostRefused else {
            counters.overLimit += 1
            return
        }
        let user = identify(socket, peer, local)
        let session = tls.flatMap { try? $0().makeSession() }
        if tls != nil, session == nil {
            counters.handshakesFailed += 1
            return
        }
        let stream = StreamConnection(socket, tls: session, sendLimit: limits.answerBytes)
        stream.lingerMilliseconds = limits.lingerMilliseconds
        let info = ConnectionInfo(
            listener: kind,
            remote: peer,
            local: local,
            isEncrypted: session != nil,
            user: user
        )
        let connection = HTTPConnection(stream, info: info, server: self, on: loop)
        connection.place = UInt32(truncatingIfNeeded: connections.count)
        connections.append(connection)
        counters.open += 1
        armSweep(on: loop)
        connection.start(overLimit: isOverLimit(info), on: loop)
    }

    /// Nil for the owner, and on loopback if users cannot be distinguished.
    private func key(of info: ConnectionInfo) -> PeerKey? {
        if let user = info.user { return user == limits.owner ? nil : .user(user) }
        guard case .ip(let address, _) = info.remote, !address.isLoopback else { return nil }
        return .network(address.network)
    }

    private func isOverLimit(_ info: ConnectionInfo) -> Bool {
        var isOver = connections.count > limits.connections
        if let key = key(of: info) {
            perPeer[key, default: 0] += 1
            if perPeer[key, default: 0] > limits.connectionsPerPeer { isOver = true }
        }
        if isOver { counters.overLimit += 1 }
        return isOver
    }

    /// Removes a closed connection from the list.
    func forget(_ connection: HTTPConnection, on loop: isolated EventLoop) {
        let place = Int(connection.place)
        guard place < connections.count, connections[place] === connection else { return }
        let last = connections.removeLast()
        if last !== connection {
            connections[place] = last
            last.place = UInt32(truncatingIfNeeded: place)
        }
        counters.open -= 1
        if let key = key(of: connection.info) {
            let count = (perPeer[key] ?? 1) - 1
            perPeer[key] = count > 0 ? count : nil
        }
        if isDraining, connections.isEmpty { finishDrain() }
    }

    // MARK: Used by connections

    func nextRequestNumber() -> UInt64 {
        nextNumber &+= 1
        return nextNumber
    }

    func updateDate(on loop: isolated EventLoop) {
        date.update(unixSeconds: loop.wallClock.milliseconds / 1000)
    }

    /// The common fields of every answer over HTTP/2, rebuilt once a second.
    func commonHTTP2(on loop: isolated EventLoop) -> HTTP2CommonFields {
        let second = loop.wallClock.milliseconds / 1000
        if let common = commonHTTP2, common.second == second { return common.fields }
        var fields = HeaderFields()
        fields.append(.date, HTTPDate.bytes(unixSeconds: second))
        fields.append(.ladleVersion, version)
        fields.append(.xContentTypeOptions, "nosniff")
        let made = HTTP2CommonFields(fields)
        commonHTTP2 = (second, made)
        return made
    }

    /// Connections share one output buffer, so that answering allocates no memory. One is enough, because gathering
    /// ends within the call that began it.
    func lendBuffer(to out: inout [UInt8]) {
        if out.isEmpty { swap(&out, &spareBuffer) }
    }

    func takeBack(_ buffer: inout [UInt8]) {
        guard buffer.capacity <= 64 << 10 else {
            buffer = []
            return
        }
        buffer.removeAll(keepingCapacity: true)
        swap(&buffer, &spareBuffer)
    }

    // MARK: Deadlines

    /// One timer for all connections. It runs only while a connection has a deadline; idle event streams have none.
    func armSweep(on loop: isolated EventLoop) {
        guard sweep == nil else { return }
        sweep = loop.after(milliseconds: 1000) {
            self.sweep = nil
            var isNeeded = false
            var late: [HTTPConnection] = []
            for connection in self.connections {
                guard connection.deadline != HTTPConnection.noDeadline else { continue }
                if connection.deadline <= loop.now { late.append(connection) } else { isNeeded = true }
            }
            for connection in late { connection.deadlinePassed(on: loop) }
            if isNeeded || late.contains(where: { $0.deadline != HTTPConnection.noDeadline }) {
                self.armSweep(on: loop)
            }
        }
    }

    // MARK: Drain

    package func stopListening(at address: SocketAddress, on loop: isolated EventLoop) {
        for listener in listeners where listener.address == address { listener.close(on: loop) }
        listeners.removeAll { $0.address == address }
    }

    /// The first step of a shutdown.
    package func stopListening(on loop: isolated EventLoop) {
        for listener in listeners { listener.close(on: loop) }
        listeners = []
        for connection in connections {
            connection.stream.lingerMilliseconds = min(limits.lingerMilliseconds, Self.drainLingerMilliseconds)
        }
    }

    /// Lets open answers finish and closes idle connections; after the given time the remaining ones are closed too.
    package func drain(within milliseconds: Int64, on loop: isolated EventLoop, then done: @escaping () -> Void) {
        isDraining = true
        drained = done
        stopListening(on: loop)
        for connection in connections { connection.drain(on: loop) }
        if connections.isEmpty { return finishDrain() }
        loop.after(milliseconds: milliseconds) {
            for connection in self.connections { connection.cut(on: loop) }
        }
    }

    private func finishDrain() {
        let done = drained
        drained = nil
        done?()
    }
}
