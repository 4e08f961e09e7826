import DemoGateway
import EventLoops
import POSIX
import TestSupport
import Testing

/// The server over real sockets on loopback.
struct LiveTests {
    private func options(_ change: (inout DemoGatewayOptions) -> Void = { _ in }) -> DemoGatewayOptions {
        var options = DemoGatewayOptions()
        options.speed = 0
        change(&options)
        return options
    }

    private func send(_ text: String, key: String, id: String = "s") -> String {
        "{\"type\":\"req\",\"id\":\"\(id)\",\"method\":\"chat.send\",\"params\":{\"sessionKey\":\"main\",\"message\":\"\(text)\",\"idempotencyKey\":\"\(key)\"}}"
    }

    @Test(arguments: ["whole", "torn:1", "torn:200:1", "fragmented:1", "fragmented:50"])
    func `a turn comes through however the bytes are delivered`(_ delivery: String) async throws {
        let bench = try await LiveBench(faulty: [("fault", "delivery=\(delivery)")])
        let client = try await bench.client()
        try await client.connect()
        client.send(send("what is the weather?", key: "k"))
        _ = try await client.text(with: "\"status\":\"started\"")
        _ = try await client.text(with: "\"stream\":\"tool\"", "\"phase\":\"result\"")
        let final = try await client.text(with: "\"state\":\"final\"")
        #expect(final.contains("21 °C"))
        await bench.end()
    }

    @Test
    func `stopping announces itself and closes with 1012`() async throws {
        let bench = try await LiveBench(options())
        let client = try await bench.client()
        try await client.connect()
        bench.stop()
        _ = try await client.text(with: "\"event\":\"shutdown\"")
        #expect(try await client.inbox.next() == .closed(1012, "service restart"))
        #expect(try await client.inbox.next() == .ended)
        await bench.end()
    }

    @Test
    func `a gateway that stops answers an upgrade with 503`() async throws {
        let bench = try await LiveBench(faulty: [("fault", "refuseUpgrades=1")])
        await #expect(throws: (any Error).self) { try await bench.client().connect() }
        try await bench.client().connect()
        await bench.end()
    }

    @Test
    func `ticks come by themselves`() async throws {
        let bench = try await LiveBench(options { $0.tickIntervalMs = 20 })
        let client = try await bench.client()
        try await client.connect()
        for _ in 1...3 { _ = try await client.text(with: "\"event\":\"tick\"") }
        await bench.end()
    }

    @Test
    func `the control surface works over HTTP, on a port of its own`() async throws {
        let bench = try await LiveBench(faulty: [])
        let set = try await bench.control("POST /demo/faults", body: "{\"doubleAck\":-1}")
        #expect(set.hasPrefix("HTTP/1.1 200 "))
        let client = try await bench.client()
        try await client.connect()
        client.send(send("echo x", key: "k"))
        for _ in 1...2 { _ = try await client.text(with: "\"status\":\"started\"") }
        #expect(try await bench.control("GET /demo/state").contains("\"accepted\":1"))
        #expect(try await bench.control("GET /nowhere").hasPrefix("HTTP/1.1 404 "))
        await bench.end()
    }

    @Test
    func `a restart over HTTP closes the clients, and they may come back`() async throws {
        let bench = try await LiveBench(faulty: [])
        let client = try await bench.client()
        try await client.connect()
        #expect(try await bench.control("POST /demo/restart?keep=true").hasPrefix("HTTP/1.1 200 "))
        _ = try await client.inbox.first { $0 == .closed(1012, "service restart") }
        let again = try await bench.client()
        try await again.connect()
        await bench.end()
    }

    @Test
    func `rubbish in place of frames ends the connection`() async throws {
        let bench = try await LiveBench(faulty: [])
        let client = try await bench.client()
        try await client.connect()
        _ = try await bench.control("POST /demo/garbage?raw=1")
        let close = try await client.inbox.first { if case .closed = $0 { true } else { false } }
        #expect(close != .closed(1000, ""))
        await bench.end()
    }

    @Test
    func `a request that is no upgrade is refused`() async throws {
        let bench = try await LiveBench(options())
        let client = try await bench.client(request: "GET /health HTTP/1.1\r\nHost: test\r\n\r\n")
        guard case .bytes(let answer) = try await client.inbox.next() else { throw CancellationError() }
        #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 426 "))
        await bench.end()
    }

    @Test
    func `the acknowledged send stands in the record file before its answer`() async throws {
        let folder = try ScratchDirectory()
        for round in 1...2 {
            let bench = try await LiveBench(faulty: [("record", folder.file("record"))])
            let client = try await bench.client()
            try await client.connect()
            for number in 1...20 {
                let key = "k\(round)-\(number)"
                client.send(send("echo \(number)", key: key, id: key))
                _ = try await client.text(with: "\"id\":\"\(key)\"", "started")
                let lines = try folder.text(of: "record").split(separator: "\n")
                #expect(lines.count == (round - 1) * 20 + number)
                #expect(lines.last?.contains("\"key\":\"\(key)\"") == true)
                _ = try await client.text(with: "\"state\":\"final\"", key)
            }
            await bench.end()
        }
    }

    @Test
    func `rubbish on the socket ends one connection and no other`() async throws {
        let bench = try await LiveBench(options())
        let good = try await bench.client()
        try await good.connect()
        for request in ["\r\n\r\n", "GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n", "\u{1}\u{2}\r\n\r\n", "X\r\n\r\n"] {
            let bad = try await bench.client(request: request)
            _ = try await bad.inbox.first { $0 == .ended }
        }
        good.send("{\"type\":\"req\",\"id\":\"h\",\"method\":\"health\"}")
        _ = try await good.text(with: "\"id\":\"h\"")
        await bench.end()
    }

    @Test
    func `a second gateway on the same port says so`() async throws {
        let bench = try await LiveBench(options())
        await #expect(throws: SystemError.self) { try await LiveBench(options { $0.port = bench.port }) }
        await bench.end()
    }
}
