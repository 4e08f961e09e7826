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
    /// Descriptors beside those of `ServerLimits.connections`.
    package static let extraDescriptors = ConnectionQuota.mostRefused + ConnectionQuota.forControl

    package let limits: ServerLimits
    /// Header lines sent with every answer: the version, and the fields that every API answer needs.
    let commonFields: [UInt8]
    private let version: String
    package internal(set) var counters = ServerCounters()
    let responder: any Responder
    private var listeners: [Listener] = []
    private var connections: [HTTPConnection] = []
    private var quota: ConnectionQuota
    /// Of the answers that their clients have not read whole.
    var unread: HeldBytes
    /// Of the requests that are not answered yet.
    private(set) var bodies: HeldBytes
    /// Limits the rate of explanations for connections that are closed at once, so that a flood of them costs little.
    private var explanations = TokenBucket(burst: 32, perSecond: 32)
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
        quota = ConnectionQuota(limits)
        unread = HeldBytes(most: limits.unreadAnswers)
        bodies = HeldBytes(most: limits.unfinishedBodies)
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
        let user = identify(socket, peer, local)
        let info = ConnectionInfo(listener: kind, remote: peer, local: local, isEncrypted: tls != nil, user: user)
        guard let slot = quota.take(info) else { return turnAway(socket, info, on: loop) }
        if slot == .refused { counters.overLimit += 1 }
        let session = tls.flatMap { try? $0().makeSession() }
        if tls != nil, session == nil {
            quota.giveBack(slot, of: info)
            counters.handshakesFailed += 1
            return
        }
        let stream = StreamConnection(socket, tls: session, sendLimit: limits.answerBytes)
        stream.lingerMilliseconds = limits.lingerMilliseconds
        let connection = HTTPConnection(stream, info: info, slot: slot, server: self, on: loop)
        connection.place = UInt32(truncatingIfNeeded: connections.count)
        connections.append(connection)
        counters.open += 1
        armSweep(on: loop)
        connection.start(on: loop)
    }

    /// Closes a connection at once, with as much of an answer as the kernel takes now. Arrived input is read, because
    /// closing over it would reset the connection.
    private func turnAway(_ socket: borrowing Socket, _ info: ConnectionInfo, on loop: isolated EventLoop) {
        counters.overLimit += 1
        guard quota.isForeign(info), !info.isEncrypted, explanations.take(now: loop.now) else { return }
        let number = nextRequestNumber()
        responder.refused(.tooManyConnections, requestID: RequestID.text(number), connection: info, on: loop)
        var out: [UInt8] = []
        let answer = Problem.tooManyConnections.response(requestID: RequestID.text(number))
        AnswerWriter.append(answer, to: nil, keepAlive: false, server: self, into: &out, on: loop)
        _ = socket.write(out.span)
        _ = socket.read(into: loop.readBuffer)
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
        quota.giveBack(connection.slot, of: connection.info)
        if isDraining, connections.isEmpty { finishDrain() }
    }

    // MARK: Used by connections

    func nextRequestNumber() -> UInt64 {
        nextNumber &+= 1
        return nextNumber
    }

    /// Adds a piece to the body of a request. False if the bodies of this caller, or of all, take the memory that they may.
    func takeBody(_ piece: Span<UInt8>, of exchange: Exchange) -> Bool {
        let size = exchange.body.count + piece.count
        if size >= HeldBytes.smallestBody {
            let holder = responder.holder(of: exchange)
            guard bodies.grow(&exchange.bodyShare, to: size, for: holder) else { return false }
        }
        exchange.body.append(copying: piece, from: 0)
        return true
    }

    /// A stream keeps no body.
    func releaseBody(of exchange: Exchange) {
        guard let share = exchange.bodyShare else { return }
        exchange.bodyShare = nil
        bodies.giveBack(share)
    }

    /// The exchange has its answer, or its peer has gone.
    func finished(_ exchange: Exchange, on loop: isolated EventLoop) {
        releaseBody(of: exchange)
        responder.finished(exchange, on: loop)
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
            connection.stream.limitLinger(toMilliseconds: Self.drainLingerMilliseconds, on: loop)
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
