import Basics
import EventLoops
import Gateway
import JSONBytes
import TLS
import WebSocket

@testable import Upstream

/// A minimal gateway for the link's socket tests: greets, checks the signature, answers every method with `{}` and
/// follows the script.
final class SocketGateway {
    struct Script: Sendable {
        var token = "example-shared-token"
        /// So long that a busy machine is not mistaken for a silent gateway.
        var tickMs: Int64 = 600_000
        /// JSON after the id of the answer to `connect`; nil accepts.
        var rejection: String?
        /// Methods after which the connection is dropped without an answer.
        var dropsOn: Set<String> = []
        /// Methods that get no answer.
        var silentOn: Set<String> = []
        /// Frames sent right after the hello.
        var afterHello: [String] = []
        /// Bytes that the gateway sends instead of the 101 answer.
        var garbage: [UInt8]?
        /// The gateway's bytes leave in pieces of this size.
        var pieceSize = Int.max
        var payloads: [String: String] = [:]
    }

    private(set) var port: UInt16 = 0
    var script: Script
    private(set) var accepted = 0
    private(set) var methods: [String] = []
    var notesMethods = true
    private var listener: Listener?
    private var connections: [ObjectIdentifier: GatewayConnection] = [:]
    let tls: TLSServerContext?

    init(_ script: Script = Script(), tls: TLSServerContext? = nil, on loop: isolated EventLoop) throws {
        self.script = script
        self.tls = tls
        guard let address = SocketAddress(host: "127.0.0.1", port: 0) else { return }
        listener = try Listener(
            Socket.listen(on: address),
            configured: address,
            on: loop,
            failed: { _ in },
            accepted: { [weak self] socket, _ in
                guard let self else { return }
                self.accepted += 1
                let session = try? self.tls?.makeSession()
                let stream = StreamConnection(socket, tls: session, sendLimit: 64 << 20)
                let connection = GatewayConnection(stream, gateway: self)
                self.connections[ObjectIdentifier(connection)] = connection
                try? stream.start(connection, on: loop)
                if session == nil { connection.connected(on: loop) }
            }
        )
        port = listener?.address.port ?? 0
    }

    var openConnections: Int { connections.count }

    func stop(on loop: isolated EventLoop) {
        listener?.close(on: loop)
        listener = nil
        dropAll(on: loop)
    }

    func dropAll(on loop: isolated EventLoop) {
        for connection in connections.values { connection.stream.close(on: loop) }
    }

    func sayToAll(_ json: String, on loop: isolated EventLoop) {
        for connection in connections.values { connection.say(json, on: loop) }
    }

    func forget(_ connection: GatewayConnection) { connections[ObjectIdentifier(connection)] = nil }
    func note(_ method: String) { if notesMethods { methods.append(method) } }
}

final class GatewayConnection: StreamHandler {
    let stream: StreamConnection
    private weak var gateway: SocketGateway?
    private let reader = ServerHandshake.Reader()
    private var session: WebSocketSession?

    init(_ stream: StreamConnection, gateway: SocketGateway) {
        self.stream = stream
        self.gateway = gateway
    }

    func connected(on loop: isolated EventLoop) {}
    func drained(on loop: isolated EventLoop) {}
    func receivedEnd(on loop: isolated EventLoop) { stream.close(on: loop) }
    func closed(_ reason: CloseReason, on loop: isolated EventLoop) { gateway?.forget(self) }

    func received(_ bytes: Span<UInt8>, on loop: isolated EventLoop) {
        guard session != nil else { return greet(bytes, on: loop) }
        for action in session?.receive(bytes) ?? [] {
            switch action {
            case .message(let message): answer(message.bytes, on: loop)
            case .answerPing(let payload):
                var output: [UInt8] = []
                _ = session?.send(.pong, payload.span, maskKey: 0, to: &output)
                send(output, on: loop)
            case .answerClose(let close):
                var output: [UInt8] = []
                _ = session?.close(close, maskKey: 0, to: &output)
                send(output, on: loop)
                stream.closeWhenSent(on: loop)
            default: break
            }
        }
    }

    private func greet(_ bytes: Span<UInt8>, on loop: isolated EventLoop) {
        guard let gateway else { return }
        let request: ServerHandshake
        do throws(HandshakeError) {
            guard let found = try reader.receive(bytes) else { return }
            request = found.handshake
        } catch {
            return stream.close(on: loop)
        }
        if let garbage = gateway.script.garbage {
            send(garbage, on: loop)
            return stream.closeWhenSent(on: loop)
        }
        session = WebSocketSession(role: .server, limits: WebSocketLimits(messageBytes: 64 << 20))
        send(request.response, on: loop)
        say(#"{"type":"event","event":"connect.challenge","payload":{"nonce":"n-1","ts":1767225600000}}"#, on: loop)
    }

    private func answer(_ bytes: [UInt8], on loop: isolated EventLoop) {
        guard let gateway, let frame = try? JSONDocument(parsing: bytes).root, let id = frame["id"]?.string,
            let method = frame["method"]?.string
        else { return }
        gateway.note(method)
        if gateway.script.dropsOn.contains(method) { return stream.close(on: loop) }
        if gateway.script.silentOn.contains(method) { return }
        if method == "connect" {
            hello(id, frame["params"], gateway, on: loop)
        } else {
            let payload = gateway.script.payloads[method] ?? "{}"
            say(#"{"type":"res","id":"\#(id)","ok":true,"payload":\#(payload)}"#, on: loop)
        }
    }

    private func hello(_ id: String, _ params: JSONValue?, _ gateway: SocketGateway, on loop: isolated EventLoop) {
        let refusal =
            gateway.script.rejection
            ?? (params?["auth"]?["token"]?.string == gateway.script.token && Self.isSigned(params)
                ? nil
                : #""error":{"code":"INVALID_REQUEST","message":"unauthorized","details":{"code":"AUTH_TOKEN_MISMATCH"}}"#)
        if let refusal {
            say(#"{"type":"res","id":"\#(id)","ok":false,\#(refusal)}"#, on: loop)
            var output: [UInt8] = []
            _ = session?.close(WebSocketClose(1008, "refused"), maskKey: 0, to: &output)
            return send(output, on: loop)
        }
        say(
            #"{"type":"res","id":"\#(id)","ok":true,"payload":{"type":"hello-ok","protocol":4,"server":{"version":"t"},"#
                + #""auth":{"role":"operator","scopes":["operator.read","operator.write","operator.admin"],"#
                + #""deviceToken":"dt-example"},"policy":{"tickIntervalMs":\#(gateway.script.tickMs)}}}"#,
            on: loop
        )
        for frame in gateway.script.afterHello { say(frame, on: loop) }
    }

    private static func isSigned(_ params: JSONValue?) -> Bool {
        guard let device = params?["device"], let client = params?["client"],
            let key = Base64.decode(device["publicKey"]?.string ?? "", as: .url).flatMap({
                try? Ed25519PublicKey(raw: $0)
            }),
            let signature = Base64.decode(device["signature"]?.string ?? "", as: .url)
        else { return false }
        let payload = DevicePayload(
            deviceId: Hex.encode(Digest.sha256(key.raw)),
            clientId: client["id"]?.string ?? "",
            clientMode: client["mode"]?.string ?? "",
            role: params?["role"]?.string ?? "",
            scopes: params?["scopes"]?.elements.compactMap(\.string) ?? [],
            signedAtMs: device["signedAt"]?.int ?? 0,
            token: params?["auth"]?["token"]?.string,
            nonce: "n-1",
            platform: client["platform"]?.string,
            deviceFamily: client["deviceFamily"]?.string
        )
        return key.verify(signature, of: Array(payload.text.utf8))
    }

    func say(_ json: String, on loop: isolated EventLoop) {
        var output: [UInt8] = []
        _ = session?.send(.text, Array(json.utf8).span, maskKey: 0, to: &output)
        send(output, on: loop)
    }

    private func send(_ bytes: [UInt8], on loop: isolated EventLoop) {
        let size = gateway?.script.pieceSize ?? .max
        var start = 0
        while start < bytes.count {
            let end = start + min(size, bytes.count - start)
            _ = stream.send(bytes.span.extracting(start..<end), on: loop)
            start = end
        }
    }
}
