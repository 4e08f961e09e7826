import DemoGateway
import JSONBytes
import Testing

/// Parts of a release's shape that the recorded sequences do not show.
struct ReleaseShapeTests {
    private func bench(_ release: String) throws -> GatewayBench {
        try GatewayBench(faults: [:]) {
            $0.speed = 1
            try? $0.set("release", to: release)
        }
    }

    private func rows(_ client: TestClient, _ session: String) -> [JSONValue] {
        client.payload("chat.history", "{\"sessionKey\":\"\(session)\"}")?["messages"]?.elements.map { $0 } ?? []
    }

    private func ask(_ client: TestClient, _ key: String, _ session: String) -> String? {
        client.chatSend("echo \(key)", key: key, session: session)
        client.bench.run(ms: 20_000)
        let ends = ["final", "error"].flatMap { client.chat($0) }
        return ends.first { $0["runId"]?.string == key }?["state"]?.string
    }

    private func restart(_ bench: GatewayBench, crash: Bool = true) throws -> TestClient {
        try bench.control("POST", "/demo/restart?keep=true&crash=\(crash)&down=4000")
        bench.run(ms: 4_000)
        let client = bench.client()
        // The first calls of a process that has just started may wait, or be refused.
        bench.run(ms: 20_000)
        return client
    }

    @Test(arguments: [("2026.3.1", 0), ("2026.4.26", 1), ("2026.6.11", 0)])
    func `a kill before the first answer takes the message of a new session along`(_ release: String, _ kept: Int)
        throws
    {
        let bench = try bench(release)
        let client = bench.client()
        client.chatSend("slow story", key: "a", session: "agent:main:new")
        bench.run(ms: 9_000)
        #expect(rows(client, "agent:main:new").count == kept)
        #expect(rows(try restart(bench), "agent:main:new").isEmpty == (kept == 0))
    }

    @Test
    func `June refuses the second message of an old session until a new session begins`() throws {
        let bench = try bench("2026.6.11")
        let first = bench.client()
        #expect(ask(first, "one", "agent:main:old") == "final")
        let client = try restart(bench)
        #expect(ask(client, "two", "agent:main:old") == "final")
        #expect(ask(client, "three", "agent:main:old") == "error")
        #expect(ask(client, "four", "agent:main:old") == "error")
        let repeated = client.chatSend("echo four", key: "four", session: "agent:main:old")
        #expect(
            repeated?["error"]?["message"]?.string
                == "Error: reply session initialization conflicted for agent:main:old"
        )
        #expect(rows(client, "agent:main:old").count == 6)
        #expect(ask(client, "new", "agent:main:new") == "final")
        #expect(ask(client, "five", "agent:main:old") == "final")
        // The row of the last refused message is gone.
        let keys = rows(client, "agent:main:old").compactMap { $0["idempotencyKey"]?.string }
        #expect(keys == ["one:user", "two:user", "three:user", "five:user"])
        #expect(ask(client, "six", "agent:main:old") == "final")
    }

    @Test
    func `a reset stops a run of March dead, and is refused by April`() throws {
        var bench = try bench("2026.3.1")
        var client = bench.client()
        client.chatSend("slow story", key: "a")
        bench.run(ms: 4_000)
        #expect(client.payload("sessions.reset", "{\"key\":\"main\"}")?["ok"]?.bool == true)
        bench.run(ms: 40_000)
        #expect(client.chat("final").isEmpty && client.chat("aborted").isEmpty && client.chat("error").isEmpty)
        #expect(rows(client, "main").isEmpty)
        #expect(client.chatSend("slow story", key: "a")?["payload"]?["status"]?.string == "ok")

        bench = try self.bench("2026.4.26")
        client = bench.client()
        client.chatSend("slow story", key: "a")
        bench.run(ms: 10_000)
        let seen = client.chat("delta").count
        #expect(client.call("sessions.reset", "{\"key\":\"main\"}") == nil)
        bench.run(ms: 30_000)
        #expect(client.response("r2")?["error"]?["message"]?.string?.hasSuffix("try again in a moment.") == true)
        #expect(client.chat("delta").count == seen && client.chat("final").isEmpty)
        #expect(rows(client, "main").compactMap { $0["role"]?.string } == ["user", "assistant"])
        let row = client.payload("sessions.list")?["sessions"]?[0]
        #expect(row?["status"]?.string == "running")
        #expect(client.chatSend("slow story", key: "a")?["payload"]?["status"]?.string == "ok")
    }

    @Test
    func `June keeps the names of files in its paths, and loses those of images`() throws {
        let bench = try bench("2026.6.11")
        let client = bench.client()
        let image = "iVBORw0KGgo="
        client.call(
            "chat.send",
            """
            {"sessionKey":"main","message":"look","idempotencyKey":"k","attachments":[
            {"type":"image","mimeType":"image/png","fileName":"holiday.png","content":"\(image)"},
            {"type":"file","mimeType":"text/plain","fileName":"list.txt","content":"b25lCnR3bw=="}]}
            """.filter { $0 != "\n" }
        )
        bench.run(ms: 10_000)
        let row = try #require(rows(client, "main").first)
        let paths = row["MediaPaths"]?.elements.compactMap(\.string) ?? []
        #expect(row["content"]?.string == "look" && paths.count == 2)
        #expect(paths.first?.hasPrefix("/home/demo/.openclaw/media/inbound/") == true)
        #expect(paths.first?.hasSuffix(".png") == true && paths.first?.contains("holiday") == false)
        #expect(paths.last?.contains("/list---") == true && paths.last?.hasSuffix(".txt") == true)
        #expect(row["MediaTypes"]?.elements.compactMap(\.string) == ["image/png", "text/plain"])
        #expect(row["MediaPath"]?.string == paths.first)
    }

    @Test(arguments: [
        ("2026.3.1", "[Fri 2027-01-15 08:00 UTC] Plan a trip to Lisbon in May…"),
        ("2026.6.11", "Plan a trip to Lisbon in May with two children, by train…"),
    ])
    func `titles are made of the first message, as the release has it`(_ release: String, _ title: String) throws {
        let bench = try bench(release)
        let client = bench.client()
        client.chatSend(
            "Plan a trip to Lisbon in May with two children, by train if possible",
            key: "k",
            session: "trip"
        )
        bench.run(ms: 20_000)
        let listed = client.payload("sessions.list", "{\"includeDerivedTitles\":true}")?["sessions"]?.elements.map {
            $0
        }
        #expect(listed?.first { $0["key"]?.string == "agent:main:trip" }?["derivedTitle"]?.string == title)
    }

    @Test
    func `nobody is let in while a recorded gateway is down, and April's first answers are late`() throws {
        let bench = try bench("2026.4.26")
        try bench.control("POST", "/demo/restart?keep=true&down=4000")
        let early = bench.openSocket()
        #expect(early.frames.isEmpty && bench.dropped.contains(early.id))
        bench.run(ms: 4_000)
        let client = bench.client()
        #expect(client.call("chat.history", "{\"sessionKey\":\"main\"}") == nil)
        bench.run(ms: 15_900)
        #expect(client.response("r1") == nil)
        bench.run(ms: 200)
        #expect(client.response("r1")?["ok"]?.bool == true)
    }
}
