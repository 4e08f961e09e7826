import Basics
import Foundation
import JSONBytes
import TestSupport
import Testing

/// `POST /v1/messages` in all its forms, against the demo gateway at full speed.
@Suite(.serialized) struct SendTests {
    static let fast = ["--demo-speed", "0"]
    private static let json = ["Content-Type: application/json"]
    private static let form = ["Content-Type: application/x-www-form-urlencoded"]
    private static let text = ["Content-Type: text/plain"]

    @Test func `every form of a body arrives as the words it means`() async throws {
        let ladle = try await LadleProcess(Self.fast)
        let forms: [(fields: [String], body: String, words: String)] = [
            (Self.json, #"{"text":"hello","colour":"red"}"#, "hello"),
            (Self.text, "hello & goodbye=1", "hello & goodbye=1"),
            (["Content-Type: text/plain; charset=utf-8"], "grüße", "grüße"),
            ([], "no type at all", "no type at all"),
            (Self.form, "turn the lights off", "turn the lights off"),
            (Self.form, "text=turn+the+lights%20off&session=main", "turn the lights off"),
            (Self.form, "message=100%25", "100%"),
            (Self.form, "colour=red&text=hello", "colour=red&text=hello"),
            (Self.form, "text=a & b", "text=a & b"),
            (Self.form, "50%", "50%"),
        ]
        for form in forms {
            let answer = try ladle.request("POST", "/v1/messages", form.fields, body: form.body)
            #expect(answer.status == 202, "\(form.body): \(answer)")
            #expect(answer.json["text"]?.string == form.words)
            let id = try #require(answer["id"])
            #expect(answer.field("Location") == "/v1/outbox/\(id)")
        }
    }

    @Test func `what cannot be sent is refused with the field at fault, and nothing is stored`() async throws {
        let ladle = try await LadleProcess(Self.fast)
        let past = "2020-01-01T00:00:00Z"
        let picture = #""mimeType":"image/png","data""#
        let cases: [(fields: [String], body: String, query: String, status: Int, field: String)] = [
            (Self.json, #"{"txt":"x"}"#, "", 422, "txt"),
            (Self.json, "{}", "", 422, "text"),
            (Self.json, #"{"text":7}"#, "", 422, "text"),
            (Self.json, #"{"text":""}"#, "", 422, "text"),
            (Self.text, "  \n ", "", 422, "text"),
            (Self.json, #"{"text":"x","session":"a b"}"#, "", 422, "session"),
            (Self.text, "x", "?session=a%20b", 400, "session"),
            (Self.json, #"{"text":"x","notBefore":"\#(past)"}"#, "", 422, "notBefore"),
            (Self.json, #"{"text":"x","notBefore":"tomorrow"}"#, "", 422, "notBefore"),
            (Self.json, #"{"text":"x","ttlSeconds":-1}"#, "", 422, "ttlSeconds"),
            (Self.json, #"{"text":"x","ttlSeconds":"soon"}"#, "", 422, "ttlSeconds"),
            (Self.json, #"{"text":"x","thinking":"LOUD !"}"#, "", 422, "thinking"),
            (Self.json, #"{"text":"x","attachments":{}}"#, "", 422, "attachments"),
            (Self.json, #"{"text":"x","attachments":[{\#(picture):"no!"}]}"#, "", 422, "attachments[0].data"),
            (Self.json, #"{"text":"x","attachments":[{\#(picture):"aGFsbG8="}]}"#, "", 422, "attachments[0].data"),
            (
                Self.json, #"{"text":"x","attachments":[{"mimeType":"png","data":"aA=="}]}"#, "", 422,
                "attachments[0].mimeType"
            ),
            (Self.json, #"{"text":"x","thinking":"low"}"#, "?thinking=", 400, "thinking"),
            (Self.json, #"{"text":"x","session":"den"}"#, "?session=a%20b", 400, "session"),
            (Self.text, "x", "?wait=601", 400, "wait"),
            (Self.text, "x", "?force=maybe", 400, "force"),
            (Self.text + ["Idempotency-Key: a,b"], "x", "", 400, "Idempotency-Key"),
            (Self.text + ["Prefer: wait=soon"], "x", "", 400, "Prefer"),
            (Self.text + ["Content-Encoding: gzip"], "x", "", 415, "Content-Encoding"),
        ]
        for item in cases {
            let answer = try ladle.request("POST", "/v1/messages\(item.query)", item.fields, body: item.body)
            #expect(answer.status == item.status, "\(item.body): \(answer)")
            #expect(answer.json["field"]?.string == item.field, "\(item.body)")
        }
        let malformed = try ladle.request("POST", "/v1/messages", Self.json, body: #"{"text":}"#)
        #expect(malformed.status == 400)
        #expect(malformed.json["offset"]?.int == 8)
        #expect(try ladle.request("POST", "/v1/messages", ["Content-Type: image/png"], body: "x").status == 415)
        let large = String(repeating: "x", count: 300 << 10)
        let tooLarge = try ladle.request("POST", "/v1/messages", Self.text, body: large)
        #expect(tooLarge.status == 413)
        #expect(tooLarge["field"] == "text")
        #expect(try ladle.request("GET", "/v1/outbox").json["entries"]?.count == 0)
    }

    @Test func `a page cannot make the owner's browser send a message`() async throws {
        let ladle = try await LadleProcess(Self.fast)
        let fields = [
            "Origin: null", "Origin: http://evil.example", "Referer: http://evil.example/",
            "Sec-Fetch-Site: same-origin",
        ]
        for field in fields {
            for type in [Self.text, Self.form, []] {
                let answer = try ladle.request("POST", "/v1/messages", type + [field], body: "pay him")
                #expect(answer.status == 403)
                #expect(answer["code"] == "CROSS_ORIGIN")
            }
        }
        #expect(
            try ladle.request("POST", "/v1/messages", Self.text + ["Sec-Fetch-Site: none"], body: "hi").status == 202
        )
    }

    @Test func `a wait answers with the run and its reply`() async throws {
        let ladle = try await LadleProcess(Self.fast)
        let answer = try ladle.request(
            "POST",
            "/v1/messages?wait=20",
            Self.text,
            body: "append the weather to weather.txt"
        )
        #expect(answer.status == 200, "\(answer)")
        let json = answer.json
        #expect(json["entry"]?["state"]?.string == "delivered")
        #expect(json["run"]?["state"]?.string == "completed")
        #expect(json["run"]?["steps"]?.count ?? 0 >= 2)
        #expect(json["reply"]?.string?.hasPrefix("Done: I appended") ?? false)
        #expect(json["run"]?["text"]?.string == json["reply"]?.string)

        let plain = try ladle.request(
            "POST",
            "/v1/messages",
            Self.text + ["Accept: text/plain", "Prefer: wait=20"],
            body: "hello there"
        )
        #expect(plain.body == "Hello! You said: hello there\n")
        #expect(plain.field("Preference-Applied") == "wait=20")
        let silent = try ladle.request("POST", "/v1/messages?wait=20", Self.text, body: "silent please")
        #expect(silent.json["reply"]?.string == "")
        let queued = try ladle.request("POST", "/v1/messages", Self.text + ["Accept: text/plain"], body: "hello")
        #expect(queued.status == 202)
        #expect(queued.body.hasPrefix("queued "))
    }

    @Test func `a provider's error and an abort end a wait with their reason`() async throws {
        let ladle = try await LadleProcess(["--demo-speed", "1"])
        let failed = try ladle.request("POST", "/v1/messages?wait=30", Self.text, body: "fail with 401")
        #expect(failed.status == 502, "\(failed)")
        #expect(failed["code"] == "RUN_FAILED")
        #expect(failed.json["detail"]?.string?.isEmpty == false)
        #expect(failed.json["run"]?["error"]?.string == failed.json["detail"]?.string)

        let socket = try ladle.connect()
        try socket.send(
            ladle.requestBytes("POST", "/v1/messages?wait=30", Self.text + ["Connection: close"], body: "slow count")
        )
        let run = try eventually {
            try ladle.request("GET", "/v1/runs?active=true").json["runs"]?[0]?["id"]?.string
        }
        #expect(try ladle.request("POST", "/v1/runs/\(run)/abort").json["aborted"]?.bool == true)
        var bytes: [UInt8] = []
        while let more = try? socket.receive(), !more.isEmpty { bytes += more }
        let aborted = Answer(bytes)
        #expect(aborted.status == 409)
        #expect(aborted["code"] == "RUN_ABORTED")
    }

    @Test func `a streamed answer holds this message's events and ends with its run`() async throws {
        let ladle = try await LadleProcess(Self.fast)
        let answer = try ladle.request("POST", "/v1/messages", Self.text + ["Accept: text/event-stream"], body: "hello")
        #expect(answer.status == 200)
        #expect(answer.field("Content-Type") == "text/event-stream")
        let events = answer.body.split(separator: "\n").filter { $0.hasPrefix("event: ") }.map { $0.dropFirst(7) }
        #expect(events.first == "outbox")
        #expect(events.last == "run.ended")
        #expect(events.contains("run.started") && events.contains("run.delta"))
    }

    @Test func `a stream that a library repeats goes on and sends nothing`() async throws {
        let ladle = try await LadleProcess(Self.fast)
        let stream = Self.text + ["Accept: text/event-stream"]
        _ = try ladle.request("POST", "/v1/messages", stream, body: "hello")
        let again = try ladle.request("POST", "/v1/messages", stream + ["Last-Event-ID: abc.7"], body: "hello")
        #expect(again.status == 200)
        #expect(again.body.contains("event: run.ended"), "\(again)")
        let other = try ladle.request("POST", "/v1/messages", stream + ["Last-Event-ID: abc.7"], body: "other words")
        #expect(other.status == 204)
        #expect(try ladle.request("GET", "/v1/outbox").json["entries"]?.count == 1)
        // Without a stream there is nothing to go on with, and an empty id is none.
        let plain = try ladle.request("POST", "/v1/messages", Self.text + ["Last-Event-ID: abc.7"], body: "hello")
        #expect(plain.status == 202)
        #expect(try ladle.request("POST", "/v1/messages", stream + ["Last-Event-ID: "], body: "hello").status == 200)
        #expect(try ladle.request("GET", "/v1/outbox").json["entries"]?.count == 3)
    }

    @Test func `a message to an agent that is not there is refused with those that are`() async throws {
        let ladle = try await LadleProcess(Self.fast)
        _ = try eventually {
            try ladle.request("GET", "/v1/status").json["link"]?["state"]?.string == "online" ? true : nil
        }
        for (fields, query, body) in [
            (Self.json, "", #"{"text":"x","session":"agent:kitchen:main"}"#),
            (Self.text, "?wait=20&session=agent:kitchen:main", "x"),
        ] {
            let answer = try ladle.request("POST", "/v1/messages\(query)", fields, body: body)
            #expect(answer.status == 422, "\(answer)")
            #expect(answer["code"] == "INVALID_FIELD" && answer["field"] == "session")
            #expect(answer["detail"]?.contains("`kitchen`") ?? false)
            #expect(answer["detail"]?.contains("main") ?? false)
        }
        #expect(try ladle.request("GET", "/v1/outbox").json["entries"]?.count == 0)
    }

    @Test func `the pages of a token of two sessions hold what is its own and name nothing else`() async throws {
        let ladle = try await LadleProcess(Self.fast)
        let body = #"{"name":"two","scopes":["read"],"sessions":["agent:main:a","agent:main:b"]}"#
        let made = try ladle.request("POST", "/v1/tokens", Self.json, body: body)
        let bearer = ["Authorization: Bearer \(try #require(made["token"]))"]
        var own: [String: [String]] = [:]
        for session in ["a", "main", "b", "main", "a", "main"] {
            let path = "/v1/messages?wait=20&session=\(session)"
            let sent = try ladle.request("POST", path, Self.text, body: "to \(session)").json
            guard session != "main" else { continue }
            own["entries", default: []].insert(try #require(sent["entry"]?["id"]?.string), at: 0)
            own["runs", default: []].insert(try #require(sent["run"]?["id"]?.string), at: 0)
        }
        for (name, path) in [("entries", "/v1/outbox"), ("runs", "/v1/runs")] {
            var seen: [String] = []
            var before: String?
            for _ in 0..<10 {
                let place = before.map { "&before=\($0)" } ?? ""
                let page = try ladle.request("GET", "\(path)?limit=1\(place)", bearer).json
                seen += page[name]?.elements.compactMap { $0["id"]?.string } ?? []
                before = page["before"]?.string
                guard let before else { break }
                #expect(seen.last == before)
            }
            #expect(seen == own[name])
        }
    }

    @Test func `a stop word is told about instead of being obeyed`() async throws {
        let ladle = try await LadleProcess(Self.fast)
        let refused = try ladle.request("POST", "/v1/messages", Self.text, body: " Stop! ")
        #expect(refused.status == 422)
        #expect(refused["code"] == "STOP_WORD")
        #expect(refused["hint"]?.contains("/abort") ?? false)
        #expect(try ladle.request("POST", "/v1/messages?force=true&wait=20", Self.text, body: "stop").status == 200)
        // The gateway looks at the text alone, and the picture would be lost.
        let pictured = try ladle.request("POST", "/v1/messages", Self.json, body: Self.pictured("wait"))
        #expect(pictured.status == 422)
        #expect(pictured["code"] == "STOP_WORD")
    }

    @Test func `a stop word that is sent all the same ends every way of waiting for it once it is delivered`()
        async throws
    {
        let ladle = try await LadleProcess(Self.fast)
        func answer(_ query: String, _ fields: [String], _ body: String) throws -> String {
            let socket = try ladle.connect()
            defer { socket.close() }
            let path = "/v1/messages?force=true\(query)"
            try socket.send(ladle.requestBytes("POST", path, fields + ["Connection: close"], body: body))
            var text = ""
            while case let more = try socket.receive(), !more.isEmpty { text += String(decoding: more, as: UTF8.self) }
            return text
        }
        let stream = ["Accept: text/event-stream"]
        for (place, (fields, body)) in [(Self.text, "stop"), (Self.json, Self.pictured("wait"))].enumerated() {
            let key = ["Idempotency-Key: stop-\(place)"]
            let streamed = try answer("", fields + key + stream, body)
            #expect(streamed.contains(#""state":"delivered""#) && !streamed.contains("event: run."), "\(streamed)")
            #expect(try answer("", fields + key + stream, body).contains(#""state":"delivered""#))
            let waited = try answer("&wait=30", fields + key, body)
            #expect(waited.hasPrefix("HTTP/1.1 200 ") && waited.contains(#""reply":"""#), "\(waited)")
        }
    }

    private static func pictured(_ text: String) -> String {
        let pixel =
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        return #"{"text":"\#(text)","attachments":[{"name":"a.png","mimeType":"image/png","data":"\#(pixel)"}]}"#
    }

    @Test func `a repeated key sends nothing again and waits for the same run`() async throws {
        let ladle = try await LadleProcess(Self.fast)
        let key = ["Idempotency-Key: \"k 1\""]
        let first = try ladle.request("POST", "/v1/messages", Self.text + key, body: "hello once")
        #expect(first.status == 202)
        #expect(first.field("Idempotency-Replayed") == nil)
        let again = try ladle.request("POST", "/v1/messages?wait=20", Self.text + key, body: "hello once")
        #expect(again.status == 200)
        #expect(again.field("Idempotency-Replayed") == "true")
        #expect(again.json["entry"]?["id"]?.string == first["id"])
        #expect(again.json["reply"]?.string == "Hello! You said: hello once")
        let stream = try ladle.request(
            "POST",
            "/v1/messages",
            Self.text + key + ["Accept: text/event-stream"],
            body: "hello once"
        )
        #expect(stream.body.contains("event: run.ended"))
        for (path, body) in [("/v1/messages", "other"), ("/v1/messages?session=den", "hello once")] {
            let other = try ladle.request("POST", path, Self.text + key, body: body)
            #expect(other.status == 422)
            #expect(other["code"] == "IDEMPOTENCY_KEY_REUSED")
        }
        #expect(try ladle.request("GET", "/v1/outbox").json["entries"]?.count == 1)
    }

    @Test func `a repeated key tells what was accepted, also when its time has come meanwhile`() async throws {
        let ladle = try await LadleProcess(["--gateway", "ws://127.0.0.1:9"], demo: false)
        let now = Timestamp(milliseconds: Int64(Date.now.timeIntervalSince1970 * 1000))
        let time = now.adding(milliseconds: 1000).rfc3339
        let body = #"{"text":"later","notBefore":"\#(time)"}"#
        let key = ["Idempotency-Key: k"]
        let first = try ladle.request("POST", "/v1/messages", Self.json + key, body: body)
        #expect(first.status == 202, "\(first)")
        // Without words it is refused in any case: of the time once that is past.
        try eventually {
            let empty = #"{"text":"","notBefore":"\#(time)"}"#
            let answer = try ladle.request("POST", "/v1/messages", Self.json, body: empty)
            return answer["field"] == "notBefore" ? true : nil
        }
        let again = try ladle.request("POST", "/v1/messages", Self.json + key, body: body)
        #expect(again.status == 202, "\(again)")
        #expect(again.field("Idempotency-Replayed") == "true")
        #expect(again["id"] == first["id"])
        // A key that stands for nothing yet changes nothing about it.
        let new = try ladle.request("POST", "/v1/messages", Self.json + ["Idempotency-Key: n"], body: body)
        #expect(new.status == 422 && new["field"] == "notBefore", "\(new)")
        let entries = try ladle.request("GET", "/v1/outbox").json["entries"]
        #expect(entries?.elements.map { $0["id"]?.string } == [first["id"]])
    }

    @Test func `a token is held to its sessions and its rate`() async throws {
        let ladle = try await LadleProcess(Self.fast)
        let made = try ladle.request(
            "POST",
            "/v1/tokens",
            Self.json,
            body: #"{"name":"lamp","scopes":["send","read"],"sessions":["agent:main:lamp"]}"#
        )
        let bearer = ["Authorization: Bearer \(try #require(made["token"]))"]
        let foreign = try ladle.request("POST", "/v1/messages", Self.text + bearer, body: "x")
        #expect(foreign.status == 403)
        var statuses: [Int] = []
        var last: Answer?
        for _ in 0..<7 {
            let answer = try ladle.request("POST", "/v1/messages?session=lamp", Self.text + bearer, body: "on")
            statuses.append(answer.status)
            last = answer
        }
        #expect(statuses.prefix(5).allSatisfy { $0 == 202 })
        #expect(statuses.contains(429), "\(statuses)")
        #expect(last?.field("RateLimit") != nil)
        _ = try ladle.request("POST", "/v1/messages?wait=20", Self.text, body: "owner's own")
        let seen = try ladle.request("GET", "/v1/outbox", bearer).json["entries"]
        #expect(seen?.elements.allSatisfy { $0["session"]?.string == "agent:main:lamp" } ?? false)
        #expect(try ladle.request("GET", "/v1/messages?session=main", bearer).status == 403)
    }
}

extension Answer {
    /// The body; an empty object where it is no JSON, so that each expectation fails by itself.
    var json: JSONValue {
        if let value = try? JSONDocument(parsing: Array(body.utf8)).root { return value }
        guard let empty = try? JSONDocument(parsing: Array("{}".utf8)).root else { preconditionFailure("no JSON") }
        return empty
    }
}
