import POSIX
import TLS
import TestSupport
import Testing

@testable import EventLoops

/// Reports the events of a connection; echoes if asked to.
final class Probe: StreamHandler {
    enum Report: Sendable, Equatable { case connected, bytes([UInt8]), end, drained, closed(Bool) }

    let inbox: Inbox<Report>
    var echoes: StreamConnection?

    init(_ inbox: Inbox<Report>) { self.inbox = inbox }

    func connected(on loop: isolated EventLoop) { inbox.put(.connected) }
    func received(_ bytes: Span<UInt8>, on loop: isolated EventLoop) {
        if let echoes { _ = echoes.send(bytes, on: loop) }
        var copy: [UInt8] = []
        copy.append(copying: bytes, from: 0)
        inbox.put(.bytes(copy))
    }
    func receivedEnd(on loop: isolated EventLoop) {
        inbox.put(.end)
        echoes?.closeWhenSent(on: loop)
    }
    func drained(on loop: isolated EventLoop) { inbox.put(.drained) }
    func closed(_ reason: CloseReason, on loop: isolated EventLoop) {
        echoes = nil
        if case .closedHere = reason { inbox.put(.closed(true)) } else { inbox.put(.closed(false)) }
    }
}

/// Fills its connection once it is open, lets the other side take all of it in the same turn, and sends one byte more.
private final class Filler: StreamHandler {
    let connection: StreamConnection
    let reader: StreamConnection
    let outcomes: Inbox<SendOutcome>

    init(_ connection: StreamConnection, reader: StreamConnection, _ outcomes: Inbox<SendOutcome>) {
        self.connection = connection
        self.reader = reader
        self.outcomes = outcomes
    }

    func connected(on loop: isolated EventLoop) {
        loop.after(milliseconds: 0) { self.fill(on: loop) }
    }

    private func fill(on loop: isolated EventLoop) {
        var outcome: SendOutcome
        repeat { outcome = connection.send([UInt8](repeating: 7, count: 10_000), on: loop) } while outcome == .sent
        outcomes.put(outcome)
        for _ in 0..<100 { reader.ready(.readable, on: loop) }
        outcomes.put(connection.send([1], on: loop))
    }

    func received(_ bytes: Span<UInt8>, on loop: isolated EventLoop) {}
    func receivedEnd(on loop: isolated EventLoop) {}
    /// Reported as an outcome that nothing else produces.
    func drained(on loop: isolated EventLoop) { outcomes.put(.queued(0)) }
    func closed(_ reason: CloseReason, on loop: isolated EventLoop) { outcomes.put(.closed) }
}

struct StreamConnectionTests {
    /// The kernel takes bytes as soon as there is any room, but reports it only when there is much.
    @Test func `over TLS as in cleartext, only drained ends what has begun to wait`() async throws {
        let made = try SelfSignedCertificate.make(names: ["localhost"], validDays: 1)
        let identity = try TLSIdentity(chainPEM: made.certificatePEM, keyPEM: made.keyPEM)
        let context = try TLSServerContext(identities: [identity])
        let trust = try TLSClientContext(trust: .pin(sha256: identity.info.sha256))
        let loop = try EventLoop()
        loop.start()
        let outcomes = Inbox<SendOutcome>()
        let client = Inbox<Probe.Report>()
        loop.post { loop in
            try? Socket.pair { near, far in
                let connection = StreamConnection(near, tls: try context.makeSession(), sendLimit: 1 << 20)
                let session = try trust.makeSession(host: "localhost")
                let reader = StreamConnection(far, tls: session, isConnected: false, sendLimit: 1000)
                try connection.start(Filler(connection, reader: reader, outcomes), on: loop)
                try reader.start(Probe(client), on: loop)
            }
        }
        let all = try await outcomes.next(3)
        for outcome in all[..<2] {
            guard case .queued(1...) = outcome else {
                Issue.record("\(outcome)")
                continue
            }
        }
        #expect(all[2] == .queued(0))
        await loop.stop()
    }

    /// A listener on loopback whose connections report to `server`, and a connected client reporting to `client`.
    private func connect(
        tls: (TLSServerContext, TLSClientContext)? = nil,
        server: Inbox<Probe.Report>,
        client: Inbox<Probe.Report>,
        use: @escaping @Sendable (StreamConnection, isolated EventLoop) -> Void
    ) async throws -> EventLoop {
        let loop = try EventLoop()
        loop.start()
        let failures = Inbox<String>()
        loop.post { loop in
            do {
                let address = try #require(SocketAddress(host: "127.0.0.1", port: 0))
                let listener = try Listener(
                    Socket.listen(on: address),
                    configured: address,
                    on: loop,
                    failed: { _ in }
                ) {
                    socket,
                    _ in
                    let session = try? tls?.0.makeSession()
                    let connection = StreamConnection(socket, tls: session, sendLimit: 1 << 20)
                    let probe = Probe(server)
                    probe.echoes = connection
                    try? connection.start(probe, on: loop)
                }
                let session = try tls?.1.makeSession(host: "localhost")
                let connection = StreamConnection(
                    try Socket.connect(to: listener.address),
                    tls: session,
                    isConnected: false,
                    sendLimit: 1 << 20
                )
                try connection.start(Probe(client), on: loop)
                use(connection, loop)
            } catch { failures.put("\(error)") }
        }
        return loop
    }

    @Test func `bytes go out and come back, and an orderly end reaches both sides`() async throws {
        let server = Inbox<Probe.Report>()
        let client = Inbox<Probe.Report>()
        let loop = try await connect(server: server, client: client) { connection, loop in
            loop.after(milliseconds: 20) {
                _ = connection.send(Array("hello".utf8), on: loop)
                connection.closeWhenSent(on: loop)
            }
        }
        #expect(try await client.next() == .connected)
        #expect(try await server.next() == .bytes(Array("hello".utf8)))
        #expect(try await server.next() == .end)
        #expect(try await server.next() == .closed(true))
        #expect(try await client.next() == .closed(true))
        await loop.stop()
    }

    @Test func `a connect is noticed, although input is paused meanwhile`() async throws {
        let server = Inbox<Probe.Report>()
        let client = Inbox<Probe.Report>()
        let loop = try await connect(server: server, client: client) { connection, loop in
            connection.pauseInput(on: loop)
        }
        #expect(try await client.next() == .connected)
        await loop.stop()
    }

    @Test func `the plaintext of a read has room, with the record that it ends`() {
        #expect(EventLoop.plainBufferSize >= EventLoop.readBufferSize + TLSSession.heldBytes)
    }

    @Test func `a refused connect closes with the system's reason`() async throws {
        let loop = try EventLoop()
        loop.start()
        let client = Inbox<Probe.Report>()
        loop.post { loop in
            guard let address = SocketAddress(host: "127.0.0.1", port: 1), let socket = try? Socket.connect(to: address)
            else {
                client.put(.closed(false))
                return
            }
            let connection = StreamConnection(socket, isConnected: false, sendLimit: 1000)
            try? connection.start(Probe(client), on: loop)
        }
        #expect(try await client.next() == .closed(false))
        await loop.stop()
    }

    @Test func `a peer that does not read fills the queue to its limit and no further`() async throws {
        let loop = try EventLoop()
        loop.start()
        let outcomes = Inbox<SendOutcome>()
        let client = Inbox<Probe.Report>()
        loop.post { loop in
            try? Socket.pair { near, far in
                let reader = StreamConnection(far, sendLimit: 1000)
                let connection = StreamConnection(near, sendLimit: 100_000)
                try connection.start(Probe(client), on: loop)
                let piece = [UInt8](repeating: 7, count: 50_000)
                for _ in 0..<20 { outcomes.put(connection.send(piece, on: loop)) }
                // Only now the other side reads; everything queued must arrive.
                try reader.start(Probe(client), on: loop)
            }
        }
        let all = try await outcomes.next(20)
        #expect(all.contains(.overflow))
        for outcome in all { if case .queued(let count) = outcome { #expect(count <= 100_000) } }
        _ = try await client.first { $0 == .drained }
        await loop.stop()
    }

    /// Also bytes that wait because the peer was slow.
    @Test func `without a permit nothing more is written, and the connection is lost`() async throws {
        let loop = try EventLoop()
        loop.start()
        let (near, far) = (Inbox<Probe.Report>(), Inbox<Probe.Report>())
        let outcomes = Inbox<SendOutcome>()
        for isWaiting in [false, true] {
            loop.post { loop in
                try? Socket.pair { first, second in
                    let permit = Permit(marginMs: 1000) { 0 }
                    permit.limit(to: 1)
                    let connection = StreamConnection(first, sendLimit: 10 << 20, permit: permit)
                    let reader = StreamConnection(second, sendLimit: 1000)
                    try connection.start(Probe(near), on: loop)
                    try reader.start(Probe(far), on: loop)
                    outcomes.put(connection.send([1], on: loop))
                    if isWaiting { outcomes.put(connection.send([UInt8](repeating: 7, count: 5 << 20), on: loop)) }
                    permit.limit(to: 0)
                    if !isWaiting { outcomes.put(connection.send([2], on: loop)) }
                }
            }
            #expect(try await outcomes.next() == .sent)
            if isWaiting {
                guard case .queued = try await outcomes.next() else { return #expect(Bool(false), "the peer is slow") }
            } else {
                #expect(try await outcomes.next() == .closed)
            }
            #expect(try await near.next() == .closed(false))
            var taken = 0
            while case .bytes(let bytes) = try await far.next() {
                #expect(!bytes.contains(2))
                taken += bytes.count
            }
            #expect(taken < 5 << 20)
        }
        await loop.stop()
    }
}
