import Basics
import DemoGateway
import EventLoops
import JSONBytes
import TestSupport
import Testing

/// `POST /v1/messages` in all its forms, against the demo gateway at full speed.
struct SendRouteTests {
    @Test func `every form of a body arrives as the words it means`() async throws {
        try await withAPI(.demo) { api, loop in
            let forms: [(fields: [String], body: String, words: String)] = [
                (Field.json, #"{"text":"hello","colour":"red"}"#, "hello"),
                (Field.text, "hello & goodbye=1", "hello & goodbye=1"),
                (["Content-Type: text/plain; charset=utf-8"], "grüße", "grüße"),
                ([], "no type at all", "no type at all"),
                (Field.form, "turn the lights off", "turn the lights off"),
                (Field.form, "text=turn+the+lights%20off&session=main", "turn the lights off"),
                (Field.form, "message=100%25", "100%"),
                (Field.form, "colour=red&text=hello", "colour=red&text=hello"),
                (Field.form, "text=a & b", "text=a & b"),
                (Field.form, "50%", "50%"),
            ]
            for form in forms {
                let answer = try await api.post("/v1/messages", form.fields, form.body, on: loop)
                #expect(answer.status == 202, "\(form.body): \(answer)")
                #expect(answer.json["text"]?.string == form.words)
                let id = try #require(answer["id"])
                #expect(answer.field("Location") == "/v1/outbox/\(id)")
            }
        }
    }

    @Test func `a session that the gateway has may have any name, a new one only one that can be shown and typed`()
        async throws
    {
        try await withAPI { api, loop in
            try await api.bench.open(on: loop)
            api.gateway.next("sessions.list", ok(#"{"sessions":[{"key":"agent:main:it's","sessionId":"s"}]}"#))
            #expect(try await api.get("/v1/sessions?refresh=true", on: loop).status == 200)
            #expect(try await api.say("x", "?session=it%27s", on: loop).status == 202)
            let refused = try await api.say("x", "?session=its%27", on: loop)
            #expect(refused.status == 422 && refused["code"] == "INVALID_FIELD" && refused["field"] == "session")
            #expect(refused["detail"]?.contains("agent:main:its'") == true && refused["hint"] == "leave out '")
            let blank = try await api.say("x", "?session=a%20b", on: loop)
            #expect(blank["detail"]?.contains("has a blank in it") == true)
            #expect(blank["hint"] == "write - for each blank: a-b")
            let control = #"{"text":"x","session":"a\u001bb"}"#
            let escape = try await api.post("/v1/messages", Field.json, control, on: loop)
            #expect(escape["detail"]?.contains(#"has the control character \u{1B} in it"#) == true)
            #expect(escape["hint"] == #"leave out \u{1B}"#)
            #expect(try await api.say("x", "?session=UPPER", on: loop)["session"] == "agent:main:upper")
            #expect(try await api.post("/v1/wake", Field.json, #"{"text":"x","session":"$x"}"#, on: loop).status == 422)
        }
    }

    @Test func `an invalid message is refused with the field at fault, and nothing is stored`() async throws {
        try await withAPI(.demo) { api, loop in
            let past = "2020-01-01T00:00:00Z"
            let picture = #""mimeType":"image/png","data""#
            let cases: [(fields: [String], body: String, query: String, status: Int, field: String)] = [
                (Field.json, #"{"txt":"x"}"#, "", 422, "txt"),
                (Field.json, "{}", "", 422, "text"),
                (Field.json, #"{"text":7}"#, "", 422, "text"),
                (Field.json, #"{"text":""}"#, "", 422, "text"),
                (Field.text, "  \n ", "", 422, "text"),
                (Field.json, #"{"text":"x","session":"a b"}"#, "", 422, "session"),
                (Field.text, "x", "?session=a%20b", 400, "session"),
                (Field.json, #"{"text":"x","session":"x$(id)"}"#, "", 422, "session"),
                (Field.text, "x", "?session=%60id%60", 422, "session"),
                (Field.text, "x", "?session=it%27s", 422, "session"),
                (Field.text, "x", "?session=x%22y", 422, "session"),
                (Field.text, "x", "?session=x%5Cy", 422, "session"),
                (Field.text, "x", "?session=x%E2%80%AEy", 422, "session"),
                (Field.json, #"{"text":"x","notBefore":"\#(past)"}"#, "", 422, "notBefore"),
                (Field.json, #"{"text":"x","notBefore":"tomorrow"}"#, "", 422, "notBefore"),
                (Field.json, #"{"text":"x","ttlSeconds":-1}"#, "", 422, "ttlSeconds"),
                (Field.json, #"{"text":"x","ttlSeconds":"soon"}"#, "", 422, "ttlSeconds"),
                (Field.json, #"{"text":"x","thinking":"LOUD !"}"#, "", 422, "thinking"),
                (Field.json, #"{"text":"x","mode":"steer"}"#, "", 422, "mode"),
                (Field.json, #"{"text":"x"}"#, "?mode=now", 400, "mode"),
                (Field.json, #"{"text":"x","attachments":{}}"#, "", 422, "attachments"),
                (Field.json, #"{"text":"x","attachments":[{\#(picture):"no!"}]}"#, "", 422, "attachments[0].data"),
                (Field.json, #"{"text":"x","attachments":[{\#(picture):"aGFsbG8="}]}"#, "", 422, "attachments[0].data"),
                (
                    Field.json, #"{"text":"x","attachments":[{"mimeType":"png","data":"aA=="}]}"#, "", 422,
                    "attachments[0].mimeType"
                ),
                (Field.json, #"{"text":"x","thinking":"low"}"#, "?thinking=", 400, "thinking"),
                (Field.json, #"{"text":"x","session":"den"}"#, "?session=a%20b", 400, "session"),
                (Field.text, "x", "?wait=601", 400, "wait"),
                (Field.text, "x", "?force=maybe", 400, "force"),
                (Field.text + ["Idempotency-Key: a,b"], "x", "", 400, "Idempotency-Key"),
                (Field.text + ["Prefer: wait=soon"], "x", "", 400, "Prefer"),
                (Field.text + ["Content-Encoding: gzip"], "x", "", 415, "Content-Encoding"),
            ]
            for item in cases {
                let answer = try await api.post("/v1/messages\(item.query)", item.fields, item.body, on: loop)
                #expect(answer.status == item.status, "\(item.body): \(answer)")
                #expect(answer.json["field"]?.string == item.field, "\(item.body)")
            }
            let malformed = try await api.post("/v1/messages", Field.json, #"{"text":}"#, on: loop)
            #expect(malformed.status == 400)
            #expect(malformed.json["offset"]?.int == 8)
            #expect(try await api.post("/v1/messages", ["Content-Type: image/png"], "x", on: loop).status == 415)
            let large = String(repeating: "x", count: 300 << 10)
            let tooLarge = try await api.say(large, on: loop)
            #expect(tooLarge.status == 413)
            #expect(tooLarge["field"] == "text")
            #expect(try await api.get("/v1/outbox", on: loop).json["entries"]?.count == 0)
        }
    }

    @Test func `a page cannot make the owner's browser send a message`() async throws {
        try await withAPI(.demo) { api, loop in
            let fields = [
                "Origin: null", "Origin: http://evil.example", "Referer: http://evil.example/",
                "Sec-Fetch-Site: same-origin",
            ]
            for field in fields {
                for type in [Field.text, Field.form, []] {
                    let answer = try await api.post("/v1/messages", type + [field], "pay him", on: loop)
                    #expect(answer.status == 403)
                    #expect(answer["code"] == "CROSS_ORIGIN")
                }
            }
            #expect(
                try await api.say("hi", "", ["Sec-Fetch-Site: none"], on: loop).status == 202
            )
        }
    }

    @Test func `a wait answers with the run and its reply`() async throws {
        try await withAPI(.demo) { api, loop in
            let answer = try await api.say("append the weather to weather.txt", "?wait=20", on: loop)
            #expect(answer.status == 200, "\(answer)")
            let json = answer.json
            #expect(json["entry"]?["state"]?.string == "delivered")
            #expect(json["run"]?["state"]?.string == "completed")
            #expect(json["run"]?["steps"]?.count ?? 0 >= 2)
            #expect(json["reply"]?.string?.hasPrefix("Done: I appended") ?? false)
            #expect(json["run"]?["text"]?.string == json["reply"]?.string)

            let plain = try await api.say("hello there", "", ["Accept: text/plain", "Prefer: wait=20"], on: loop)
            #expect(plain.body == "Hello! You said: hello there\n")
            #expect(plain.field("Preference-Applied") == "wait=20")
            let silent = try await api.say("silent please", "?wait=20", on: loop)
            #expect(silent.json["reply"]?.string == "")
            let queued = try await api.say("hello", "", ["Accept: text/plain"], on: loop)
            #expect(queued.status == 202)
            #expect(queued.body.hasPrefix("queued "))
        }
    }

    @Test func `whoever waits for a message that waits is told why`() async throws {
        try await withAPI(.away) { api, loop in
            try await api.bench.drop(on: loop)
            let fields = Field.text + ["Accept: text/event-stream"]
            let stream = try await api.open("POST", "/v1/messages", fields, body: "hello", on: loop)
            try await api.advance(3_000, on: loop)
            let reason = #""blockedReason":"gateway offline: the test says so""#
            #expect(stream.text.contains(reason), "\(stream.text)")
            try await api.advance(60_000, on: loop)
            #expect(stream.text.ranges(of: reason).count == 1, "said once")
            let text = try await api.say("next", "", ["Accept: text/plain"], on: loop)
            #expect(text.body.hasSuffix(": gateway offline: the test says so\n"), "\(text.body)")
        }
    }

    @Test func `a provider's error and an abort end a wait with their reason`() async throws {
        try await withAPI(.init(demo: { $0.speed = 1 })) { api, loop in
            let path = "/v1/messages?wait=30"
            let failing = try await api.open("POST", path, Field.text, body: "fail with 401", on: loop)
            try await api.advance(20_000, on: loop)
            let failed = try #require(failing.answer)
            #expect(failed.status == 502, "\(failed)")
            #expect(failed["code"] == "RUN_FAILED")
            #expect(failed.json["detail"]?.string?.isEmpty == false)
            #expect(failed.json["run"]?["error"]?.string == failed.json["detail"]?.string)

            let waiting = try await api.open("POST", path, Field.text, body: "slow count", on: loop)
            try await api.advance(500, on: loop)
            let run = try #require(
                try await api.get("/v1/runs?active=true", on: loop).json["runs"]?[0]?["id"]?.string
            )
            #expect(try await api.post("/v1/runs/\(run)/abort", [], on: loop).json["aborted"]?.bool == true)
            try await api.advance(500, on: loop)
            let aborted = try #require(waiting.answer)
            #expect(aborted.status == 409)
            #expect(aborted["code"] == "RUN_ABORTED")
        }
    }

    @Test func `a streamed answer holds this message's events and ends with its run`() async throws {
        try await withAPI(.demo) { api, loop in
            let answer = try await api.say("hello", "", ["Accept: text/event-stream"], on: loop)
            #expect(answer.status == 200)
            #expect(answer.field("Content-Type") == "text/event-stream")
            let events = answer.body.split(separator: "\n").filter { $0.hasPrefix("event: ") }.map { $0.dropFirst(7) }
            #expect(events.first == "outbox")
            #expect(events.last == "run.ended")
            #expect(events.contains("run.started") && events.contains("run.delta"))
        }
    }

    @Test func `the pages of a token of two sessions hold what is its own and name nothing else`() async throws {
        try await withAPI(.demo) { api, loop in
            let two = #","sessions":["agent:main:a","agent:main:b"]"#
            let bearer = try await api.token("read", more: two, on: loop).bearer
            var own: [String: [String]] = [:]
            for session in ["a", "main", "b", "main", "a", "main"] {
                let sent = try await api.say("to \(session)", "?wait=20&session=\(session)", on: loop).json
                guard session != "main" else { continue }
                own["entries", default: []].insert(try #require(sent["entry"]?["id"]?.string), at: 0)
                own["runs", default: []].insert(try #require(sent["run"]?["id"]?.string), at: 0)
            }
            for (name, path) in [("entries", "/v1/outbox"), ("runs", "/v1/runs")] {
                var seen: [String] = []
                var before: String?
                for _ in 0..<10 {
                    let place = before.map { "&before=\($0)" } ?? ""
                    let page = try await api.get("\(path)?limit=1\(place)", bearer, on: loop).json
                    seen += page[name]?.elements.compactMap { $0["id"]?.string } ?? []
                    before = page["before"]?.string
                    guard let before else { break }
                    #expect(seen.last == before)
                }
                #expect(seen == own[name])
            }
        }
    }

    @Test func `a stop word is told about instead of being obeyed`() async throws {
        try await withAPI(.demo) { api, loop in
            let refused = try await api.say(" Stop! ", on: loop)
            #expect(refused.status == 422)
            #expect(refused["code"] == "STOP_WORD")
            #expect(refused["hint"]?.contains("/abort") ?? false)
            #expect(try await api.say("stop", "?force=true&wait=20", on: loop).status == 200)
            // The gateway would obey the stop word, and the picture would be lost.
            let pictured = try await api.post("/v1/messages", Field.json, Self.pictured("wait"), on: loop)
            #expect(pictured.status == 422)
            #expect(pictured["code"] == "STOP_WORD")
        }
    }

    @Test func `a stop word that is sent all the same ends every way of waiting for it once it is delivered`()
        async throws
    {
        try await withAPI(.demo) { api, loop in
            for (place, (type, body)) in [(Field.text, "stop"), (Field.json, Self.pictured("wait"))].enumerated() {
                let fields = type + ["Idempotency-Key: stop-\(place)"]
                let path = "/v1/messages?force=true"
                for _ in 0..<2 {
                    let streamed = try await api.post(path, fields + Field.stream, body, on: loop).body
                    #expect(streamed.contains(#""state":"delivered""#), "\(streamed)")
                    #expect(!streamed.contains("event: run."), "\(streamed)")
                }
                let waited = try await api.post("\(path)&wait=30", fields, body, on: loop)
                #expect(waited.status == 200 && waited["reply"] == "", "\(waited)")
            }
        }
    }

    private static func pictured(_ text: String) -> String {
        let pixel =
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        return #"{"text":"\#(text)","attachments":[{"name":"a.png","mimeType":"image/png","data":"\#(pixel)"}]}"#
    }

    @Test func `a repeated key sends nothing again and waits for the same run`() async throws {
        try await withAPI(.demo) { api, loop in
            let key = ["Idempotency-Key: \"k 1\""]
            let first = try await api.say("hello once", "", key, on: loop)
            #expect(first.status == 202)
            #expect(first.field("Idempotency-Replayed") == nil)
            let again = try await api.say("hello once", "?wait=20", key, on: loop)
            #expect(again.status == 200)
            #expect(again.field("Idempotency-Replayed") == "true")
            #expect(again.json["entry"]?["id"]?.string == first["id"])
            #expect(again.json["reply"]?.string == "Hello! You said: hello once")
            let stream = try await api.say("hello once", "", key + ["Accept: text/event-stream"], on: loop)
            #expect(stream.body.contains("event: run.ended"))
            for (path, body) in [("/v1/messages", "other"), ("/v1/messages?session=den", "hello once")] {
                let other = try await api.post(path, Field.text + key, body, on: loop)
                #expect(other.status == 422)
                #expect(other["code"] == "IDEMPOTENCY_KEY_REUSED")
            }
            #expect(try await api.get("/v1/outbox", on: loop).json["entries"]?.count == 1)
        }
    }

    @Test func `a repeated key tells what was accepted, also when its time has come meanwhile`() async throws {
        try await withAPI { api, loop in
            let time = loop.wallClock.adding(milliseconds: 1000).rfc3339
            let body = #"{"text":"later","notBefore":"\#(time)"}"#
            let key = ["Idempotency-Key: k"]
            let first = try await api.post("/v1/messages", Field.json + key, body, on: loop)
            #expect(first.status == 202, "\(first)")
            try await api.advance(1000, on: loop)
            let again = try await api.post("/v1/messages", Field.json + key, body, on: loop)
            #expect(again.status == 202, "\(again)")
            #expect(again.field("Idempotency-Replayed") == "true")
            #expect(again["id"] == first["id"])
            // An unused key changes nothing about it.
            let new = try await api.post("/v1/messages", Field.json + ["Idempotency-Key: n"], body, on: loop)
            #expect(new.status == 422 && new["field"] == "notBefore", "\(new)")
            let entries = try await api.get("/v1/outbox", on: loop).json["entries"]
            #expect(entries?.elements.map { $0["id"]?.string } == [first["id"]])
        }
    }

    @Test func `a token is held to its sessions and its rate`() async throws {
        try await withAPI(.demo) { api, loop in
            let lamp = #","sessions":["agent:main:lamp"]"#
            let bearer = try await api.token("send", "read", more: lamp, on: loop).bearer
            let foreign = try await api.say("x", "", bearer, on: loop)
            #expect(foreign.status == 403)
            var statuses: [Int] = []
            var last: Answer?
            for _ in 0..<7 {
                let answer = try await api.say("on", "?session=lamp", bearer, on: loop)
                statuses.append(answer.status)
                last = answer
            }
            #expect(statuses.prefix(5).allSatisfy { $0 == 202 })
            #expect(statuses.contains(429), "\(statuses)")
            #expect(last?.field("RateLimit") != nil)
            _ = try await api.say("owner's own", "?wait=20", on: loop)
            let seen = try await api.get("/v1/outbox", bearer, on: loop).json["entries"]
            #expect(seen?.elements.allSatisfy { $0["session"]?.string == "agent:main:lamp" } ?? false)
            #expect(try await api.get("/v1/messages?session=main", bearer, on: loop).status == 403)
        }
    }

    @Test func `a stream that a library repeats goes on and sends nothing`() async throws {
        try await withAPI(.demo) { api, loop in
            let stream = Field.text + ["Accept: text/event-stream"]
            _ = try await api.post("/v1/messages", stream, "hello", on: loop)
            let repeated = stream + ["Last-Event-ID: abc.7"]
            let again = try await api.post("/v1/messages", repeated, "hello", on: loop)
            #expect(again.status == 200)
            #expect(again.body.contains("event: run.ended"), "\(again)")
            #expect(try await api.post("/v1/messages", repeated, "other words", on: loop).status == 204)
            #expect(try await api.get("/v1/outbox", on: loop).json["entries"]?.count == 1)
            // Without a stream there is nothing to resume, and an empty id does not count.
            let plain = try await api.post("/v1/messages", Field.text + ["Last-Event-ID: abc.7"], "hello", on: loop)
            #expect(plain.status == 202)
            let empty = try await api.post("/v1/messages", stream + ["Last-Event-ID: "], "hello", on: loop)
            #expect(empty.status == 200)
            #expect(try await api.get("/v1/outbox", on: loop).json["entries"]?.count == 3)
        }
    }

    @Test func `half of a surrogate pair is refused by its field, since no text can carry it`() async throws {
        try await withAPI(.demo) { api, loop in
            for (path, body, field) in [
                ("/v1/messages", #"{"text":"a\ud800b"}"#, "text"),
                ("/v1/messages", #"{"text":"a","session":"\udfff"}"#, "session"),
                ("/v1/messages", #"{"text":"a","attachments":[{"name":"\ud83d","data":""}]}"#, "attachments[0].name"),
                // One character for Swift, of any number of scalars.
                (
                    "/v1/messages",
                    #"{"a\#(String(repeating: "\u{301}", count: 90_000))":"\ud800"}"#,
                    "a" + String(repeating: "\u{301}", count: 63)
                ),
                ("/v1/sessions", #"{"label":"\ud800"}"#, "label"),
                ("/v1/notifications", #"{"title":"\ud800"}"#, "title"),
            ] {
                let answer = try await api.post(path, Field.json, body, on: loop)
                #expect(answer.status == 422, "\(answer)")
                #expect(answer["code"] == "INVALID_FIELD" && answer["field"] == field, "\(answer)")
            }
            #expect(try await api.post("/v1/messages", Field.json, #"{"text":"\ud83d\ude00"}"#, on: loop).status == 202)
            #expect(try await api.get("/v1/outbox", on: loop).json["entries"]?.count == 1)
        }
    }

    @Test func `a message to an agent that is not there is refused with those that are`() async throws {
        try await withAPI(.demo) { api, loop in
            for (fields, query, body) in [
                (Field.json, "", #"{"text":"x","session":"agent:kitchen:main"}"#),
                (Field.text, "?wait=20&session=agent:kitchen:main", "x"),
            ] {
                let answer = try await api.post("/v1/messages\(query)", fields, body, on: loop)
                #expect(answer.status == 422, "\(answer)")
                #expect(answer["code"] == "INVALID_FIELD" && answer["field"] == "session")
                #expect(answer["detail"]?.contains("`kitchen`") ?? false)
                #expect(answer["detail"]?.contains("main") ?? false)
            }
            #expect(try await api.get("/v1/outbox", on: loop).json["entries"]?.count == 0)
        }
    }

    @Test func `a message accepted while the gateway was away ends like one refused at once`() async throws {
        try await withAPI(.demo) { api, loop in
            let session = "session=agent:kitchen:main"
            try await api.demo?.drop(on: loop)
            let fields = Field.text
            let request = try await api.open("POST", "/v1/messages?wait=20&\(session)", fields, body: "x", on: loop)
            #expect(!request.hasEnded)
            try await api.demo?.open(on: loop)
            try await api.advance(1000, on: loop)
            let answer = try #require(request.answer)
            let atOnce = try await api.say("y", "?wait=20&\(session)", on: loop)
            #expect(answer.status == 422 && atOnce.status == 422, "\(answer)")
            for member in ["code", "field", "detail"] { #expect(answer[member] == atOnce[member]) }
            // Unlike a message refused at once, this one is in the outbox, where it can be dismissed.
            #expect(answer["gatewayCode"] == "INVALID_REQUEST")
            let id = try #require(answer.json["entry"]?["id"]?.string)
            #expect(answer["hint"]?.contains("DELETE /v1/outbox/\(id)") ?? false)
            #expect(try await api.get("/v1/outbox/\(id)", on: loop)["state"] == "failed")
        }
    }

    @Test func `a message that the gateway refuses for another reason is none for an unknown agent`() async throws {
        try await withAPI { api, loop in
            try await api.bench.open(on: loop)
            let agents = #"{"defaultId":"main","agents":[{"id":"main"},{"id":"home"}]}"#
            api.gateway.next("agents.list", ok(agents))
            api.gateway.next("chat.send", refused("INVALID_REQUEST"))
            let answer = try await api.say("no", "?wait=20&session=agent:home:main", on: loop)
            #expect(answer.status == 502 && answer["code"] == "SEND_REJECTED", "\(answer)")
        }
    }
}
