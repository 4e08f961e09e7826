import Basics
import WebSocket

/// MQTT over a WebSocket (MQTT 5 §6) without its socket: the upgrade, then binary messages whose bytes, put together, are the packets.
struct BrokerWebSocket {
    enum Failure: Error {
        case upgrade(HandshakeError)
        case broken(WebSocketError)
        /// MQTT has no text.
        case text
    }

    /// The effects of some bytes of the broker, in this order.
    struct Received {
        var isOpened = false
        /// Bytes of packets.
        var payloads: [[UInt8]] = []
        /// Frames to send: answers to pings, and to a close.
        var answers: [UInt8] = []
        var isClosed = false
    }

    private static let subprotocol = "mqtt"

    let request: [UInt8]
    private var upgrade: ClientHandshake?
    private var session: WebSocketSession?
    private let limits: WebSocketLimits

    /// - Parameters:
    ///   - host: as in the `Host` field.
    ///   - limit: the most bytes of one message.
    init(host: String, path: String, limit: Int) {
        let upgrade = ClientHandshake(
            host: host,
            path: path,
            subprotocol: Self.subprotocol,
            userAgent: "ladle",
            nonce: (0..<16).map { _ in UInt8.random(in: 0...255) }
        )
        (self.upgrade, request) = (upgrade, upgrade.request)
        limits = WebSocketLimits(messageBytes: limit)
    }

    mutating func receive(_ bytes: Span<UInt8>) throws(Failure) -> Received {
        var received = Received()
        var actions: [WebSocketSession.Action] = []
        if session != nil {
            actions = session?.receive(bytes) ?? []
        } else {
            let used: Int?
            do throws(HandshakeError) { used = try upgrade?.receive(bytes) } catch { throw .upgrade(error) }
            guard let used else { return received }
            upgrade = nil
            var session = WebSocketSession(role: .client, limits: limits)
            actions = session.receive(bytes.extracting(used..<bytes.count))
            self.session = session
            received.isOpened = true
        }
        for action in actions {
            switch action {
            case .message(let message):
                guard message.kind == .binary else { throw .text }
                received.payloads.append(message.bytes)
            case .answerPing(let payload): received.answers += frame(.pong, payload)
            case .pong: break
            case .answerClose(let close):
                received.answers += closing(close)
                received.isClosed = true
            case .finished: received.isClosed = true
            case .failed(let error): throw .broken(error)
            }
        }
        return received
    }

    /// A frame with bytes of packets; empty before the upgrade and after a close.
    mutating func frame(_ bytes: [UInt8]) -> [UInt8] { frame(.binary, bytes) }

    private mutating func frame(_ opcode: WebSocketOpcode, _ bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        _ = session?.send(opcode, bytes.span, maskKey: .random(in: 0...UInt32.max), to: &output)
        return output
    }

    mutating func closing(_ close: WebSocketClose = WebSocketClose(WebSocketClose.normal)) -> [UInt8] {
        var output: [UInt8] = []
        _ = session?.close(close, maskKey: .random(in: 0...UInt32.max), to: &output)
        return output
    }
}

extension BrokerWebSocket.Failure: CustomStringConvertible {
    var description: String {
        switch self {
        case .upgrade(.refused(let status, _)): "the server answers \(status) to the WebSocket"
        case .upgrade(.notSpoken): "the server speaks no MQTT over its WebSocket"
        case .upgrade: "the server's answer opens no WebSocket"
        case .broken: "the server broke the WebSocket's rules"
        case .text: "the server sent text over the WebSocket, and MQTT has none"
        }
    }
}
