import Basics
import Dispatch
import EventLoops
import TestSupport
import Testing

@testable import Server

/// Many requests in one read do not delay others until the last of them is answered.
struct FairnessTests {
    private static let burst = 60

    private func get(_ path: String) -> [UInt8] { Array("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n".utf8) }

    private func readAnswers(_ count: Int, from socket: BlockingSocket) throws {
        var text = ""
        while text.split(separator: "[]", omittingEmptySubsequences: false).count <= count {
            let more = try socket.receive()
            try #require(!more.isEmpty)
            text += String(decoding: more, as: UTF8.self)
        }
    }

    /// The loop waits at the gate until both have sent, so that the test sees an order and not a time. Nothing is
    /// awaited while they connect: on a busy machine the server would find them idle.
    private func check(
        _ server: TestServer,
        _ gate: (reached: DispatchSemaphore, opened: DispatchSemaphore),
        sendGate: () throws -> Void,
        sendBurst: () throws -> Void
    ) throws {
        let bystander = try BlockingSocket.connect(.loopback4, port: server.port)
        try bystander.send(get("/echo"))
        try readAnswers(1, from: bystander)
        try sendGate()
        try #require(gate.reached.wait(timeout: .now() + 30) == .success)
        try sendBurst()
        try bystander.send(get("/bystander"))
        gate.opened.signal()
        try readAnswers(1, from: bystander)
    }

    private func checkOrder(_ server: TestServer) async throws {
        let order = try #require(await server.with { parts, _ in parts.responder.order })
        #expect(order.filter { $0 == "/expensive" }.count == Self.burst)
        // The burst's first requests may be before it: those of the current read.
        let place = try #require(order.firstIndex(of: "/bystander"))
        #expect(order[place...].filter { $0 == "/expensive" }.count > Self.burst - 5)
    }

    @Test func `a burst of HTTP/2 requests lets others in between, and is answered whole`() async throws {
        let server = try await TestServer()
        let gate = try #require(await server.with { parts, _ in parts.responder.gate })
        let client = try HTTP2Client(try BlockingSocket.connect(.loopback4, port: server.port))
        let streams = (0..<Self.burst).map { UInt32($0 * 2 + 3) }
        try check(server, gate) {
            try client.request("GET", "/gate", stream: 1)
        } sendBurst: {
            for stream in streams { try client.request("GET", "/expensive", stream: stream) }
        }
        for stream in streams { #expect(try client.answer(stream).body == Array("[]".utf8)) }
        try await checkOrder(server)
    }

    @Test func `a burst of pipelined requests lets others in between, and is answered whole`() async throws {
        let server = try await TestServer()
        let gate = try #require(await server.with { parts, _ in parts.responder.gate })
        let client = try BlockingSocket.connect(.loopback4, port: server.port)
        try check(server, gate) {
            try client.send(get("/gate"))
        } sendBurst: {
            try client.send((0..<Self.burst).flatMap { _ in get("/expensive") })
            client.endWriting()
        }
        try readAnswers(Self.burst + 1, from: client)
        try await checkOrder(server)
        #expect(try client.receive().isEmpty)
    }
}
