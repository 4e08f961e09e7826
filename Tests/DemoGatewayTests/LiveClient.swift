import Basics
import DemoGateway
import EventLoops
import FaultyGateway
import TestSupport
import WebSocket

/// A WebSocket client, or a bare TCP one, on a loop of the test.
final class LiveClient: StreamHandler {
    enum Event: Sendable, Equatable {
        case opened
        case text(String)
        case bytes([UInt8])
        case closed(UInt16, String)
        case ended
    }

    private let inbox: Inbox<Event>
    private let stream: StreamConnection
    private var handshake: ClientHandshake?
    private var session: WebSocketSession?
    private let first: [UInt8]

    /// - Parameter request: nil opens a WebSocket; otherwise these bytes are sent and the answer is reported as it
    ///   comes.
    init(port: UInt16, request: String?, inbox: Inbox<Event>, on loop: isolated EventLoop) throws {
        self.inbox = inbox
        let address = SocketAddress.ip(.loopback4, port: port)
        stream = StreamConnection(try Socket.connect(to: address), isConnected: false, sendLimit: 1 << 20)
        if let request {
            first = Array(request.utf8)
        } else {
            let made = ClientHandshake(host: "127.0.0.1:\(port)", userAgent: "test", nonce: Array(0..<16))
            handshake = made
            first = made.request
        }
        try stream.start(self, on: loop)
    }

    func send(_ text: String, on loop: isolated EventLoop) {
        var output: [UInt8] = []
        let payload = Array(text.utf8)
        _ = session?.send(.text, payload.span, maskKey: 0x0102_0304, to: &output)
        _ = stream.send(output, on: loop)
    }

    func connected(on loop: isolated EventLoop) { _ = stream.send(first, on: loop) }
    func drained(on loop: isolated EventLoop) {}

    func received(_ bytes: Span<UInt8>, on loop: isolated EventLoop) {
        var rest = bytes
        if session == nil {
            guard handshake != nil else {
                var copy: [UInt8] = []
                copy.append(copying: bytes, from: 0)
                return inbox.put(.bytes(copy))
            }
            guard let used = try? handshake?.receive(bytes) else { return }
            session = WebSocketSession(role: .client, limits: WebSocketLimits(messageBytes: 64 << 20))
            inbox.put(.opened)
            rest = bytes.extracting(used..<bytes.count)
        }
        for action in session?.receive(rest) ?? [] {
            switch action {
            case .message(let message): inbox.put(.text(String(decoding: message.bytes, as: UTF8.self)))
            case .answerClose(let close): inbox.put(.closed(close.code, close.reason))
            case .failed(let error): inbox.put(.closed(error.closeCode, "\(error)"))
            default: break
            }
        }
    }

    func receivedEnd(on loop: isolated EventLoop) { stream.close(on: loop) }
    func closed(_ reason: CloseReason, on loop: isolated EventLoop) { inbox.put(.ended) }
}

/// A gateway and its clients on one loop, for one test.
struct LiveBench: Sendable {
    struct Client: Sendable {
        let inbox: Inbox<LiveClient.Event>
        fileprivate let box: LoopBound<LiveClient>
        fileprivate let loop: EventLoop

        func send(_ text: String) {
            loop.post { [box] loop in box.value(on: loop)?.send(text, on: loop) }
        }

        /// The next text that contains all the pieces.
        func text(with pieces: String...) async throws -> String {
            let event = try await inbox.first { event in
                guard case .text(let text) = event else { return false }
                return pieces.allSatisfy { text.contains($0) }
            }
            guard case .text(let text) = event else { return "" }
            return text
        }

        func connect(_ scopes: String = "\"operator.read\",\"operator.write\",\"operator.admin\"") async throws {
            _ = try await text(with: "connect.challenge")
            send(
                "{\"type\":\"req\",\"id\":\"c\",\"method\":\"connect\",\"params\":{\"minProtocol\":3,\"maxProtocol\":4,"
                    + "\"client\":{\"id\":\"gateway-client\",\"version\":\"1\",\"platform\":\"linux\",\"mode\":\"backend\"},"
                    + "\"role\":\"operator\",\"scopes\":[\(scopes)],\"caps\":[\"tool-events\"],"
                    + "\"auth\":{\"token\":\"demo-token\"}}}"
            )
            _ = try await text(with: "hello-ok")
        }
    }

    let loop: EventLoop
    let port: UInt16
    /// The port of the test double's control surface; 0 for the product.
    let controlPort: UInt16
    let stop: @Sendable () -> Void

    init(_ options: DemoGatewayOptions) async throws {
        let loop = try EventLoop(label: "demo.tests")
        loop.start()
        self.loop = loop
        let gateway = try await Self.start(options, on: loop)
        (port, controlPort, stop) = (gateway.port, 0, { gateway.stop() })
    }

    /// The test double, with options as on its command line.
    init(faulty pairs: [(String, String)]) async throws {
        let loop = try EventLoop(label: "faulty.tests")
        loop.start()
        self.loop = loop
        (port, controlPort, stop) = try await Self.startFaulty(pairs, on: loop)
    }

    private static func start(
        _ options: DemoGatewayOptions,
        on loop: isolated EventLoop
    ) throws -> DemoGatewayHandle {
        try DemoGatewayServer.start(options, on: loop)
    }

    private static func startFaulty(
        _ pairs: [(String, String)],
        on loop: isolated EventLoop
    ) throws -> (UInt16, UInt16, @Sendable () -> Void) {
        var options = FaultyGatewayOptions()
        for (name, value) in [("speed", "0")] + pairs { try options.set(name, to: value) }
        let server = try FaultyGatewayServer.start(options, on: loop)
        let box = LoopBound(server, on: loop)
        return (server.port, server.controlPort, { loop.post { box.value(on: $0)?.stop(on: $0) } })
    }

    private static func open(
        _ port: UInt16,
        _ request: String?,
        _ inbox: Inbox<LiveClient.Event>,
        on loop: isolated EventLoop
    ) throws -> LoopBound<LiveClient> {
        LoopBound(try LiveClient(port: port, request: request, inbox: inbox, on: loop), on: loop)
    }

    func client(request: String? = nil, port: UInt16? = nil) async throws -> Client {
        let inbox = Inbox<LiveClient.Event>()
        return Client(inbox: inbox, box: try await Self.open(port ?? self.port, request, inbox, on: loop), loop: loop)
    }

    /// One request to the control surface and its whole answer.
    func control(_ request: String, body: String = "") async throws -> String {
        let text = "\(request) HTTP/1.1\r\nHost: test\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        let client = try await client(request: text, port: controlPort)
        var answer: [UInt8] = []
        while true {
            switch try await client.inbox.next() {
            case .bytes(let bytes): answer += bytes
            case .ended: return String(decoding: answer, as: UTF8.self)
            default: break
            }
        }
    }

    func end() async {
        stop()
        await loop.stop()
    }
}
