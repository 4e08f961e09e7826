import DemoGateway
import FaultyGateway
import JSONBytes
import Testing

/// Messages to busy sessions of the newest releases.
struct QueueModeTests {
    private static let newest = [DemoRelease.september, .october]

    private func busyBench(_ release: DemoRelease) throws -> (GatewayBench, TestClient) {
        let bench = try GatewayBench(release) { $0.speed = 1 }
        let client = bench.client()
        client.call("sessions.subscribe")
        client.chatSend("weather", key: "first")
        bench.run(ms: 6_000)
        client.chatSend("slow count", key: "a")
        bench.run(ms: 1_000)
        return (bench, client)
    }

    private func reasons(_ client: TestClient) -> [String] {
        client.payloads("sessions.changed").compactMap { $0["reason"]?.string }
    }

    /// The run of the answer after a key's row, as a client finds it.
    private func execution(of key: String, _ client: TestClient) throws -> String {
        let rows = client.history()?["messages"]?.elements.map { $0 } ?? []
        let place = try #require(rows.firstIndex { $0["idempotencyKey"]?.string == "\(key):user" })
        let runs = rows[(place + 1)...].compactMap { $0["__openclaw"]?["runId"]?.string }
        return try #require(runs.first)
    }

    @Test
    func `2026-9-7 ends a waiting message early, and its turn runs under another id`() throws {
        let (bench, client) = try busyBench(.september)
        #expect(client.chatSend("second", key: "b", mode: "followup")?["payload"]?["status"]?.string == "started")
        bench.run(ms: 20)
        #expect(client.chat(of: "b").isEmpty && reasons(client).last == "send")
        bench.run(ms: 30)
        #expect(client.chat(of: "b") == ["final"] && reasons(client).last == "agent.input.settled")
        #expect(client.wait("b")?["status"]?.string == "pending")
        #expect(client.wait("b")?["timeoutPhase"]?.string == "queue")
        #expect(client.chatSend("second", key: "b", mode: "followup")?["payload"]?["status"]?.string == "ok")
        let waiting = client.history(receipts: ["b"])
        #expect(waiting?["inputReceipts"]?[0]?["state"]?.string == "pending")
        #expect(waiting?["inputReceipts"]?[0]?["queued"]?.bool == true)
        #expect(waiting?["pendingInputs"]?["items"]?[0]?["state"]?.string == "queued")
        #expect(waiting?["sessionInfo"]?["activeRunIds"]?.elements.compactMap(\.string) == ["a"])
        bench.run(ms: 60_000)
        #expect(client.chat(of: "b") == ["final"])
        #expect(client.chatSend("second", key: "b", mode: "followup")?["payload"]?["status"]?.string == "ok")
        let run = try execution(of: "b", client)
        #expect(run != "b" && client.chat(of: run) == ["final+"])
        #expect(client.wait("b")?["status"]?.string == "ok")
        let after = client.history(receipts: ["b"])
        #expect(after?["inputReceipts"]?.count == 0 && after?["pendingInputs"]?["total"]?.int == 0)
        #expect(after?["sessionInfo"]?["activeRunIds"]?.count == 0)
        #expect(after?["sessionInfo"]?["lastRunId"]?.string == run)
    }

    @Test
    func `2026-10-2 tells a waiting message one end, that of its turn`() throws {
        let (bench, client) = try busyBench(.october)
        client.chatSend("second", key: "b", mode: "followup")
        bench.run(ms: 2_000)
        #expect(client.chat(of: "b").isEmpty)
        #expect(client.wait("b")?["status"]?.string == "pending")
        #expect(client.chatSend("second", key: "b", mode: "followup")?["payload"]?["status"]?.string == "accepted")
        bench.run(ms: 60_000)
        #expect(client.chat(of: "b") == ["final+"])
        #expect(client.wait("b")?["status"]?.string == "ok")
        #expect(client.chatSend("second", key: "b", mode: "followup")?["payload"]?["status"]?.string == "completed")
        let run = try execution(of: "b", client)
        #expect(run != "b" && client.chat(of: run).isEmpty)
        let receipt = client.history(receipts: ["b"])?["inputReceipts"]?[0]
        #expect(receipt?["state"]?.string == "consumed")
        let row = client.history()?["messages"]?.elements.first { $0["idempotencyKey"]?.string == "b:user" }
        #expect(receipt?["consumedByEventId"]?.string == row?["__openclaw"]?["id"]?.string)
    }

    @Test(arguments: newest)
    func `a turn that fails says so under its id in 9-7, and under the message's own in 10-2`(_ release: DemoRelease)
        throws
    {
        let (bench, client) = try busyBench(release)
        client.chatSend("fail500", key: "b", mode: "followup")
        bench.run(ms: 60_000)
        let run = try execution(of: "b", client)
        let isEarly = release == .september
        #expect(client.chat(of: "b") == (isEarly ? ["final"] : ["error"]))
        #expect(client.chat(of: run) == (isEarly ? ["error"] : []))
        #expect(client.wait("b")?["status"]?.string == (isEarly ? "ok" : "error"))
        #expect(client.wait(run)?["status"]?.string == "error")
        let last = client.history()?["messages"]?.elements.map { $0 }.last
        #expect(last?["customType"]?.string == "run-failed-before-reply")
        #expect(client.history()?["sessionInfo"]?["lastRunError"]?.string == "LLM request failed.")
    }

    @Test(arguments: newest, [nil, "steer"])
    func `a steered message joins the active run`(_ release: DemoRelease, _ mode: String?) throws {
        let (bench, client) = try busyBench(release)
        client.chatSend("use metric units", key: "b", mode: mode)
        bench.run(ms: 50)
        #expect(client.chat(of: "b") == ["final"] && reasons(client).contains("steer"))
        #expect(client.wait("b")?["status"]?.string == "ok")
        let row = client.history()?["messages"]?.elements.first { $0["idempotencyKey"]?.string == "b:user" }
        #expect(row?["__openclaw"]?["steerTargetRunId"]?.string == "a")
        let receipt = client.history(receipts: ["b"])?["inputReceipts"]?[0]
        #expect(receipt?["state"]?.string == (release == .september ? nil : "consumed"))
        #expect(row?["__openclaw"]?["transport"]?["clients"]?[0]?["id"]?.string == "gateway-client")
        bench.run(ms: 60_000)
        #expect(client.chat(of: "b") == ["final"])
        let answer = client.chat("final").last { $0["runId"]?.string == "a" }
        #expect(answer?["message"]?.messageText?.hasSuffix(" Noted: use metric units.") == true)
    }

    @Test(arguments: newest)
    func `collected messages share one turn, one row and one event`(_ release: DemoRelease) throws {
        let (bench, client) = try busyBench(release)
        client.chatSend("one", key: "b", mode: "collect")
        client.chatSend("two", key: "c", mode: "collect")
        client.chatSend("three", key: "d", mode: "followup")
        bench.run(ms: 60_000)
        let history = client.history(receipts: ["b", "c"])
        let rows = history?["messages"]?.elements.map { $0 } ?? []
        let merged = try #require(rows.first { $0["content"]?.string?.contains("1. one\n2. two") == true })
        let id = merged["__openclaw"]?["id"]?.string
        #expect(history?["inputReceipts"]?.elements.map { $0["consumedByEventId"]?.string } == [id, id])
        #expect(history?["inputConsumptions"]?.elements.count { $0["consumedByEventId"]?.string == id } == 2)
        let isEarly = release == .september
        for key in ["b", "c"] {
            #expect(client.chat(of: key) == [isEarly ? "final" : "final+"])
            #expect(client.wait(key)?["status"]?.string == "ok")
        }
        #expect(rows.contains { $0["idempotencyKey"]?.string == "d:user" })
    }

    @Test(arguments: newest)
    func `an interrupt ends the active run and takes its place`(_ release: DemoRelease) throws {
        let (bench, client) = try busyBench(release)
        client.chatSend("later", key: "b", mode: "followup")
        let answer = client.chatSend("hello", key: "c", mode: "interrupt")?["payload"]
        #expect(answer?["interruptedActiveRun"]?.bool == true)
        #expect(client.chat(of: "a") == ["aborted+"])
        #expect(client.wait("a")?["status"]?.string == (release == .september ? "timeout" : "error"))
        #expect(client.wait("a")?["stopReason"]?.string == "rpc")
        bench.run(ms: 60_000)
        #expect(client.chat(of: "c") == ["final+"])
        let keys = client.history()?["messages"]?.elements.compactMap { $0["idempotencyKey"]?.string } ?? []
        #expect(keys == ["first:user", "a:user", "c:user", "b:user"])
    }

    @Test(arguments: newest)
    func `an idle session runs each message under its own key`(_ release: DemoRelease) throws {
        let bench = try GatewayBench(release) { $0.speed = 1 }
        let client = bench.client()
        for mode in ["steer", "followup", "collect", "interrupt"] {
            let answer = client.chatSend("echo \(mode)", key: mode, mode: mode)?["payload"]
            #expect(answer?["interruptedActiveRun"] == nil)
            #expect(
                client.chatSend("echo \(mode)", key: mode, mode: mode)?["payload"]?["status"]?.string == "in_flight"
            )
            #expect(client.wait(mode)?["status"]?.string == "timeout" && client.wait(mode)?["timeoutPhase"] == nil)
            bench.run(ms: 5_000)
            #expect(client.chat(of: mode) == ["final+"] && client.wait(mode)?["status"]?.string == "ok")
        }
        #expect(client.wait("unknown")?.members.map { $0.key } == ["runId", "status"])
        let other = client.chatSend("something else", key: "steer")?["error"]
        #expect(other?["details"]?["reason"]?.string == "chat-request-conflict")
    }

    @Test(arguments: newest)
    func `a withdrawn message never runs`(_ release: DemoRelease) throws {
        let (bench, client) = try busyBench(release)
        client.chatSend("second", key: "b", mode: "followup")
        client.chatSend("third", key: "c", mode: "followup")
        bench.run(ms: 50)
        func abort(_ key: String, _ rest: String = "") -> JSONValue? {
            client.payload("chat.abort", "{\"sessionKey\":\"agent:main:main\",\"runId\":\"\(key)\"\(rest)}")
        }
        #expect(abort("b")?["runIds"]?[0]?.string == "b")
        #expect(abort("c", ",\"discardPendingInput\":true")?["aborted"]?.bool == true)
        #expect(client.chat(of: "b") == (release == .september ? ["final"] : ["aborted"]))
        let history = client.history(receipts: ["b", "c"])
        #expect(history?["inputReceipts"]?.count == 1 && history?["inputReceipts"]?[0]?["cancelled"]?.bool == true)
        #expect(history?["pendingInputs"]?["items"]?[0]?["state"]?.string == "cancelled")
        if release == .october { #expect(client.wait("b")?["status"]?.string == "error") }
        bench.run(ms: 60_000)
        #expect(client.history()?["messages"]?.text.contains("b:user") == false)
        #expect(client.chat(of: "a") == ["final+"])
    }

    @Test
    func `an abort without a run takes the queue along, and one of the run leaves it`() throws {
        for names in [false, true] {
            let (bench, client) = try busyBench(.october)
            client.chatSend("second", key: "b", mode: "followup")
            let run = names ? ",\"runId\":\"a\"" : ""
            let answer = client.payload("chat.abort", "{\"sessionKey\":\"agent:main:main\"\(run)}")
            #expect(answer?["runIds"]?.elements.compactMap(\.string) == (names ? ["a"] : ["a", "b"]))
            bench.run(ms: 60_000)
            #expect(client.chat(of: "b") == [names ? "final+" : "aborted"])
        }
    }

    @Test(arguments: newest)
    func `a message too many drops the oldest`(_ release: DemoRelease) throws {
        let (bench, client) = try busyBench(release)
        for number in 0...20 { client.chatSend("echo \(number)", key: "k\(number)", mode: "followup") }
        bench.run(ms: 50)
        let isEarly = release == .september
        #expect(client.chat(of: "k0") == [isEarly ? "final" : "error"])
        let receipt = client.history(receipts: ["k0"])?["inputReceipts"]?[0]
        #expect(receipt?["state"]?.string == (isEarly ? "pending" : nil) && receipt?["queued"] == nil)
        #expect(client.history()?["pendingInputs"]?["queuedCount"]?.int == 20)
        #expect(client.history()?["pendingInputs"]?["items"]?.count == 20)
    }

    @Test
    func `earlier releases know no mode`() throws {
        let client = try GatewayBench(.june).client()
        let error = client.chatSend("hello", key: "a", mode: "followup")?["error"]
        #expect(error?["code"]?.string == "INVALID_REQUEST")
        #expect(
            error?["message"]?.string == "invalid chat.send params: at root: unexpected property 'queueMode'"
        )
    }

    @Test
    func `only the newest release tells of one run by the session's row`() throws {
        let (bench, client) = try busyBench(.october)
        let id = client.history()?["sessionId"]?.string ?? ""
        func status(_ run: String) -> JSONValue? {
            client.payload(
                "sessions.status",
                "{\"key\":\"main\",\"sessionId\":\"\(id)\",\"expectedRunId\":\"\(run)\"}"
            )?["session"]
        }
        #expect(status("a")?["hasActiveRun"]?.bool == true && status("a")?["matchedRun"]?.isNull == true)
        bench.run(ms: 60_000)
        #expect(status("a")?["matchedRun"]?["status"]?.string == "done")
        #expect(status("first")?["matchedRun"]?.isNull == true)
        #expect(client.payload("sessions.status", "{\"key\":\"none\"}")?["session"]?.isNull == true)
        let earlier = try GatewayBench(.september).client()
        #expect(earlier.error("sessions.status", "{\"key\":\"main\"}") == "unknown method: sessions.status")
    }

    @Test(arguments: ["newest", "october", "2026.10.2", "september", "2026.9.7"])
    func `a release goes by its names, and its hello tells it`(_ name: String) throws {
        let bench = try GatewayBench { try? $0.set("release", to: name) }
        let hello = bench.openSocket().connect()?["payload"]
        let isSeptember = name == "september" || name == "2026.9.7"
        #expect(hello?["server"]?["version"]?.string == (isSeptember ? "2026.9.7" : "2026.10.2"))
        #expect(hello?["server"]?["bootId"]?.string?.isEmpty == false)
        #expect(hello?["features"]?["capabilities"]?.count == 6)
        let methods = hello?["features"]?["methods"]?.elements.compactMap(\.string) ?? []
        #expect(methods.contains("sessions.status") != isSeptember)
    }
}
