import Basics
import DemoGateway
import EventLoops
import Gateway
import JSONBytes
import Service
import TestSupport
import Testing

@testable import API

/// The memory that the newest gateways have of approvals, and the end of "allow always". `approvals.jsonl`.
struct GrantRouteTests {
    private static let methods = [
        "sessions.subscribe", "exec.approval.list", "exec.approval.resolve", "approval.resolve", "approval.history",
        "exec.approval.grants.list",
    ]

    private func open(_ api: APIBench, boot: String = #","bootId":"b""#, on loop: isolated EventLoop) async throws {
        let methods = Self.methods.map { "\"\($0)\"" }.joined(separator: ",")
        let text = #"""
            {"type":"hello-ok","protocol":4,"server":{"version":"2026.9.7"\#(boot)},"features":{"methods":[\#(methods)]},
            "snapshot":{"uptimeMs":3600000,"sessionDefaults":{"defaultAgentId":"main","mainKey":"main",
            "mainSessionKey":"agent:main:main"}}}
            """#
        api.gateway.next("exec.approval.list", ok("[]"))
        try await api.bench.open(try #require(Hello(json(text), requested: [])), on: loop)
    }

    private static func snapshot(_ id: String, _ end: String, session: String? = "agent:main:main") -> String {
        let source = session.map { #","source":{"agentId":"main","sessionKey":"\#($0)"}"# } ?? ""
        return #"{"id":"\#(id)","urlPath":"/approve/\#(id)","createdAtMs":1796000000000,"expiresAtMs":1796001800000,"#
            + #""presentation":{"kind":"exec","commandText":"rm -r build","host":"gateway","agentId":"main","#
            + #""allowedDecisions":["allow-once","deny"]},\#(end),"resolvedAtMs":1796000000005\#(source)}"#
    }

    private static let ends = [
        #""status":"allowed","decision":"allow-once","reason":"user","resolver":{"kind":"channel","id":"telegram"}"#,
        #""status":"denied","decision":"deny","reason":"no-route""#, #""status":"expired","reason":"timeout""#,
        #""status":"cancelled","reason":"gateway-restart""#, #""status":"pending""#, #""status":"strange""#,
    ]

    @Test func `decisions of other clients are listed, as the gateway remembers them`() async throws {
        try await withAPI { api, loop in
            try await open(api, on: loop)
            let items = Self.ends.enumerated().map { Self.snapshot("h-\($0.offset)", $0.element) }
            let foreign = Self.snapshot("h-9", Self.ends[1], session: "agent:main:other")
            let page = ok(#"{"items":[\#((items + [foreign]).joined(separator: ","))],"nextCursor":"c 2"}"#)
            api.gateway.responder = { $0.method == "approval.history" ? .now(page) : nil }
            let list = try await api.get("/v1/approvals?state=history&limit=200&kind=exec", on: loop)
            #expect(list.status == 200 && list["before"] == "c 2", "\(list)")
            let rows = list.json["approvals"]?.elements.map { $0 } ?? []
            #expect(rows.map { $0["state"]?.string } == ["allowed", "denied", "expired", "cancelled", "denied"])
            #expect(rows.first?["decidedBy"]?.string == "channel telegram")
            #expect(rows.first?["command"]?.string == "rm -r build" && rows.first?["decisions"]?.count == 0)
            #expect(rows.first?["session"]?.string == "agent:main:main" && rows.first?["via"] == nil)
            let asked = api.gateway.requests("approval.history").last
            #expect(asked?.params["limit"]?.int == 100 && asked?["kind"] == "exec")
            _ = try await api.get("/v1/approvals?state=history&before=c%202", on: loop)
            #expect(api.gateway.requests("approval.history").last?["cursor"] == "c 2")

            let bound = try await api.token("read", more: #","sessions":["agent:main:other"]"#, on: loop).bearer
            let own = try await api.get("/v1/approvals?state=history", bound, on: loop)
            #expect(own.json["approvals"]?.elements.map { $0["id"]?.string } == ["h-9"])
            #expect(try await api.get("/v1/approvals?state=histori", on: loop).status == 400)
            api.gateway.responder = nil
            api.gateway.next("approval.history", refused("INVALID_REQUEST", "bad cursor"))
            #expect(try await api.get("/v1/approvals?state=history&before=x", on: loop)["code"] == "PLACE_NOT_FOUND")
        }
    }

    private func decide(_ body: String, _ api: APIBench, on loop: isolated EventLoop) async throws -> Answer {
        try await api.post("/v1/approvals/a", Field.json, body, on: loop)
    }

    @Test func `allow always may have an end, where the gateway knows of it`() async throws {
        try await withAPI { api, loop in
            try await open(api, on: loop)
            try await api.bench.asks(Asked.exec("a"), on: loop)
            for value in ["0", "3651", "1.5", "\"30\"", "[]", "true", "-1", "99999999999999999999"] {
                let wrong = try await decide(
                    #"{"decision":"allow-always","grantExpiresInDays":\#(value)}"#,
                    api,
                    on: loop
                )
                #expect(wrong.status == 422 && wrong["field"] == "grantExpiresInDays", "\(value): \(wrong)")
            }
            let once = try await decide(#"{"decision":"allow-once","grantExpiresInDays":30}"#, api, on: loop)
            #expect(once.status == 422 && once["field"] == "grantExpiresInDays")
            let misspelt = try await decide(#"{"decision":"allow-always","grantExpiresInDay":30}"#, api, on: loop)
            #expect(misspelt.status == 422 && misspelt["hint"]?.contains("grantExpiresInDays") == true)
            #expect(api.gateway.requests("approval.resolve").isEmpty)
            api.gateway.next("approval.resolve", ok(#"{"applied":true,"approval":{"id":"a","status":"allowed"}}"#))
            let done = try await decide(#"{"decision":"allow-always","grantExpiresInDays":30}"#, api, on: loop)
            #expect(done.status == 200 && done["decision"] == "allow-always", "\(done)")
            let sent = api.gateway.requests("approval.resolve").last
            #expect(sent?.params["grantExpiresInDays"]?.int == 30 && sent?["kind"] == "exec")
            #expect(api.gateway.requests("exec.approval.resolve").isEmpty)

            // Without an end, the call is the one that every release has.
            try await api.bench.asks(Asked.exec("b"), on: loop)
            let other = try await api.post("/v1/approvals/b", Field.json, #"{"decision":"allow-always"}"#, on: loop)
            #expect(other.status == 200)
            #expect(api.gateway.requests("exec.approval.resolve").count == 1)
        }
    }

    @Test func `a gateway that knows no end gets no decision`() async throws {
        try await withAPI { api, loop in
            try await open(api, boot: "", on: loop)
            try await api.bench.asks(Asked.exec("a"), on: loop)
            let body = #"{"decision":"allow-always","grantExpiresInDays":30}"#
            let refused = try await decide(body, api, on: loop)
            #expect(refused.status == 501 && refused["field"] == "grantExpiresInDays", "\(refused)")
            #expect(refused["capability"] == "approvals.grants" && refused["hint"] != nil)
            #expect(try await api.get("/v1/approvals/a", on: loop)["state"] == "pending")
            #expect(api.gateway.requests("approval.resolve").isEmpty)
        }
    }

    @Test func `permissions are listed and taken back, with the scope of decisions`() async throws {
        try await withAPI { api, loop in
            try await open(api, on: loop)
            let grant = #"""
                {"grantId":"g-1","mintedByApprovalId":"a","agentId":"main","cronJobId":"j","cronJobName":"night\u202Ely",
                "command":"rm -r build","cwd":null,"createdAtMs":1796000000000,"expiresAtMs":null,"revokedAtMs":null,
                "revokedBy":null,"lastUsedAtMs":1796000000500,"useCount":3}
                """#
            let answer = ok(#"{"grants":[\#(grant),{"command":"no id"},{"grantId":"g\u0000","command":"x"}]}"#)
            api.gateway.responder = { $0.method == "exec.approval.grants.list" ? .now(answer) : nil }
            let list = try await api.get("/v1/approvals/grants", on: loop)
            #expect(list.status == 200 && list.json["grants"]?.count == 1, "\(list)")
            let shown = try #require(list.json["grants"]?[0])
            #expect(shown["automationName"]?.string == #"night\u{202E}ly"# && shown["uses"]?.int == 3)
            #expect(shown["expiresAt"] == nil && shown["cwd"] == nil)
            let outcomes = [("revoked", 200), ("already-revoked", 200), ("not-found", 404)]
            for (outcome, status) in outcomes {
                api.gateway.next("exec.approval.grants.revoke", ok(#"{"outcome":"\#(outcome)"}"#))
                let done = try await api.request("DELETE", "/v1/approvals/grants/g-1", on: loop)
                #expect(done.status == status, "\(done)")
            }
            #expect(api.gateway.requests("exec.approval.grants.revoke").map { $0["grantId"] } == ["g-1", "g-1", "g-1"])
            let reader = try await api.token("read", "control", on: loop).bearer
            #expect(try await api.get("/v1/approvals/grants", reader, on: loop)["code"] == "MISSING_SCOPE")
            let more = #","sessions":["agent:main:main"]"#
            let bound = try await api.token("read", "approvals", more: more, on: loop).bearer
            #expect(try await api.get("/v1/approvals/grants", bound, on: loop)["code"] == "SESSION_NOT_ALLOWED")
            let cut = try await api.request("DELETE", "/v1/approvals/grants/g-1", bound, on: loop)
            #expect(cut["code"] == "SESSION_NOT_ALLOWED")
        }
    }

    @Test func `older gateways have neither`() async throws {
        try await withAPI(.demo) { api, loop in
            for (path, name) in [("?state=history", "approvals.history"), ("/grants", "approvals.grants")] {
                let old = try await api.get("/v1/approvals\(path)", on: loop)
                #expect(old.status == 501 && old["capability"] == name, "\(old)")
            }
        }
    }
}
