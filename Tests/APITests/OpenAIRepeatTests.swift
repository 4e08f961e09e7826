import Access
import DemoGateway
import EventLoops
import Gateway
import JSONBytes
import TestSupport
import Testing

@testable import API

/// The OpenAI door: requests that repeat an earlier one, that only look so, and those of somebody else. Each was found by an unchanged client
/// or by an attacker.
struct OpenAIRepeatTests {
    private static let chat = OpenAIRouteTests.chat
    private static let responses = OpenAIRouteTests.responses
    private static let retry = Field.json + ["x-stainless-retry-count: 1"]

    private static func setup(speed: Double = 0) -> APIBench.Setup {
        APIBench.Setup(api: { $0.openAI.isEnabled = true }, demo: { $0.speed = speed })
    }

    private static func body(_ turns: (String, String)..., more: String = "") -> String {
        let list = turns.map { #"{"role":"\#($0.0)","content":"\#($0.1)"}"# }.joined(separator: ",")
        return #"{"model":"ladle","messages":[\#(list)]\#(more)}"#
    }

    /// The words of the messages so far, oldest first.
    private static func said(_ api: APIBench, on loop: isolated EventLoop) async throws -> [String] {
        let entries = try await api.get("/v1/outbox?limit=100", on: loop).json["entries"]?.elements
        return (entries.map(Array.init) ?? []).compactMap { $0["text"]?.string }.reversed()
    }

    @Test func `a key stops no run but its own`() async throws {
        try await withAPI(Self.setup(speed: 1)) { api, loop in
            let key = try await api.token("send", more: #","paths":["/openai"]"#, on: loop).bearer
            let run = try #require(try await api.say("slow story", on: loop)["id"])
            try await api.advance(2_000, on: loop)
            let path = "\(Self.responses)/chatcmpl-\(run)/cancel"
            #expect(try await api.post(path, Field.json + key, "{}", on: loop).status == 404)
            // Read from the disk it is still somebody else's.
            try await api.restart(on: loop)
            let other = try await api.token("send", more: #","paths":["/openai"]"#, on: loop).bearer
            #expect(try await api.post(path, Field.json + other, "{}", on: loop).status == 404)
            let entries = try await api.get("/v1/outbox", on: loop).json["entries"]?.elements
            #expect(entries?.contains { $0["kind"]?.string == "abort" } == false)
        }
    }

    /// A client that waits is told what the outbox tells of the message.
    @Test func `a message that the gateway took and of which nothing shows is told as that`() async throws {
        var setup = APIBench.Setup.away
        setup.api = { $0.openAI.isEnabled = true }
        try await withAPI(setup) { api, loop in
            let bench = api.bench
            try await bench.open(on: loop)
            let waiting = try await api.open(
                "POST",
                Self.chat,
                Field.json,
                body: Self.body(("user", "hello")),
                on: loop
            )
            #expect(bench.gateway.sentTexts == ["hello"])
            try await bench.drop(on: loop)
            bench.gateway.historyMembers = #","hasMore":false,"sessionInfo":{"hasActiveRun":false}"#
            bench.gateway.responder = { $0.method == "chat.send" ? .now(.ambiguous(.timedOut)) : nil }
            try await bench.open(on: loop)
            try await api.advance(120_000, on: loop)
            let entry = try await api.get("/v1/outbox", on: loop).json["entries"]?[0]
            let detail = try #require(entry?["error"]?["detail"]?.string ?? entry?["fault"]?["detail"]?.string)
            #expect(detail.hasPrefix("The gateway took the message"))
            #expect(waiting.text.contains(detail), "\(waiting.text)")
        }
    }

    @Test(arguments: ["", #","store":false"#])
    func `a response is given again to its repeat after a restart`(more: String) async throws {
        try await withAPI(Self.setup()) { api, loop in
            let body = #"{"model":"ladle","input":"hello"\#(more)}"#
            let first = try await api.post(Self.responses, Field.json, body, on: loop)
            let id = try #require(first["id"])
            try await api.restart(on: loop)
            let again = try await api.post(Self.responses, Self.retry, body, on: loop)
            #expect(again["id"] == id && again["status"] == "completed", "\(again)")
            #expect(again.json["output"]?.count ?? 0 > 0)
            let kept = try await api.get("\(Self.responses)/\(id)", on: loop).status
            #expect(kept == (more.isEmpty ? 200 : 404))
            #expect(try await Self.said(api, on: loop) == ["hello"])
        }
    }

    @Test func `equal words are said twice unless their sender let go of the first request`() async throws {
        try await withAPI(Self.setup(speed: 1)) { api, loop in
            let slow = Self.body(("user", "slow count"))
            let first = try await api.open("POST", Self.chat, Field.json, body: slow, on: loop)
            let second = try await api.open("POST", Self.chat, Field.json, body: slow, on: loop)
            try await api.advance(1_000, on: loop)
            #expect(try await Self.said(api, on: loop).count == 2, "two people, each in a conversation")
            second.leave(on: loop)
            let third = try await api.open("POST", Self.chat, Field.json, body: slow, on: loop)
            try await api.advance(60_000, on: loop)
            #expect(try await Self.said(api, on: loop).count == 2)
            #expect(third.answer?.field("Ladle-Joined") == "true")
            #expect(first.answer?.field("Ladle-Session") != third.answer?.field("Ladle-Session"))
        }
    }

    @Test func `a library's next try joins an answer that was lost on its way, and not an old one`() async throws {
        try await withAPI(Self.setup()) { api, loop in
            let voice = ["X-Ladle-Session: voice"]
            let yes = Self.body(("user", "yes"))
            let first = try await api.post(Self.chat, Field.json + voice, yes, on: loop)
            try await api.advance(5_000, on: loop)
            #expect(try await api.post(Self.chat, Self.retry + voice, yes, on: loop)["id"] == first["id"])
            try await api.advance(60_000, on: loop)
            let later = try await api.post(Self.chat, Self.retry + voice, yes, on: loop)
            #expect(later.status == 200 && later["id"] != first["id"], "its first try never arrived")
            let background = #"{"model":"ladle","input":"yes","background":true}"#
            let one = try await api.post(Self.responses, Field.json, background, on: loop)
            let other = try await api.post(Self.responses, Field.json, background, on: loop)
            #expect(one["id"] != other["id"])
        }
    }

    @Test func `a message that was stopped or failed does not run again with the next one`() async throws {
        try await withAPI(Self.setup(speed: 1)) { api, loop in
            let failed = Self.body(("user", "fail with 401"))
            let first = try await api.open("POST", Self.chat, Field.json, body: failed, on: loop)
            try await api.advance(30_000, on: loop)
            #expect(first.answer?.status == 422)
            let next = Self.body(("user", "fail with 401"), ("user", "hello"))
            let second = try await api.open("POST", Self.chat, Field.json, body: next, on: loop)
            try await api.advance(30_000, on: loop)
            #expect(second.answer?.status == 200)
            #expect(try await Self.said(api, on: loop) == ["fail with 401", "hello"])
            #expect(second.answer?.field("Ladle-Session") == first.answer?.field("Ladle-Session"))
            // The client knows what came before and goes on.
            let third = Self.body(
                ("user", "fail with 401"),
                ("user", "hello"),
                ("assistant", "Hello! You said: hello"),
                ("user", "bye")
            )
            let last = try await api.open("POST", Self.chat, Field.json, body: third, on: loop)
            try await api.advance(30_000, on: loop)
            #expect(last.answer?.field("Ladle-Session") == first.answer?.field("Ladle-Session"))
        }
    }

    @Test func `a chat that was stopped in its answer goes on in its session`() async throws {
        try await withAPI(Self.setup(speed: 1)) { api, loop in
            let body = Self.body(("user", "slow count"), more: #","stream":true"#)
            let first = try await api.open("POST", Self.chat, Field.json, body: body, on: loop)
            try await api.advance(3_000, on: loop)
            let seen = first.text.split(separator: "\n").filter { $0.hasPrefix("data: {") }.compactMap {
                try? JSONDocument(parsing: Array($0.dropFirst(6).utf8)).root
            }.compactMap { $0["choices"]?[0]?["delta"]?["content"]?.string }.joined()
            #expect(!seen.isEmpty)
            let session = first.answer?.field("Ladle-Session")
            first.leave(on: loop)
            try await api.advance(10_000, on: loop)
            let next = Self.body(("user", "slow count"), ("assistant", seen), ("user", "hello"))
            let second = try await api.open("POST", Self.chat, Field.json, body: next, on: loop)
            try await api.advance(30_000, on: loop)
            #expect(second.answer?.field("Ladle-Session") == session)
        }
    }

    @Test func `a conversation that cannot be read is refused, not taken for a new one`() async throws {
        try await withAPI(Self.setup()) { api, loop in
            let long = ["X-Ladle-Session: " + String(repeating: "x", count: 600)]
            let header = try await api.post(Self.chat, Field.json + long, Self.body(("user", "a")), on: loop)
            #expect(header.status == 400 && header.json["error"]?["param"]?.string == "X-Ladle-Session")
            for value in ["7", "[]", #"{"name":"x"}"#] {
                let body = Self.body(("user", "a"), more: #","conversation":\#(value)"#)
                let answer = try await api.post(Self.chat, Field.json, body, on: loop)
                #expect(answer.status == 400 && answer.json["error"]?["param"]?.string == "conversation", "\(answer)")
            }
            #expect(try await Self.said(api, on: loop).isEmpty)
        }
    }

    @Test func `conversations with the same turns are told apart or begun anew, never mixed`() async throws {
        try await withAPI(Self.setup()) { api, loop in
            let first = Self.body(("user", "hello"))
            let next = Self.body(("user", "hello"), ("assistant", "Hello! You said: hello"), ("user", "again"))
            let one = try await api.post(Self.chat, Field.json, first, on: loop).field("Ladle-Session")
            #expect(try await api.post(Self.chat, Field.json, next, on: loop).field("Ladle-Session") == one)
            let other = try await api.post(Self.chat, Field.json, first, on: loop).field("Ladle-Session")
            try await api.advance(1_000, on: loop)
            let third = try await api.post(Self.chat, Field.json, next, on: loop)
            #expect(other != one && third.field("Ladle-Session") != one && third.field("Ladle-Session") != other)
            #expect(third.field("Ladle-Session-New") == "history-unknown")
            try await api.restart(on: loop)
            let stream = next.replacing("]}", with: #"],"stream":true}"#)
            let fourth = try await api.open("POST", Self.chat, Field.json, body: stream, on: loop)
            #expect(fourth.answer?.field("Ladle-Session-New") == "history-unknown", "\(fourth.text)")
        }
    }

    @Test func `many begin to talk at once, and no name of a model leads to the gateway's own sessions`() async throws {
        try await withAPI(Self.setup()) { api, loop in
            for count in 1...12 {
                let answer = try await api.post(Self.chat, Field.json, Self.body(("user", "chat \(count)")), on: loop)
                #expect(answer.status == 200, "\(answer)")
            }
            for model in ["agent:main:cron:x", "ladle/main@cron:x", "openai/agent:main:acp:1"] {
                let body = Self.body(("user", "a")).replacing(#""ladle""#, with: #""\#(model)""#)
                let answer = try await api.post(Self.chat, Field.json, body, on: loop)
                #expect(answer.status == 400 && answer.json["error"]?["param"]?.string == "model", "\(model) \(answer)")
            }
        }
    }

    @Test func `a stream for which there is no room begins no run`() async throws {
        var setup = Self.setup(speed: 1)
        setup.streams = StreamSlots(perCaller: 1, total: 40)
        try await withAPI(setup) { api, loop in
            let key = try await api.token("send", more: #","paths":["/openai"]"#, on: loop).bearer
            let body = Self.body(("user", "slow count"), more: #","stream":true"#)
            let first = try await api.open("POST", Self.chat, Field.json + key, body: body, on: loop)
            try await api.advance(1_000, on: loop)
            #expect(first.text.contains("data: {"))
            let more = body.replacing("slow count", with: "slow story")
            let second = try await api.post(Self.chat, Field.json + key, more, on: loop)
            #expect(second.status == 429, "\(second)")
            #expect(try await Self.said(api, on: loop) == ["slow count"])
        }
    }

    @Test func `a message that the agent never got is not left out`() async throws {
        let setup = APIBench.Setup(api: { $0.openAI.isEnabled = true })
        try await withAPI(setup) { api, loop in
            let first = try await api.open("POST", Self.chat, Field.json, body: Self.body(("user", "lost")), on: loop)
            try await api.advance(700_000, on: loop)
            #expect(first.answer?.json["error"]?["code"]?.string == "gateway_unavailable", "\(first.text)")
            let next = Self.body(("user", "lost"), ("user", "next"))
            _ = try await api.open("POST", Self.chat, Field.json, body: next, on: loop)
            let said = try await Self.said(api, on: loop)
            #expect(said.last == "lost\nnext", "\(said)")
        }
    }

    @Test func `words said in one named session are not left out in another`() async throws {
        try await withAPI(Self.setup()) { api, loop in
            let (one, other) = (Field.json + ["X-Ladle-Session: one"], Field.json + ["X-Ladle-Session: other"])
            let next = Self.body(("user", "hello"), ("user", "next"))
            #expect(try await api.post(Self.chat, one, Self.body(("user", "hello")), on: loop).status == 200)
            #expect(try await api.post(Self.chat, other, next, on: loop).status == 200)
            #expect(try await api.post(Self.chat, one, next, on: loop).status == 200)
            let said = try await Self.said(api, on: loop)
            #expect(said == ["hello", "hello\nnext", "next"])
        }
    }

    @Test func `an old answer is not joined after a restart either`() async throws {
        try await withAPI(Self.setup()) { api, loop in
            let voice = ["X-Ladle-Session: voice"]
            let yes = Self.body(("user", "yes"))
            _ = try await api.post(Self.chat, Field.json + voice, yes, on: loop)
            try await api.advance(1_000, on: loop)
            try await api.restart(on: loop)
            try await api.advance(60_000, on: loop)
            _ = try await api.open("POST", Self.chat, Self.retry + voice, body: yes, on: loop)
            let said = try await Self.said(api, on: loop)
            #expect(said == ["yes", "yes"])
        }
    }
}
