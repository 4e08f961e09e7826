import HTTP1
import HTTPModel
import Testing

struct HTTP1ConnectionStateTests {
    /// A state in the middle of the exchange that this request opens; body bytes have not come yet.
    func exchange(_ raw: String, _ state: HTTP1ConnectionState = HTTP1ConnectionState()) throws -> HTTP1ConnectionState
    {
        var state = state
        var parser = HTTP1Parser()
        var offset = 0
        _ = try parser.next([UInt8](raw: raw), &offset)
        state.receiveHead(parser.head, framing: parser.framing)
        return state
    }

    @Test func `a request is answered and the next may be read`() throws {
        var state = try exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(!state.mayReadRequest)
        let plan = state.startResponse(status: .ok, length: 5)
        #expect(plan == .init(bodyEnd: .length(5), connection: .implied, omitsBody: false))
        #expect(state.endResponse() == .readRequest)
        #expect(state.mayReadRequest)
        #expect(state.exchangeCount == 1)
    }

    @Test(arguments: [
        (
            "GET / HTTP/1.1\r\nHost: a\r\n\r\n", HTTP1BodyEnd.chunked, HTTP1ConnectionField.implied,
            HTTP1ConnectionState.Next.readRequest
        ),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", .chunked, .close, .close),
        ("GET / HTTP/1.0\r\n\r\n", .close, .close, .close),
        ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", .close, .close, .close),
    ])
    func `a stream ends by chunks or by closing`(
        _ raw: String,
        _ end: HTTP1BodyEnd,
        _ connection: HTTP1ConnectionField,
        _ next: HTTP1ConnectionState.Next
    ) throws {
        var state = try exchange(raw)
        let plan = state.startResponse(status: .ok, length: nil)
        #expect(plan.bodyEnd == end)
        #expect(plan.connection == connection)
        #expect(state.endResponse() == next)
    }

    @Test func `an HTTP/1.0 client that asks keeps the connection when the length is known`() throws {
        var state = try exchange("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        #expect(state.startResponse(status: .ok, length: 1).connection == .keepAlive)
        #expect(state.endResponse() == .readRequest)
    }

    @Test func `a response before the end of the request closes`() throws {
        var state = try exchange("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n")
        #expect(state.expectsBody)
        #expect(state.startResponse(status: .unauthorized, length: 2).connection == .close)
        #expect(state.endResponse() == .discardThenClose(limit: HTTP1ConnectionState.discardLimit))
        #expect(!state.mayReadRequest)
        // The body that arrives all the same is no request.
        state.receiveRequestEnd()
        #expect(!state.mayReadRequest)
    }

    @Test func `a response after the end of the request keeps the connection`() throws {
        var state = try exchange("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n")
        state.receiveBody()
        state.receiveRequestEnd()
        #expect(state.startResponse(status: .accepted, length: 2).connection == .implied)
        #expect(state.endResponse() == .readRequest)
    }

    @Test func `100 is sent once, when asked for and when the body has not come`() throws {
        let raw = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
        var state = try exchange(raw)
        #expect(state.shouldSendContinue() == true)
        #expect(state.shouldSendContinue() == false)
        var eager = try exchange(raw)
        eager.receiveBody()
        #expect(eager.shouldSendContinue() == false)
        var refused = try exchange(raw)
        #expect(refused.startResponse(status: .unauthorized, length: 0).connection == .close)
        #expect(refused.shouldSendContinue() == false)
        var plain = try exchange("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n")
        #expect(plain.shouldSendContinue() == false)
    }

    @Test func `HEAD has the framing and not the body`() throws {
        var state = try exchange("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(
            state.startResponse(status: .ok, length: 5)
                == .init(bodyEnd: .length(5), connection: .implied, omitsBody: true)
        )
        #expect(state.endResponse() == .readRequest)
        var empty = try exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(empty.startResponse(status: .notModified, length: 5).bodyEnd == .none)
    }

    @Test func `a refusal is answered once and closes`() throws {
        var fresh = HTTP1ConnectionState()
        #expect(fresh.refuse(status: .badRequest, length: 10)?.connection == .close)
        #expect(fresh.endResponse() == .discardThenClose(limit: HTTP1ConnectionState.discardLimit))
        #expect(fresh.isClosed)

        var inBody = try exchange("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        #expect(inBody.refuse(status: .badRequest, length: 10)?.bodyEnd == .length(10))

        var answered = try exchange("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        _ = answered.startResponse(status: .ok, length: nil)
        #expect(answered.refuse(status: .badRequest, length: 10) == nil)
        #expect(answered.endResponse() == .discardThenClose(limit: HTTP1ConnectionState.discardLimit))
    }

    @Test func `draining finishes the exchange and takes no other`() throws {
        var idle = HTTP1ConnectionState()
        #expect(idle.drain() == true)
        #expect(!idle.mayReadRequest)
        var busy = try exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(busy.drain() == false)
        #expect(busy.startResponse(status: .ok, length: 1).connection == .close)
        #expect(busy.endResponse() == .close)
        var streaming = try exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        _ = streaming.startResponse(status: .ok, length: nil)
        #expect(streaming.drain() == false)
        #expect(streaming.endResponse() == .close)
    }
}
