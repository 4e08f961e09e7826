import JSONBytes
import TestSupport
import Testing

/// Identity and profile, with the demo gateway.
struct DocumentRouteTests {
    private static let patch = ["Content-Type: application/merge-patch+json"]
    private static let anyVersion = patch + ["If-Match: *"]

    @Test func `a file is read as fields and as itself, with a validator`() async throws {
        try await withAPI(.demo) { api, loop in
            let answer = try await api.get("/v1/identity", on: loop)
            #expect(answer.status == 200)
            #expect(answer.json["agent"]?.string == "main")
            #expect(answer.json["stale"]?.bool == false)
            let tag = try #require(answer.field("ETag"))
            #expect(try await api.get("/v1/identity", ["If-None-Match: \(tag)"], on: loop).status == 304)
            let file = try await api.get("/v1/identity", ["Accept: text/markdown"], on: loop)
            #expect(file.field("Content-Type") == "text/markdown; charset=utf-8")
            #expect(file.body == answer.json["markdown"]?.string)
            #expect(try await api.get("/v1/profile", on: loop).status == 200)
            #expect(try await api.get("/v1/identity?agent=..%2Fetc", on: loop).status == 400)
        }
    }

    @Test func `writes say which version they are meant for`() async throws {
        try await withAPI(.demo) { api, loop in
            let missing = try await api.request("PATCH", "/v1/identity", Self.patch, body: #"{"name":"A"}"#, on: loop)
            #expect(missing.status == 428)
            let tag = try #require(try await api.get("/v1/identity", on: loop).field("ETag"))
            let first = try await api.request(
                "PATCH",
                "/v1/identity",
                Self.patch + ["If-Match: \(tag)"],
                body: #"{"name":"A"}"#,
                on: loop
            )
            #expect(first.status == 200)
            let late = try await api.request(
                "PATCH",
                "/v1/identity",
                Self.patch + ["If-Match: \(tag)"],
                body: #"{"name":"B"}"#,
                on: loop
            )
            #expect(late.status == 412)
            #expect(late.field("ETag") == first.field("ETag"))
            #expect(late.json["conflicts"]?[0]?["current"]?.string == "A")
            #expect(late.json["conflicts"]?[0]?["requested"]?.string == "B")
        }
    }

    @Test func `a change that cannot be is refused by its field`() async throws {
        try await withAPI(.demo) { api, loop in
            let tag = try await api.get("/v1/identity", on: loop).field("ETag")
            for (body, field) in [
                (#"{"nam":"x"}"#, "nam"), (#"{"name":1}"#, "name"), (#"{"name":"a\nb"}"#, "name"),
                (#"{"vibe":"\u0007"}"#, "vibe"), (#"{"name":"**x**"}"#, "name"), (#"{"name":"\u00a0"}"#, "name"),
                (#"{"name":"<!-- -->"}"#, "name"), (#"{"name":"\ud800"}"#, "name"),
            ] {
                let answer = try await api.request("PATCH", "/v1/identity", Self.anyVersion, body: body, on: loop)
                #expect(answer.status == 422)
                #expect(answer["field"] == field)
            }
            #expect(try await api.get("/v1/identity?refresh=true", on: loop).field("ETag") == tag)
        }
    }

    @Test func `a value comes back as it was asked for, without the blanks at its ends`() async throws {
        try await withAPI(.demo) { api, loop in
            for value in ["two  words", "*a* and *b*", "x\u{A0}y"] {
                let body = #"{"name":\#(quoted("  \(value) "))}"#
                let answer = try await api.request("PATCH", "/v1/identity", Self.anyVersion, body: body, on: loop)
                #expect(answer.json["fields"]?["name"]?.string == value, "\(answer)")
            }
            for body in [#"{"name":""}"#, #"{"name":"  "}"#] {
                _ = try await api.request("PATCH", "/v1/identity", Self.anyVersion, body: #"{"name":"x"}"#, on: loop)
                let answer = try await api.request("PATCH", "/v1/identity", Self.anyVersion, body: body, on: loop)
                #expect(answer.status == 200 && answer.json["fields"]?["name"] == nil, "\(body): \(answer)")
            }
        }
    }

    @Test func `a picture is taken for what it is`() async throws {
        try await withAPI(.demo) { api, loop in
            #expect(try await api.get("/v1/identity/avatar", on: loop).status == 404)
            let refused = try await api.request(
                "PUT",
                "/v1/identity/avatar",
                ["Content-Type: image/png", "If-Match: *"],
                body: "not a picture",
                on: loop
            )
            #expect(refused.status == 422)
            #expect(try await api.request("DELETE", "/v1/identity/avatar", ["If-Match: *"], on: loop).status == 204)
        }
    }

    @Test func `a token bound to sessions has the documents of their agents, and hears of no others`() async throws {
        try await withAPI(.demo) { api, loop in
            func bound(_ session: String) -> String { #","sessions":["\#(session)"]"# }
            let main = try await api.token("read", "identity", more: bound("agent:main:lamp"), on: loop).bearer
            let work = try await api.token("read", "identity", more: bound("agent:work:x"), on: loop).bearer
            for path in ["/v1/identity", "/v1/profile", "/v1/identity/avatar"] {
                #expect(try await api.get(path, main, on: loop).status != 403)
                for (who, query) in [(main, "?agent=scout"), (work, ""), (work, "?agent=main")] {
                    let refused = try await api.get(path + query, who, on: loop)
                    #expect(refused.status == 403, "\(path)\(query)")
                    #expect(refused["code"] == "SESSION_NOT_ALLOWED")
                    #expect(
                        try await api.request(
                            "PUT",
                            path + query,
                            who + ["If-Match: *", "Content-Type: image/png"],
                            body: "x",
                            on: loop
                        )
                        .status != 200
                    )
                }
            }
            let body = #"{"name":"Wren"}"#
            #expect(
                try await api.request("PATCH", "/v1/identity", work + Self.anyVersion, body: body, on: loop).status
                    == 403
            )
            let cursor = try #require(try await api.get("/v1/events?poll=0", on: loop)["cursor"])
            #expect(
                try await api.request("PATCH", "/v1/identity", main + Self.anyVersion, body: body, on: loop).status
                    == 200
            )
            for (who, sees) in [([], true), (main, true), (work, false)] {
                let polled = try await api.get("/v1/events?poll=\(sees ? 5 : 0)&since=\(cursor)", who, on: loop)
                #expect(polled.body.contains(#""type":"identity""#) == sees, "\(polled)")
                let path = "/v1/events?limit=1&timeout=1&since=\(cursor)"
                let stream = try await api.open("GET", path, who, on: loop)
                #expect(stream.text.contains("event: identity") == sees, "\(stream.text)")
            }
        }
    }

    @Test func `somebody who writes each time first is told, with the hash of what is there`() async throws {
        try await withAPI { api, loop in
            api.gateway.files["IDENTITY.md"] = "# Identity\n\n- **Name:** Wren\n"
            api.gateway.tellsHashes = true
            try await api.bench.open(on: loop)
            let hash = String(repeating: "b", count: 64)
            let more = #","details":{"type":"agent_file_conflict","currentHash":"\#(hash)"}"#
            let conflict = refused("INVALID_REQUEST", "agent file changed", more: more)
            api.gateway.next("agents.files.set", conflict, conflict, conflict)
            let fields = Field.json + ["If-Match: *"]
            let late = try await api.request("PATCH", "/v1/identity", fields, body: #"{"name":"Ann"}"#, on: loop)
            #expect(late.status == 409 && late["code"] == "DOCUMENT_CONFLICT", "\(late)")
            #expect(late["currentHash"] == hash && late.json["retryable"]?.bool == true)

            let absent = ok(#"{"file":{"name":"USER.md","missing":true,"expectedAbsent":true}}"#)
            api.gateway.next("agents.files.get", absent)
            let profile = try await api.get("/v1/profile?refresh=true", on: loop)
            #expect(profile.status == 200 && profile.json["absentByDesign"]?.bool == true, "\(profile)")
            #expect(profile["markdown"] == "")
        }
    }
}
