import Basics
import EventLoops
import Synchronization
import TestSupport
import Testing

@testable import Server

struct HTTP1ServerTests {
    private func connect(_ server: TestServer) throws -> BlockingSocket {
        try BlockingSocket.connect(.loopback4, port: server.port)
    }

    private func all(_ socket: BlockingSocket) throws -> String {
        var bytes: [UInt8] = []
        while true {
            let more = try socket.receive()
            if more.isEmpty { return String(decoding: bytes, as: UTF8.self) }
            bytes += more
        }
    }

    /// Reads until the text appears; the connection stays open.
    private func read(_ socket: BlockingSocket, until end: String) throws -> String {
        var text = ""
        while !text.contains(end) {
            let more = try socket.receive()
            if more.isEmpty { break }
            text += String(decoding: more, as: UTF8.self)
        }
        return text
    }

    @Test func `far beyond the limit of connections nobody hears why`() async throws {
        var limits = ServerLimits.patient
        limits.connections = 1
        limits.lingerMilliseconds = 30_000
        let server = try await TestServer(limits)
        let held = try (0..<60).map { _ in try connect(server) }
        let answers = try held.dropFirst().map { try all($0) }
        #expect(answers.count { $0.hasPrefix("HTTP/1.1 503 ") } == ConnectionQuota.mostRefused)
        #expect(answers.count { $0.isEmpty } == 59 - ConnectionQuota.mostRefused)
    }

    @Test func `other users are turned away at once, and the owner is served beside them`() async throws {
        var limits = ServerLimits.patient
        limits.connections = 8
        limits.connectionsPerPeer = 4
        limits.owner = 1000
        limits.lingerMilliseconds = 30_000
        let stranger = Mutex<UInt32?>(1001)
        let server = try await TestServer(limits) { stranger.withLock { $0 } }
        let held = try (0..<100).map { _ in try connect(server) }
        let answers = try held.dropFirst(4).map { try all($0) }
        #expect(answers.contains { $0.hasPrefix("HTTP/1.1 503 ") })
        #expect(await server.wait { $0.server.openConnections == 4 })
        stranger.withLock { $0 = 1002 }
        let more = try (0..<100).map { _ in try connect(server) }
        #expect(try more.dropFirst(2).allSatisfy { try !all($0).hasPrefix("HTTP/1.1 2") })
        #expect(await server.wait { $0.server.openConnections == 6 })
        stranger.withLock { $0 = 1000 }
        let mine = try connect(server)
        try mine.send(Array("GET /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8))
        #expect(try all(mine).hasPrefix("HTTP/1.1 200 "))
    }

    @Test func `an offer to go on in HTTP 2 is passed over`() async throws {
        let server = try await TestServer()
        let socket = try connect(server)
        let offer = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"
        try socket.send(Array("POST /echo HTTP/1.1\r\nHost: a\r\n\(offer)Content-Length: 2\r\n\r\nhi".utf8))
        let answer = try read(socket, until: "]")
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.hasSuffix("[hi]"))
    }

    private func count(_ needle: String, in text: String) -> Int {
        text.split(separator: needle, omittingEmptySubsequences: false).count - 1
    }

    @Test func `a piece of a coded stream that finds no room can be said again`() async throws {
        let server = try await TestServer()
        let socket = try connect(server)
        // The body of an older client's answer has no chunks around it.
        try socket.send(Array("GET /coded-stream HTTP/1.0\r\n\r\n".utf8))
        #expect(await server.wait { $0.responder.tellers.first?.refusals == 1 })
        var bytes: [UInt8] = []
        while case let more = try socket.receive(), !more.isEmpty { bytes += more }
        let end = try #require(bytes.firstRange(of: Array("\r\n\r\n".utf8)))
        #expect(try GunzipStream.expand(Array(bytes[end.upperBound...])) == Teller.all)
    }

    @Test func `a connection serves one request after the other`() async throws {
        let server = try await TestServer()
        let socket = try connect(server)
        for body in ["one", "two", "three"] {
            try socket.send(
                Array("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8)
            )
            let answer = try read(socket, until: "]")
            #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(answer.hasSuffix("\r\n\r\n[\(body)]"))
        }
    }

    @Test(arguments: ["/echo", "/later", "/asked"])
    func `pipelined requests are answered in order, even when the peer has ended its direction`(path: String)
        async throws
    {
        let server = try await TestServer()
        let socket = try connect(server)
        let one = "GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n"
        try socket.send(Array((one + one + one).utf8))
        socket.endWriting()
        #expect(count("HTTP/1.1 200 OK", in: try all(socket)) == 3)
    }

    @Test(arguments: [
        ("INVALID CONNECTION PREFACE\r\n\r\n", [] as [String]),
        // A client that was answered can read the reason.
        ("GET /echo HTTP/1.1\r\nHost: a\r\n\r\nNO HTTP REQUEST\r\n\r\n", ["200", "400"]),
        ("INVALID / PREFACE\r\n\r\n", ["400"]), ("INVALID\r\n\r\n", ["400"]),
    ])
    func `a connection with bytes that cannot be a request is closed`(said: String, statuses: [String]) async throws {
        let server = try await TestServer()
        let socket = try connect(server)
        try socket.send(Array(said.utf8))
        let answers = try all(socket).split(separator: "HTTP/1.1 ").map { String($0.prefix(3)) }
        #expect(answers == statuses)
    }

    @Test func `HEAD has the length and no body, and the next answer follows`() async throws {
        let server = try await TestServer()
        let socket = try connect(server)
        try socket.send(
            Array(
                "HEAD /echo HTTP/1.1\r\nHost: a\r\n\r\nGET /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8
            )
        )
        let answer = try all(socket)
        #expect(count("HTTP/1.1 200 OK", in: answer) == 2)
        #expect(count("Content-Length: 2", in: answer) == 2)
        #expect(count("[]", in: answer) == 1)
    }

    @Test(arguments: ["/echo", "/asked"])
    func `100-continue is sent only once the request is admitted`(path: String) async throws {
        let server = try await TestServer()
        let socket = try connect(server)
        try socket.send(
            Array("POST \(path) HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n".utf8)
        )
        #expect(try read(socket, until: "\r\n\r\n").hasPrefix("HTTP/1.1 100 Continue\r\n"))
        try socket.send(Array("abc".utf8))
        #expect(try read(socket, until: "]").hasSuffix("[abc]"))
    }

    @Test(arguments: ["/refused", "/asked-in-vain"])
    func `a refused request has one answer, and its body is not read as the next request`(path: String) async throws {
        let server = try await TestServer()
        let socket = try connect(server)
        let body = "GET /echo HTTP/1.1\r\nHost: a\r\n\r\n"
        try socket.send(
            Array("POST \(path) HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8)
        )
        let answer = try all(socket)
        #expect(count("HTTP/1.1 ", in: answer) == 1)
        #expect(answer.contains("Connection: close"))
    }

    @Test func `a refused request with a broken body has one answer`() async throws {
        let server = try await TestServer()
        let socket = try connect(server)
        try socket.send(Array("POST /refused HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".utf8))
        #expect(count("HTTP/1.1 ", in: try all(socket)) == 1)
    }

    @Test func `a body that waited for its admission is whole`() async throws {
        let server = try await TestServer()
        let socket = try connect(server)
        let body = String(repeating: "x", count: 300_000)
        let request =
            "POST /asked HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
        try socket.send(Array((request + body).utf8))
        #expect(try all(socket).hasSuffix("[\(body)]"))
    }

    @Test func `an answer the peer reads slowly arrives whole after the end of the request`() async throws {
        let server = try await TestServer()
        let socket = try connect(server)
        try socket.send(Array("GET /big HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8))
        socket.endWriting()
        let answer = try all(socket)
        #expect(answer.utf8.count > 4 << 20)
        #expect(answer.hasSuffix("0123456789abcdef"))
    }

    @Test func `requests behind unread answers wait, and all are answered in the end`() async throws {
        let server = try await TestServer()
        let socket = try connect(server)
        let one = "GET /big HTTP/1.1\r\nHost: a\r\n\r\n"
        try socket.send(Array((one + one + "GET /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").utf8))
        #expect(await server.wait { $0.responder.finished >= 1 })
        // The third waits until the first two have been read.
        #expect(await server.with { parts, _ in parts.responder.finished } ?? 3 < 3)
        let answer = try all(socket)
        #expect(count("HTTP/1.1 200 OK", in: answer) == 3)
        #expect(answer.hasSuffix("[]"))
    }

    @Test func `a stream is counted once, whoever ends it`() async throws {
        let server = try await TestServer()
        let first = try connect(server)
        let second = try connect(server)
        for socket in [first, second] {
            try socket.send(Array("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
            #expect(try read(socket, until: "data: hello\n\n").contains("data: hello\n\n"))
        }
        #expect(await server.wait { $0.server.counters.openStreams == 2 })
        first.close()
        #expect(await server.wait { $0.server.counters.openStreams == 1 })
        _ = await server.with { parts, loop in
            for stream in parts.responder.streams { stream.end(on: loop) }
            for stream in parts.responder.streams { stream.abort(on: loop) }
        }
        #expect(try all(second) == "0\r\n\r\n")
        #expect(await server.wait { $0.server.counters.openStreams == 0 && $0.responder.finished == 2 })
    }

    @Test(arguments: [("1.1", "d\r\ndata: hello\n\n\r\n"), ("1.0", "\r\n\r\ndata: hello\n\n")])
    func `a stream has chunks, and none for an older peer`(_ version: String, _ body: String) async throws {
        let server = try await TestServer()
        let socket = try connect(server)
        try socket.send(Array("GET /stream HTTP/\(version)\r\nHost: a\r\n\r\n".utf8))
        let answer = try read(socket, until: body)
        #expect(answer.hasSuffix(body))
        #expect(answer.contains("Transfer-Encoding: chunked") == (version == "1.1"))
    }

    @Test(arguments: ["/short-stream", "/coded-stream"])
    func `HEAD of a stream ends at once, without a byte behind its head`(path: String) async throws {
        let server = try await TestServer()
        let socket = try connect(server)
        try socket.send(Array("HEAD \(path) HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        let answer = try all(socket)
        #expect(answer.hasSuffix("\r\n\r\n"))
        #expect(await server.wait { $0.server.counters.openStreams == 0 && $0.server.openConnections <= 1 })
    }

    @Test(arguments: ["/echo", "/later"])
    func `a waiting client that is gone is released, whichever came first, after the earlier answers`(path: String)
        async throws
    {
        let server = try await TestServer()
        let socket = try connect(server)
        try socket.send(
            Array("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\nGET /poll HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        )
        socket.endWriting()
        #expect(count("HTTP/1.1 200 OK", in: try all(socket)) == 1)
        #expect(await server.wait { $0.responder.finished == 2 && $0.server.openConnections == 0 })
    }

    @Test func `a stream behind so many requests that reading paused ends with its peer`() async throws {
        var limits = ServerLimits.patient
        limits.pipelinedBytes = 50
        let server = try await TestServer(limits)
        let socket = try connect(server)
        let requests = ["/later", "/echo", "/stream"].map { "GET \($0) HTTP/1.1\r\nHost: a\r\n\r\n" }
        try socket.send(Array(requests.joined().utf8))
        _ = try read(socket, until: "data: hello\n\n")
        socket.endWriting()
        #expect(await server.wait { $0.server.counters.openStreams == 0 })
    }

    @Test func `a stream that a stop ends waits for its peer no longer than a drain does`() async throws {
        var limits = ServerLimits.patient
        limits.lingerMilliseconds = 600_000
        let server = try await TestServer(limits)
        let socket = try connect(server)
        try socket.send(Array("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        _ = try read(socket, until: "data: hello\n\n")
        _ = await server.with { parts, loop in
            parts.server.stopListening(on: loop)
            for stream in parts.responder.streams { stream.end(on: loop) }
        }
        #expect(await server.wait { $0.server.openConnections == 0 })
        socket.close()
    }

    @Test func `a stream that ended before a stop holds it up no longer than one that it ends`() async throws {
        var limits = ServerLimits.patient
        limits.lingerMilliseconds = 600_000
        let server = try await TestServer(limits)
        let socket = try connect(server)
        try socket.send(Array("GET /stream HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8))
        _ = try read(socket, until: "data: hello\n\n")
        _ = await server.with { parts, loop in
            for stream in parts.responder.streams { stream.end(on: loop) }
            parts.server.stopListening(on: loop)
        }
        #expect(await server.wait { $0.server.openConnections == 0 })
        socket.close()
    }

    @Test func `a head that does not come in time is answered 408`() async throws {
        var limits = ServerLimits.patient
        limits.headMilliseconds = 100
        let server = try await TestServer(limits)
        let socket = try connect(server)
        try socket.send(Array("GET / HTTP/1.1\r\nHos".utf8))
        #expect(try all(socket).hasPrefix("HTTP/1.1 408 "))
    }

    @Test func `a body slower than the minimum rate is answered 408`() async throws {
        var limits = ServerLimits.patient
        limits.bodyGraceMilliseconds = 100
        let server = try await TestServer(limits)
        let socket = try connect(server)
        try socket.send(Array("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nx".utf8))
        #expect(try all(socket).hasPrefix("HTTP/1.1 408 "))
    }

    @Test func `a peer that takes nothing is let go`() async throws {
        var limits = ServerLimits.patient
        limits.stallMilliseconds = 100
        let server = try await TestServer(limits)
        let socket = try connect(server)
        let one = "GET /big HTTP/1.1\r\nHost: a\r\n\r\n"
        try socket.send(Array((one + one).utf8))
        #expect(await server.wait { $0.server.counters.stalled == 1 && $0.server.openConnections == 0 })
        socket.close()
    }

    @Test func `connections over the limit are answered 503, and room that was given back is used`() async throws {
        var limits = ServerLimits.patient
        limits.connections = 1
        let server = try await TestServer(limits)
        let first = try connect(server)
        #expect(await server.wait { $0.server.openConnections == 1 })
        #expect(try all(try connect(server)).hasPrefix("HTTP/1.1 503 "))
        first.close()
        #expect(await server.wait { $0.server.openConnections == 0 })
        let third = try connect(server)
        try third.send(Array("GET /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8))
        #expect(try all(third).hasPrefix("HTTP/1.1 200 "))
    }

    @Test func `a drain ends what is idle and lets an answer under way finish`() async throws {
        let server = try await TestServer()
        let idle = try connect(server)
        let busy = try connect(server)
        try busy.send(Array("GET /later HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        #expect(await server.wait { $0.server.counters.requestsHTTP1 == 1 && $0.server.openConnections == 2 })
        let drained = Inbox<Bool>()
        _ = await server.with { parts, loop in
            parts.server.drain(within: 5000, on: loop) { drained.put(true) }
        }
        #expect(try all(busy).hasSuffix("later"))
        #expect(try all(idle).isEmpty)
        busy.close()
        idle.close()
        #expect(try await drained.next())
    }

    /// The classes of bugs found in real servers: each request gets its refusal, its connection closes without an
    /// answer to the smuggled request, and the next client is served.
    @Test func `malformed requests are refused, and the next client is served`() async throws {
        let server = try await TestServer()
        // The start of the HTTP/2 preface opens an HTTP/2 connection here.
        for request in MalformedRequest.all where !request.bytes.starts(with: Array("PRI".utf8)) {
            let socket = try connect(server)
            // The refusal may arrive, and the connection end, before everything is sent.
            try? socket.send(request.bytes)
            socket.endWriting()
            let answer = (try? all(socket)) ?? ""
            #expect(
                count("\r\nLadle-Version: ", in: answer) == request.goodBefore + 1,
                "\(request): \(answer.prefix(400))"
            )
            #expect(count("HTTP/1.1 \(request.status) ", in: answer) == 1, "\(request): \(answer.prefix(400))")
            #expect(!answer.contains("smuggled"), "\(request)")
        }
        let socket = try connect(server)
        try socket.send(Array("GET /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8))
        #expect(try all(socket).hasPrefix("HTTP/1.1 200 "))
        #expect(await server.wait { $0.server.openConnections <= 1 })
    }
}
