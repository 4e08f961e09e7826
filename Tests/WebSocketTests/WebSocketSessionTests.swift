import Testing

@testable import WebSocket

struct WebSocketSessionTests {

    @Test func `a ping is answered with its own payload`() {
        var session = WebSocketSession(role: .client, limits: WebSocketLimits(messageBytes: 1_000))
        let result1 = session.receive(Frame.bytes(9, [1, 2]).span)
        #expect(result1 == [.answerPing([1, 2])])
        var output: [UInt8] = []
        let result2 = session.send(.pong, [1, 2].span, maskKey: 5, to: &output)
        #expect(result2)
        #expect(Decoded(output, role: .server).events == [.pong([1, 2])])
    }

    @Test func `the peer's close is answered once and ends the session`() {
        var session = WebSocketSession(role: .client, limits: WebSocketLimits(messageBytes: 1_000))
        let result3 = session.receive((Frame.close(1012) + Frame.text("late")).span)
        #expect(result3 == [.answerClose(WebSocketClose(1012))])
        #expect(!session.isOpen)
        var output: [UInt8] = []
        let result4 = session.send(.text, [65].span, maskKey: 1, to: &output)
        #expect(!result4)
        #expect(
            session.close(WebSocketClose(1012), maskKey: 1, to: &output) == [
                .finished(WebSocketClose(1012), clean: true)
            ]
        )
        #expect(Decoded(output, role: .server).events == [.close(WebSocketClose(1012))])
        let result5 = session.close(WebSocketClose(1000), maskKey: 1, to: &output)
        #expect(result5.isEmpty)
        let result6 = session.receive(Frame.text("later still").span)
        #expect(result6.isEmpty)
    }

    @Test func `our close waits for the peer's and still takes its data`() {
        var session = WebSocketSession(role: .client, limits: WebSocketLimits(messageBytes: 1_000))
        var output: [UInt8] = []
        let result8 = session.close(WebSocketClose(4000, "tick timeout"), maskKey: 1, to: &output)
        #expect(result8.isEmpty)
        let result9 = session.receive(Frame.text("a").span)
        #expect(result9 == [.message(WebSocketMessage(.text, [97]))])
        let result10 = session.receive(Frame.bytes(9, []).span)
        #expect(result10.isEmpty)
        let result11 = session.receive(Frame.close(1000).span)
        #expect(result11 == [.finished(WebSocketClose(1000), clean: true)])
    }

    @Test func `broken framing asks for a close with the right code`() {
        var session = WebSocketSession(role: .client, limits: WebSocketLimits(messageBytes: 1_000))
        let actions = session.receive((Frame.text("a") + [0xC1, 0]).span)
        #expect(actions == [.message(WebSocketMessage(.text, [97])), .failed(.reservedBits(4))])
        var output: [UInt8] = []
        let close = WebSocketClose(WebSocketError.reservedBits(4).closeCode)
        let result12 = session.close(close, maskKey: 1, to: &output)
        #expect(result12 == [.finished(close, clean: false)])
        #expect(Decoded(output, role: .server).events == [.close(WebSocketClose(1002))])
        let result13 = session.receive(Frame.text("b").span)
        #expect(result13.isEmpty)
    }
}
