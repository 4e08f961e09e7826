import Basics
import EventLoops
import HTTPModel
import POSIX
import Testing

@testable import Outbound

/// Requests to one server over real sockets: kept connections, lost answers, servers that say nothing.
struct ServerConnectionTests {
    /// The server's conduct towards one request.
    enum Word: Sendable {
        case answer(String)
        /// The end of the connection, in place of an answer or behind it.
        case end
        case nothing
    }

    /// A server with a script; it keeps what it was asked.
    private final class Server {
        private(set) var requests: [String] = []
        private(set) var connections = 0
        private var script: [Word]
        private var listener: Listener?

        init(_ script: [Word]) { self.script = script }

        func start(on loop: isolated EventLoop) throws -> UInt16 {
            let address = SocketAddress.ip(.loopback4, port: 0)
            let listener = try Listener(try Socket.listen(on: address), configured: address, on: loop, failed: { _ in })
            {
                [unowned self] socket, _ in
                self.connections += 1
                let stream = StreamConnection(socket, sendLimit: 1 << 20)
                try? stream.start(Peer(self, stream), on: loop)
            }
            self.listener = listener
            return listener.address.port ?? 0
        }

        func stop(on loop: isolated EventLoop) { listener?.close(on: loop) }

        fileprivate func asked(_ text: String) -> [Word] {
            requests.append(text)
            guard !script.isEmpty else { return [.end] }
            let first = script.removeFirst()
            if case .answer = first, case .end? = script.first { return [first, script.removeFirst()] }
            return [first]
        }
    }

    private final class Peer: StreamHandler {
        private let server: Server
        private let stream: StreamConnection
        private var text = ""

        init(_ server: Server, _ stream: StreamConnection) {
            (self.server, self.stream) = (server, stream)
        }

        func connected(on loop: isolated EventLoop) {}
        func received(_ bytes: Span<UInt8>, on loop: isolated EventLoop) {
            var copy: [UInt8] = []
            copy.append(copying: bytes)
            text += String(decoding: copy, as: UTF8.self)
            guard let head = text.firstRange(of: "\r\n\r\n") else { return }
            let length = text[..<head.lowerBound].split(separator: "\r\n").compactMap { line in
                line.hasPrefix("Content-Length: ") ? Int(line.dropFirst(16)) : nil
            }.first
            guard text[head.upperBound...].utf8.count >= length ?? 0 else { return }
            let words = server.asked(text)
            text = ""
            for word in words {
                switch word {
                case .answer(let answer): _ = stream.send(Array(answer.utf8), on: loop)
                case .end: stream.closeWhenSent(on: loop)
                case .nothing: break
                }
            }
        }
        func receivedEnd(on loop: isolated EventLoop) { stream.close(on: loop) }
        func drained(on loop: isolated EventLoop) {}
        func closed(_ reason: CloseReason, on loop: isolated EventLoop) {}
    }

    private final class Client: AnswerReceiver {
        private(set) var told = ""
        private let done: () -> Void

        init(_ done: @escaping () -> Void) { self.done = done }

        func answerBegan(_ head: ResponseHead, on loop: isolated EventLoop) { told += "\(head.status.code) " }
        func answerContinued(_ bytes: Span<UInt8>, on loop: isolated EventLoop) {
            var copy: [UInt8] = []
            copy.append(copying: bytes)
            told += String(decoding: copy, as: UTF8.self)
        }
        func answerEnded(on loop: isolated EventLoop) {
            told += "."
            done()
        }
        func answerFailed(_ failure: ServerFailure, on loop: isolated EventLoop) {
            switch failure {
            case .unreachable: told += "unreachable"
            case .lost(let reason): told += "lost: \(reason)"
            }
            done()
        }
    }

    private func ask(
        _ requests: ServerRequests,
        _ method: String = "GET",
        body: String = "",
        silenceMs: Int64 = 60_000,
        wholeMs: Int64? = nil,
        on loop: isolated EventLoop
    ) async throws -> String {
        var head = try RequestHead(method: HTTPMethod(method.utf8), target: "/x")
        head.fields.append(.accept, "*/*")
        let request = ServerRequest(head, body: Array(body.utf8), silenceMs: silenceMs, wholeMs: wholeMs)
        var client: Client?
        let _: Void = await loop.wait { done in
            let receiver = Client { done(()) }
            client = receiver
            _ = requests.send(request, to: receiver, on: loop)
        }
        return client?.told ?? ""
    }

    private func run(
        _ script: [Word],
        _ body: @Sendable (ServerRequests, Server, isolated EventLoop) async throws -> Void
    ) async throws {
        let loop = try EventLoop(label: "test.requests")
        loop.start()
        try await inside(script, body, on: loop)
        await loop.stop()
    }

    private func inside(
        _ script: [Word],
        _ body: @Sendable (ServerRequests, Server, isolated EventLoop) async throws -> Void,
        on loop: isolated EventLoop
    ) async throws {
        let server = Server(script)
        let port = try server.start(on: loop)
        let requests = ServerRequests(
            ServerTarget(host: "127.0.0.1", port: port, path: "", trust: nil),
            keptMs: 3_600_000
        )
        try await body(requests, server, loop)
        requests.close(on: loop)
        server.stop(on: loop)
    }

    private static func ok(_ body: String, _ more: String = "") -> Word {
        .answer("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\(more)\r\n\(body)")
    }

    @Test func `a connection carries one request after the other, with their bodies`() async throws {
        try await run([Self.ok("one"), Self.ok("two"), Self.ok("three", "Connection: close\r\n"), Self.ok("four")]) {
            requests,
            server,
            loop in
            let told1 = try await ask(requests, on: loop)
            #expect(told1 == "200 one.")
            let told2 = try await ask(requests, "POST", body: "{}", on: loop)
            #expect(told2 == "200 two.")
            let told3 = try await ask(requests, "POST", on: loop)
            #expect(told3 == "200 three.")
            #expect(server.connections == 1)
            let told4 = try await ask(requests, on: loop)
            #expect(told4 == "200 four.")
            #expect(server.connections == 2)
            #expect(server.requests[1].hasSuffix("Content-Length: 2\r\n\r\n{}"))
            #expect(
                server.requests[2].contains("Content-Length: 0\r\n") && !server.requests[0].contains("Content-Length")
            )
        }
    }

    @Test func `chunks and a body that ends with the connection arrive whole`() async throws {
        let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"
        try await run([.answer(chunks), .answer("HTTP/1.1 200 OK\r\n\r\nuntil the end"), .end]) { requests, _, loop in
            let told5 = try await ask(requests, on: loop)
            #expect(told5 == "200 onetwo.")
            let told6 = try await ask(requests, on: loop)
            #expect(told6 == "200 until the end.")
        }
    }

    @Test func `a request that was sent and has no answer is lost, whatever ended it`() async throws {
        let short = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"
        try await run([.end, .answer(short), .end, .answer("not HTTP at all\r\n\r\n"), .nothing]) { requests, _, loop in
            let told7 = try await ask(requests, on: loop)
            #expect(told7.hasPrefix("lost: "))
            let told8 = try await ask(requests, on: loop)
            #expect(told8 == "200 halflost: it ended the connection")
            let told9 = try await ask(requests, on: loop)
            #expect(told9.hasPrefix("lost: its answer is no HTTP"))
            let told10 = try await ask(requests, silenceMs: 30, on: loop)
            #expect(told10 == "lost: silent for 0 s")
        }
    }

    @Test func `an answer that comes drop by drop ends all the same`() async throws {
        try await run([.answer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")]) { requests, _, loop in
            let told = try await ask(requests, wholeMs: 30, on: loop)
            #expect(told == "200 halflost: its answer did not end within 0 s")
        }
    }

    @Test func `a server that is not there has got nothing`() async throws {
        try await run([]) { requests, server, loop in
            server.stop(on: loop)
            let gone = ServerRequests(ServerTarget(host: "127.0.0.1", port: 1, path: "", trust: nil))
            let told11 = try await ask(gone, "POST", body: "{}", on: loop)
            #expect(told11 == "unreachable")
            let unknown = ServerRequests(ServerTarget(host: "no.such.host.invalid", port: 1, path: "", trust: nil))
            let told12 = try await ask(unknown, on: loop)
            #expect(told12 == "unreachable")
            #expect(server.requests.isEmpty)
        }
    }

    @Test func `a given-up request tells nothing more`() async throws {
        try await run([.nothing, Self.ok("next")]) { requests, server, loop in
            var client: Client? = Client { Issue.record("told after its end") }
            let head = try RequestHead(method: .get, target: "/x")
            let connection = requests.send(ServerRequest(head, silenceMs: 5_000), to: client!, on: loop)
            connection.cancel(on: loop)
            client = nil
            // The request that was given up may never have come, so the script may be at either word.
            let told = try await ask(requests, silenceMs: 200, on: loop)
            #expect(told == "200 next." || told.hasPrefix("lost"))
            _ = server
        }
    }
}
