import Basics
import EventLoops
import POSIX
import TestSupport
import Testing

@testable import Server

/// Clients that ask for much and read slowly.
struct UnreadAnswersTests {
    private static let size = 4 << 20

    /// For each of several holders, in turn, whether it gets so many bytes.
    private func taken(_ answers: inout UnreadAnswers, _ wishes: [(AnswerHolder, Int)]) -> [Bool] {
        wishes.map { answers.take($1, for: $0) != nil }
    }

    @Test func `one caller gets a quarter, all callers three, and the owner the rest`() throws {
        var answers = UnreadAnswers(most: 80)
        let first = answers.take(12, for: .caller("a"))
        let rest = taken(
            &answers,
            [(.caller("a"), 8), (.caller("a"), 1), (.caller("b"), 20), (.caller("c"), 20), (.caller("d"), 1)]
        )
        #expect(rest == [true, false, true, true, false])
        let owner = taken(&answers, [(.owner, 20), (.owner, 1)])
        #expect(owner == [true, false])
        answers.giveBack(try #require(first))
        let next = taken(&answers, [(.caller("d"), 12)])
        #expect(next == [true] && answers.bytes == 80)
    }

    @Test func `an answer above every share is sent while nothing waits`() throws {
        var answers = UnreadAnswers(most: 8)
        let share = answers.take(100, for: .caller("a"))
        let others = taken(&answers, [(.caller("b"), 1), (.owner, 1)])
        #expect(others == [false, false])
        answers.giveBack(try #require(share))
        let next = taken(&answers, [(.owner, 100)])
        #expect(next == [true] && answers.bytes == 100)
    }

    /// A quarter of it is one answer of `/big`.
    private func server() async throws -> TestServer {
        var limits = ServerLimits.patient
        limits.unreadAnswers = 4 * Self.size
        return try await TestServer(limits)
    }

    private func ask(_ path: String, _ server: TestServer, _ method: String = "GET") throws -> BlockingSocket {
        let socket = try BlockingSocket.connect(.loopback4, port: server.port)
        try socket.send(Array("\(method) \(path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8))
        return socket
    }

    private func answer(_ path: String, _ server: TestServer, _ method: String = "GET") throws -> String {
        let socket = try ask(path, server, method)
        var bytes: [UInt8] = []
        while true {
            let more = try socket.receive()
            if more.isEmpty { return String(decoding: bytes, as: UTF8.self) }
            bytes += more
        }
    }

    private func holds(_ count: Int, _ server: TestServer) async -> Bool {
        await server.wait { $0.server.unread.bytes == count * Self.size }
    }

    @Test func `a caller that leaves its answer unread gets no other large one, and everybody else does`() async throws
    {
        let server = try await server()
        let slow = try ask("/big", server)
        #expect(await holds(1, server))
        let refused = try answer("/big", server)
        #expect(refused.hasPrefix("HTTP/1.1 503 ") && refused.contains("UNREAD_ANSWERS"), "\(refused.prefix(300))")
        #expect(refused.contains("\r\nRetry-After: "))
        #expect(try answer("/echo", server).hasSuffix("[]"), "small answers need no room")
        let others = [try ask("/big-other", server), try ask("/big-third", server)]
        #expect(await holds(3, server))
        #expect(try answer("/big-fourth", server).contains("UNREAD_ANSWERS"))
        #expect(try answer("/big-owner", server).hasPrefix("HTTP/1.1 200 "))
        slow.close()
        #expect(await holds(2, server))
        #expect(try answer("/big", server).hasPrefix("HTTP/1.1 200 "))
        for one in others { one.close() }
        #expect(await holds(0, server))
    }

    @Test func `streams of HTTP/2 count until they are over, whole or not`() async throws {
        let server = try await server()
        let client = try HTTP2Client(try BlockingSocket.connect(.loopback4, port: server.port))
        try client.request("GET", "/big", stream: 1)
        #expect(await holds(1, server))
        let other = try HTTP2Client(try BlockingSocket.connect(.loopback4, port: server.port))
        try other.request("GET", "/big", stream: 1)
        #expect(String(decoding: try other.answer(1).body, as: UTF8.self).contains("UNREAD_ANSWERS"))
        #expect(try client.answer(1).body.count == Self.size)
        #expect(await holds(0, server))
        try other.request("GET", "/big", stream: 3)
        #expect(await holds(1, server))
        other.socket.close()
        #expect(await holds(0, server))
    }

    @Test func `the answer to a request that did something is never kept back`() async throws {
        let server = try await server()
        let slow = try ask("/big", server)
        #expect(await holds(1, server))
        #expect(try answer("/big", server, "POST").hasPrefix("HTTP/1.1 200 "))
        #expect(try answer("/big", server).hasPrefix("HTTP/1.1 503 "))
        slow.close()
    }

    @Test func `an answer without a body takes no room`() async throws {
        let server = try await server()
        let slow = try ask("/big", server)
        #expect(await holds(1, server))
        let socket = try BlockingSocket.connect(.loopback4, port: server.port)
        try socket.send(Array("HEAD /big HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8))
        #expect(String(decoding: try socket.receive(), as: UTF8.self).hasPrefix("HTTP/1.1 200 "))
        slow.close()
    }
}
