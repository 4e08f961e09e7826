import DemoGateway
import FaultyGateway
import JSONBytes
import Testing

/// The test double: the effect of each fault on frames, requests and connections.
struct FaultTests {
    @Test
    func `a sequence gap is a number that never comes`() throws {
        let bench = try GatewayBench(faults: ["seqGapEvery": "4"])
        let client = bench.client()
        client.chatSend("hello there", key: "k")
        bench.run(ms: 10)
        let seqs = client.frames.compactMap { $0["seq"]?.int }
        #expect(!seqs.contains(4) && seqs.contains(5))
    }

    @Test
    func `silence stops ticks and events, and requests are still answered`() throws {
        let bench = try GatewayBench(faults: ["silence": "true"])
        let client = bench.client()
        bench.run(ms: 120_000)
        #expect(client.events("tick").isEmpty && client.events("health").isEmpty)
        #expect(client.call("health")?["ok"]?.bool == true)
        try bench.faulty.faults.silence = false
        bench.run(ms: 30_000)
        #expect(client.events("tick").count == 1)
    }

    @Test
    func `acks are withheld, doubled, late, or followed by the end`() throws {
        var bench = try GatewayBench(faults: ["closeBeforeAck": "1"])
        var client = bench.client()
        #expect(client.chatSend("hello", key: "a") == nil)
        #expect(bench.dropped.contains(client.id))
        #expect(try bench.faulty.recordedLines.count == 1)

        bench = try GatewayBench(faults: ["ackThenClose": "1"])
        client = bench.client()
        #expect(client.chatSend("hello", key: "a")?["ok"]?.bool == true)
        #expect(bench.dropped.contains(client.id))
        // The run continues without its sender, and its key is known.
        bench.run(ms: 10)
        let back = bench.client()
        #expect(back.chatSend("hello", key: "a")?["payload"]?["status"]?.string == "ok")
        #expect(try bench.faulty.recordedLines.count == 1)

        bench = try GatewayBench(faults: ["doubleAck": "1"])
        client = bench.client()
        client.chatSend("hello", key: "a")
        #expect(client.frames.filter { $0["id"]?.string == "r1" }.count == 2)

        bench = try GatewayBench(faults: ["slowAckMs": "310000"])
        client = bench.client()
        #expect(client.chatSend("hello", key: "a") == nil)
        bench.run(ms: 309_000)
        #expect(client.response("r1") == nil)
        bench.run(ms: 1_000)
        #expect(client.response("r1")?["payload"]?["status"]?.string == "started")

        bench = try GatewayBench(faults: ["slowAnswersMs": "100"])
        client = bench.client()
        #expect(client.call("sessions.list") == nil)
        bench.run(ms: 99)
        #expect(client.response("r1") == nil)
        bench.run(ms: 1)
        #expect(client.response("r1")?["ok"]?.bool == true)
    }

    @Test
    func `a refused send names its code and the wait, and starts nothing`() throws {
        let bench = try GatewayBench(faults: ["sendError": "1", "sendErrorCode": "UNAVAILABLE", "retryAfterMs": "1500"])
        let client = bench.client()
        let error = client.chatSend("hello", key: "a")?["error"]
        #expect(error?["code"]?.string == "UNAVAILABLE" && error?["retryAfterMs"]?.int == 1_500)
        #expect(error?["retryable"]?.bool == true)
        #expect(try bench.faulty.recordedLines.isEmpty)
        #expect(client.chatSend("hello", key: "a")?["payload"]?["status"]?.string == "started")
    }

    @Test
    func `a lost send ends the connection and is not accepted`() throws {
        let bench = try GatewayBench(faults: ["loseSend": "1"])
        let client = bench.client()
        #expect(client.chatSend("hello", key: "a") == nil)
        #expect(bench.dropped.contains(client.id))
        #expect(bench.client().chatSend("hello", key: "a")?["payload"]?["status"]?.string == "started")
        #expect(try bench.faulty.recordedLines.count == 1)
    }

    @Test
    func `lost dedupe runs the same key twice`() throws {
        let bench = try GatewayBench(faults: ["lostDedupe": "on"])
        let client = bench.client()
        client.chatSend("hello", key: "a")
        bench.run(ms: 10)
        #expect(client.chatSend("hello", key: "a")?["payload"]?["status"]?.string == "started")
        #expect(try bench.faulty.recordedLines.count == 2)
    }

    @Test(arguments: [true, false])
    func `a restart announces itself, closes everybody and forgets`(_ keeps: Bool) throws {
        let bench = try GatewayBench(faults: [:])
        let client = bench.client()
        client.chatSend("hello", key: "a")
        bench.run(ms: 10)
        try bench.control("POST", "/demo/restart?down=1000&keep=\(keeps)")
        #expect(client.payloads("shutdown").first?["restartExpectedMs"]?.int == 1_000)
        #expect(client.close == DemoClose(1012, "service restart"))
        let early = bench.openSocket().connect()?["error"]
        #expect(early?["code"]?.string == "UNAVAILABLE" && early?["retryAfterMs"]?.int == 500)
        bench.run(ms: 1_000)
        let back = bench.client()
        #expect(back.payload("chat.history", "{\"sessionKey\":\"main\"}")?["messages"]?.count == (keeps ? 2 : 0))
        #expect(back.chatSend("hello", key: "a")?["payload"]?["status"]?.string == "started")
        #expect(try bench.faulty.recordedLines.count == 2)
    }

    @Test
    func `a crash in the middle of a run loses the run and the unwritten question`() throws {
        let bench = try GatewayBench(faults: [:]) { $0.speed = 1 }
        let client = bench.client()
        client.chatSend("slow count", key: "a")
        bench.run(ms: 1_000)
        try bench.control("POST", "/demo/restart?keep=true&crash=true")
        #expect(bench.dropped.contains(client.id) && client.payloads("shutdown").isEmpty)
        let back = bench.client()
        #expect(back.payload("chat.history", "{\"sessionKey\":\"main\"}")?["messages"]?.count == 0)
        bench.run(ms: 60_000)
        #expect(back.payloads("agent").isEmpty)
    }

    @Test
    func `rubbish and giants arrive where they are asked for`() throws {
        let bench = try GatewayBench(faults: ["garbage": "1"])
        let client = bench.client()
        func isRubbish(_ text: String) -> Bool { (try? JSONDocument(parsing: text)) == nil }
        #expect(client.frameTexts.filter(isRubbish).count == 1)
        try bench.control("POST", "/demo/garbage?text=%5B%5B")
        #expect(client.frameTexts.last == "[[")
        try bench.control("POST", "/demo/oversized?bytes=1000")
        #expect(client.payloads("demo.padding").first?["padding"]?.string?.utf8.count == 1_000)
    }

    @Test
    func `a clock that is wrong shows in every time, and signatures go by it`() throws {
        let bench = try GatewayBench(faults: ["clockSkewMs": "600000"])
        let socket = bench.openSocket()
        #expect(socket.payloads("connect.challenge").first?["ts"]?.int == bench.wallMs + 600_000)
        let late = socket.connect()?["error"]?["details"]?["code"]?.string
        #expect(late == "DEVICE_AUTH_SIGNATURE_EXPIRED")
        #expect(bench.openSocket().connect(signedAt: bench.wallMs + 600_000)?["ok"]?.bool == true)
    }

    @Test
    func `a file is edited right after it was read`() throws {
        let bench = try GatewayBench(faults: ["editAfterRead": "1"])
        let client = bench.client()
        func read() -> String? {
            client.payload("agents.files.get", "{\"agentId\":\"main\",\"name\":\"USER.md\"}")?["file"]?["content"]?
                .string
        }
        let first = read() ?? ""
        #expect(read()?.hasPrefix(first + "\nAdded by someone else at ") == true)
        #expect(try bench.control("DELETE", "/demo/file?name=USER.md").status == 200)
        #expect(try bench.control("GET", "/demo/file?name=USER.md").status == 404)
        #expect(read() == nil)
    }

    @Test
    func `faults are set and cleared over the control surface, all or none`() throws {
        let bench = try GatewayBench(faults: [:])
        let faults =
            "{\"doubleAck\":1,\"delivery\":\"torn:3\",\"strippedScopes\":[\"operator.admin\"],\"silence\":true}"
        #expect(try bench.control("POST", "/demo/faults", faults).status == 200)
        #expect(try bench.faulty.faults.delivery == .torn(bytes: 3, everyMs: 0))
        #expect(try bench.faulty.faults.strippedScopes == ["operator.admin"])
        let wrong = try bench.control("POST", "/demo/faults?doubleAck=5&silense=true")
        #expect(wrong.status == 400)
        #expect(wrong.body?["error"]?.string == "unknown option silense; did you mean silence?")
        #expect(try bench.faulty.faults.doubleAck == 1)
        #expect(try bench.control("DELETE", "/demo/faults").status == 200)
        #expect(try bench.faulty.faults == FaultSettings())
        #expect(try bench.control("GET", "/demo/state").body?["protocol"]?.int == 4)
        #expect(try bench.control("GET", "/demo/nowhere").status == 404)
    }

    @Test
    func `the record has each accepted send once, in order`() throws {
        let bench = try GatewayBench(faults: [:])
        let client = bench.client()
        client.chatSend("one \"two\"", key: "a")
        client.chatSend("one \"two\"", key: "a")
        bench.run(ms: 10)
        client.chatSend("three", key: "b", session: "x")
        client.chatSend("/stop", key: "c")
        let lines = try bench.faulty.recordedLines.map { try JSONDocument(parsing: $0).root }
        #expect(lines.compactMap { $0["key"]?.string } == ["a", "b"])
        #expect(lines.compactMap { $0["session"]?.string } == ["agent:main:main", "agent:main:x"])
        #expect(lines.first?["text"]?.string == "one \"two\"" && lines.first?["time"]?.string?.hasSuffix("Z") == true)
    }

    @Test
    func `a run started elsewhere is seen by everybody`() throws {
        let bench = try GatewayBench(faults: [:])
        let client = bench.client()
        let say = "/demo/say?session=agent:main:main&text=echo%20from%20afar"
        #expect(try bench.control("POST", say).status == 200)
        #expect(try bench.control("POST", say).status == 409)
        bench.run(ms: 10)
        #expect(client.chat("final").first?["message"]?.messageText == "from afar")
        #expect(client.agent("tool").isEmpty)
    }

    @Test
    func `a connection that is refused sees nothing at all`() throws {
        let bench = try GatewayBench(faults: ["refuseConnections": "1"])
        let first = bench.openSocket()
        #expect(first.frames.isEmpty && bench.dropped.contains(first.id))
        #expect(bench.client().call("health")?["ok"]?.bool == true)
    }

    @Test
    func `options are read from pairs with errors for people`() throws {
        func read(_ pairs: [(String, String)]) throws -> FaultyGatewayOptions {
            var options = FaultyGatewayOptions()
            for (name, value) in pairs { try options.set(name, to: value) }
            return options
        }
        let options = try read([
            ("port", "18790"), ("protocol", "3"), ("speed", "0"), ("record", "r.jsonl"), ("pairing", "true"),
            ("fault", "seqGapEvery=7"), ("fault", "delivery=fragmented:10"),
        ])
        #expect(options.gateway.port == 18_790 && options.gateway.release == .march && options.faults.pairing)
        #expect(options.faults.delivery == .fragmented(bytes: 10) && options.faults.seqGapEvery == 7)
        let cases: [(String, String, String)] = [
            ("prot", "3", "unknown option prot; did you mean port?"),
            ("port", "99999", "port: \"99999\" is not a port"),
            ("protocol", "5", "protocol: \"5\" is not 3 or 4"),
            (
                "release", "2026.6.1",
                "release: \"2026.6.1\" is not one of march, april, june, autumn, september, october, newest, 2026.3.1, 2026.4.26, 2026.6.11"
            ),
            ("speed", "-1", "speed: \"-1\" is not 0 or a number from 0.01 to 1000"),
            ("fault", "silence", "fault: \"silence\" is not NAME=VALUE"),
            ("fault", "silence=maybe", "silence: \"maybe\" is not true or false"),
        ]
        for (name, value, message) in cases {
            let error = #expect(throws: DemoGatewayOptionError.self) { try read([(name, value)]) }
            #expect(error?.description == message)
        }
    }
}
