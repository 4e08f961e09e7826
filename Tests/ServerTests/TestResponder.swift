import Basics
import Dispatch
import EventLoops
import HTTPModel
import TLS

@testable import Server

/// A small program behind a real server: answers at once, later, in pieces, or not at all.
final class TestResponder: Responder {
    /// Streams open now, to be written to by a test.
    var streams: [Exchange] = []
    var finished = 0
    var tellers: [Teller] = []
    /// Paths in the order in which they were answered.
    var order: [String] = []
    /// `/gate` reports that it is reached, and blocks the loop until it is opened.
    let gate = (reached: DispatchSemaphore(value: 0), opened: DispatchSemaphore(value: 0))

    func admit(_ exchange: Exchange, on loop: isolated EventLoop) -> Admission {
        switch path(of: exchange) {
        case "/refused":
            exchange.respond(Problem(.missingScope, "Not this one."), on: loop)
            return .answered
        case "/asked":
            loop.after(milliseconds: 5) { exchange.proceed(bodyBytes: 1 << 20, on: loop) }
            return .later
        case "/asked-in-vain":
            loop.after(milliseconds: 5) {
                exchange.respond(Problem(.notPaired, "Nobody knows you."), on: loop)
            }
            return .later
        default:
            return .takes(bodyBytes: 1 << 20)
        }
    }

    func respond(to exchange: Exchange, on loop: isolated EventLoop) {
        order.append(path(of: exchange))
        switch path(of: exchange) {
        case "/gate":
            gate.reached.signal()
            gate.opened.wait()
            exchange.respond(.text(.ok, "[]"), on: loop)
        case "/expensive":
            while !loop.isTurnLong {}
            exchange.respond(.text(.ok, "[]"), on: loop)
        case "/later":
            loop.after(milliseconds: 5) { exchange.respond(.text(.ok, "later"), on: loop) }
        case "/big", "/big-owner", "/big-other", "/big-third", "/big-fourth":
            exchange.respond(.text(.ok, String(repeating: "0123456789abcdef", count: 256 << 10)), on: loop)
        case "/stream":
            exchange.beginStream(ResponseHead(.ok, contentType: "text/event-stream"), on: loop)
            _ = exchange.write(Array("data: hello\n\n".utf8), on: loop)
            streams.append(exchange)
        case "/coded-stream":
            var head = ResponseHead(.ok, contentType: "text/event-stream")
            head.fields.append(.contentEncoding, "gzip")
            exchange.beginStream(head, on: loop)
            if exchange.method == .head { return exchange.end(on: loop) }
            exchange.limitWaiting(to: 32 << 10)
            let teller = Teller(exchange)
            exchange.owner = teller
            tellers.append(teller)
            loop.after(milliseconds: 0) { teller.tell(on: loop) }
        case "/poll":
            exchange.endWithPeer(on: loop)
        case "/short-stream":
            exchange.beginStream(ResponseHead(.ok, contentType: "text/event-stream"), on: loop)
            if exchange.method != .head { _ = exchange.write(Array("data: all\n\n".utf8), on: loop) }
            exchange.end(on: loop)
        default:
            exchange.respond(.text(.ok, "[\(String(decoding: exchange.body, as: UTF8.self))]"), on: loop)
        }
    }

    /// By the end of the path.
    func holder(of exchange: Exchange) -> MemoryHolder {
        let path = path(of: exchange)
        return path.hasSuffix("-owner") ? .owner : .caller(path)
    }

    func finished(_ exchange: Exchange, on loop: isolated EventLoop) { finished += 1 }

    func refused(
        _ problem: Problem,
        requestID: String,
        connection: ConnectionInfo,
        on loop: isolated EventLoop
    ) {}

    private func path(of exchange: Exchange) -> String { String(decoding: exchange.head.path, as: UTF8.self) }
}

/// Writes more than the kernel takes for a peer that does not read, and repeats a piece that found no room.
final class Teller: ExchangeOwner {
    static let count = 6000
    /// Pieces unlike each other, and together longer than the coding's window for repetitions.
    private static let pieces = (0..<40).map { number in
        var state = UInt64(number)
        return (0..<2000).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 59)
        }
    }

    static var all: [UInt8] {
        var bytes: [UInt8] = []
        for number in 0..<count { bytes += pieces[number % pieces.count] }
        return bytes
    }

    private let exchange: Exchange
    private var next = 0
    private(set) var refusals = 0

    init(_ exchange: Exchange) {
        self.exchange = exchange
    }

    func tell(on loop: isolated EventLoop) {
        while next < Self.count {
            switch exchange.write(Self.pieces[next % Self.pieces.count], on: loop) {
            case .written, .waiting: next += 1
            case .gone: return
            case .full:
                refusals += 1
                return
            }
        }
        exchange.end(on: loop)
    }

    func peerLeft(_ exchange: Exchange, on loop: isolated EventLoop) {}
    func drained(_ exchange: Exchange, on loop: isolated EventLoop) { tell(on: loop) }
}

extension ServerLimits {
    /// For tests that are not about time: on a busy machine one may have to wait for its turn.
    static var patient: ServerLimits {
        var limits = ServerLimits()
        limits.headMilliseconds = 600_000
        limits.idleMilliseconds = 600_000
        limits.bodyGraceMilliseconds = 600_000
        limits.stallMilliseconds = 600_000
        limits.handshakeMilliseconds = 600_000
        return limits
    }
}

/// A server on a free port of loopback, with its loop.
final class TestServer: Sendable {
    struct Parts {
        let server: HTTPServer
        let responder: TestResponder
    }

    let loop: EventLoop
    let port: UInt16
    private let parts: LoopBound<Parts>

    /// - Parameter user: the user at the other end of each new connection.
    init(
        _ limits: ServerLimits = .patient,
        tls: TLSServerContext? = nil,
        user: @escaping @Sendable () -> UInt32? = { nil }
    ) async throws {
        loop = try EventLoop()
        loop.start()
        (parts, port) = try await loop.makeServer(limits, tls, user)
    }

    func with<Value: Sendable>(_ body: @escaping @Sendable (Parts, isolated EventLoop) -> Value) async -> Value? {
        await withCheckedContinuation { done in
            let parts = parts
            loop.post { loop in done.resume(returning: parts.value(on: loop).map { body($0, loop) }) }
        }
    }

    /// Waits until the loop's counters meet the condition.
    func wait(until isSo: @escaping @Sendable (Parts) -> Bool) async -> Bool {
        for _ in 0..<12_000 {
            if await with({ parts, _ in isSo(parts) }) ?? false { return true }
            await Task.yield()
            await loop.pass(milliseconds: 5)
        }
        return false
    }

    deinit {
        let loop = loop
        loop.post { loop in loop.stop() }
    }
}

extension EventLoop {
    fileprivate func makeServer(
        _ limits: ServerLimits,
        _ tls: TLSServerContext?,
        _ user: @escaping @Sendable () -> UInt32?
    ) throws -> (LoopBound<TestServer.Parts>, UInt16) {
        let responder = TestResponder()
        let server = HTTPServer(
            responder: responder,
            version: "test",
            limits: limits,
            firstRequestNumber: 1,
            failure: { _ in }
        )
        let free = SocketAddress.ip(.loopback4, port: 0)
        let address = try server.listen(
            on: Socket.listen(on: free),
            as: .tcp,
            at: free,
            tls: tls.map { context in { context } },
            identify: { _, _, _ in user() },
            loop: self
        )
        return (LoopBound(TestServer.Parts(server: server, responder: responder), on: self), address.port ?? 0)
    }

    func pass(milliseconds: Int64) async {
        await withCheckedContinuation { done in
            after(milliseconds: milliseconds) { done.resume() }
        }
    }
}
