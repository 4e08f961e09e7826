import DemoGateway
import JSONBytes
import Testing

struct FaultTests {
    private func faulty(_ faults: [String: String]) throws -> GatewayBench {
        var set = GatewayFaults()
        for (name, value) in faults { try set.set(name, to: value) }
        return GatewayBench(.june) { $0.faults = set }
    }

    @Test
    func `numbers of frames are one row per server in March and per connection in June`() {
        for release in [GatewayRelease.march, .june] {
            let bench = GatewayBench(release)
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
    func `a sequence gap is a number that never comes`() throws {
        let bench = try faulty(["seqGapEvery": "4"])
        let client = bench.client()
        client.chatSend("hello there", key: "k")
        bench.run(ms: 10)
        let seqs = client.frames.compactMap { $0["seq"]?.int }
        #expect(!seqs.contains(4) && seqs.contains(5))
    }

    @Test
    func `silence stops ticks and events, and requests are still answered`() throws {
        let bench = try faulty(["silence": "true"])
        let client = bench.client()
        bench.run(ms: 120_000)
        #expect(client.events("tick").isEmpty && client.events("health").isEmpty)
        #expect(client.call("health")?["ok"]?.bool == true)
        bench.model.faults.silence = false
        bench.run(ms: 30_000)
        #expect(client.events("tick").count == 1)
    }

    @Test
    func `acks are withheld, doubled, late, or followed by the end`() throws {
        var bench = try faulty(["closeBeforeAck": "1"])
        var client = bench.client()
        #expect(client.chatSend("hello", key: "a") == nil)
        #expect(bench.dropped.contains(client.id) && bench.records.count == 1)

        bench = try faulty(["ackThenClose": "1"])
        client = bench.client()
        #expect(client.chatSend("hello", key: "a")?["ok"]?.bool == true)
        #expect(bench.dropped.contains(client.id))
        // The run goes on without its sender, and its key is known.
        bench.run(ms: 10)
        let back = bench.client()
        #expect(back.chatSend("hello", key: "a")?["payload"]?["status"]?.string == "ok")
        #expect(bench.records.count == 1)

        bench = try faulty(["doubleAck": "1"])
        client = bench.client()
        client.chatSend("hello", key: "a")
        #expect(client.frames.filter { $0["id"]?.string == "r1" }.count == 2)

        bench = try faulty(["slowAckMs": "310000"])
        client = bench.client()
        #expect(client.chatSend("hello", key: "a") == nil)
        bench.run(ms: 309_000)
        #expect(client.response("r1") == nil)
        bench.run(ms: 1_000)
        #expect(client.response("r1")?["payload"]?["status"]?.string == "started")
    }

    @Test
    func `a refused send names its code and the wait, and starts nothing`() throws {
        let bench = try faulty(["sendError": "1", "sendErrorCode": "UNAVAILABLE", "retryAfterMs": "1500"])
        let client = bench.client()
        let error = client.chatSend("hello", key: "a")?["error"]
        #expect(error?["code"]?.string == "UNAVAILABLE" && error?["retryAfterMs"]?.int == 1_500)
        #expect(error?["retryable"]?.bool == true)
        #expect(bench.records.isEmpty)
        #expect(client.chatSend("hello", key: "a")?["payload"]?["status"]?.string == "started")
    }

    @Test
    func `lost dedupe runs the same key twice`() throws {
        let bench = try faulty(["lostDedupe": "on"])
        let client = bench.client()
        client.chatSend("hello", key: "a")
        bench.run(ms: 10)
        #expect(client.chatSend("hello", key: "a")?["payload"]?["status"]?.string == "started")
        #expect(bench.records.count == 2)
    }

    @Test(arguments: [true, false])
    func `a restart announces itself, closes everybody and forgets`(_ keeps: Bool) throws {
        let bench = GatewayBench(.june)
        let client = bench.client()
        client.chatSend("hello", key: "a")
        bench.run(ms: 10)
        bench.take(bench.model.restart(keepsTranscripts: keeps, crashes: false, downMs: 1_000, now: bench.now))
        #expect(client.payloads("shutdown").first?["restartExpectedMs"]?.int == 1_000)
        #expect(client.close?.code == 1012 && client.close?.reason == "service restart")
        let early = bench.openSocket().connect()?["error"]
        #expect(early?["code"]?.string == "UNAVAILABLE" && early?["retryAfterMs"]?.int == 500)
        bench.run(ms: 1_000)
        let back = bench.client()
        #expect(back.payload("chat.history", "{\"sessionKey\":\"main\"}")?["messages"]?.count == (keeps ? 2 : 0))
        #expect(back.chatSend("hello", key: "a")?["payload"]?["status"]?.string == "started")
        #expect(bench.records.count == 2)
    }

    @Test
    func `a crash in the middle of a run loses the run and the unwritten question`() {
        let bench = GatewayBench(.june) { $0.speed = 1 }
        let client = bench.client()
        client.chatSend("slow count", key: "a")
        bench.run(ms: 1_000)
        bench.take(bench.model.restart(keepsTranscripts: true, crashes: true, downMs: 0, now: bench.now))
        #expect(bench.dropped.contains(client.id) && client.payloads("shutdown").isEmpty)
        let back = bench.client()
        #expect(back.payload("chat.history", "{\"sessionKey\":\"main\"}")?["messages"]?.count == 0)
        bench.run(ms: 60_000)
        #expect(back.payloads("agent").isEmpty)
    }

    @Test
    func `rubbish and giants arrive where they are asked for`() throws {
        let bench = try faulty(["garbage": "2", "oversizedBytes": "1000"])
        let client = bench.client()
        #expect(client.payloads("demo.padding").first?["padding"]?.string?.utf8.count == 1_000)
        let texts = client.frameTexts
        #expect(texts.contains { (try? JSONDocument(parsing: $0)) == nil })
        bench.take(
            bench.model.control(
                method: "POST",
                path: "/demo/garbage",
                query: [("raw", "true")],
                body: [],
                now: bench.now
            ).actions
        )
        #expect(bench.raw[client.id]?.isEmpty == false)
    }

    @Test
    func `faults are read, set and cleared over the control surface`() {
        let bench = GatewayBench()
        func control(_ method: String, _ path: String, _ body: String = "") -> (status: Int, body: JSONValue?) {
            let answer = bench.model.control(
                method: method,
                path: path,
                query: [],
                body: Array(body.utf8),
                now: bench.now
            )
            bench.take(answer.actions)
            return (answer.status, try? JSONDocument(parsing: answer.body).root)
        }
        let set = control(
            "POST",
            "/demo/faults",
            "{\"doubleAck\":1,\"delivery\":\"torn:3\",\"strippedScopes\":[\"operator.admin\"],\"silence\":true}"
        )
        #expect(set.status == 200 && set.body?["delivery"]?.string == "torn:3" && set.body?["silence"]?.bool == true)
        #expect(bench.model.faults.delivery == .torn(bytes: 3, everyMs: 0))
        let wrong = control("POST", "/demo/faults", "{\"doubleAck\":5,\"silense\":true}")
        #expect(wrong.status == 400)
        #expect(wrong.body?["error"]?.string == "unknown option silense; did you mean silence?")
        #expect(bench.model.faults.doubleAck == 1)
        #expect(control("DELETE", "/demo/faults").status == 200)
        #expect(bench.model.faults == GatewayFaults())
        #expect(control("GET", "/demo/state").body?["protocol"]?.int == 4)
        #expect(control("GET", "/health").body?["ok"]?.bool == true)
        #expect(control("GET", "/demo/nowhere").status == 404)
    }

    @Test
    func `the record has each accepted send once, in order`() throws {
        let bench = GatewayBench()
        let client = bench.client()
        client.chatSend("one \"two\"", key: "a")
        client.chatSend("one \"two\"", key: "a")
        bench.run(ms: 10)
        client.chatSend("three", key: "b", session: "agent:main:x")
        #expect(bench.records.count == 2)
        let line = try JSONDocument(parsing: bench.records[0]).root
        #expect(line["key"]?.string == "a" && line["session"]?.string == "agent:main:main")
        #expect(line["text"]?.string == "one \"two\"" && line["time"]?.string?.hasSuffix("Z") == true)
        let read = bench.model.control(method: "GET", path: "/demo/record", query: [], body: [], now: bench.now)
        #expect(String(decoding: read.body, as: UTF8.self) == bench.records.joined(separator: "\n") + "\n")
    }

    @Test
    func `a run started elsewhere is seen by everybody`() {
        let bench = GatewayBench(.june)
        let client = bench.client()
        let answer = bench.model.control(
            method: "POST",
            path: "/demo/say",
            query: [("session", "agent:main:main"), ("text", "echo from afar")],
            body: [],
            now: bench.now
        )
        #expect(answer.status == 200)
        bench.run(ms: 10)
        #expect(client.chat("final").first?["message"]?.messageText == "from afar")
        #expect(client.agent("tool").isEmpty)
    }

    @Test
    func `a connection that is refused sees nothing at all`() throws {
        let bench = try faulty(["refuseConnections": "1"])
        let first = bench.openSocket()
        #expect(first.frames.isEmpty && bench.dropped.contains(first.id))
        #expect(bench.client().call("health")?["ok"]?.bool == true)
    }

    @Test
    func `options are read from pairs with errors for people`() throws {
        let options = try DemoGatewayOptions([
            ("port", "18790"), ("protocol", "3"), ("speed", "0"), ("record", "r.jsonl"), ("pairing", "true"),
            ("fault", "seqGapEvery=7"), ("fault", "delivery=fragmented:10"),
        ])
        #expect(options.port == 18_790 && options.release == .march && options.faults.pairing)
        #expect(options.faults.delivery == .fragmented(bytes: 10) && options.faults.seqGapEvery == 7)
        let cases: [(String, String, String)] = [
            ("prot", "3", "unknown option prot; did you mean port?"),
            ("port", "99999", "port: \"99999\" is not a port"),
            ("protocol", "5", "protocol: \"5\" is not 3 or 4"),
            ("speed", "-1", "speed: \"-1\" is not 0 or a number from 0.01 to 1000"),
            ("fault", "silence", "fault: \"silence\" is not NAME=VALUE"),
            ("fault", "silence=maybe", "silence: \"maybe\" is not true or false"),
        ]
        for (name, value, message) in cases {
            let error = #expect(throws: DemoGatewayOptionError.self) { try DemoGatewayOptions([(name, value)]) }
            #expect(error?.description == message)
        }
    }

    @Test
    func `any bytes at any moment leave the gateway working`() {
        let bench = GatewayBench(.june)
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
            bench.take(bench.model.received(bytes, from: client.id, now: bench.now))
            let fresh = bench.openSocket()
            bench.take(bench.model.received(bytes, from: fresh.id, now: bench.now))
            bench.run(ms: 3)
        }
        #expect(bench.client().call("health")?["ok"]?.bool == true)
    }
}
