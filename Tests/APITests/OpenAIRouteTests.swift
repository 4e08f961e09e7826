import DemoGateway
import EventLoops
import JSONBytes
import TestSupport
import Testing

@testable import API

/// `/openai/v1` against the demo gateway, as OpenAI's clients use it.
struct OpenAIRouteTests {
    private static func setup(_ change: @escaping @Sendable (inout DemoGatewayOptions) -> Void = { _ in })
        -> APIBench.Setup
    {
        APIBench.Setup(api: { $0.openAI.isEnabled = true }, demo: change)
    }

    static let chat = "/openai/v1/chat/completions"
    static let responses = "/openai/v1/responses"

    private static func body(_ text: String, _ more: String = "") -> String {
        #"{"model":"ladle","messages":[{"role":"user","content":"\#(text)"}]\#(more)}"#
    }

    /// The objects behind `data:`, without the end mark.
    private static func chunks(_ text: String) -> [JSONValue] {
        text.split(separator: "\n").filter { $0.hasPrefix("data: {") }.compactMap {
            try? JSONDocument(parsing: Array($0.dropFirst(6).utf8)).root
        }
    }

    private static func content(_ text: String) -> String {
        chunks(text).compactMap { $0["choices"]?[0]?["delta"]?["content"]?.string }.joined()
    }

    private static func messages(_ api: APIBench, on loop: isolated EventLoop) async throws -> Int {
        try await api.get("/v1/outbox?limit=100", on: loop).json["entries"]?.count ?? -1
    }

    // MARK: The door

    @Test func `the door is off until it is opened, and then errors are OpenAI's`() async throws {
        try await withAPI(.demo) { api, loop in
            let off = try await api.get("/openai/v1/models", on: loop)
            #expect(off.status == 404 && off["code"] == "NOT_FOUND")
        }
        try await withAPI(Self.setup()) { api, loop in
            let bound = try await api.token("read", on: loop).bearer
            let cases: [(method: String, path: String, fields: [String], status: Int, code: String)] = [
                ("GET", "/openai/v1/nothing", [], 404, "not_found"),
                ("DELETE", "/openai/v1/models", [], 405, "method_not_allowed"),
                ("GET", "/openai/v1/models", ["Authorization: Bearer ldl_wrong"], 401, "invalid_api_key"),
                ("GET", "/openai/v1/models", Field.forwarded, 401, "invalid_api_key"),
                ("GET", "/openai/v1/models", bound, 403, "insufficient_permissions"),
                ("GET", "/openai/v1/models", ["Origin: http://evil.example"], 403, "insufficient_permissions"),
                ("GET", "/openai/v1/responses/resp_x", [], 404, "response_not_found"),
                ("POST", "/openai/v1/responses/resp_x/cancel", [], 404, "response_not_found"),
                ("GET", "/openai/v1/responses/resp_x?starting_after=no", [], 400, "invalid_request_error"),
                ("GET", "/openai/v1/conversations/conv_x", [], 404, "conversation_not_found"),
            ]
            for item in cases {
                let answer = try await api.open(item.method, item.path, item.fields, on: loop)
                if !answer.hasEnded { try await api.advance(2000, on: loop) }
                let error = answer.answer?.json["error"]
                #expect(answer.answer?.status == item.status, "\(item.path): \(answer.text)")
                #expect(
                    error?["code"]?.string == item.code && error?["message"]?.string?.isEmpty == false,
                    "\(item.path)"
                )
                #expect(error?["param"] != nil && error?["type"] != nil)
                #expect(answer.answer?.field("Content-Type") == "application/json")
            }
            let malformed = try await api.post(Self.chat, Field.json, "{", on: loop)
            #expect(malformed.status == 400 && malformed.json["error"]?["code"]?.string == "invalid_request_error")
        }
    }

    @Test func `models are agents`() async throws {
        try await withAPI(Self.setup()) { api, loop in
            let list = try await api.get("/openai/v1/models", on: loop)
            #expect(list.json["object"]?.string == "list")
            #expect(
                list.json["data"]?.elements.compactMap { $0["id"]?.string } == [
                    "ladle", "ladle/main", "ladle/scout", "ladle/tasks",
                ]
            )
            let tag = try #require(list.field("ETag"))
            #expect(try await api.get("/openai/v1/models", ["If-None-Match: \(tag)"], on: loop).status == 304)
            for path in ["ladle", "ladle/main", "ladle%2Fmain"] {
                #expect(try await api.get("/openai/v1/models/\(path)", on: loop)["object"] == "model", "\(path)")
            }
            let unknown = try await api.get("/openai/v1/models/gpt-4o", on: loop)
            #expect(unknown.status == 404 && unknown.json["error"]?["code"]?.string == "model_not_found")
            let chat = try await api.post(
                Self.chat,
                Field.json,
                #"{"model":"gpt-4o","messages":[{"role":"user","content":"x"}]}"#,
                on: loop
            )
            #expect(chat.status == 404 && chat.json["error"]?["message"]?.string?.contains("ladle/scout") == true)
            #expect(try await Self.messages(api, on: loop) == 0)
        }
    }

    // MARK: Chat

    @Test func `a whole answer has the text, its session and its run`() async throws {
        try await withAPI(Self.setup()) { api, loop in
            let answer = try await api.post(
                Self.chat,
                Field.json,
                Self.body("hello", #","temperature":1,"tools":[]"#),
                on: loop
            )
            #expect(answer.status == 200, "\(answer)")
            let choice = answer.json["choices"]?[0]
            #expect(choice?["message"]?["content"]?.string == "Hello! You said: hello")
            #expect(choice?["finish_reason"]?.string == "stop" && answer["object"] == "chat.completion")
            #expect(answer.field("Ladle-Ignored") == "temperature, tools")
            let run = try #require(answer.field("Ladle-Run"))
            #expect(answer["id"] == "chatcmpl-\(run)")
            #expect(answer.field("Ladle-Session") == "agent:main:openai-\(run)")
        }
    }

    @Test func `a stream begins at once, tells steps as reasoning and ends with DONE`() async throws {
        try await withAPI(Self.setup { $0.speed = 1 }) { api, loop in
            let stream = try await api.open(
                "POST",
                Self.chat,
                Field.json,
                body: Self.body("append the weather", #","stream":true"#),
                on: loop
            )
            #expect(stream.answer?.field("Content-Type")?.hasPrefix("text/event-stream") == true)
            #expect(Self.chunks(stream.text).first?["choices"]?[0]?["delta"]?["role"]?.string == "assistant")
            try await api.advance(20_000, on: loop)
            #expect(stream.hasEnded && stream.text.hasSuffix("data: [DONE]\n\n"))
            #expect(
                !stream.text.contains("\nid:") && !stream.text.contains("retry:") && !stream.text.contains("event:")
            )
            #expect(Self.content(stream.text).hasPrefix("Done: I appended"))
            let notes = Self.chunks(stream.text).compactMap {
                $0["choices"]?[0]?["delta"]?["reasoning_content"]?.string
            }
            #expect(notes.count == 1 && notes[0].hasSuffix("\n") && notes[0].contains("weather.txt"), "\(notes)")
        }
    }

    @Test func `a quiet stream gets comments, and a chunk each minute`() async throws {
        try await withAPI(.init(api: { $0.openAI.isEnabled = true })) { api, loop in
            let stream = try await api.open(
                "POST",
                Self.chat,
                Field.json,
                body: Self.body("hello", #","stream":true"#),
                on: loop
            )
            try await api.advance(130_000, on: loop)
            #expect(stream.text.contains(": keep-alive\n\n"))
            #expect(Self.chunks(stream.text).count { $0["choices"]?[0]?["delta"]?["content"]?.string == "" } >= 2)
            #expect(stream.text.contains("waiting: "))
            // The gateway stays away: the message is taken back, and the client is told.
            try await api.advance(600_000, on: loop)
            #expect(stream.hasEnded)
            #expect(
                Self.chunks(stream.text).last?["error"]?["code"]?.string == "gateway_unavailable",
                "\(stream.text.suffix(300))"
            )
            try await api.advance(1_000, on: loop)
            #expect(
                try await api.get("/v1/outbox?limit=5", on: loop).json["entries"]?[0]?["state"]?.string == "cancelled"
            )
        }
    }

    @Test func `a run that fails or is stopped is an error`() async throws {
        try await withAPI(Self.setup { $0.speed = 1 }) { api, loop in
            let whole = try await api.open("POST", Self.chat, Field.json, body: Self.body("fail with 401"), on: loop)
            let stream = try await api.open(
                "POST",
                Self.chat,
                Field.json,
                body: Self.body("fail with 401", #","stream":true"#),
                on: loop
            )
            let slow = try await api.open("POST", Self.chat, Field.json, body: Self.body("slow count"), on: loop)
            try await api.advance(2_000, on: loop)
            let run = try await api.get("/v1/outbox?limit=1", on: loop)
            let id = try #require(run.json["entries"]?[0]?["id"]?.string)
            _ = try await api.post("/v1/runs/\(id)/abort", Field.json, "{}", on: loop)
            try await api.advance(30_000, on: loop)
            #expect(whole.answer?.status == 422, "\(whole.text)")
            #expect(whole.answer?.json["error"]?["code"]?.string == "run_failed")
            #expect(
                Self.chunks(stream.text).last?["error"]?["code"]?.string == "run_failed",
                "\(stream.text.suffix(300))"
            )
            #expect(
                slow.answer?.status == 400 && slow.answer?.json["error"]?["code"]?.string == "run_aborted",
                "\(slow.text)"
            )
        }
    }

    @Test func `a closed stream stops the run after three seconds, and a repeat keeps it`() async throws {
        try await withAPI(Self.setup { $0.speed = 1 }) { api, loop in
            let body = Self.body("slow count", #","stream":true"#)
            let first = try await api.open("POST", Self.chat, Field.json, body: body, on: loop)
            try await api.advance(2_000, on: loop)
            first.leave(on: loop)
            try await api.advance(1_000, on: loop)
            let second = try await api.open("POST", Self.chat, Field.json, body: body, on: loop)
            try await api.advance(5_000, on: loop)
            #expect(try await Self.messages(api, on: loop) == 1)
            #expect(second.answer?.field("Ladle-Joined") == "true")
            #expect(Self.content(second.text).hasPrefix("number 1, number 2,"))
            second.leave(on: loop)
            try await api.advance(5_000, on: loop)
            #expect(try await api.get("/v1/runs?limit=1", on: loop).json["runs"]?[0]?["state"]?.string == "aborted")
            // A run that was stopped is not joined.
            _ = try await api.open("POST", Self.chat, Field.json, body: body, on: loop)
            #expect(try await Self.messages(api, on: loop) == 3)
        }
    }

    @Test func `a whole answer goes on without its client, and the retry gets it`() async throws {
        try await withAPI(Self.setup { $0.speed = 1 }) { api, loop in
            let first = try await api.open(
                "POST",
                Self.chat,
                Field.json,
                body: Self.body("append the weather"),
                on: loop
            )
            try await api.advance(1_000, on: loop)
            first.leave(on: loop)
            try await api.advance(20_000, on: loop)
            let retry = Field.json + ["x-stainless-retry-count: 1"]
            let second = try await api.post(Self.chat, retry, Self.body("append the weather"), on: loop)
            #expect(second.json["choices"]?[0]?["message"]?["content"]?.string?.hasPrefix("Done") == true)
            #expect(try await Self.messages(api, on: loop) == 1)
            // It was delivered, so the same words once more are a second message.
            let third = try await api.open(
                "POST",
                Self.chat,
                Field.json,
                body: Self.body("append the weather"),
                on: loop
            )
            try await api.advance(20_000, on: loop)
            #expect(third.answer?.status == 200)
            #expect(try await Self.messages(api, on: loop) == 2)
        }
    }

    @Test func `a repeat joins after a restart too, and one key is one message`() async throws {
        try await withAPI(Self.setup()) { api, loop in
            let keyed = Field.json + ["Idempotency-Key: k1"]
            let first = try await api.post(Self.chat, keyed, Self.body("hello"), on: loop)
            try await api.restart(on: loop)
            let again = try await api.post(
                Self.chat,
                Field.json + ["x-stainless-retry-count: 2"],
                Self.body("hello"),
                on: loop
            )
            #expect(again.status == 200 && again["id"] == first["id"], "\(again)")
            let byKey = try await api.post(Self.chat, keyed, Self.body("hello"), on: loop)
            #expect(byKey["id"] == first["id"], "\(byKey)")
            let other = try await api.post(Self.chat, keyed, Self.body("goodbye"), on: loop)
            #expect(other.status == 400 && other.json["error"]?["param"]?.string == "Idempotency-Key")
            #expect(try await Self.messages(api, on: loop) == 1)
        }
    }

    // MARK: Side calls

    @Test func `side calls and probes begin no run`() async throws {
        try await withAPI(Self.setup()) { api, loop in
            let probe = try await api.post(
                Self.chat,
                Field.json,
                Self.body("What is the capital of France?", #","max_tokens":3"#),
                on: loop
            )
            #expect(probe.status == 200 && probe.field("Ladle-Run") == "none")
            #expect(probe.json["choices"]?[0]?["finish_reason"]?.string == "length")
            let streamed = try await api.post(
                Self.chat,
                Field.json,
                Self.body("hi", #","max_tokens":3,"stream":true"#),
                on: loop
            )
            #expect(streamed.body.hasSuffix("data: [DONE]\n\n"))
            let title = try await api.post(
                Self.chat,
                Field.json + ["X-Ladle-Task: title_generation"],
                Self.body("x"),
                on: loop
            )
            #expect(title.json["choices"]?[0]?["message"]?["content"]?.string == #"{"title":"Chat"}"#)
            let refused = try await api.post(
                Self.chat,
                Field.json + ["X-Ladle-Task: memory_review"],
                Self.body("x"),
                on: loop
            )
            #expect(refused.status == 400 && refused.json["error"]?["code"]?.string == "unsupported_task")
            let response = try await api.post(
                Self.responses,
                Field.json,
                #"{"model":"ladle","input":"hi","max_output_tokens":16}"#,
                on: loop
            )
            #expect(response["status"] == "completed")
            #expect(try await Self.messages(api, on: loop) == 0)
        }
    }

    // MARK: Sessions

    /// The session in which the door answered.
    private static func session(
        _ api: APIBench,
        _ body: String,
        _ fields: String...,
        on loop: isolated EventLoop
    ) async throws -> String {
        let answer = try await api.post(chat, Field.json + fields, body, on: loop)
        return answer.field("Ladle-Session") ?? "\(answer)"
    }

    @Test func `sessions follow headers, ULIDs and the turns themselves`() async throws {
        try await withAPI(Self.setup()) { api, loop in
            #expect(try await Self.session(api, Self.body("a"), "X-Ladle-Session: work", on: loop) == "agent:main:work")
            #expect(
                try await Self.session(api, Self.body("b"), "x-openclaw-session-key: agent:main:den", on: loop)
                    == "agent:main:den"
            )
            let chat = try await Self.session(api, Self.body("c"), "X-OpenWebUI-Chat-Id: 1", on: loop)
            #expect(try await Self.session(api, Self.body("d"), "X-OpenWebUI-Chat-Id: 1", on: loop) == chat)
            #expect(try await Self.session(api, Self.body("d"), "X-OpenWebUI-Chat-Id: 2", on: loop) != chat)
            let ulid = #","user":"01JAXV5Z6N8Q2R4T6W8Y0ABCDE""#
            #expect(
                try await Self.session(api, Self.body("e", ulid), on: loop)
                    == (try await Self.session(api, Self.body("f", ulid), on: loop))
            )
            let raycast = #","user":"raycast-extension""#
            #expect(
                try await Self.session(api, Self.body("g", raycast), on: loop)
                    != (try await Self.session(api, Self.body("h", raycast), on: loop))
            )
            // The client repeats our own answer.
            let first = try await Self.session(api, Self.body("one"), on: loop)
            let history = #"{"role":"user","content":"one"},{"role":"assistant","content":"Hello! You said: one"}"#
            let next =
                #"{"model":"ladle","messages":[{"role":"system","content":"x"},\#(history),{"role":"user","content":"two"}]}"#
            #expect(try await Self.session(api, next, on: loop) == first)
            let strange = next.replacing("You said: one", with: "You said: none")
            let unknown = try await api.post(Self.chat, Field.json, strange, on: loop)
            #expect(unknown.field("Ladle-Session") != first && unknown.field("Ladle-Session-New") == "history-unknown")
            #expect(
                try await api.post(Self.chat, Field.json + ["X-Ladle-Session: cron:x"], Self.body("x"), on: loop).status
                    == 400
            )
        }
    }

    @Test func `a key of one session always talks there, one of several has to say where`() async throws {
        try await withAPI(Self.setup()) { api, loop in
            let one = try await api.token(
                "send",
                more: #","sessions":["agent:main:kitchen"],"paths":["/openai"]"#,
                on: loop
            ).bearer
            let answer = try await api.post(
                Self.chat,
                Field.json + one + ["X-Ladle-Session: main"],
                Self.body("x"),
                on: loop
            )
            #expect(answer.field("Ladle-Session") == "agent:main:kitchen", "\(answer)")
            let two = try await api.token("send", more: #","sessions":["agent:main:a","agent:main:b"]"#, on: loop)
                .bearer
            let refused = try await api.post(Self.chat, Field.json + two, Self.body("x"), on: loop)
            #expect(refused.status == 403 && refused.json["error"]?["param"]?.string == "X-Ladle-Session")
            let named = try await api.post(
                Self.chat,
                Field.json + two,
                Self.body("x").replacing(#""ladle""#, with: #""ladle/main@b""#),
                on: loop
            )
            #expect(named.field("Ladle-Session") == "agent:main:b", "\(named)")
            #expect(try await api.get("/v1/status", one, on: loop).status == 403)
        }
    }

    // MARK: Responses

    @Test func `a response is kept, and the next one goes on in its session`() async throws {
        try await withAPI(Self.setup()) { api, loop in
            let made = try await api.post(
                Self.responses,
                Field.json,
                #"{"model":"ladle","input":"hello","metadata":{"a":"b"}}"#,
                on: loop
            )
            #expect(made.status == 200 && made["status"] == "completed", "\(made)")
            #expect(made.json["output"]?[0]?["content"]?[0]?["text"]?.string == "Hello! You said: hello", "\(made)")
            let id = try #require(made["id"])
            let read = try await api.get("/openai/v1/responses/\(id)", on: loop)
            #expect(read.body == made.body)
            try await api.restart(on: loop)
            let kept = try await api.get("/openai/v1/responses/\(id)", on: loop)
            #expect(kept.body == made.body)
            let items = try await api.get("/openai/v1/responses/\(id)/input_items", on: loop)
            #expect(items.json["data"]?[0]?["content"]?[0]?["text"]?.string == "hello")
            #expect(
                try await api.request("DELETE", "/openai/v1/responses/\(id)", on: loop).json["deleted"]?.bool == true
            )
            #expect(try await api.get("/openai/v1/responses/\(id)", on: loop).status == 404)
            let gone = #"{"model":"ladle","input":"more","previous_response_id":"\#(id)"}"#
            let lost = try await api.post(Self.responses, Field.json, gone, on: loop)
            #expect(lost.status == 404 && lost.json["error"]?["code"]?.string == "previous_response_not_found")
        }
    }

    @Test func `a conversation is one session`() async throws {
        try await withAPI(Self.setup()) { api, loop in
            let made = try await api.post(
                "/openai/v1/conversations",
                Field.json,
                #"{"metadata":{"topic":"x"}}"#,
                on: loop
            )
            let id = try #require(made["id"])
            #expect(id.hasPrefix("conv_") && made["object"] == "conversation")
            var sessions: [String?] = []
            for text in ["a", "b"] {
                let body = #"{"model":"ladle","input":"\#(text)","conversation":"\#(id)"}"#
                sessions.append(try await api.post(Self.responses, Field.json, body, on: loop).field("Ladle-Session"))
            }
            #expect(sessions[0] != nil && sessions[0] == sessions[1])
            let changed = try await api.post(
                "/openai/v1/conversations/\(id)",
                Field.json,
                #"{"metadata":{"topic":"y"}}"#,
                on: loop
            )
            #expect(changed.json["metadata"]?["topic"]?.string == "y")
            #expect(try await api.request("DELETE", "/openai/v1/conversations/\(id)", on: loop).status == 200)
            #expect(try await api.get("/openai/v1/conversations/\(id)", on: loop).status == 404)
        }
    }

    @Test func `a background response can be read, resumed after a restart and cancelled`() async throws {
        try await withAPI(Self.setup { $0.speed = 1 }) { api, loop in
            let body = #"{"model":"ladle","input":"slow count","background":true,"stream":true}"#
            let stream = try await api.open("POST", Self.responses, Field.json, body: body, on: loop)
            try await api.advance(4_000, on: loop)
            let seen = Self.chunks(stream.text)
            stream.leave(on: loop)
            let id = try #require(seen.first?["response"]?["id"]?.string)
            let last = try #require(seen.last?["sequence_number"]?.int)
            let before = seen.filter { $0["type"]?.equals("response.output_text.delta") ?? false }
                .compactMap { $0["delta"]?.string }.joined()
            try await api.advance(3_500, on: loop)
            #expect(try await api.get("/openai/v1/responses/\(id)", on: loop)["status"] == "in_progress")
            let path = "/openai/v1/responses/\(id)?stream=true&starting_after=\(last)"
            let rest = try await api.open("GET", path, on: loop)
            try await api.advance(30_000, on: loop)
            #expect(rest.hasEnded)
            let events = Self.chunks(rest.text)
            #expect(events.allSatisfy { ($0["sequence_number"]?.int ?? 0) > last })
            let after = events.filter { $0["type"]?.equals("response.output_text.delta") ?? false }
                .compactMap { $0["delta"]?.string }.joined()
            let whole = (1...30).map { "number \($0)," }.joined(separator: " ")
            #expect(before + after == whole && !before.isEmpty)
            #expect(events.last?["type"]?.string == "response.completed")
            // A second reader gets the same numbers from the beginning, and so does one of the next process.
            let again = try await api.open("GET", "/openai/v1/responses/\(id)?stream=true", on: loop)
            try await api.restart(on: loop)
            let later = try await api.open("GET", "/openai/v1/responses/\(id)?stream=true", on: loop)
            #expect(Self.chunks(again.text).last?["sequence_number"]?.int == events.last?["sequence_number"]?.int)
            #expect(later.text == again.text)
        }
    }

    @Test func `a cancelled response says so, as often as it is asked`() async throws {
        try await withAPI(Self.setup { $0.speed = 1 }) { api, loop in
            let made = try await api.post(
                Self.responses,
                Field.json,
                #"{"model":"ladle","input":"slow count","background":true}"#,
                on: loop
            )
            #expect(made["status"] == "queued", "\(made)")
            let id = try #require(made["id"])
            try await api.advance(3_000, on: loop)
            for _ in 0..<2 {
                let request = try await api.open(
                    "POST",
                    "/openai/v1/responses/\(id)/cancel",
                    Field.json,
                    body: "{}",
                    on: loop
                )
                try await api.advance(6_000, on: loop)
                #expect(request.answer?["status"] == "cancelled", "\(request.text)")
            }
            #expect(try await api.get("/openai/v1/responses/\(id)", on: loop)["status"] == "cancelled")
        }
    }

    @Test func `another key does not see a response`() async throws {
        try await withAPI(Self.setup()) { api, loop in
            let made = try await api.post(Self.responses, Field.json, #"{"model":"ladle","input":"hello"}"#, on: loop)
            let id = try #require(made["id"])
            let other = try await api.token("send", on: loop).bearer
            #expect(try await api.get("/openai/v1/responses/\(id)", other, on: loop).status == 404)
        }
    }
}
