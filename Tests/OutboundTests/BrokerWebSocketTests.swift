import Testing
import WebSocket

@testable import Outbound

/// MQTT's bytes inside the messages of a WebSocket.
struct BrokerWebSocketTests {
    /// Both ends behind the upgrade.
    private struct Pair {
        var client: BrokerWebSocket
        var server = WebSocketSession(role: .server, limits: WebSocketLimits(messageBytes: 1_000))

        init() throws {
            client = BrokerWebSocket(host: "h:9001", path: "/mqtt", limit: 1_000)
            let request = client.request
            let read = try ServerHandshake.Reader().receive(request.span)
            let handshake = try #require(read?.handshake)
            #expect(handshake.target == "/mqtt" && handshake.host == "h:9001")
            let agreed = Array("Sec-WebSocket-Protocol: mqtt\r\n\r\n".utf8)
            let answer = Array(handshake.response.dropLast(2)) + agreed
            // Cut anywhere.
            for cut in 1..<answer.count {
                var other = client
                let part = Array(answer[..<cut])
                let early = try other.receive(part.span)
                #expect(!early.isOpened)
            }
            // The first message may come in the same packet.
            var bytes = answer
            _ = server.send(.binary, [1, 2].span, maskKey: 0, to: &bytes)
            let received = try client.receive(bytes.span)
            #expect(received.isOpened && received.payloads == [[1, 2]])
        }

        mutating func serve(_ opcode: WebSocketOpcode, _ payload: [UInt8]) throws -> BrokerWebSocket.Received {
            var bytes: [UInt8] = []
            _ = server.send(opcode, payload.span, maskKey: 0, to: &bytes)
            return try client.receive(bytes.span)
        }

        mutating func heard(_ bytes: [UInt8]) -> [WebSocketSession.Action] { server.receive(bytes.span) }
    }

    @Test func `packets go as binary messages, whatever their bounds`() throws {
        var pair = try Pair()
        #expect(pair.heard(pair.client.frame([7, 8])) == [.message(WebSocketMessage(.binary, [7, 8]))])
        #expect(try pair.serve(.binary, [3]).payloads == [[3]])
    }

    @Test func `a ping is answered, and a close too`() throws {
        var pair = try Pair()
        let answers = try pair.serve(.ping, [9]).answers
        #expect(pair.heard(answers) == [.pong([9])])
        var bytes: [UInt8] = []
        _ = pair.server.close(WebSocketClose(1001), maskKey: 0, to: &bytes)
        let received = try pair.client.receive(bytes.span)
        #expect(received.isClosed)
        #expect(pair.heard(received.answers) == [.finished(WebSocketClose(1001), clean: true)])
        #expect(pair.client.frame([1]).isEmpty)
    }

    @Test func `text, a message above the limit and an answer that is no upgrade are named`() throws {
        var pair = try Pair()
        #expect(throws: BrokerWebSocket.Failure.self) { _ = try pair.serve(.text, Array("x".utf8)) }
        pair = try Pair()
        let large = [UInt8](repeating: 0, count: 1_001)
        #expect(throws: BrokerWebSocket.Failure.self) { _ = try pair.serve(.binary, large) }
        for (answer, words) in [
            ("HTTP/1.1 404 Not Found\r\n\r\n", "answers 404"),
            ("\u{20}\u{2}\u{0}\u{0}garbage\r\n\r\n", "opens no WebSocket"),
        ] {
            var client = BrokerWebSocket(host: "h", path: "/", limit: 1_000)
            let bytes = Array(answer.utf8)
            do {
                _ = try client.receive(bytes.span)
                Issue.record("\(answer) is taken")
            } catch {
                #expect("\(error)".contains(words))
            }
        }
    }
}
