import EventLoops
import HTTPModel
import WebSocket

/// One accepted connection: an HTTP head, then a WebSocket.
final class DemoSocket: StreamHandler {
    private enum State {
        case head(ServerHandshake.Reader)
        case open(WebSocketSession)
        /// The last bytes are being sent.
        case ending
    }

    private let id: DemoConnectionID
    private let isLoopback: Bool
    private let stream: StreamConnection
    private let delivery: any DemoDelivery
    private weak var server: DemoGatewayServer?
    private var state = State.head(ServerHandshake.Reader())
    private var clientClose: DemoClose?

    init(
        _ socket: consuming Socket,
        id: DemoConnectionID,
        isLoopback: Bool,
        delivery: any DemoDelivery,
        server: DemoGatewayServer
    ) {
        self.id = id
        self.isLoopback = isLoopback
        self.delivery = delivery
        self.server = server
        stream = StreamConnection(socket, sendLimit: DemoGatewayServer.sendLimit)
    }

    func start(on loop: isolated EventLoop) {
        do {
            try stream.start(self, on: loop)
        } catch {
            server?.closed(id, nil, on: loop)
        }
    }

    // MARK: - Input

    func connected(on loop: isolated EventLoop) {}
    func drained(on loop: isolated EventLoop) {}

    func received(_ bytes: Span<UInt8>, on loop: isolated EventLoop) {
        switch state {
        case .head(let reader):
            do throws(HandshakeError) {
                guard let found = try reader.receive(bytes) else { return }
                if server?.refusesUpgrade == true {
                    let answer = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
                    delivery.write(Array(answer.utf8), to: stream, on: loop)
                    return finish(on: loop)
                }
                upgrade(found.handshake, on: loop)
                received(bytes.extracting(found.used..<bytes.count), on: loop)
            } catch {
                delivery.write(ServerHandshake.refusal(error), to: stream, on: loop)
                finish(on: loop)
            }
        case .open(var session):
            // The state drops its copy first, otherwise every piece of a long message would copy the earlier pieces.
            state = .ending
            let actions = session.receive(bytes)
            state = .open(session)
            for action in actions { perform(action, on: loop) }
        case .ending: break
        }
    }

    func receivedEnd(on loop: isolated EventLoop) { stream.close(on: loop) }

    func closed(_ reason: CloseReason, on loop: isolated EventLoop) {
        state = .ending
        server?.closed(id, clientClose, on: loop)
    }

    private func upgrade(_ handshake: ServerHandshake, on loop: isolated EventLoop) {
        let limits = WebSocketLimits(messageBytes: DemoHost.maximumPayload)
        state = .open(WebSocketSession(role: .server, limits: limits))
        delivery.write(handshake.response, to: stream, on: loop)
        let peer = DemoPeer(
            isLoopback: isLoopback,
            host: handshake.host,
            origin: handshake.origin.flatMap { $0.isEmpty ? nil : $0 },
            isForwarded: ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip"].contains {
                handshake.head.fields[$0] != nil
            }
        )
        server?.upgraded(id, peer: peer, on: loop)
    }

    private func perform(_ action: WebSocketSession.Action, on loop: isolated EventLoop) {
        switch action {
        case .message(let message): server?.received(message.bytes, from: id, on: loop)
        case .answerPing(let payload):
            guard case .open(var session) = state else { return }
            var output: [UInt8] = []
            let isSent = session.send(.pong, payload.span, maskKey: 0, to: &output)
            state = .open(session)
            if isSent { delivery.write(output, to: stream, on: loop) }
        case .pong: break
        case .answerClose(let close):
            clientClose = DemoClose(close.code, close.reason)
            self.close(DemoClose(close.code, close.reason), on: loop)
        case .failed(let error): close(DemoClose(error.closeCode, ""), on: loop)
        case .finished: finish(on: loop)
        }
    }

    // MARK: - Output

    func send(_ message: [UInt8], on loop: isolated EventLoop) {
        guard case .open = state else { return }
        delivery.write(delivery.frames(for: message), to: stream, on: loop)
    }

    /// Sends a close frame and ends the connection, without waiting for the client's close frame.
    func close(_ close: DemoClose, on loop: isolated EventLoop) {
        if case .open(var session) = state {
            var output: [UInt8] = []
            // 1005 means a close frame without a code and is never sent itself.
            let isEmpty = close.code == WebSocketClose.noStatus
            let frame = isEmpty ? WebSocketClose(WebSocketClose.normal) : WebSocketClose(close.code, close.reason)
            _ = session.close(frame, maskKey: 0, to: &output)
            delivery.write(output, to: stream, on: loop)
        }
        finish(on: loop)
    }

    /// Ends the connection after everything is written.
    func finish(on loop: isolated EventLoop) {
        state = .ending
        delivery.finish(stream, on: loop)
    }
}
