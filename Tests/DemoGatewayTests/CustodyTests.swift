import DemoGateway
import FaultyGateway
import JSONBytes
import Testing

/// Inputs that outlive the process that took them, and pauses of the gateway.
struct CustodyTests {
    private static let newest = [DemoRelease.september, .october]

    /// A gateway that is restarted while `b` waits behind `a`.
    private func restartedBench(_ release: DemoRelease, crash: Bool = true) throws -> (GatewayBench, TestClient) {
        let bench = try GatewayBench(release, faults: [:]) { $0.speed = 1 }
        let client = bench.client()
        client.chatSend("weather", key: "first")
        bench.run(ms: 6_000)
        client.chatSend("slow count", key: "a")
        bench.run(ms: 1_000)
        client.chatSend("second", key: "b", mode: "followup")
        bench.run(ms: 100)
        try bench.control("POST", "/demo/restart?keep=true&crash=\(crash)")
        return (bench, bench.client())
    }

    private func send(_ client: TestClient, text: String = "second") -> JSONValue? {
        client.chatSend(text, key: "b", mode: "followup")
    }

    @Test(arguments: newest)
    func `a waiting input is interrupted by a restart, and does not run by itself`(_ release: DemoRelease) throws {
        let (bench, client) = try restartedBench(release)
        #expect(client.history() == nil)
        #expect(client.response("r1")?["error"]?["retryAfterMs"]?.int == 250)
        bench.run(ms: 300)
        let history = client.history(receipts: ["a", "b", "never"])
        let receipts = history?["inputReceipts"]?.elements.map { $0 } ?? []
        #expect(receipts.last?["runId"]?.string == "b" && receipts.last?["state"]?.string == "pending")
        #expect(receipts.last?["queued"] == nil && receipts.count == (release == .september ? 1 : 2))
        #expect(history?["pendingInputs"]?["items"]?[0]?["state"]?.string == "interrupted")
        #expect(client.wait("b")?["status"]?.string == "timeout")
        bench.run(ms: 90_000)
        #expect(client.history()?["messages"]?.text.contains("b:user") == false)
        // The run that was active goes on, under another id.
        let last = client.history()?["sessionInfo"]?["lastRunId"]?.string
        #expect(last != "a" && last?.utf8.count == 36)
    }

    @Test(arguments: newest)
    func `the same parameters take an interrupted input up again`(_ release: DemoRelease) throws {
        let (bench, client) = try restartedBench(release)
        bench.run(ms: 300)
        #expect(send(client)?["payload"]?["status"]?.string == "started")
        #expect(client.history(receipts: ["b"])?["pendingInputs"]?["items"]?[0]?["state"]?.string == "queued")
        bench.run(ms: 90_000)
        #expect(client.wait("b")?["status"]?.string == "ok")
        let rows = client.history()?["messages"]?.elements.filter { $0["idempotencyKey"]?.string == "b:user" }
        #expect(rows?.count == 1)
    }

    @Test(arguments: newest)
    func `other parameters conflict with an interrupted input`(_ release: DemoRelease) throws {
        let (bench, client) = try restartedBench(release)
        bench.run(ms: 300)
        for answer in [send(client, text: "other"), client.chatSend("second", key: "b")] {
            #expect(answer?["error"]?["code"]?.string == "UNAVAILABLE" && answer?["error"]?["retryable"] == nil)
            #expect(
                answer?["payload"]?["summary"]?.string
                    == "Error: Pending input idempotency key conflicts with the accepted input"
            )
        }
        bench.run(ms: 20)
        #expect(client.chat(of: "b") == ["error", "error"])
        #expect(send(client)?["payload"]?["status"]?.string == "started")
    }

    @Test(arguments: newest)
    func `a withdrawn input is not taken again, and a discarded one is forgotten`(_ release: DemoRelease) throws {
        let bench = try GatewayBench(release, faults: [:]) { $0.speed = 1 }
        var client = bench.client()
        client.chatSend("weather", key: "first")
        bench.run(ms: 6_000)
        client.chatSend("slow count", key: "a")
        bench.run(ms: 1_000)
        for key in ["b", "c"] { client.chatSend("second", key: key, mode: "followup") }
        func abort(_ key: String, _ rest: String = "") -> Bool? {
            client.payload("chat.abort", "{\"sessionKey\":\"agent:main:main\",\"runId\":\"\(key)\"\(rest)}")?[
                "aborted"
            ]?
            .bool
        }
        #expect(abort("b") == true)
        try bench.control("POST", "/demo/restart?keep=true")
        client = bench.client()
        bench.run(ms: 300)
        let ended = "Error: Pending input ownership ended; submit a new turn to continue"
        #expect(send(client)?["payload"]?["summary"]?.string == ended)
        #expect(abort("c", ",\"discardPendingInput\":true") == true)
        let history = client.history(receipts: ["b", "c"])
        #expect(history?["inputReceipts"]?.elements.map { $0["cancelled"]?.bool } == [true])
        #expect(history?["pendingInputs"]?["total"]?.int == 1)
    }

    @Test
    func `a key whose run ended is answered ok by the session's row, and one that ended elsewhere runs again`() throws {
        let bench = try GatewayBench(.september, faults: [:])
        let client = bench.client()
        client.chatSend("hello", key: "a")
        bench.run(ms: 10)
        client.chatSend("hello", key: "b")
        bench.run(ms: 10)
        try bench.control("POST", "/demo/restart?keep=true")
        bench.run(ms: 300)
        let back = bench.client()
        #expect(back.chatSend("hello", key: "b")?["payload"]?["status"]?.string == "ok")
        #expect(back.chatSend("hello", key: "a")?["payload"]?["status"]?.string == "started")
        bench.run(ms: 10)
        let keys = back.history()?["messages"]?.elements.compactMap { $0["idempotencyKey"]?.string }
        #expect(keys == ["a:user", "b:user"] && back.history()?["messages"]?.count == 5)
    }

    @Test(arguments: newest)
    func `another process has another boot id`(_ release: DemoRelease) throws {
        let bench = try GatewayBench(release, faults: [:])
        func boot() -> String? { bench.openSocket().connect()?["payload"]?["server"]?["bootId"]?.string }
        let first = boot()
        #expect(boot() == first)
        bench.run(ms: 10)
        try bench.control("POST", "/demo/restart?keep=true")
        #expect(first != nil && boot() != first)
    }

    @Test
    func `older inputs are on further pages, and none belongs to another conversation`() throws {
        let bench = try GatewayBench(.october) { $0.speed = 1 }
        let client = bench.client()
        client.chatSend("weather", key: "first")
        bench.run(ms: 6_000)
        client.chatSend("slow count", key: "a")
        bench.run(ms: 1_000)
        for number in 0..<22 {
            client.chatSend("x", key: "k\(number)", mode: "followup")
            client.call("chat.abort", "{\"sessionKey\":\"agent:main:main\",\"runId\":\"k\(number)\"}")
        }
        let first = client.history()?["pendingInputs"]
        #expect(first?["total"]?.int == 22 && first?["items"]?[0]?["runId"]?.string == "k2")
        let before = first?["nextBefore"]?.int ?? 0
        let second = client.payload("chat.history", "{\"sessionKey\":\"main\",\"pendingBefore\":\(before)}")?[
            "pendingInputs"
        ]
        #expect(second?["items"]?.elements.compactMap { $0["runId"]?.string } == ["k0", "k1"])
        #expect(second?["nextBefore"] == nil)
        client.call("sessions.reset", "{\"key\":\"main\"}")
        #expect(client.history(receipts: ["k0"])?["inputReceipts"]?.count == 0)
        #expect(client.history()?["pendingInputs"]?["total"]?.int == 0)
    }

    @Test
    func `guards refuse a message for another conversation or another end of it`() throws {
        let client = try GatewayBench(.october).client()
        func send(_ guardText: String) -> JSONValue? {
            client.call(
                "chat.send",
                "{\"sessionKey\":\"main\",\"message\":\"x\",\"idempotencyKey\":\"k\",\(guardText)}"
            )?["error"]
        }
        #expect(
            send("\"sessionId\":\"other\"")?["message"]?.string
                == "Session \"agent:main:main\" changed while starting work. Retry."
        )
        #expect(send("\"expectedLeafEntryId\":\"e\"")?["details"]?["reason"]?.string == "active-leaf-changed")
        let id = client.history()?["sessionId"]?.string ?? ""
        #expect(send("\"sessionId\":\"\(id)\",\"expectedLeafEntryId\":null") == nil)
    }

    // MARK: - Pauses

    @Test(arguments: newest)
    func `a paused gateway refuses all but decisions, for later`(_ release: DemoRelease) throws {
        let bench = try GatewayBench(release, faults: [:])
        let client = bench.client(scopes: ["operator.read", "operator.write", "operator.questions"])
        func pause(_ phase: String) throws { try bench.control("POST", "/demo/pause?phase=\(phase)") }
        try pause("preparing")
        #expect(client.history()?["messages"] != nil)
        for phase in ["draining", "prepared"] {
            try pause(phase)
            for method in ["chat.history", "chat.send", "sessions.list"] {
                let params =
                    switch method {
                    case "chat.history": "{\"sessionKey\":\"main\"}"
                    case "chat.send": "{\"sessionKey\":\"main\",\"message\":\"x\",\"idempotencyKey\":\"k\"}"
                    default: "{}"
                    }
                let error = client.call(method, params)?["error"]
                #expect(error?["message"]?.string == "\(method) unavailable during gateway suspension")
                #expect(error?["retryable"]?.bool == true && error?["retryAfterMs"]?.int == 1_000)
                #expect(error?["details"]?["reason"]?.string == "gateway-suspending")
                #expect(error?["details"]?["phase"]?.string == phase && error?["details"]?["method"]?.string == method)
            }
            let decision = client.call("question.get", "{\"id\":\"none\"}")?["error"]
            #expect((decision?["code"]?.string == "UNAVAILABLE") == (phase == "prepared"))
            let hello = bench.openSocket().connect()?["payload"]
            #expect(hello?["snapshot"]?["suspension"]?["phase"]?.string == phase)
        }
        try pause("accepting")
        #expect(client.history()?["messages"] != nil)
        let phases = client.payloads("gateway.suspension").compactMap { $0["phase"]?.string }
        #expect(phases == ["preparing", "draining", "prepared", "accepting"])
        try pause("restarting")
        let error = client.call("sessions.list")?["error"]
        #expect(error?["details"]?["reason"]?.string == "gateway-restarting")
        #expect(client.payloads("gateway.suspension").count == 4)
        #expect(try bench.control("POST", "/demo/pause?phase=asleep").status == 400)
    }

    @Test
    func `a command pauses the gateway for some seconds, and older releases know none`() throws {
        let bench = try GatewayBench(.october)
        let client = bench.client()
        client.chatSend("/suspend 5", key: "s")
        bench.run(ms: 400)
        #expect(client.error("sessions.list")?.hasSuffix("unavailable during gateway suspension") == true)
        bench.run(ms: 5_000)
        #expect(client.payload("sessions.list") != nil)
        let june = try GatewayBench(.june, faults: [:])
        try june.control("POST", "/demo/pause?phase=prepared")
        #expect(june.client().payload("sessions.list") != nil)
    }
}
