import EventLoops
import JSONBytes
import TestSupport
import Testing

/// Messages, sessions and agents from the gateway and from the cache.
struct ConversationRouteTests {
    private func say(_ words: String, _ api: APIBench, on loop: isolated EventLoop) async throws -> String {
        let sent = try await api.say(words, "?wait=20", on: loop)
        #expect(sent.status == 200, "\(sent)")
        return try #require(sent.json["entry"]?["id"]?.string)
    }

    @Test func `a conversation has our ids, its steps, and what we sent`() async throws {
        try await withAPI(.demo) { api, loop in
            let first = try await say("append the weather to weather.txt", api, on: loop)
            _ = try await say("/verbose on", api, on: loop)
            _ = try await say("silent please", api, on: loop)
            let last = try await say("hello", api, on: loop)
            let answer = try await api.get("/v1/messages", on: loop).json
            #expect(answer["live"]?.bool == true)
            #expect(answer["session"]?.string == "agent:main:main")
            let list = try #require(answer["messages"]).elements.map { $0 }
            let users = list.filter { $0["role"]?.equals("user") ?? false }
            #expect(users.first?["id"]?.string == first)
            #expect(users.last?["id"]?.string == last)
            // A switch that we sent is our message; one that a client sends on its own is housekeeping.
            #expect(list.contains { $0["text"]?.string == "/verbose on" })
            #expect(!list.contains { $0["text"]?.string == "" })
            #expect(list.contains { $0["steps"]?.count ?? 0 > 1 })
            #expect(list.allSatisfy { $0["state"]?.equals("sent") ?? false })

            let page = try await api.get("/v1/messages?limit=2", on: loop).json
            #expect(page["messages"]?.count == 2)
            let before = try #require(page["before"]?.string)
            let older = try await api.get("/v1/messages?limit=2&before=\(before)", on: loop).json
            #expect(older["messages"]?.elements.contains { $0["id"]?.string == last } == false)
            let after = try await api.get("/v1/messages?after=\(first)", on: loop).json
            #expect(after["messages"]?.elements.contains { $0["id"]?.string == first } == false)
            #expect(try await api.get("/v1/messages?after=nobody", on: loop).status == 404)
            #expect(try await api.get("/v1/messages?limit=0", on: loop).status == 400)
            #expect(try await api.get("/v1/messages", ["Accept: text/plain"], on: loop).body.contains("  hello\n"))
        }
    }

    @Test func `a stream with a limit ends after so many events, live or from the log`() async throws {
        try await withAPI(.demo) { api, loop in
            let live = try await api.open("GET", "/v1/events?types=message&limit=2", on: loop)
            let start = try #require(try await api.get("/v1/events?poll=0", on: loop)["cursor"])
            _ = try await say("hello", api, on: loop)
            #expect(live.text.ranges(of: "event: message\n").count == 2)
            #expect(live.hasEnded && !live.isCut)
            let logged = try await api.get("/v1/events?types=message&limit=2&since=\(start)", on: loop).body
            #expect(logged.ranges(of: "event: message\n").count == 2)
        }
    }

    @Test func `while the gateway is away the kept conversation is shown with what still waits`() async throws {
        try await withAPI(.demo) { api, loop in
            let id = try await say("hello", api, on: loop)
            let sessions = try await api.get("/v1/sessions", on: loop).json
            #expect(sessions["live"]?.bool == true)
            #expect(sessions["sessions"]?[0]?["key"]?.string == "agent:main:main")
            let agents = try await api.get("/v1/agents", on: loop).json
            #expect(agents["agents"]?.elements.contains { $0["default"]?.bool == true } == true)
            _ = try await api.get("/v1/messages", on: loop).json
            try await api.demo?.drop(on: loop)
            try await api.restart(on: loop)
            try await api.bench.drop(on: loop)

            _ = try await api.say("later", on: loop)
            let kept = try await api.get("/v1/messages", on: loop).json
            #expect(kept["live"]?.bool == false)
            #expect(kept["asOf"]?.string != nil)
            let list = try #require(kept["messages"]).elements.map { $0 }
            #expect(list.map { $0["text"]?.string } == ["hello", "Hello! You said: hello", "later"])
            #expect(list.first?["id"]?.string == id)
            #expect(list.last?["state"]?.string == "sending")
            for name in ["sessions", "agents"] {
                let answer = try await api.get("/v1/\(name)", on: loop).json
                #expect(answer["live"]?.bool == false)
                #expect(answer[name]?.count ?? 0 > 0)
            }
        }
    }
}
