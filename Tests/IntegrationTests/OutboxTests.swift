import JSONBytes
import TestSupport
import Testing

/// The outbox over HTTP. No gateway answers here, so entries wait.
@Suite(.serialized) struct OutboxTests {
    private static let text = ["Content-Type: text/plain"]

    /// Port 9 is nobody's.
    private func away(_ more: [String] = []) async throws -> LadleProcess {
        try await LadleProcess(["--gateway", "ws://127.0.0.1:9"] + more, demo: false)
    }

    @Test func `entries are listed with badges, read with their attempts, and validated`() async throws {
        let ladle = try await away(["--outbox-offline", "count"])
        let first = try #require(try ladle.request("POST", "/v1/messages", Self.text, body: "one")["id"])
        let second = try #require(try ladle.request("POST", "/v1/messages?session=den", Self.text, body: "two")["id"])
        let list = try ladle.request("GET", "/v1/outbox").json
        #expect(list["pending"]?.int == 2)
        #expect(list["entries"]?.elements.map { $0["id"]?.string } == [second, first])
        #expect(try ladle.request("GET", "/v1/outbox?session=den").json["entries"]?.count == 1)
        #expect(try ladle.request("GET", "/v1/outbox?state=delivered").json["entries"]?.count == 0)
        let page = try ladle.request("GET", "/v1/outbox?limit=1").json
        #expect(page["before"]?.string == second)
        #expect(
            try ladle.request("GET", "/v1/outbox?limit=1&before=\(second)").json["entries"]?[0]?["id"]?.string == first
        )
        for (query, field) in [
            ("state=queud", "state"), ("limit=0", "limit"), ("before=x", "before"), ("session=%20", "session"),
        ] {
            let answer = try ladle.request("GET", "/v1/outbox?\(query)")
            #expect(answer.status == 400)
            #expect(answer["field"] == field)
        }
        let entry = try ladle.request("GET", "/v1/outbox/\(first)")
        #expect(entry.json["attempts"]?.count ?? 0 >= 1)
        #expect(entry.field("ETag") == "\"\(entry.json["version"]?.int ?? 0)\"")
        #expect(try ladle.request("GET", "/v1/outbox/nothing").status == 404)
        let status = try ladle.request("GET", "/v1/status").json["outbox"]
        #expect(status?["pending"]?.int == 2)
        #expect(status?["oldestAgeMs"]?.int != nil)
        #expect(status?["attempts"]?["not_dispatched"]?.int ?? 0 >= 1)
    }

    @Test func `retry and cancel are honest about where an entry stands`() async throws {
        let ladle = try await away()
        let id = try #require(try ladle.request("POST", "/v1/messages", Self.text, body: "one")["id"])
        let stale = try ladle.request("POST", "/v1/outbox/\(id)/retry", ["If-Match: \"99\""])
        #expect(stale.status == 412)
        let retried = try ladle.request("POST", "/v1/outbox/\(id)/retry")
        #expect([200, 409].contains(retried.status))
        let cancelled = try ladle.request("DELETE", "/v1/outbox/\(id)")
        #expect(cancelled.status == 200)
        #expect(cancelled.json["state"]?.string == "cancelled")
        #expect(cancelled.json["text"]?.string == "one")
        let tag = try #require(cancelled.field("ETag"))
        #expect(try ladle.request("GET", "/v1/outbox/\(id)", ["If-None-Match: \(tag)"]).status == 304)
        #expect(try ladle.request("DELETE", "/v1/outbox/\(id)").status == 200)
        #expect(try ladle.request("POST", "/v1/outbox/\(id)/retry")["code"] == "NOT_RETRYABLE")
        #expect(try ladle.request("GET", "/v1/status").json["outbox"]?["pending"]?.int == 0)
    }

    @Test func `a delivered entry cannot be taken back`() async throws {
        let ladle = try await LadleProcess(SendTests.fast)
        let sent = try ladle.request("POST", "/v1/messages?wait=20", Self.text, body: "hello")
        let id = try #require(sent.json["entry"]?["id"]?.string)
        let answer = try ladle.request("DELETE", "/v1/outbox/\(id)")
        #expect(answer.status == 409)
        #expect(answer["code"] == "ALREADY_DISPATCHED")
        #expect(answer["hint"]?.contains("/v1/runs/\(id)/abort") ?? false)
    }

    @Test func `waiting requests learn of cancel and expiry, and a full outbox says so`() async throws {
        let ladle = try await away(["--outbox-max-per-session", "2"])
        let expired = try ladle.request(
            "POST",
            "/v1/messages?wait=20",
            ["Content-Type: application/json"],
            body: #"{"text":"now or never","ttlSeconds":1}"#
        )
        #expect(expired.status == 504, "\(expired)")
        #expect(expired["code"] == "ENTRY_EXPIRED")
        let socket = try ladle.connect()
        let fields = Self.text + ["Connection: close"]
        try socket.send(ladle.requestBytes("POST", "/v1/messages?wait=20&session=den", fields, body: "later"))
        let id = try eventually {
            try ladle.request("GET", "/v1/outbox?session=den").json["entries"]?[0]?["id"]?.string
        }
        #expect(try ladle.request("DELETE", "/v1/outbox/\(id)").status == 200)
        var bytes: [UInt8] = []
        while let more = try? socket.receive(), !more.isEmpty { bytes += more }
        #expect(Answer(bytes).status == 409)
        #expect(Answer(bytes)["code"] == "ENTRY_CANCELLED")
        #expect(try ladle.request("POST", "/v1/messages", Self.text, body: "one").status == 202)
        let full = try ladle.request("POST", "/v1/messages", Self.text, body: "two")
        #expect(full.status == 429)
        #expect(full["code"] == "OUTBOX_FULL")
        #expect(full.field("Retry-After") != nil)
    }

    @Test func `what was accepted before a kill is there after it`() async throws {
        let first = try await away()
        let id = try #require(try first.request("POST", "/v1/messages", Self.text, body: "keep me")["id"])
        first.signal(9)
        _ = first.waitForExit()
        let second = try await LadleProcess(["--gateway", "ws://127.0.0.1:9"], state: first.state, demo: false)
        let entry = try second.request("GET", "/v1/outbox/\(id)").json
        #expect(entry["text"]?.string == "keep me")
        #expect(try second.request("GET", "/v1/status").json["outbox"]?["pending"]?.int == 1)
    }

    @Test func `requests at once with one key make one entry`() async throws {
        let ladle = try await away()
        let fields = Self.text + ["Idempotency-Key: same", "Connection: close"]
        let sockets = try (0..<16).map { _ in try ladle.connect() }
        for socket in sockets { try socket.send(ladle.requestBytes("POST", "/v1/messages", fields, body: "once")) }
        var ids: Set<String> = []
        for socket in sockets {
            var bytes: [UInt8] = []
            while let more = try? socket.receive(), !more.isEmpty { bytes += more }
            let answer = Answer(bytes)
            if answer.status == 409 {
                #expect(answer["code"] == "IDEMPOTENCY_IN_FLIGHT")
                #expect(answer.field("Retry-After") != nil)
            } else {
                #expect(answer.status == 202)
                ids.insert(answer["id"] ?? "")
            }
        }
        #expect(ids.count == 1)
        #expect(try ladle.request("GET", "/v1/outbox").json["entries"]?.count == 1)
    }
}
