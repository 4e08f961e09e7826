import Testing

@testable import WebSocket

struct WebSocketSessionTests {
    var session = WebSocketSession(role: .client, limits: WebSocketLimits(messageBytes: 1_000))

    @Test mutating func `a ping is answered with its own payload`() {
        #expect(session.receive(Frame.bytes(9, [1, 2]).span) == [.answerPing([1, 2])])
        var output: [UInt8] = []
        #expect(session.send(.pong, [1, 2].span, maskKey: 5, to: &output))
        #expect(Decoded(output, role: .server).events == [.pong([1, 2])])
    }

    @Test mutating func `the peer's close is answered once and ends the session`() {
        #expect(session.receive((Frame.close(1012) + Frame.text("late")).span) == [.answerClose(WebSocketClose(1012))])
        #expect(!session.isOpen)
        var output: [UInt8] = []
        #expect(!session.send(.text, [65].span, maskKey: 1, to: &output))
        #expect(
            session.close(WebSocketClose(1012), maskKey: 1, to: &output) == [
                .finished(WebSocketClose(1012), clean: true)
            ]
        )
        #expect(Decoded(output, role: .server).events == [.close(WebSocketClose(1012))])
        #expect(session.close(WebSocketClose(1000), maskKey: 1, to: &output).isEmpty)
        #expect(session.receive(Frame.text("later still").span).isEmpty)
        #expect(session.receiveEnd().isEmpty)
    }

    @Test mutating func `our close waits for the peer's and still takes its data`() {
        var output: [UInt8] = []
        #expect(session.close(WebSocketClose(4000, "tick timeout"), maskKey: 1, to: &output).isEmpty)
        #expect(session.receive(Frame.text("a").span) == [.message(WebSocketMessage(.text, [97]))])
        #expect(session.receive(Frame.bytes(9, []).span).isEmpty)
        #expect(session.receive(Frame.close(1000).span) == [.finished(WebSocketClose(1000), clean: true)])
    }

    @Test mutating func `broken framing asks for a close with the right code`() {
        let actions = session.receive((Frame.text("a") + [0xC1, 0]).span)
        #expect(actions == [.message(WebSocketMessage(.text, [97])), .failed(.reservedBits(4))])
        var output: [UInt8] = []
        let close = WebSocketClose(WebSocketError.reservedBits(4).closeCode)
        #expect(session.close(close, maskKey: 1, to: &output) == [.finished(close, clean: false)])
        #expect(Decoded(output, role: .server).events == [.close(WebSocketClose(1002))])
        #expect(session.receive(Frame.text("b").span).isEmpty)
    }

    @Test mutating func `a torn transport is an abnormal end`() {
        #expect(session.receiveEnd() == [.finished(WebSocketClose(1006), clean: false)])
        #expect(session.receiveEnd().isEmpty)
    }
}
