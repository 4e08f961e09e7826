import JSONBytes
import TestSupport
import Testing

/// Identity and profile through the real program and the demo gateway.
@Suite(.serialized) struct DocumentTests {
    private static let patch = ["Content-Type: application/merge-patch+json"]
    private static let anyVersion = patch + ["If-Match: *"]

    @Test func `a file is read as fields and as itself, with a validator`() async throws {
        let ladle = try await LadleProcess(["--demo-speed", "0"])
        try waitUntilOnline(ladle)
        let answer = try ladle.request("GET", "/v1/identity")
        #expect(answer.status == 200)
        #expect(answer.json["agent"]?.string == "main")
        #expect(answer.json["stale"]?.bool == false)
        let tag = try #require(answer.field("ETag"))
        #expect(try ladle.request("GET", "/v1/identity", ["If-None-Match: \(tag)"]).status == 304)
        let file = try ladle.request("GET", "/v1/identity", ["Accept: text/markdown"])
        #expect(file.field("Content-Type") == "text/markdown; charset=utf-8")
        #expect(file.body == answer.json["markdown"]?.string)
        #expect(try ladle.request("GET", "/v1/profile").status == 200)
        #expect(try ladle.request("GET", "/v1/identity?agent=..%2Fetc").status == 400)
    }

    @Test func `writes say which version they are meant for`() async throws {
        let ladle = try await LadleProcess(["--demo-speed", "0"])
        try waitUntilOnline(ladle)
        let missing = try ladle.request("PATCH", "/v1/identity", Self.patch, body: #"{"name":"A"}"#)
        #expect(missing.status == 428)
        let tag = try #require(try ladle.request("GET", "/v1/identity").field("ETag"))
        let first = try ladle.request(
            "PATCH",
            "/v1/identity",
            Self.patch + ["If-Match: \(tag)"],
            body: #"{"name":"A"}"#
        )
        #expect(first.status == 200)
        let late = try ladle.request("PATCH", "/v1/identity", Self.patch + ["If-Match: \(tag)"], body: #"{"name":"B"}"#)
        #expect(late.status == 412)
        #expect(late.field("ETag") == first.field("ETag"))
        #expect(late.json["conflicts"]?[0]?["current"]?.string == "A")
        #expect(late.json["conflicts"]?[0]?["requested"]?.string == "B")
    }

    @Test func `a change that cannot be is refused by its field`() async throws {
        let ladle = try await LadleProcess(["--demo-speed", "0"])
        try waitUntilOnline(ladle)
        let tag = try ladle.request("GET", "/v1/identity").field("ETag")
        for (body, field) in [
            (#"{"nam":"x"}"#, "nam"), (#"{"name":1}"#, "name"), (#"{"name":"a\nb"}"#, "name"),
            (#"{"vibe":"\u0007"}"#, "vibe"),
        ] {
            let answer = try ladle.request("PATCH", "/v1/identity", Self.anyVersion, body: body)
            #expect(answer.status == 422)
            #expect(answer["field"] == field)
        }
        #expect(try ladle.request("GET", "/v1/identity?refresh=true").field("ETag") == tag)
    }

    @Test func `a picture is taken for what it is`() async throws {
        let ladle = try await LadleProcess(["--demo-speed", "0"])
        try waitUntilOnline(ladle)
        #expect(try ladle.request("GET", "/v1/identity/avatar").status == 404)
        let refused = try ladle.request(
            "PUT",
            "/v1/identity/avatar",
            ["Content-Type: image/png", "If-Match: *"],
            body: "not a picture"
        )
        #expect(refused.status == 422)
        #expect(try ladle.request("DELETE", "/v1/identity/avatar", ["If-Match: *"]).status == 204)
    }

    @Test func `a token bound to sessions has the documents of their agents, and hears of no others`() async throws {
        let ladle = try await LadleProcess(["--demo-speed", "0"])
        try waitUntilOnline(ladle)
        func bearer(_ session: String) throws -> [String] {
            let body = #"{"name":"bound","scopes":["read","identity"],"sessions":["\#(session)"]}"#
            let made = try ladle.request("POST", "/v1/tokens", ["Content-Type: application/json"], body: body)
            return ["Authorization: Bearer \(try #require(made["token"]))"]
        }
        let (main, work) = (try bearer("agent:main:lamp"), try bearer("agent:work:x"))
        for path in ["/v1/identity", "/v1/profile", "/v1/identity/avatar"] {
            #expect(try ladle.request("GET", path, main).status != 403)
            for (who, query) in [(main, "?agent=scout"), (work, ""), (work, "?agent=main")] {
                let refused = try ladle.request("GET", path + query, who)
                #expect(refused.status == 403, "\(path)\(query)")
                #expect(refused["code"] == "SESSION_NOT_ALLOWED")
                #expect(
                    try ladle.request("PUT", path + query, who + ["If-Match: *", "Content-Type: image/png"], body: "x")
                        .status != 200
                )
            }
        }
        let body = #"{"name":"Wren"}"#
        #expect(try ladle.request("PATCH", "/v1/identity", work + Self.anyVersion, body: body).status == 403)
        let cursor = try #require(try ladle.request("GET", "/v1/events?poll=0")["cursor"])
        #expect(try ladle.request("PATCH", "/v1/identity", main + Self.anyVersion, body: body).status == 200)
        for (who, sees) in [([], true), (main, true), (work, false)] {
            let polled = try ladle.request("GET", "/v1/events?poll=\(sees ? 5 : 0)&since=\(cursor)", who)
            #expect(polled.body.contains(#""type":"identity""#) == sees, "\(polled)")
            let streamed = try ladle.request("GET", "/v1/events?limit=1&timeout=1&since=\(cursor)", who)
            #expect(streamed.body.contains("event: identity") == sees, "\(streamed)")
        }
    }

    /// The link is up once its status says so; asked again without a pause, for at most some thousand times.
    private func waitUntilOnline(_ ladle: LadleProcess) throws {
        for _ in 0..<5000 where try ladle.request("GET", "/v1/status").json["link"]?["state"]?.string == "online" {
            return
        }
        Issue.record("the link did not come up: \(ladle.output)")
    }
}
