import DemoGateway
import EventLoops
import JSONBytes
import TestSupport
import Testing

@testable import API

/// `/ollama/api` against the demo gateway. Ollama's own library asks it in `Tests/Proof/openai_door.py`.
struct OllamaRouteTests {
    private static let chat = "/ollama/api/chat"

    private static func setup(speed: Double = 0, isOpen: Bool = true) -> APIBench.Setup {
        APIBench.Setup(api: { $0.openAI.isEnabled = isOpen }, demo: { $0.speed = speed })
    }

    private static func body(_ text: String, _ more: String = "") -> String {
        #"{"model":"ladle","messages":[{"role":"user","content":"\#(text)"}]\#(more)}"#
    }

    private static func lines(_ text: String) throws -> [JSONValue] {
        try text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map {
            try JSONDocument(parsing: Array($0.utf8)).root
        }
    }

    @Test func `models are agents, and errors are Ollama's`() async throws {
        try await withAPI(Self.setup()) { api, loop in
            let names = try await api.get("/ollama/api/tags", on: loop).json["models"]?.elements.map {
                $0["name"]?.string
            }
            #expect(names == ["ladle", "ladle/main", "ladle/scout", "ladle/tasks"])
            #expect(try await api.get("/ollama/api/version", on: loop)["version"] == "0.0.0")
            let shown = try await api.post("/ollama/api/show", Field.json, #"{"model":"ladle:latest"}"#, on: loop)
            #expect(shown.status == 200 && shown.json["capabilities"]?.count == 3)
            for (path, body, status, words) in [
                ("/ollama/api/show", #"{"model":"x\u001b[2J"}"#, 404, "not found"),
                ("/ollama/api/show", "{}", 400, "`model` is missing"),
                ("/ollama/api/pull", #"{"model":"ladle"}"#, 400, "nothing to pull"),
                (Self.chat, #"{"model":"gpt","messages":[{"role":"user","content":"x"}]}"#, 404, "There is no model"),
                (Self.chat, Self.body("x", #","format":"json""#), 400, "`format`"),
                (
                    Self.chat, #"{"model":"ladle","messages":[{"role":"user","content":"x","images":["no"]}]}"#, 400,
                    "PNG"
                ),
                ("/ollama/api/none", "{}", 404, ""),
            ] {
                let answer = try await api.post(path, Field.json, body, on: loop)
                #expect(answer.status == status && answer.json.count == 1, "\(path) \(answer)")
                let error = try #require(answer["error"])
                #expect(error.contains(words) && !error.contains("\u{1b}"), "\(error)")
            }
            let foreign = try await api.token("read", on: loop).bearer
            let refused = try await api.get("/ollama/api/tags", foreign, on: loop)
            #expect(refused.status == 403 && refused["error"] != nil)
            let key = try await api.token("send", more: #","paths":["/ollama"]"#, on: loop).bearer
            #expect(try await api.get("/ollama/api/tags", key, on: loop).status == 200)
            #expect(try await api.get("/openai/v1/models", key, on: loop).status == 403)
        }
        try await withAPI(Self.setup(isOpen: false)) { api, loop in
            let shut = try await api.get("/ollama/api/tags", on: loop)
            #expect(shut["code"] == "NOT_FOUND")
        }
    }

    @Test func `an answer is streamed unless the request says otherwise`() async throws {
        try await withAPI(Self.setup()) { api, loop in
            let stream = try await api.post(Self.chat, Field.json, Self.body("append the weather"), on: loop)
            #expect(stream.field("Content-Type") == "application/x-ndjson")
            let lines = try Self.lines(stream.body)
            #expect(lines.dropLast().allSatisfy { $0["done"]?.bool == false } && lines.last?["done"]?.bool == true)
            #expect(lines.last?["done_reason"]?.string == "stop" && lines.last?["total_duration"]?.int != nil)
            let text = lines.compactMap { $0["message"]?["content"]?.string }.joined()
            #expect(text.hasPrefix("Done: I appended"))
            #expect(lines.contains { $0["message"]?["thinking"]?.string?.isEmpty == false })
            let whole = try await api.post(Self.chat, Field.json, Self.body("hello", #","stream":false"#), on: loop)
            #expect(whole.field("Content-Type") == "application/json")
            #expect(whole.json["message"]?["content"]?.string == "Hello! You said: hello", "\(whole)")
            #expect(whole.json["done"]?.bool == true)
            let probe = #","options":{"num_predict":1}"#
            let before = try await api.get("/v1/outbox?limit=100", on: loop).json["entries"]?.count
            #expect(try await api.post(Self.chat, Field.json, Self.body("hi", probe), on: loop).status == 200)
            #expect(try await api.get("/v1/outbox?limit=100", on: loop).json["entries"]?.count == before)
        }
    }

    @Test func `a quiet stream has no line that is not an object, and a failed run is one`() async throws {
        try await withAPI(Self.setup(speed: 1)) { api, loop in
            let quiet = try await api.open("POST", Self.chat, Field.json, body: Self.body("approve rm x"), on: loop)
            try await api.advance(130_000, on: loop)
            #expect(try Self.lines(quiet.text).count >= 3, "\(quiet.text)")
            let failed = try await api.open("POST", Self.chat, Field.json, body: Self.body("fail with 401"), on: loop)
            try await api.advance(30_000, on: loop)
            #expect(try Self.lines(failed.text).last?["error"]?.string?.contains("401") == true, "\(failed.text)")
        }
    }
}
