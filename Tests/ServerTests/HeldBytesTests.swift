import Basics
import EventLoops
import POSIX
import TestSupport
import Testing

@testable import Server

/// Clients that ask for much and read slowly, and clients that send much and slowly.
struct HeldBytesTests {
    private static let size = 4 << 20

    /// For each of several holders, in turn, whether it gets so many bytes.
    private func taken(_ answers: inout HeldBytes, _ wishes: [(MemoryHolder, Int)]) -> [Bool] {
        wishes.map { answers.take($1, for: $0) != nil }
    }

    @Test func `one caller gets a quarter, all callers three, and the owner the rest`() throws {
        var answers = HeldBytes(most: 80)
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
        var answers = HeldBytes(most: 8)
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

    /// A request with a body of which so many bytes have come, and the rest does not.
    private func drip(_ path: String, _ count: Int, _ server: TestServer) throws -> BlockingSocket {
        let socket = try BlockingSocket.connect(.loopback4, port: server.port)
        try socket.send(Array("POST \(path) HTTP/1.1\r\nHost: a\r\nContent-Length: \(Self.most)\r\n\r\n".utf8))
        try socket.send([UInt8](repeating: 0x61, count: count))
        return socket
    }

    private static let most = 1 << 20
    private static let piece = 100 << 10

    private func keeps(_ bytes: Int, _ server: TestServer) async -> Bool {
        await server.wait { $0.server.bodies.bytes == bytes }
    }

    private func bodyServer() async throws -> TestServer {
        var limits = ServerLimits.patient
        limits.unfinishedBodies = 8 * Self.piece
        return try await TestServer(limits)
    }

    @Test func `bodies that do not end take a quarter of the memory for one caller, and come back when it goes`()
        async throws
    {
        let server = try await bodyServer()
        let first = try drip("/a", Self.piece, server)
        #expect(await keeps(Self.piece, server))
        let second = try drip("/a", Self.piece, server)
        #expect(await keeps(2 * Self.piece, server))
        let third = try drip("/a", Self.piece, server)
        let refused = String(decoding: try third.receive(), as: UTF8.self)
        #expect(refused.hasPrefix("HTTP/1.1 503 ") && refused.contains("UNFINISHED_BODIES"), "\(refused.prefix(300))")
        #expect(await keeps(2 * Self.piece, server))
        let small = try drip("/a", HeldBytes.smallestBody / 2, server)
        let other = try drip("/b", 2 * Self.piece, server)
        #expect(await keeps(4 * Self.piece, server))
        for socket in [first, second, other, small] { socket.close() }
        #expect(await keeps(0, server))
    }

    @Test func `a body that grows beyond its caller's share is refused over HTTP 2 too`() async throws {
        let server = try await bodyServer()
        let slow = try drip("/a", 2 * Self.piece, server)
        #expect(await keeps(2 * Self.piece, server))
        let client = try HTTP2Client(try BlockingSocket.connect(.loopback4, port: server.port))
        try client.request("POST", "/a", stream: 1, ends: false)
        try client.send(body: [UInt8](repeating: 0x61, count: Self.piece), stream: 1)
        #expect(String(decoding: try client.answer(1).body, as: UTF8.self).contains("UNFINISHED_BODIES"))
        slow.close()
        #expect(await keeps(0, server))
        try client.request("POST", "/a", stream: 3, ends: false)
        try client.send(body: [UInt8](repeating: 0x61, count: Self.piece), stream: 3)
        #expect(try client.answer(3).body.count == Self.piece + 2)
        #expect(await keeps(0, server))
    }

    @Test func `a share grows in place, and stays where there is no room for more`() {
        var bodies = HeldBytes(most: 80)
        var share: HeldBytes.Share?
        let grown = [10, 20].map { bodies.grow(&share, to: $0, for: .caller("a")) }
        #expect(grown == [true, true] && bodies.bytes == 20)
        var other = bodies.take(60, for: .owner)
        #expect(!bodies.grow(&share, to: 21, for: .caller("a")))
        #expect(bodies.bytes == 80 && share?.bytes == 20)
        if let taken = other.take() { bodies.giveBack(taken) }
        // A caller's only body may be of any size for which all callers together have room.
        #expect(bodies.grow(&share, to: 60, for: .caller("a")) && bodies.bytes == 60)
        #expect(bodies.grow(&share, to: 1000, for: .caller("a")), "nothing else is held")
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
