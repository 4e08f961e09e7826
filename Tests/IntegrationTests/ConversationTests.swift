import JSONBytes
import TestSupport
import Testing

/// Messages, sessions and agents as the gateway has them, and as they are kept.
@Suite(.serialized) struct ConversationTests {
    private static let text = ["Content-Type: text/plain"]

    private func say(_ words: String, _ ladle: LadleProcess) throws -> String {
        let sent = try ladle.request("POST", "/v1/messages?wait=20", Self.text, body: words)
        #expect(sent.status == 200, "\(sent)")
        return try #require(sent.json["entry"]?["id"]?.string)
    }

    private func messages(_ ladle: LadleProcess, _ query: String = "") throws -> JSONValue {
        try ladle.request("GET", "/v1/messages\(query)").json
    }

    @Test func `a conversation has our ids, its steps, and what we sent`() async throws {
        let ladle = try await LadleProcess(SendTests.fast)
        let first = try say("append the weather to weather.txt", ladle)
        _ = try say("/verbose on", ladle)
        _ = try say("silent please", ladle)
        let last = try say("hello", ladle)
        let answer = try messages(ladle)
        #expect(answer["live"]?.bool == true)
        #expect(answer["session"]?.string == "agent:main:main")
        let list = try #require(answer["messages"]).elements.map { $0 }
        let users = list.filter { $0["role"]?.equals("user") ?? false }
        #expect(users.first?["id"]?.string == first)
        #expect(users.last?["id"]?.string == last)
        // A switch that we sent is a message of ours; one that a client sends by itself is housekeeping.
        #expect(list.contains { $0["text"]?.string == "/verbose on" })
        #expect(!list.contains { $0["text"]?.string == "" })
        #expect(list.contains { $0["steps"]?.count ?? 0 > 1 })
        #expect(list.allSatisfy { $0["state"]?.equals("sent") ?? false })

        let page = try messages(ladle, "?limit=2")
        #expect(page["messages"]?.count == 2)
        let before = try #require(page["before"]?.string)
        let older = try messages(ladle, "?limit=2&before=\(before)")
        #expect(older["messages"]?.elements.contains { $0["id"]?.string == last } == false)
        let after = try messages(ladle, "?after=\(first)")
        #expect(after["messages"]?.elements.contains { $0["id"]?.string == first } == false)
        #expect(try ladle.request("GET", "/v1/messages?after=nobody").status == 404)
        #expect(try ladle.request("GET", "/v1/messages?limit=0").status == 400)
        #expect(try ladle.request("GET", "/v1/messages", ["Accept: text/plain"]).body.contains("  hello\n"))
    }

    @Test func `a stream with a limit ends after so many events, live or from the log`() async throws {
        let ladle = try await LadleProcess(SendTests.fast)
        let live = try ladle.connect()
        try live.send(ladle.requestBytes("GET", "/v1/events?types=message&limit=2"))
        var text = String(decoding: try live.receive(), as: UTF8.self)
        let start = try #require(try ladle.request("GET", "/v1/events?poll=0").json["cursor"]?.string)
        _ = try say("hello", ladle)
        while case let more = try live.receive(), !more.isEmpty { text += String(decoding: more, as: UTF8.self) }
        #expect(text.ranges(of: "event: message\n").count == 2)
        #expect(text.hasSuffix("\r\n0\r\n\r\n"))
        let logged = try ladle.request("GET", "/v1/events?types=message&limit=2&since=\(start)").body
        #expect(logged.ranges(of: "event: message\n").count == 2)
    }

    @Test func `while the gateway is away the kept conversation is shown with what still waits`() async throws {
        let first = try await LadleProcess(SendTests.fast)
        let id = try say("hello", first)
        let sessions = try first.request("GET", "/v1/sessions").json
        #expect(sessions["live"]?.bool == true)
        #expect(sessions["sessions"]?[0]?["key"]?.string == "agent:main:main")
        let agents = try first.request("GET", "/v1/agents").json
        #expect(agents["agents"]?.elements.contains { $0["default"]?.bool == true } == true)
        _ = try messages(first)
        first.signal(15)
        #expect(first.waitForExit().code == 0)

        // The demo keeps its database apart.
        try first.state.write(try first.state.bytes(of: "demo/ladle.db"), to: "ladle.db")
        let second = try await LadleProcess(["--gateway", "ws://127.0.0.1:9"], state: first.state, demo: false)
        _ = try second.request("POST", "/v1/messages", Self.text, body: "later")
        let kept = try messages(second)
        #expect(kept["live"]?.bool == false)
        #expect(kept["asOf"]?.string != nil)
        let list = try #require(kept["messages"]).elements.map { $0 }
        #expect(list.map { $0["text"]?.string } == ["hello", "Hello! You said: hello", "later"])
        #expect(list.first?["id"]?.string == id)
        #expect(list.last?["state"]?.string == "sending")
        for name in ["sessions", "agents"] {
            let answer = try second.request("GET", "/v1/\(name)").json
            #expect(answer["live"]?.bool == false)
            #expect(answer[name]?.count ?? 0 > 0)
        }
    }
}
