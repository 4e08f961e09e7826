import DemoGateway
import EventLoops
import FoundationEssentials
import TestSupport
import Testing

/// The edge: real sockets on loopback.
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
        let bench = try await LiveBench(options { try? $0.set("fault", to: "delivery=\(delivery)") })
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
        bench.gateway.stop()
        _ = try await client.text(with: "\"event\":\"shutdown\"")
        #expect(try await client.inbox.next() == .closed(1012, "service restart"))
        #expect(try await client.inbox.next() == .ended)
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
    func `the control surface works over HTTP, for programs on this host only`() async throws {
        let bench = try await LiveBench(options())
        #expect(try await bench.http("GET /health HTTP/1.1\r\nHost: HOST").hasPrefix("HTTP/1.1 200 "))
        let set = try await bench.http("POST /demo/faults HTTP/1.1\r\nHost: localhost", body: "{\"doubleAck\":-1}")
        #expect(set.hasPrefix("HTTP/1.1 200 ") && set.contains("\"doubleAck\":-1"))
        let query = try await bench.http("POST /demo/faults?silence=true HTTP/1.1\r\nHost: HOST")
        #expect(query.contains("\"silence\":true"))
        let refused = [
            "GET /demo/state HTTP/1.1\r\nHost: evil.example",
            "GET /demo/state HTTP/1.1\r\nHost: HOST\r\nOrigin: http://HOST",
            "GET /demo/state HTTP/1.1\r\nHost: 127.0.0.1.evil.example",
        ]
        for head in refused { #expect(try await bench.http(head).hasPrefix("HTTP/1.1 403 ")) }
        let other: [(String, String)] = [
            ("GET /nowhere HTTP/1.1\r\nHost: HOST", "404"), ("BREW / HTTP/1.1\r\nHost: HOST", "404"),
            ("GET /demo/state HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked", "411"),
        ]
        for (head, status) in other { #expect(try await bench.http(head).hasPrefix("HTTP/1.1 \(status) "), "\(head)") }
        await bench.end()
    }

    @Test
    func `a restart over HTTP closes the clients, and they may come back`() async throws {
        let bench = try await LiveBench(options())
        let client = try await bench.client()
        try await client.connect()
        #expect(try await bench.http("POST /demo/restart?keep=true HTTP/1.1\r\nHost: HOST").hasPrefix("HTTP/1.1 200 "))
        _ = try await client.inbox.first { $0 == .closed(1012, "service restart") }
        let again = try await bench.client()
        try await again.connect()
        await bench.end()
    }

    @Test
    func `the acknowledged send stands in the record file before its answer`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "demo-record-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        for round in 1...2 {
            let bench = try await LiveBench(options { $0.recordFile = path })
            let client = try await bench.client()
            try await client.connect()
            for number in 1...20 {
                let key = "k\(round)-\(number)"
                client.send(send("echo \(number)", key: key, id: key))
                _ = try await client.text(with: "\"id\":\"\(key)\"", "started")
                let lines = String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self).split(
                    separator: "\n"
                )
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
        await #expect(throws: SystemError.self) { try await LiveBench(options { $0.port = bench.gateway.port }) }
        await bench.end()
    }
}
