import EventLoops
import HTTPModel
import POSIX
import TLS

/// Interprets the bytes of a connection as HTTP/1 or HTTP/2.
protocol WireProtocol: AnyObject {
    func received(_ bytes: Span<UInt8>, on loop: isolated EventLoop)
    func receivedEnd(on loop: isolated EventLoop)
    func drained(on loop: isolated EventLoop)
    func closed(on loop: isolated EventLoop)
    func deadlinePassed(on loop: isolated EventLoop)
    func drain(on loop: isolated EventLoop)
    func refuse(_ problem: Problem, on loop: isolated EventLoop)
}

/// One accepted connection: detects the HTTP version, then passes its bytes to that protocol.
final class HTTPConnection: StreamHandler {
    /// The start of every HTTP/2 connection with prior knowledge. No HTTP/1 request that we serve starts like this.
    private static let prefaceStart = Array("PRI".utf8)
    /// When the server stops, connections that have sent nothing yet get this much time.
    private static let lateRequestMilliseconds: Int64 = 100

    let stream: StreamConnection
    let info: ConnectionInfo
    let slot: ConnectionQuota.Slot
    let server: HTTPServer
    /// The connection's index in the server's list.
    var place: UInt32 = 0
    /// The peer's current deadline, in monotonic nanoseconds.
    private(set) var deadline = HTTPConnection.noDeadline
    static let noDeadline = UInt64.max
    private var wire: (any WireProtocol)?
    private var early: [UInt8] = []
    private var isHandshaking: Bool
    private var isClosed = false

    init(
        _ stream: StreamConnection,
        info: ConnectionInfo,
        slot: ConnectionQuota.Slot,
        server: HTTPServer,
        on loop: isolated EventLoop
    ) {
        self.slot = slot
        self.stream = stream
        self.info = info
        self.server = server
        isHandshaking = info.isEncrypted
    }

    func start(on loop: isolated EventLoop) {
        setDeadline(info.isEncrypted ? server.limits.handshakeMilliseconds : server.limits.headMilliseconds, on: loop)
        do throws(SystemError) {
            try stream.start(self, on: loop)
        } catch {
            server.forget(self, on: loop)
            return
        }
        // In cleartext the HTTP version is unknown before the first bytes; the refusal does not wait for them.
        if slot == .refused, !info.isEncrypted { refuseOverLimit(isHTTP2: false, on: loop) }
    }

    func setDeadline(_ milliseconds: Int64?, on loop: isolated EventLoop) {
        guard let milliseconds, !isClosed else {
            deadline = Self.noDeadline
            return
        }
        deadline = loop.now &+ UInt64(clamping: milliseconds) &* 1_000_000
        server.armSweep(on: loop)
    }

    func deadlinePassed(on loop: isolated EventLoop) {
        deadline = Self.noDeadline
        server.counters.timedOut += 1
        if let wire { wire.deadlinePassed(on: loop) } else { stream.close(on: loop) }
    }

    func drain(on loop: isolated EventLoop) {
        if let wire { return wire.drain(on: loop) }
        // The connection may be new and its request still on the way; closing now would refuse that request.
        loop.after(milliseconds: Self.lateRequestMilliseconds) {
            if let wire = self.wire { wire.drain(on: loop) } else { self.cut(on: loop) }
        }
    }

    func cut(on loop: isolated EventLoop) {
        guard !isClosed else { return }
        stream.close(on: loop)
    }

    private func refuseOverLimit(isHTTP2: Bool, on loop: isolated EventLoop) {
        choose(isHTTP2: isHTTP2, on: loop)
        wire?.refuse(.tooManyConnections, on: loop)
    }

    // MARK: StreamHandler

    func connected(on loop: isolated EventLoop) {
        guard let session = stream.session else { return }
        isHandshaking = false
        server.counters.handshakes += 1
        setDeadline(server.limits.headMilliseconds, on: loop)
        if slot == .refused { return refuseOverLimit(isHTTP2: session.alpn == "h2", on: loop) }
        choose(isHTTP2: session.alpn == "h2", on: loop)
    }

    func received(_ bytes: Span<UInt8>, on loop: isolated EventLoop) {
        server.counters.bytesIn &+= UInt64(bytes.count)
        if let wire { return wire.received(bytes, on: loop) }
        if early.isEmpty, bytes.count >= Self.prefaceStart.count {
            choose(isHTTP2: Self.isPreface(bytes), on: loop)
            wire?.received(bytes, on: loop)
            return
        }
        early.append(copying: bytes, from: 0)
        if early.count < Self.prefaceStart.count, Self.prefaceStart.starts(with: early) { return }
        let all = early
        early = []
        choose(isHTTP2: Self.isPreface(all.span), on: loop)
        wire?.received(all.span, on: loop)
    }

    private func choose(isHTTP2: Bool, on loop: isolated EventLoop) {
        let chosen: (any WireProtocol)? = isHTTP2 ? HTTP2Connection.make(for: self, on: loop) : HTTP1Connection(self)
        // Handling the first bytes may have found the peer gone.
        guard !isClosed else { return }
        guard let chosen else { return stream.close(on: loop) }
        wire = chosen
    }

    private static func isPreface(_ bytes: Span<UInt8>) -> Bool {
        guard bytes.count >= prefaceStart.count else { return false }
        for place in prefaceStart.indices where bytes[place] != prefaceStart[place] { return false }
        return true
    }

    func receivedEnd(on loop: isolated EventLoop) {
        if let wire { wire.receivedEnd(on: loop) } else { stream.close(on: loop) }
    }

    func drained(on loop: isolated EventLoop) {
        wire?.drained(on: loop)
    }

    func closed(_ reason: CloseReason, on loop: isolated EventLoop) {
        deadline = Self.noDeadline
        isClosed = true
        server.counters.bytesOut &+= stream.takenBytes
        if isHandshaking { server.counters.handshakesFailed += 1 }
        let last = wire
        wire = nil
        last?.closed(on: loop)
        server.forget(self, on: loop)
    }
}
