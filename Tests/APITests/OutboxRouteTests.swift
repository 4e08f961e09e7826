import DemoGateway
import EventLoops
import JSONBytes
import Outbox
import Service
import Store
import TestSupport
import Testing

/// The outbox over HTTP. Without a gateway, entries wait.
struct OutboxRouteTests {
    @Test func `entries are listed with badges, read with their attempts, and validated`() async throws {
        try await withAPI(.init(services: { $0.outbox.offline = .count })) { api, loop in
            let first = try #require(try await api.say("one", on: loop)["id"])
            let second = try #require(try await api.say("two", "?session=den", on: loop)["id"])
            let list = try await api.get("/v1/outbox", on: loop).json
            #expect(list["pending"]?.int == 2)
            #expect(list["entries"]?.elements.map { $0["id"]?.string } == [second, first])
            #expect(try await api.get("/v1/outbox?session=den", on: loop).json["entries"]?.count == 1)
            #expect(try await api.get("/v1/outbox?state=delivered", on: loop).json["entries"]?.count == 0)
            #expect(try await api.get("/v1/outbox?limit=1", on: loop)["before"] == second)
            let older = try await api.get("/v1/outbox?limit=1&before=\(second)", on: loop).json
            #expect(older["entries"]?[0]?["id"]?.string == first)
            for (query, field) in [
                ("state=queud", "state"), ("limit=0", "limit"), ("before=x", "before"), ("session=%20", "session"),
            ] {
                let answer = try await api.get("/v1/outbox?\(query)", on: loop)
                #expect(answer.status == 400)
                #expect(answer["field"] == field)
            }
            let entry = try await api.get("/v1/outbox/\(first)", on: loop)
            #expect(entry.json["attempts"]?.count ?? 0 >= 1)
            #expect(entry.field("ETag") == "\"\(entry.json["version"]?.int ?? 0)\"")
            #expect(try await api.get("/v1/outbox/nothing", on: loop).status == 404)
            let status = try await api.get("/v1/status", on: loop).json["outbox"]
            #expect(status?["pending"]?.int == 2)
            #expect(status?["oldestAgeMs"]?.int != nil)
            #expect(status?["attempts"]?["not_dispatched"]?.int ?? 0 >= 1)
        }
    }

    @Test func `retry and cancel are honest about where an entry stands`() async throws {
        try await withAPI { api, loop in
            let path = "/v1/outbox/\(try #require(try await api.say("one", on: loop)["id"]))"
            #expect(try await api.post("\(path)/retry", ["If-Match: \"99\""], on: loop).status == 412)
            #expect([200, 409].contains(try await api.post("\(path)/retry", [], on: loop).status))
            let cancelled = try await api.request("DELETE", path, on: loop)
            #expect(cancelled.status == 200)
            #expect(cancelled["state"] == "cancelled")
            #expect(cancelled["text"] == "one")
            let tag = try #require(cancelled.field("ETag"))
            #expect(try await api.get(path, ["If-None-Match: \(tag)"], on: loop).status == 304)
            #expect(try await api.request("DELETE", path, on: loop).status == 200)
            #expect(try await api.post("\(path)/retry", [], on: loop)["code"] == "NOT_RETRYABLE")
            #expect(try await api.get("/v1/status", on: loop).json["outbox"]?["pending"]?.int == 0)
        }
    }

    @Test func `a closed outbox names the command that opens it, with the state directory`() async throws {
        try await withAPI { api, loop in
            api.bench.journal.become(.quarantined(path: "/my state/set-aside-1", reason: "the file was damaged"))
            let refused = try await api.say("one", on: loop)
            #expect(refused.status == 503 && refused["code"] == "STORE_UNAVAILABLE", "\(refused)")
            #expect(refused["hint"] == "ladle outbox recover --state '/my state'")
            #expect(refused.json["retryable"]?.bool == false)
            // Nothing is set aside of a file that can only be read.
            api.bench.journal.become(.readOnly(reason: "the disk is read-only"))
            let other = try await api.say("one", on: loop)
            #expect(other["code"] == "STORE_UNAVAILABLE" && other["hint"] == "ladle doctor", "\(other)")
        }
    }

    @Test func `a delivered entry cannot be taken back`() async throws {
        try await withAPI(.demo) { api, loop in
            let sent = try await api.say("hello", "?wait=20", on: loop)
            let id = try #require(sent.json["entry"]?["id"]?.string)
            let answer = try await api.request("DELETE", "/v1/outbox/\(id)", on: loop)
            #expect(answer.status == 409)
            #expect(answer["code"] == "ALREADY_DISPATCHED")
            #expect(answer["hint"]?.contains("/v1/runs/\(id)/abort") ?? false)
        }
    }

    @Test func `a token gets a share of the outbox, and the last of it is the owner's`() async throws {
        try await withAPI(.init(services: { $0.outboxLimits.entries = 16 })) { api, loop in
            var tokens: [[String]] = []
            for _ in 0..<4 { tokens.append(try await api.token("send", on: loop).bearer) }
            for token in tokens.prefix(3) {
                for number in 0..<4 { #expect(try await api.say("\(number)", "", token, on: loop).status == 202) }
            }
            let full = try await api.say("five", "", tokens[0], on: loop)
            #expect(full.status == 429)
            #expect(full["code"] == "OUTBOX_FULL")
            #expect(full["detail"]?.contains("your share") == true)
            for number in 0..<3 { #expect(try await api.say("\(number)", "", tokens[3], on: loop).status == 202) }
            #expect(try await api.say("four", "", tokens[3], on: loop)["detail"]?.contains("owner's") == true)
            #expect(try await api.say("the last", on: loop).status == 202)
            #expect(try await api.say("one too many", on: loop).status == 429)
            // A message that is taken back makes room again.
            let entries = try await api.get("/v1/outbox?limit=20", on: loop).json["entries"]
            for place in 14..<16 {
                let id = try #require(entries?[place]?["id"]?.string)
                #expect(try await api.request("DELETE", "/v1/outbox/\(id)", on: loop).status == 200)
            }
            // Five messages at once to one session, then one a second.
            try await api.advance(60_000, on: loop)
            let sent = try await api.say("again", "", tokens[0], on: loop)
            #expect(sent.status == 202, "\(sent["detail"] ?? "")")
        }
    }

    @Test func `a token's large messages take its share, and any first one fits`() async throws {
        try await withAPI(.init(services: { $0.outboxLimits.payloadBytes = 4_000 })) { api, loop in
            let token = try await api.token("send", on: loop).bearer
            #expect(try await api.say(String(repeating: "x", count: 3_000), "", token, on: loop).status == 202)
            #expect(try await api.say("more", "", token, on: loop)["detail"]?.contains("your share") == true)
            #expect(try await api.say(String(repeating: "x", count: 900), on: loop).status == 202)
        }
    }

    @Test func `waiting requests learn of cancel and expiry, and a full outbox says so`() async throws {
        try await withAPI(.init(services: { $0.outboxLimits.perSession = 2 })) { api, loop in
            let expiring = try await api.open(
                "POST",
                "/v1/messages?wait=20",
                Field.json,
                body: #"{"text":"now or never","ttlSeconds":1}"#,
                on: loop
            )
            #expect(!expiring.hasEnded)
            try await api.advance(1000, on: loop)
            let expired = try #require(expiring.answer)
            #expect(expired.status == 504, "\(expired)")
            #expect(expired["code"] == "ENTRY_EXPIRED")

            let path = "/v1/messages?wait=20&session=den"
            let waiting = try await api.open("POST", path, Field.text, body: "later", on: loop)
            let entries = try await api.get("/v1/outbox?session=den", on: loop).json["entries"]
            let id = try #require(entries?[0]?["id"]?.string)
            #expect(try await api.request("DELETE", "/v1/outbox/\(id)", on: loop).status == 200)
            #expect(waiting.answer?.status == 409)
            #expect(waiting.answer?["code"] == "ENTRY_CANCELLED")

            #expect(try await api.say("one", on: loop).status == 202)
            let full = try await api.say("two", on: loop)
            #expect(full.status == 429)
            #expect(full["code"] == "OUTBOX_FULL")
            #expect(full.field("Retry-After") != nil)
        }
    }

    @Test func `requests at once with one key make one entry`() async throws {
        try await withAPI { api, loop in
            api.bench.journal.hold()
            var requests: [MemoryRequest] = []
            for _ in 0..<16 { requests.append(try await Self.send("once", on: loop, api)) }
            let other = try await Self.send("another", on: loop, api)
            api.bench.journal.release()
            try await api.bench.settle(on: loop)
            let answers = requests.compactMap(\.answer)
            #expect(answers.map(\.status) == Array(repeating: 202, count: 16))
            #expect(Set(answers.map { $0["id"] ?? "" }).count == 1)
            #expect(answers.map { $0.field("Idempotency-Replayed") } == [nil] + Array(repeating: "true", count: 15))
            #expect(other.answer?.status == 422 && other.answer?["code"] == "IDEMPOTENCY_KEY_REUSED")
            #expect(try await api.get("/v1/outbox", on: loop).json["entries"]?.count == 1)
        }
    }

    @Test func `repeats at once of a message that is on disk all get its entry`() async throws {
        try await withAPI(.demo) { api, loop in
            let key = ["Idempotency-Key: same"]
            let first = try #require(try await api.say("once", "?wait=20", key, on: loop).json["entry"]?["id"]?.string)
            api.bench.journal.hold()
            var requests: [MemoryRequest] = []
            for _ in 0..<8 {
                requests.append(try await Self.send("once", on: loop, api))
                requests.append(try await Self.send("once", "?wait=20", on: loop, api))
            }
            let stream = try await Self.send("once", "", Field.stream, on: loop, api)
            let other = try await Self.send("another", on: loop, api)
            api.bench.journal.release()
            try await api.bench.settle(on: loop)
            let answers = requests.compactMap(\.answer)
            #expect(answers.map(\.status) == Array(repeating: [202, 200], count: 8).flatMap { $0 })
            for answer in answers {
                #expect(answer.field("Idempotency-Replayed") == "true", "\(answer)")
                #expect(answer["id"] ?? answer.json["entry"]?["id"]?.string == first)
            }
            #expect(stream.hasEnded && stream.text.contains("event: run.ended"), "\(stream.text)")
            #expect(other.answer?.status == 422 && other.answer?["code"] == "IDEMPOTENCY_KEY_REUSED")
            #expect(try await api.get("/v1/outbox", on: loop).json["entries"]?.count == 1)
        }
    }

    @Test func `a key is in flight until its first message is on its way to the disk`() async throws {
        try await withAPI { api, loop in
            try await api.bench.open(on: loop)
            api.gateway.silent = ["agents.list"]
            let first = try await Self.send("once", "?session=agent:home:main", on: loop, api)
            #expect(!first.hasEnded)
            for text in ["once", "another"] {
                let answer = try #require(try await Self.send(text, on: loop, api).answer)
                #expect(answer.status == 409 && answer["code"] == "IDEMPOTENCY_IN_FLIGHT", "\(answer)")
                #expect(answer.field("Retry-After") != nil && answer["field"] == "Idempotency-Key")
            }
            api.gateway.answer("agents.list", ok(#"{"defaultId":"main","agents":[{"id":"main"},{"id":"home"}]}"#))
            try await api.bench.settle(on: loop)
            #expect(first.answer?.status == 202 && first.answer?.field("Idempotency-Replayed") == nil)
            #expect(try await Self.send("once", on: loop, api).answer?["code"] == "IDEMPOTENCY_KEY_REUSED")
            let again = try await Self.send("once", "?session=agent:home:main", on: loop, api)
            #expect(again.answer?["id"] == first.answer?["id"])
        }
    }

    /// A message under the key `same`, whose answer may be open still.
    private static func send(
        _ text: String,
        _ query: String = "",
        _ fields: [String] = [],
        on loop: isolated EventLoop,
        _ api: APIBench
    ) async throws -> MemoryRequest {
        let fields = Field.text + ["Idempotency-Key: same"] + fields
        return try await api.open("POST", "/v1/messages\(query)", fields, body: text, on: loop)
    }

    @Test func `an entry that is kept no more is no place in the outbox`() async throws {
        try await withAPI { api, loop in
            try await api.say("one", on: loop)
            let answer = try await api.get("/v1/outbox?before=018bcfe5-6800-7707-8707-070707070707", on: loop)
            #expect(answer.status == 404 && answer["code"] == "PLACE_NOT_FOUND", "\(answer)")
        }
    }

    @Test func `a refusal is told to the request that waits, with the gateway's code`() async throws {
        try await withAPI { api, loop in
            try await api.bench.open(on: loop)
            api.gateway.next("chat.send", refused("INVALID_REQUEST"))
            let answer = try await api.say("no", "?wait=20", on: loop)
            #expect(answer.status == 502)
            #expect(answer["code"] == "SEND_REJECTED")
            #expect(answer["gatewayCode"] == "INVALID_REQUEST")
            let id = try #require(answer.json["entry"]?["id"]?.string)
            let attempts = try await api.get("/v1/outbox/\(id)", on: loop).json["attempts"]
            #expect(attempts?.elements.map { $0["class"]?.string } == ["rejected_terminal"])
            #expect(try await api.get("/v1/outbox", on: loop).json["failed"]?.int == 1)
            #expect(try await api.post("/v1/outbox/\(id)/retry", [], on: loop).status == 200)
            // A refused key may be remembered, so the second try has a new one.
            #expect(api.gateway.sentKeys == [id, "\(id)-r2"])
        }
    }

    @Test func `a slash command in doubt waits for a person`() async throws {
        try await withAPI { api, loop in
            try await api.bench.open(on: loop)
            api.gateway.silent = ["chat.send"]
            let id = try #require(try await api.say("/model large", on: loop)["id"])
            let behind = try #require(try await api.say("two", on: loop)["id"])
            try await api.bench.drop(on: loop)
            api.gateway.silent = []
            try await api.bench.open(on: loop)
            try await api.advance(30_000, on: loop)
            #expect(try await api.get("/v1/outbox/\(id)", on: loop)["state"] == "unconfirmed")
            #expect(try await api.request("DELETE", "/v1/outbox/\(id)", on: loop)["code"] == "ENTRY_UNCONFIRMED")
            #expect(try await api.get("/v1/outbox", on: loop).json["unconfirmed"]?.int == 1)
            #expect(try await api.get("/v1/outbox/\(behind)", on: loop)["state"] == "queued")
            #expect(try await api.post("/v1/outbox/\(id)/retry", [], on: loop).status == 200)
            #expect(api.gateway.sentTexts == ["/model large", "/model large"])
        }
    }

    @Test func `an abort that found the gateway away goes first when it is back`() async throws {
        try await withAPI(.init(demo: { $0.speed = 0.2 })) { api, loop in
            let id = try #require(try await api.say("append the weather to weather.txt", on: loop)["id"])
            try await api.advance(2000, on: loop)
            #expect(try await api.get("/v1/runs/\(id)", on: loop)["state"] == "running")
            try await api.demo?.drop(on: loop)
            let behind = try #require(try await api.say("and then this", on: loop)["id"])
            let answer = try await api.post("/v1/runs/\(id)/abort", [], on: loop)
            #expect(answer.status == 202, "\(answer)")
            let abort = try #require(answer.json["entries"]?[0]?["id"]?.string)
            #expect(answer.json["entries"]?[0]?["kind"]?.string == "abort")
            try await api.demo?.open(on: loop)
            try await api.advance(1000, on: loop)
            #expect(try await api.get("/v1/outbox/\(abort)", on: loop)["state"] == "delivered")
            #expect(try await api.get("/v1/outbox/\(abort)", on: loop)["proof"] == "answer")
            #expect(api.gateway.sentTexts.last == "and then this")
            let orders = api.gateway.requests.map(\.method).filter { $0 == "chat.abort" || $0 == "chat.send" }
            #expect(orders.suffix(2) == ["chat.abort", "chat.send"])
            try await api.advance(60_000, on: loop)
            #expect(try await api.get("/v1/outbox/\(behind)", on: loop)["state"] == "delivered")
            #expect(try await api.get("/v1/runs/\(id)", on: loop)["state"] == "aborted")
        }
    }

    /// 2026.6.11 after a restart.
    @Test func `a message that the gateway refuses to run has no run, and the status says what to type`() async throws {
        try await withAPI(.away) { api, loop in
            let bench = api.bench
            try await bench.open(on: loop)
            _ = try await api.request("POST", "/v1/messages", Field.text, body: "hello", on: loop)
            let id = try #require(bench.gateway.sentKeys.last)
            let conflict = "Error: reply session initialization conflicted for agent:main:main"
            try await bench.event("chat", Frame.end(id, "error").replacing("it broke", with: conflict), on: loop)
            #expect(try await api.get("/v1/status", on: loop).json["outbox"]?["hint"] == nil, "nothing waits")
            _ = try await api.request("POST", "/v1/messages", Field.text, body: "next", on: loop)
            let outbox = try await api.get("/v1/status", on: loop).json["outbox"]
            #expect(outbox?["refused"]?.int == 1)
            #expect(outbox?["hint"]?.string == "ladle send --session new-$(date +%s) hello")
            let run = try await api.get("/v1/runs/\(id)", on: loop)
            #expect(run.status == 404 && run["detail"] == "The message is failed and has no run.")
        }
    }
}
