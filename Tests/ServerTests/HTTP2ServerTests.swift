import Basics
import EventLoops
import TestSupport
import Testing

@testable import Server

struct HTTP2ServerTests {
    /// `:status 200` as an entry of the static table.
    private static let ok: UInt8 = 0x88

    private func connect(_ server: TestServer) throws -> HTTP2Client {
        try HTTP2Client(try BlockingSocket.connect(.loopback4, port: server.port))
    }

    @Test(arguments: ["/echo", "/asked"])
    func `bodies of any size are echoed, admitted at once or later`(path: String) async throws {
        let server = try await TestServer()
        let client = try connect(server)
        for (place, size) in [0, 1, 16_384, 700_000].enumerated() {
            let stream = UInt32(place * 2 + 1)
            let body = [UInt8](repeating: 0x78, count: size)
            try client.request("POST", path, stream: stream, ends: size == 0)
            if size > 0 { try client.send(body: body, stream: stream) }
            let answer = try client.answer(stream)
            #expect(answer.status == Self.ok)
            #expect(answer.body == [0x5B] + body + [0x5D])
        }
    }

    @Test func `many requests at once are all answered, late ones too`() async throws {
        let server = try await TestServer()
        let client = try connect(server)
        let streams = (0..<50).map { UInt32($0 * 2 + 1) }
        for stream in streams { try client.request("GET", stream % 4 == 1 ? "/later" : "/echo", stream: stream) }
        for stream in streams {
            #expect(try client.answer(stream).body == Array((stream % 4 == 1 ? "later" : "[]").utf8))
        }
        #expect(await server.wait { $0.responder.finished == 50 })
    }

    @Test func `a client that does not take its answers gets no more of them, and may ask again`() async throws {
        var limits = ServerLimits.patient
        limits.answerBytes = 1 << 20
        let server = try await TestServer(limits)
        let client = try connect(server)
        try client.request("GET", "/big", stream: 1)
        try client.request("GET", "/echo", stream: 3)
        try client.wait { $0.frames.contains { $0.type == HTTP2Client.reset } }
        let refused: [UInt8] = [0, 0, 0, 7]
        #expect(client.frames.filter { $0.type == HTTP2Client.reset }.map(\.payload) == [refused])
        #expect(try client.answer(1).body.count == 4 << 20)
        try client.request("GET", "/echo", stream: 5)
        #expect(try client.answer(5).status == Self.ok)
        #expect(await server.wait { $0.server.counters.refused["HTTP2_unreadAnswers"] == 1 })
    }

    @Test(arguments: ["/refused", "/asked-in-vain"])
    func `a refused upload has its whole answer at once, and its rest is thrown away`(path: String) async throws {
        let server = try await TestServer()
        let client = try connect(server)
        try client.request("POST", path, stream: 1, ends: false)
        try client.wait { $0.frames.count == 2 }
        #expect(client.frames.map(\.type) == [HTTP2Client.headers, HTTP2Client.data])
        #expect(client.frames[1].endsStream)
        try client.send(body: [UInt8](repeating: 0x78, count: 1_000_000), stream: 1)
        try client.request("GET", "/echo", stream: 3)
        #expect(try client.answer(3).status == Self.ok)
    }

    @Test(arguments: [true, false])
    func `a body over the limit is refused, stated or not`(isStated: Bool) async throws {
        let server = try await TestServer()
        let client = try connect(server)
        let size = 1_200_000
        try client.request("POST", "/echo", stream: 1, ends: false, isStated ? [("content-length", "\(size)")] : [])
        try client.send(body: [UInt8](repeating: 0x78, count: size), stream: 1)
        #expect(String(decoding: try client.answer(1).body, as: UTF8.self).contains("BODY_TOO_LARGE"))
        #expect(!client.frames.contains { $0.type == HTTP2Client.reset })
    }

    @Test func `a stream opened in the turn of its request goes on being written to`() async throws {
        let server = try await TestServer()
        let client = try connect(server)
        try client.request("GET", "/stream", stream: 1)
        try client.wait { !$0.body(1).isEmpty }
        for round in 1...3 {
            let outcome = await server.with { parts, loop in
                parts.responder.streams[0].write(Array("data: \(round)\n\n".utf8), on: loop)
            }
            #expect(outcome == .written)
            try client.wait { String(decoding: $0.body(1), as: UTF8.self).hasSuffix("data: \(round)\n\n") }
        }
        _ = await server.with { parts, loop in parts.responder.streams[0].end(on: loop) }
        #expect(try client.answer(1).status == Self.ok)
        #expect(await server.wait { $0.server.counters.openStreams == 0 })
    }

    @Test func `a stream that waits for room is told when there is some`() async throws {
        let server = try await TestServer()
        let client = try connect(server)
        try client.request("GET", "/stream", stream: 1)
        try client.wait { !$0.body(1).isEmpty }
        let drained = Inbox<Bool>()
        let waiting = await server.with { parts, loop in
            let stream = parts.responder.streams[0]
            stream.owner = DrainWatch(drained)
            // More than the client's window allows.
            _ = stream.write([UInt8](repeating: 0x78, count: 200_000), on: loop)
            return stream.waitingBytes
        }
        #expect(waiting ?? 0 > 0)
        try client.wait { $0.body(1).count >= 200_000 }
        #expect(try await drained.next())
    }

    @Test func `streams are counted once, whoever ends them`() async throws {
        let server = try await TestServer()
        let client = try connect(server)
        for stream in [UInt32(1), 3, 5] { try client.request("GET", "/stream", stream: stream) }
        #expect(await server.wait { $0.server.counters.openStreams == 3 })
        try client.send(HTTP2Client.reset, 0, 1, [0, 0, 0, 8])
        #expect(await server.wait { $0.server.counters.openStreams == 2 })
        _ = await server.with { parts, loop in
            parts.responder.streams[1].abort(on: loop)
            parts.responder.streams[1].end(on: loop)
        }
        #expect(await server.wait { $0.server.counters.openStreams == 1 })
        client.socket.close()
        #expect(await server.wait { $0.server.counters.openStreams == 0 && $0.server.openConnections == 0 })
        #expect(await server.wait { $0.responder.finished == 3 })
    }

    @Test func `HEAD of a coded stream has no body`() async throws {
        let server = try await TestServer()
        let client = try connect(server)
        try client.request("HEAD", "/coded-stream", stream: 1)
        #expect(try client.answer(1).body.isEmpty)
    }

    /// Further bytes of the head do not extend its time, and neither do other frames before it.
    @Test(arguments: [false, true])
    func `a head that does not come in time ends the connection, however it is dripped`(hasAnswer: Bool) async throws {
        var limits = ServerLimits.patient
        limits.headMilliseconds = 1000
        limits.lingerMilliseconds = 100
        let server = try await TestServer(limits)
        let client = try connect(server)
        if hasAnswer {
            try client.request("GET", "/echo", stream: 1)
            _ = try client.answer(1)
        }
        // Without END_HEADERS; then a frame of 10,000 bytes, one at a time.
        try client.send(HTTP2Client.headers, 1, 3, [0x82, 0x86])
        try client.socket.send([0, 0x27, 0x10, 9, 0, 0, 0, 0, 3])
        var isGone = false
        for _ in 0..<5000 where !isGone {
            try? client.socket.send([0])
            await server.loop.pass(milliseconds: 10)
            isGone = await server.with { parts, _ in parts.server.openConnections == 0 } ?? true
        }
        #expect(isGone)
    }

    @Test func `a peer that asks and does not read is let go`() async throws {
        var limits = ServerLimits.patient
        limits.stallMilliseconds = 100
        let server = try await TestServer(limits)
        let client = try connect(server)
        for place in 0..<20 { try client.request("GET", "/big", stream: UInt32(place * 2 + 1)) }
        #expect(await server.wait { $0.server.counters.stalled > 0 && $0.server.counters.openStreams == 0 })
        let next = try connect(server)
        try next.request("GET", "/echo", stream: 1)
        #expect(try next.answer(1).status == Self.ok)
        client.socket.close()
    }

    @Test func `an answer larger than every buffer arrives whole`() async throws {
        let server = try await TestServer()
        let client = try connect(server)
        try client.request("GET", "/big", stream: 1)
        #expect(try client.answer(1).body.count == 4 << 20)
    }

    @Test func `a drain says goodbye twice and lets the answer out`() async throws {
        let server = try await TestServer()
        let client = try connect(server)
        try client.request("GET", "/later", stream: 1)
        #expect(await server.wait { $0.server.counters.requestsHTTP2 == 1 })
        let drained = Inbox<Bool>()
        _ = await server.with { parts, loop in parts.server.drain(within: 5000, on: loop) { drained.put(true) } }
        #expect(try client.answer(1).body == Array("later".utf8))
        #expect(throws: HTTP2Client.Ended.self) { try client.wait { _ in false } }
        client.socket.close()
        #expect(try await drained.next())
    }
}

private final class DrainWatch: ExchangeOwner {
    private let drained: Inbox<Bool>

    init(_ drained: Inbox<Bool>) { self.drained = drained }

    func peerLeft(_ exchange: Exchange, on loop: isolated EventLoop) {}
    func drained(_ exchange: Exchange, on loop: isolated EventLoop) { drained.put(true) }
}
