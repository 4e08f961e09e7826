import Basics
import EventLoops
import HTTPModel
import WebSocket

/// One accepted connection: first an HTTP head, then either one control request or a WebSocket.
final class DemoSocket: StreamHandler {
    /// A file of the workspace fits, a flood does not.
    private static let bodyLimit = 2 << 20

    private enum State {
        case head(HandshakeHead.Reader)
        case body(HandshakeHead, length: Int)
        case open(WebSocketSession)
        /// The last bytes are on their way.
        case ending
    }

    private let id: ConnectionID
    private let isLoopback: Bool
    private let stream: StreamConnection
    private weak var server: DemoGatewayServer?
    private var state = State.head(HandshakeHead.Reader())
    private var body: [UInt8] = []
    /// Torn delivery: what is still to be written, a few bytes a turn.
    private var torn: [UInt8] = []
    private var tornStart = 0
    private var isTearing = false
    private var endsAfterTorn = false

    init(_ socket: consuming Socket, id: ConnectionID, isLoopback: Bool, server: DemoGatewayServer) {
        self.id = id
        self.isLoopback = isLoopback
        self.server = server
        stream = StreamConnection(socket, sendLimit: DemoGatewayServer.sendLimit)
    }

    func start(on loop: isolated EventLoop) {
        do {
            try stream.start(self, on: loop)
        } catch {
            server?.closed(id, on: loop)
        }
    }

    // MARK: - Input

    func connected(on loop: isolated EventLoop) {}
    func drained(on loop: isolated EventLoop) {}

    func received(_ bytes: Span<UInt8>, on loop: isolated EventLoop) {
        switch state {
        case .head(var reader):
            let found: (head: HandshakeHead, used: Int)?
            do {
                found = try reader.receive(bytes)
            } catch {
                return answer(ServerHandshake.refusal(error), on: loop)
            }
            guard let found else {
                state = .head(reader)
                return
            }
            began(found.head, on: loop)
            received(bytes.extracting(found.used..<bytes.count), on: loop)
        case .body(let head, let length):
            for place in 0..<min(bytes.count, length - body.count) { body.append(bytes[place]) }
            if body.count == length { control(head, on: loop) }
        case .open(var session):
            // The state lets go of its copy first, or every piece of a long message would copy what came before.
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
        server?.closed(id, on: loop)
    }

    private func began(_ head: HandshakeHead, on loop: isolated EventLoop) {
        guard head.has("upgrade") else { return beganControl(head, on: loop) }
        do {
            let handshake = try ServerHandshake(head)
            state = .open(
                WebSocketSession(role: .server, limits: WebSocketLimits(messageBytes: GatewayModel.maximumPayload))
            )
            write(handshake.response, on: loop)
            let isForwarded = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip"].contains {
                head.has($0)
            }
            server?.upgraded(
                id,
                peer: GatewayPeer(
                    isLoopback: isLoopback,
                    host: handshake.host,
                    origin: handshake.origin.flatMap { $0.isEmpty ? nil : $0 },
                    isForwarded: isForwarded
                ),
                on: loop
            )
        } catch {
            answer(ServerHandshake.refusal(error), on: loop)
        }
    }

    private func perform(_ action: WebSocketSession.Action, on loop: isolated EventLoop) {
        switch action {
        case .message(let message): server?.received(message.bytes, from: id, on: loop)
        case .answerPing(let payload): sendFrame(.pong, payload, on: loop)
        case .pong: break
        case .answerClose(let close):
            server?.heardClose(close.code, close.reason)
            self.close(close.code, close.reason, on: loop)
        case .failed(let error): self.close(error.closeCode, "", on: loop)
        case .finished: finish(on: loop)
        }
    }

    // MARK: - Control

    private func beganControl(_ head: HandshakeHead, on loop: isolated EventLoop) {
        guard let length = Int(head.only("content-length") ?? "0"), length >= 0, !head.has("transfer-encoding") else {
            return answer(Self.plain(411, "a Content-Length is needed\n"), on: loop)
        }
        guard length <= Self.bodyLimit else { return answer(Self.plain(413, "too large\n"), on: loop) }
        state = .body(head, length: length)
        if length == 0 { control(head, on: loop) }
    }

    /// Only for programs on this host: a page in a browser has an Origin, a rebound name has another Host.
    private func control(_ head: HandshakeHead, on loop: isolated EventLoop) {
        let host = (head.only("host") ?? "").lowercased()
        let isLocal = ["127.0.0.1", "localhost", "[::1]"].contains { host == $0 || host.hasPrefix("\($0):") }
        guard isLoopback, isLocal, !head.has("origin") else {
            return answer(Self.plain(403, "the control surface is for programs on this host\n"), on: loop)
        }
        let parts = head.startLine.split(separator: " ")
        guard parts.count == 3 else { return answer(Self.plain(400, "bad request line\n"), on: loop) }
        let target = parts[1].split(separator: "?", maxSplits: 1)
        let query = Array(target.count > 1 ? String(target[1]).utf8 : "".utf8)
        guard let path = target.first, let items = try? QueryItems(parsing: query[...]) else {
            return answer(Self.plain(400, "bad target\n"), on: loop)
        }
        guard let server else { return finish(on: loop) }
        let result = server.control(
            String(parts[0]),
            String(path),
            items.items.map { ($0.name, $0.value) },
            body,
            on: loop
        )
        answer(Self.response(result.status, result.contentType, result.body), on: loop)
    }

    private static func plain(_ status: Int, _ text: String) -> [UInt8] {
        response(status, "text/plain; charset=utf-8", Array(text.utf8))
    }

    private static func response(_ status: Int, _ type: String, _ body: [UInt8]) -> [UInt8] {
        let head =
            "HTTP/1.1 \(status) \(status < 400 ? "OK" : "Refused")\r\nContent-Type: \(type)\r\nContent-Length: \(body.count)"
            + "\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
        return Array(head.utf8) + body
    }

    private func answer(_ bytes: [UInt8], on loop: isolated EventLoop) {
        write(bytes, on: loop)
        finish(on: loop)
    }

    // MARK: - Output

    func send(_ message: [UInt8], on loop: isolated EventLoop) {
        guard case .open = state else { return }
        if case .fragmented(let size) = (server?.delivery ?? .whole) {
            var output: [UInt8] = []
            var start = 0
            repeat {
                let end = min(start + size, message.count)
                WebSocketEncoder.append(
                    start == 0 ? .text : .continuation,
                    message.span.extracting(start..<end),
                    isFinal: end == message.count,
                    mask: nil,
                    to: &output
                )
                start = end
            } while start < message.count
            return write(output, on: loop)
        }
        sendFrame(.text, message, on: loop)
    }

    func sendRaw(_ bytes: [UInt8], on loop: isolated EventLoop) { write(bytes, on: loop) }

    private func sendFrame(_ opcode: WebSocketOpcode, _ payload: [UInt8], on loop: isolated EventLoop) {
        guard case .open(var session) = state else { return }
        var output: [UInt8] = []
        output.reserveCapacity(payload.count + 10)
        let isSent = session.send(opcode, payload.span, maskKey: 0, to: &output)
        state = .open(session)
        if isSent { write(output, on: loop) }
    }

    /// A close frame, then the end; the peer's own close frame may or may not come in the meantime.
    func close(_ code: UInt16, _ reason: String, on loop: isolated EventLoop) {
        guard case .open(var session) = state else { return finish(on: loop) }
        var output: [UInt8] = []
        // 1005 stands for a close frame without a code and is never sent itself.
        let sent =
            code == WebSocketClose.noStatus ? WebSocketClose(WebSocketClose.normal) : WebSocketClose(code, reason)
        _ = session.close(sent, maskKey: 0, to: &output)
        write(output, on: loop)
        finish(on: loop)
    }

    /// Everything written goes out, then the connection ends.
    func finish(on loop: isolated EventLoop) {
        state = .ending
        if isTearing {
            endsAfterTorn = true
        } else {
            stream.closeWhenSent(on: loop)
        }
    }

    private func write(_ bytes: [UInt8], on loop: isolated EventLoop) {
        if case .torn(let size, let pause) = (server?.delivery ?? .whole) {
            if !keepForTearing(bytes, on: loop) { return }
            if !isTearing { tear(size, everyMs: pause, on: loop) }
            return
        }
        if isTearing {
            _ = keepForTearing(bytes, on: loop)
            return
        }
        if stream.send(bytes, on: loop) == .overflow { stream.close(on: loop) }
    }

    private func keepForTearing(_ bytes: [UInt8], on loop: isolated EventLoop) -> Bool {
        if tornStart > 1 << 16 {
            torn.removeSubrange(..<tornStart)
            tornStart = 0
        }
        guard torn.count + bytes.count <= DemoGatewayServer.sendLimit else {
            stream.close(on: loop)
            return false
        }
        torn += bytes
        return true
    }

    private func tear(_ size: Int, everyMs pause: Int, on loop: isolated EventLoop) {
        let end = min(tornStart + size, torn.count)
        let outcome = stream.send(torn.span.extracting(tornStart..<end), on: loop)
        tornStart = end
        guard tornStart < torn.count, outcome != .closed, outcome != .overflow else {
            torn = []
            tornStart = 0
            isTearing = false
            if outcome == .overflow { stream.close(on: loop) } else if endsAfterTorn { stream.closeWhenSent(on: loop) }
            return
        }
        isTearing = true
        loop.after(milliseconds: Int64(pause)) { [weak self] in self?.tear(size, everyMs: pause, on: loop) }
    }
}
