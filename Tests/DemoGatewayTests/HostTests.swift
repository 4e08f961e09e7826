import Basics
import DemoGateway
import FaultyGateway
import JSONBytes
import TLS
import Testing

/// Sessions, agents and files, and malformed requests.
struct HostTests {
    @Test
    func `history limits, counts and names its rows`() throws {
        let bench = try GatewayBench(.june)
        let client = bench.client()
        for number in 1...5 {
            client.chatSend("echo \(number)", key: "k\(number)")
            bench.run(ms: 10)
        }
        let page = client.payload("chat.history", "{\"sessionKey\":\"main\",\"limit\":3}")
        let rows = page?["messages"]?.elements.map { $0 } ?? []
        #expect(rows.compactMap { $0["__openclaw"]?["seq"]?.int } == [8, 9, 10])
        #expect(rows[1]["content"]?.string == "echo 5")
        #expect(rows[1]["idempotencyKey"]?.string == "k5:user")
        #expect(page?["sessionKey"]?.string == "main")
        #expect(page?["sessionInfo"]?["key"]?.string == "agent:main:main")
        #expect(client.payload("chat.history", "{\"sessionKey\":\"nowhere\"}")?["messages"]?.count == 0)
        #expect(
            client.error("chat.history", "{\"sessionKey\":\"main\",\"limit\":0}")
                == "invalid chat.history params: at /limit: must be >= 1"
        )
        #expect(
            client.error("chat.history", "{\"sessionKey\":\"main\",\"limit\":5000}")
                == "invalid chat.history params: at /limit: must be <= 1000"
        )
    }

    @Test
    func `each release stores the key in its own place, and a fault hides it`() throws {
        for (release, top, nested) in [
            (DemoRelease.march, false, false), (.june, true, false), (.autumn, false, true),
        ] {
            let bench = try GatewayBench(release, faults: [:])
            let client = bench.client()
            client.chatSend("echo", key: "k")
            bench.run(ms: 10)
            func row() -> JSONValue? { client.payload("chat.history", "{\"sessionKey\":\"main\"}")?["messages"]?[0] }
            #expect((row()?["idempotencyKey"]?.string == "k:user") == top)
            #expect((row()?["__openclaw"]?["idempotencyKey"]?.string == "k:user") == nested)
            try bench.faulty.faults.historyWithoutKeys = true
            #expect(row()?.text.contains("k:user") == false)
        }
    }

    @Test
    func `the user's row comes with the first answer, or at once when asked`() throws {
        for isAtOnce in [false, true] {
            let bench = try GatewayBench(.june) {
                $0.speed = 1
                $0.storesUserRowAtOnce = isAtOnce
            }
            let client = bench.client()
            client.chatSend("slow count", key: "k")
            bench.run(ms: 1_500)
            let page = client.payload("chat.history", "{\"sessionKey\":\"main\"}")
            #expect(page?["messages"]?.count == (isAtOnce ? 1 : 0))
            #expect(page?["inFlightRun"]?["runId"]?.string == "k")
            #expect(page?["inFlightRun"]?["text"]?.string?.hasPrefix("number 1") == true)
        }
    }

    @Test
    func `sessions are listed by time, with titles and previews on request, and reset by a command`() throws {
        let bench = try GatewayBench(.june)
        let client = bench.client()
        bench.run(ms: 10)
        client.chatSend("echo side", key: "k", session: "agent:main:side")
        bench.run(ms: 10)
        let list = client.payload("sessions.list", "{\"includeLastMessage\":true,\"includeDerivedTitles\":true}")
        #expect(list?["sessions"]?[0]?["key"]?.string == "agent:main:side")
        #expect(list?["sessions"]?[0]?["derivedTitle"]?.string == "echo side")
        #expect(list?["sessions"]?[0]?["lastMessagePreview"]?.string == "side")
        #expect(list?["totalCount"]?.int == 2)
        #expect(client.payload("sessions.list", "{\"search\":\"side\"}")?["count"]?.int == 1)
        #expect(client.payload("sessions.list", "{\"limit\":1}")?["nextOffset"]?.int == 1)
        let before = client.payload("chat.history", "{\"sessionKey\":\"side\"}")?["sessionId"]?.string
        client.chatSend("/reset", key: "reset", session: "agent:main:side")
        bench.run(ms: 10)
        let after = client.payload("chat.history", "{\"sessionKey\":\"side\"}")
        #expect(after?["sessionId"]?.string != before)
        #expect(after?["messages"]?.elements.compactMap { $0["role"]?.string } == ["assistant"])
        #expect(try GatewayBench(.march).client().error("sessions.subscribe") == "unknown method: sessions.subscribe")
    }

    @Test
    func `files are read and written whole, others are refused`() throws {
        let bench = try GatewayBench(.june)
        let client = bench.client()
        let file = client.payload("agents.files.get", "{\"agentId\":\"main\",\"name\":\"IDENTITY.md\"}")?["file"]
        #expect(file?["missing"]?.bool == false && file?["content"]?.string?.hasPrefix("# IDENTITY.md") == true)
        let missing = client.payload("agents.files.get", "{\"agentId\":\"main\",\"name\":\"MEMORY.md\"}")?["file"]
        #expect(missing?["missing"]?.bool == true && missing?["content"] == nil)
        #expect(
            client.payload("agents.files.set", "{\"agentId\":\"main\",\"name\":\"MEMORY.md\",\"content\":\"x\"}")?[
                "file"
            ]?["size"]?.int == 1
        )
        #expect(
            client.error("agents.files.get", "{\"agentId\":\"main\",\"name\":\"../x\"}") == "unsupported file \"../x\""
        )
        #expect(client.error("agents.files.get", "{\"agentId\":\"nobody\",\"name\":\"USER.md\"}") == "unknown agent id")
        #expect(
            client.error(
                "agents.files.set",
                "{\"agentId\":\"main\",\"name\":\"USER.md\",\"content\":\"\",\"expectedMissing\":true}"
            )
                == "invalid agents.files.set params: at root: unexpected property 'expectedMissing'"
        )
    }

    @Test
    func `the newest release guards writes by hash`() throws {
        let bench = try GatewayBench(.autumn)
        let client = bench.client()
        let hash = try #require(
            client.payload("agents.files.get", "{\"agentId\":\"main\",\"name\":\"USER.md\"}")?["file"]?["hash"]?.string
        )
        func set(_ guardText: String) -> JSONValue? {
            client.call(
                "agents.files.set",
                "{\"agentId\":\"main\",\"name\":\"USER.md\",\"content\":\"x\",\(guardText)}"
            )
        }
        #expect(set("\"expectedMissing\":true")?["ok"]?.bool == false)
        #expect(set("\"expectedHash\":\"\(hash)\"")?["ok"]?.bool == true)
        #expect(
            set("\"expectedHash\":\"\(hash)\"")?["error"]?["details"]?["currentHash"]?.string
                == Hex.encode(Digest.sha256([0x78]))
        )
        #expect(set("\"expectedHash\":\"short\"")?["error"]?["message"]?.string?.contains("must match pattern") == true)
    }

    @Test
    func `attachments are sniffed, limited, and shown without their data`() throws {
        let png = Base64.encode(
            [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + [UInt8](repeating: 0, count: 64),
            as: .standard
        )
        let big = Base64.encode([0xff, 0xd8, 0xff] + [UInt8](repeating: 1, count: 6_300_000), as: .standard)
        let file = Base64.encode(Array("plain".utf8), as: .standard)
        func params(_ content: String) -> String {
            "{\"sessionKey\":\"main\",\"message\":\"\",\"idempotencyKey\":\"k\",\"attachments\":[{\"fileName\":\"a\",\"content\":\"\(content)\"}]}"
        }
        let bench = try GatewayBench(.june)
        let client = bench.client()
        #expect(client.error("chat.send", params(big))?.hasPrefix("Error: attachment a: exceeds size limit") == true)
        #expect(client.payload("chat.send", params("data:image/png;base64," + png))?["status"]?.string == "started")
        bench.run(ms: 10)
        let block = client.payload("chat.history", "{\"sessionKey\":\"main\"}")?["messages"]?[0]?["content"]?[0]
        #expect(block?["type"]?.string == "image" && block?["omitted"]?.bool == true && block?["bytes"]?.int == 72)
        // March silently drops a file that is not an image, and then the message is empty.
        #expect(try GatewayBench(.march).client().error("chat.send", params(file)) == "message or attachment required")
    }

    @Test
    func `ten wrong-role calls in a row end the connection`() throws {
        let client = try GatewayBench(.june).client()
        for _ in 1...10 { #expect(client.error("node.event") == "unauthorized role: operator") }
        #expect(client.close == nil)
        client.call("health")
        for _ in 1...11 { client.call("node.event") }
        #expect(client.close?.reason == "repeated unauthorized calls")
    }

    @Test
    func `malformed frames after the hello get an answer and change nothing`() throws {
        let client = try GatewayBench(.june).client()
        client.send("{\"type\":\"ping\"}")
        client.send("{\"type\":\"req\",\"id\":7,\"method\":\"health\"}")
        client.send("{\"type\":\"req\",\"id\":\"\",\"method\":\"health\"}")
        client.send("[[[")
        #expect(client.response("7")?["error"]?["message"]?.string == "invalid request frame: at /id: must be string")
        #expect(client.response("invalid")?["ok"]?.bool == false)
        #expect(client.error("connect") == "connect is only valid as the first request")
        #expect(client.error("nope.method") == "unknown method: nope.method")
        #expect(client.call("health", "{\"zzz\":1}")?["ok"]?.bool == true)
    }

    @Test
    func `numbers of frames are one row per server in March and per connection in June`() throws {
        for release in [DemoRelease.march, .june] {
            let bench = try GatewayBench(release)
            let first = bench.client(device: TestDevice(1))
            bench.run(ms: 61_000)
            let second = bench.client(device: TestDevice(2))
            bench.run(ms: 30_000)
            let seqs = second.frames.compactMap { $0["seq"]?.int }
            #expect(seqs.first == (release == .march ? 5 : 1))
            #expect(first.frames.compactMap { $0["seq"]?.int }.count > seqs.count)
            #expect(zip(seqs, seqs.dropFirst()).allSatisfy { $1 == $0 + 1 })
        }
    }

    @Test
    func `any bytes at any moment leave the gateway working`() throws {
        let bench = try GatewayBench(.june)
        var state: UInt64 = 99
        func random(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1
            return Int(state >> 33) % limit
        }
        let seeds = [
            "{\"type\":\"req\",\"id\":\"1\",\"method\":\"chat.send\",\"params\":{\"sessionKey\":\"agent::\",\"message\":\"burst 3 9\",\"idempotencyKey\":\"x\"}}",
            "{\"type\":\"req\",\"id\":\"2\",\"method\":\"chat.history\",\"params\":{\"sessionKey\":\"agent:\",\"limit\":9223372036854775807}}",
            "{\"type\":\"req\",\"id\":\"3\",\"method\":\"sessions.list\",\"params\":{\"activeMinutes\":9223372036854775807,\"offset\":9223372036854775807,\"limit\":9223372036854775807}}",
            "{\"type\":\"req\",\"id\":\"4\",\"method\":\"agent.wait\",\"params\":{\"runId\":\"x\",\"timeoutMs\":3600000}}",
            "{\"type\":\"req\",\"id\":\"5\",\"method\":\"sessions.preview\",\"params\":{\"keys\":[\"\\ud83d\\ude00\"],\"maxChars\":9223372036854775807,\"limit\":9223372036854775807}}",
            "{\"type\":\"req\",\"id\":\"6\",\"method\":\"sessions.compact\",\"params\":{\"key\":\"main\",\"maxLines\":9223372036854775807}}",
        ]
        let client = bench.client()
        for round in 0..<3_000 {
            var bytes = Array(seeds[round % seeds.count].utf8)
            if round >= seeds.count {
                for _ in 0...random(4) { bytes[random(bytes.count)] = UInt8(random(256)) }
                if random(3) == 0 { bytes.removeLast(random(bytes.count)) }
            }
            bench.take(bench.core.received(bytes, from: client.id, now: bench.now))
            let fresh = bench.openSocket()
            bench.take(bench.core.received(bytes, from: fresh.id, now: bench.now))
            bench.run(ms: 3)
        }
        #expect(bench.client().call("health")?["ok"]?.bool == true)
    }
}
