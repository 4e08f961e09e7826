import DemoGateway
import EventLoops
import Gateway
import JSONBytes
import TestSupport
import Testing

struct SessionRouteTests {
    private static func setup(_ release: DemoRelease) -> APIBench.Setup {
        APIBench.Setup(demo: { $0.release = release })
    }

    private static let any = Field.json + ["If-Match: *"]

    private func made(_ body: String, _ api: APIBench, on loop: isolated EventLoop) async throws -> (String, JSONValue)
    {
        let answer = try await api.post("/v1/sessions", Field.json, body, on: loop)
        #expect(answer.status == 201, "\(answer.body)")
        let path = try #require(answer.field("location"))
        return (path, answer.json)
    }

    private func patchMain(_ body: String, _ api: APIBench, on loop: isolated EventLoop) async throws -> Answer {
        try await api.request("PATCH", "/v1/sessions/main", Self.any, body: body, on: loop)
    }

    /// A gateway of spring 2026 tells of no new session, and the list of a moment ago does not have it.
    @Test(arguments: [DemoRelease.march, .june])
    func `a session that just answered is found`(_ release: DemoRelease) async throws {
        try await withAPI(Self.setup(release)) { api, loop in
            let before = try await api.get("/v1/sessions/fresh", on: loop)
            let sent = try await api.say("hello", "?session=fresh&wait=20", on: loop)
            let after = try await api.get("/v1/sessions/fresh", on: loop)
            let other = try await api.get("/v1/sessions/other", on: loop)
            #expect([before.status, sent.status, after.status, other.status] == [404, 200, 200, 404])
        }
    }

    @Test(arguments: DemoRelease.allCases)
    func `a session is made, renamed, reset and deleted on every release`(_ release: DemoRelease) async throws {
        try await withAPI(Self.setup(release)) { api, loop in
            let (path, new) = try await made(#"{"label":"Kitchen"}"#, api, on: loop)
            #expect(new["title"]?.string == "Kitchen" && new["titleFrom"]?.string == "label")
            #expect(new["kind"]?.string == "chat")
            #expect(new["pending"]?["outbox"]?.int == 0)

            let patch = try await api.request("PATCH", path, Self.any, body: #"{"label":"Pantry"}"#, on: loop)
            #expect(patch.status == 200, "\(patch.body)")
            #expect(patch.json["session"]?["title"]?.string == "Pantry")
            let got = try await api.get(path, on: loop)
            #expect(got.json["label"]?.string == "Pantry")
            let tag = try #require(got.field("etag"))

            let reset = try await api.post("\(path)/reset", ["If-Match: \(tag)"], on: loop)
            #expect(reset.status == 200, "\(reset.body)")
            #expect(reset.json["sessionId"]?.string != got.json["sessionId"]?.string)
            let again = try await api.post("\(path)/reset", ["If-Match: \(tag)"], on: loop)
            #expect(again.status == 412 && again["code"] == "SESSION_MOVED")

            #expect(try await api.request("DELETE", path, on: loop).status == 428)
            #expect(try await api.request("DELETE", path, ["If-Match: \(tag)"], on: loop).status == 412)
            #expect(try await api.request("DELETE", path, ["If-Match: *"], on: loop).status == 200)
            #expect(try await api.get(path, on: loop)["code"] == "SESSION_NOT_FOUND")
            #expect(try await api.request("DELETE", path, ["If-Match: *"], on: loop).status == 404)
        }
    }

    @Test(arguments: DemoRelease.allCases)
    func `a patch never makes a session`(_ release: DemoRelease) async throws {
        try await withAPI(Self.setup(release)) { api, loop in
            let path = "/v1/sessions/agent%3Amain%3Anobody"
            let answer = try await api.request("PATCH", path, Self.any, body: #"{"label":"x"}"#, on: loop)
            #expect(answer.status == 404 && answer["code"] == "SESSION_NOT_FOUND")
            let keys = try await api.get("/v1/sessions?refresh=true", on: loop).json["sessions"]?.elements
                .compactMap { $0["key"]?.string }
            #expect(keys == ["agent:main:main"])
        }
    }

    @Test func `an ability that the release lacks is answered 501 by name, and nothing is changed`() async throws {
        for (release, status) in [(DemoRelease.march, 501), (.june, 501), (.autumn, 200)] {
            try await withAPI(Self.setup(release)) { api, loop in
                let body = #"{"label":"Kept","archived":true}"#
                let answer = try await api.request("PATCH", "/v1/sessions/main", Self.any, body: body, on: loop)
                #expect(answer.status == status, "\(release): \(answer.body)")
                if status == 501 {
                    #expect(answer.json["capability"]?.string == "sessions.archive")
                    #expect(answer.json["needs"]?.string == "2026.7" && answer.json["retryable"]?.bool == false)
                    #expect(try await api.get("/v1/sessions/main", on: loop).json["label"] == nil)
                }
            }
        }
    }

    @Test func `refusals of the gateway have codes of their own`() async throws {
        try await withAPI(.demo) { api, loop in
            _ = try await made(#"{"label":"Kitchen"}"#, api, on: loop)
            #expect(try await patchMain(#"{"label":"Kitchen"}"#, api, on: loop)["code"] == "LABEL_TAKEN")
            let model = try await patchMain(#"{"model":"demo/demo-11"}"#, api, on: loop)
            #expect(model["code"] == "UNKNOWN_MODEL" && model.body.contains("`demo/demo-1`"))
            #expect(try await patchMain(#"{"thinking":"utter"}"#, api, on: loop)["code"] == "INVALID_FIELD")
            #expect(try await patchMain(#"{"verbose":"much"}"#, api, on: loop)["code"] == "GATEWAY_REFUSED")
            #expect(
                try await patchMain(#"{"lable":"x"}"#, api, on: loop).json["hint"]?.string?.contains("`label`") == true
            )
            #expect(try await patchMain("{}", api, on: loop).status == 422)
            let main = try await api.request("DELETE", "/v1/sessions/main", ["If-Match: *"], on: loop)
            #expect(main.status == 409 && main["code"] == "MAIN_SESSION")
        }
    }

    @Test(arguments: DemoRelease.allCases)
    func `the same key makes the same session and says the first message once`(_ release: DemoRelease) async throws {
        try await withAPI(Self.setup(release)) { api, loop in
            let fields = Field.json + ["Idempotency-Key: den"]
            let body = #"{"label":"Den","text":"hello"}"#
            let first = try await api.post("/v1/sessions", fields, body, on: loop)
            #expect(first.status == 201 && first.json["entry"]?["text"]?.string == "hello", "\(first.body)")
            let again = try await api.post("/v1/sessions", fields, body, on: loop)
            #expect(again.status == 201 && again.field("idempotency-replayed") == "true")
            #expect(again.field("location") == first.field("location"))
            #expect(again.json["entry"]?["id"]?.string == first.json["entry"]?["id"]?.string)
            api.bench.journal.hold()
            var repeats: [MemoryRequest] = []
            for _ in 0..<3 { repeats.append(try await api.open("POST", "/v1/sessions", fields, body: body, on: loop)) }
            api.bench.journal.release()
            try await api.bench.settle(on: loop)
            #expect(repeats.map { $0.answer?.status } == [201, 201, 201])
            let other = try await api.post("/v1/sessions", fields, #"{"text":"good night"}"#, on: loop)
            #expect(other.status == 422 && other["code"] == "IDEMPOTENCY_KEY_REUSED")
            #expect(other.field("location") == first.field("location"))
            let stop = try await api.post("/v1/sessions", Field.json, #"{"text":"stop"}"#, on: loop)
            #expect(stop.status == 422 && stop["code"] == "STOP_WORD")
            let list = try await api.get("/v1/sessions?refresh=true", on: loop).json
            #expect(list["sessions"]?.count == 2)
        }
    }

    @Test func `each caller has its own read marks`() async throws {
        try await withAPI(.demo) { api, loop in
            let none = try await api.request("PUT", "/v1/sessions/main/read", on: loop)
            #expect(none.status == 200 && none.json["unread"] == nil)
            let missing = try await api.request(
                "PUT",
                "/v1/sessions/main/read",
                Field.json,
                body: #"{"messageId":"none"}"#,
                on: loop
            )
            #expect(missing.status == 404 && missing["code"] == "PLACE_NOT_FOUND")
            let wrong = try await api.request(
                "PUT",
                "/v1/sessions/main/read",
                Field.json,
                body: #"{"mesageId":"x"}"#,
                on: loop
            )
            #expect(wrong.status == 422 && wrong.body.contains("`messageId`"))
        }
    }

    @Test func `a swap to a model that does not think tells what else changed`() async throws {
        try await withAPI(.demo) { api, loop in
            let path = "/v1/sessions/main"
            #expect(
                try await api.request("PATCH", path, Self.any, body: #"{"thinking":"high"}"#, on: loop).status == 200
            )
            let answer = try await api.request("PATCH", path, Self.any, body: #"{"model":"demo/demo-2"}"#, on: loop)
            #expect(answer.json["changed"]?.elements.compactMap(\.string) == ["thinking"])
            #expect(answer.json["session"]?["thinking"]?.string == "off")
        }
    }

    @Test func `without a link nothing is done, and the answer says when to try again`() async throws {
        try await withAPI(.demo) { api, loop in
            try await api.demo?.drop(on: loop)
            let answer = try await api.request(
                "PATCH",
                "/v1/sessions/main",
                Self.any,
                body: #"{"label":"x"}"#,
                on: loop
            )
            #expect(answer.status == 503 && answer["code"] == "GATEWAY_UNAVAILABLE")
            #expect(answer.field("retry-after") != nil)
        }
    }

    @Test func `while the gateway drains lists come from memory, and a change is told when to try again`() async throws
    {
        try await withAPI(Self.setup(.october)) { api, loop in
            #expect(try await api.get("/v1/sessions", on: loop).json["live"]?.bool == true)
            let demo = try #require(api.demo)
            let model = try #require(demo.gateway.core as? DemoGatewayModel)
            demo.gateway.take(model.pause(.draining, now: demo.gateway.now))
            let answer = try await patchMain(#"{"label":"x"}"#, api, on: loop)
            #expect(answer.status == 503 && answer["code"] == "GATEWAY_UNAVAILABLE", "\(answer.body)")
            #expect(answer.field("retry-after") == "1")
            let list = try await api.get("/v1/sessions?refresh=true", on: loop)
            #expect(list.status == 200 && list.json["live"]?.bool == false, "\(list.body)")
        }
    }

    @Test func `a compaction that takes long is told by an event`() async throws {
        try await withAPI(Self.setup(.march)) { api, loop in
            let answer = try await api.post("/v1/sessions/main/compact", ["If-Match: *"], on: loop)
            #expect(answer.status == 200, "\(answer.body)")
        }
        try await withAPI { api, loop in
            try await api.bench.open(methods: ["sessions.compact", "sessions.subscribe"], on: loop)
            let row = #"{"sessions":[{"key":"agent:main:main","sessionId":"a","updatedAt":1}]}"#
            api.gateway.next("sessions.list", ok(row), ok(row))
            api.gateway.silent = ["sessions.compact"]
            let request = try await api.open("POST", "/v1/sessions/main/compact", ["If-Match: *"], on: loop)
            #expect(!request.hasEnded)
            try await api.advance(2000, on: loop)
            #expect(request.answer?.status == 202)
            #expect(api.bench.data("session").isEmpty)
            api.gateway.answer("sessions.compact", ok(#"{"ok":true,"compacted":true}"#))
            try await api.bench.settle(on: loop)
            #expect(api.bench.data("session").map { $0["reason"]?.string } == ["compacted"])
        }
    }

    @Test func `sessions of machines are counted and not listed`() async throws {
        try await withAPI { api, loop in
            try await api.bench.open(on: loop)
            let keys = ["main", "cron:a:run:1", "cron:b", "subagent:1", "telegram:group:-100", "hook:x", "openai:y"]
            let rows = keys.enumerated().map { number, key in
                #"{"key":"agent:main:\#(key)","kind":"direct","sessionId":"s\#(number)","updatedAt":\#(100 - number)}"#
            }
            api.gateway.next("sessions.list", ok(#"{"sessions":[\#(rows.joined(separator: ","))]}"#))
            let list = try await api.get("/v1/sessions", on: loop).json
            #expect(
                list["sessions"]?.elements.compactMap { $0["key"]?.string }
                    == ["agent:main:main", "agent:main:telegram:group:-100"]
            )
            #expect(
                String(decoding: list["hidden"]?.raw ?? [], as: UTF8.self)
                    == #"{"cron":2,"hook":1,"subagent":1,"system":1}"#
            )
            let crons = try await api.get("/v1/sessions?kind=cron,hook&limit=2", on: loop).json
            #expect(crons["sessions"]?.count == 2)
            let before = try #require(crons["before"]?.string)
            let rest = try await api.get("/v1/sessions?kind=cron,hook&limit=2&before=\(before)", on: loop).json
            #expect(rest["sessions"]?.elements.compactMap { $0["key"]?.string } == ["agent:main:hook:x"])
            #expect(rest["before"] == nil)
            #expect(try await api.get("/v1/sessions?kind=all&search=TELE", on: loop).json["sessions"]?.count == 1)
            let wrong = try await api.get("/v1/sessions?kind=corn", on: loop)
            #expect(wrong.status == 400 && wrong.body.contains("cron?"))
            // All of these answers came from one list.
            #expect(api.gateway.requests("sessions.list").count == 1)
            _ = try await api.get("/v1/sessions?refresh=true", on: loop)
            #expect(api.gateway.requests("sessions.list").count == 2)
        }
    }

    @Test func `a recorded answer with prompts and files leaves none of them`() async throws {
        let recorded = try TestData.document("session-patch.v2026.6.11.json")
        let id = try #require(recorded["entry"]?["sessionId"]?.string)
        #expect(recorded.raw.count > 4_000)
        try await withAPI { api, loop in
            try await api.bench.open(methods: ["sessions.patch"], on: loop)
            let row = #"{"sessions":[{"key":"agent:main:main","sessionId":"\#(id)","updatedAt":1}]}"#
            api.gateway.next("sessions.list", ok(row), ok(row))
            api.gateway.next("sessions.patch", .ok(recorded))
            let answer = try await api.request(
                "PATCH",
                "/v1/sessions/main",
                Self.any,
                body: #"{"label":"x"}"#,
                on: loop
            )
            #expect(answer.status == 200 && answer.body.utf8.count < 2_048)
            #expect(!answer.body.contains("/home/") && !answer.body.contains("kills"))
        }
    }

    @Test func `a session that was deleted between check and patch is moved`() async throws {
        try await withAPI { api, loop in
            try await api.bench.open(methods: ["sessions.patch"], on: loop)
            let row = #"{"sessions":[{"key":"agent:main:main","sessionId":"old","updatedAt":1}]}"#
            api.gateway.next("sessions.list", ok(row))
            api.gateway.next("sessions.patch", ok(#"{"ok":true,"entry":{"sessionId":"fresh"}}"#))
            let answer = try await api.request(
                "PATCH",
                "/v1/sessions/main",
                Self.any,
                body: #"{"label":"x"}"#,
                on: loop
            )
            #expect(answer.status == 412 && answer["code"] == "SESSION_MOVED")
        }
    }

    @Test func `a token of one session sees no other`() async throws {
        try await withAPI(.demo) { api, loop in
            _ = try await made(#"{"label":"Other"}"#, api, on: loop)
            let bound = try await api.token("read", "control", more: #","sessions":["agent:main:den"]"#, on: loop)
                .bearer
            for (method, fields) in [("GET", bound), ("PATCH", bound + Self.any), ("DELETE", bound + ["If-Match: *"])] {
                let body = method == "PATCH" ? #"{"label":"x"}"# : nil
                let answer = try await api.request(method, "/v1/sessions/main", fields, body: body, on: loop)
                #expect(answer.status == 404, "\(method)")
            }
            let list = try await api.get("/v1/sessions?kind=all", bound, on: loop).json
            #expect(list["sessions"]?.count == 0 && list["hidden"]?.count == 0)
            let reader = try await api.token("read", on: loop).bearer
            let patch = try await api.request(
                "PATCH",
                "/v1/sessions/main",
                reader + Self.any,
                body: #"{"label":"x"}"#,
                on: loop
            )
            #expect(patch.status == 403)
        }
    }

    @Test func `keys with separators and of full length find their sessions`() async throws {
        try await withAPI { api, loop in
            try await api.bench.open(on: loop)
            let long = "agent:main:" + String(repeating: "k", count: 501)
            let keys = ["agent:main:telegram:group:-100/a%2fb", "agent:main:..", long]
            let rows = keys.map { #"{"key":"\#($0)","sessionId":"s","updatedAt":1}"# }
            api.gateway.next("sessions.list", ok(#"{"sessions":[\#(rows.joined(separator: ","))]}"#))
            for path in ["agent:main:telegram:group:-100%2Fa%252fb", "agent:main:..", long] {
                let answer = try await api.get("/v1/sessions/\(path)", on: loop)
                #expect(answer.status == 200, "\(path.prefix(60)): \(answer.body.prefix(200))")
            }
            #expect(try await api.get("/v1/sessions/\(long)k", on: loop).status == 404)
        }
    }

    @Test func `an alias names the session's own address`() async throws {
        try await withAPI(.demo) { api, loop in
            let answer = try await api.get("/v1/sessions/MAIN", on: loop)
            #expect(answer.field("content-location") == "/v1/sessions/agent%3Amain%3Amain")
            #expect(try await api.get("/v1/sessions/agent%3Amain%3Amain", on: loop).field("content-location") == nil)
        }
    }
}
