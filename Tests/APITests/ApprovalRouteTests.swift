import Access
import Basics
import EventLoops
import EventStream
import Gateway
import HTTPModel
import JSONBytes
import Runs
import Service
import TestSupport
import Testing

@testable import API

/// Approvals over HTTP: who sees them, who decides, and the form of each refusal.
struct ApprovalRouteTests {
    private func open(_ api: APIBench, on loop: isolated EventLoop) async throws {
        api.gateway.next("exec.approval.list", ok("[]"))
        try await api.bench.open(methods: Asked.listing, on: loop)
    }

    private func decide(
        _ id: String,
        _ decision: String,
        _ fields: [String] = [],
        _ api: APIBench,
        on loop: isolated EventLoop
    ) async throws -> Answer {
        let body = #"{"decision":"\#(decision)"}"#
        return try await api.post("/v1/approvals/\(id)", Field.json + fields, body, on: loop)
    }

    @Test func `a pending approval is listed, read, decided and published`() async throws {
        try await withAPI { api, loop in
            try await open(api, on: loop)
            try await api.bench.asks(Asked.exec("a", "echo \u{202E}x"), on: loop)
            let list = try await api.get("/v1/approvals", on: loop)
            #expect(list.json["pending"]?.int == 1)
            #expect(list.json["live"]?.bool == true)
            #expect(list.json["complete"]?.bool == true)
            let shown = try #require(list.json["approvals"]?[0])
            #expect(shown["command"]?.string == #"echo \u{202E}x"#)
            #expect(shown["expiresInMs"]?.int ?? 0 > 1_700_000)
            #expect(shown["commandSha256"]?.string?.count == 64)
            let one = try await api.get("/v1/approvals/a", on: loop)
            let tag = try #require(one.field("ETag"))
            try await api.advance(5_000, on: loop)
            #expect(try await api.get("/v1/approvals/a", ["If-None-Match: \(tag)"], on: loop).status == 304)
            #expect(try await api.get("/v1/status", on: loop).json["approvals"]?["pending"]?.int == 1)
            #expect(try await api.get("/v1/activity", on: loop).json["approvals"]?.int == 1)
            #expect(try await api.get("/metrics", on: loop).body.contains("ladle_approvals_pending 1"))
            let stream = try await api.open("GET", "/v1/events?snapshot=true", Field.stream, on: loop)
            #expect(stream.text.contains(#""approvals":1"#))
            stream.leave(on: loop)

            let done = try await decide("a", "allow-once", [], api, on: loop)
            #expect(done.status == 200, "\(done)")
            #expect(done["state"] == "allowed")
            #expect(done["decidedBy"] == "owner")
            #expect(done["via"] == "ladle")
            #expect(try await decide("a", "allow-once", [], api, on: loop).status == 200)
            let other = try await decide("a", "deny", [], api, on: loop)
            #expect(other.status == 409)
            #expect(other["code"] == "APPROVAL_RESOLVED")
            #expect(other.json["approval"]?["state"]?.string == "allowed")
            #expect(try await api.get("/v1/approvals", on: loop).json["approvals"]?.count == 0)
            #expect(try await api.get("/v1/approvals?state=resolved", on: loop).json["approvals"]?.count == 1)
            let events = try await api.get("/v1/events?poll=0&types=approval&since=\(first(api))", on: loop).json
            #expect(events["events"]?.elements.map { $0["approval"]?["state"]?.string } == ["pending", "allowed"])
            try await api.restart(on: loop)
            #expect(try await decide("a", "allow-once", [], api, on: loop).status == 200)
            #expect(try await decide("a", "deny", [], api, on: loop).status == 409)
        }
    }

    private func first(_ api: APIBench) -> String { "\(api.bench.journal.newest.epoch.text).0" }

    @Test func `every refusal has its own answer`() async throws {
        try await withAPI { api, loop in
            try await open(api, on: loop)
            try await api.bench.asks(Asked.exec("abc-1", more: #","ask":"always""#), on: loop)
            // The beginning of an id is not accepted.
            for id in ["abc", "abc-", "abc-12", "%2A"] {
                let answer = try await decide(id, "deny", [], api, on: loop)
                #expect(answer.status == 404)
                #expect(answer["code"] == "APPROVAL_NOT_FOUND")
            }
            for word in ["allow-always", "maybe", ""] {
                let answer = try await decide("abc-1", word, [], api, on: loop)
                #expect(answer.status == 422)
                #expect(answer["code"] == "DECISION_NOT_ALLOWED")
                #expect(answer.json["decisions"]?.elements.map(\.string) == ["allow-once", "deny"])
            }
            for body in [#"{"decide":"deny"}"#, "[]", #"{"decision":1}"#] {
                let answer = try await api.post("/v1/approvals/abc-1", Field.json, body, on: loop)
                #expect(answer.status == 422)
                #expect(answer["code"] == "INVALID_FIELD")
            }
            // A query cannot decide, and neither can a GET.
            #expect(try await api.post("/v1/approvals/abc-1?decision=deny", Field.json, "{}", on: loop).status == 422)
            #expect(api.gateway.requests("exec.approval.resolve").isEmpty)

            api.gateway.next("exec.approval.resolve", .ambiguous(.timedOut))
            let lost = try await decide("abc-1", "deny", [], api, on: loop)
            #expect(lost.status == 504)
            #expect(lost["hint"] == "GET /v1/approvals/abc-1 shows how it ended")
            try await api.bench.ends(Asked.resolved("abc-1", "deny", by: "Ladle"), on: loop)
            #expect(try await api.get("/v1/approvals/abc-1", on: loop)["state"] == "denied")

            let now = loop.wallClock
            try await api.bench.asks(Asked.exec("late", at: now, lifeMs: 1_000), on: loop)
            try await api.advance(600, on: loop)
            let late = try await decide("late", "deny", [], api, on: loop)
            #expect(late.status == 410)
            #expect(late["code"] == "APPROVAL_EXPIRED")

            try await api.bench.asks(Asked.exec("away"), on: loop)
            try await api.bench.drop(on: loop)
            let away = try await decide("away", "deny", [], api, on: loop)
            #expect(away.status == 503)
            #expect(away["code"] == "GATEWAY_UNAVAILABLE")
            let list = try await api.get("/v1/approvals", on: loop).json
            #expect(list["live"]?.bool == false)
            #expect(list["asOf"]?.string != nil)
            #expect(list["reason"]?.string == "offline")
            #expect(list["pending"]?.int == 0)
            let state = list["approvals"]?.elements.first { $0["id"]?.string == "away" }?["state"]?.string
            #expect(state == "unknown")
        }
    }

    @Test func `a decision may name the question that was shown`() async throws {
        try await withAPI { api, loop in
            try await open(api, on: loop)
            try await api.bench.asks(Asked.exec("a"), on: loop)
            let hash = try #require(try await api.get("/v1/approvals/a", on: loop)["commandSha256"])
            let number = #"{"decision":"deny","commandSha256":1}"#
            #expect(try await api.post("/v1/approvals/a", Field.json, number, on: loop).status == 422)
            for wrong in ["", String(repeating: "0", count: 64)] {
                let body = #"{"decision":"deny","commandSha256":"\#(wrong)"}"#
                let answer = try await api.post("/v1/approvals/a", Field.json, body, on: loop)
                #expect(answer.status == 409)
                #expect(answer["code"] == "APPROVAL_CHANGED")
                #expect(answer.json["approval"]?["commandSha256"]?.string == hash)
            }
            #expect(api.gateway.requests("exec.approval.resolve").isEmpty)
            let right = #"{"decision":"deny","commandSha256":"\#(hash)"}"#
            #expect(try await api.post("/v1/approvals/a", Field.json, right, on: loop).status == 200)
        }
    }

    @Test func `a page ends before it is too long, and the next begins there`() async throws {
        try await withAPI { api, loop in
            try await open(api, on: loop)
            let long = String(repeating: "x", count: 60_000)
            for number in 0..<40 {
                let created = loop.wallClock.adding(milliseconds: Int64(number))
                try await api.bench.asks(Asked.exec("a\(number)", long, at: created), on: loop)
            }
            for state in ["pending", "resolved"] {
                var seen: [String] = []
                var before: String?
                repeat {
                    let from = before.map { "&before=\($0)" } ?? ""
                    let page = try await api.get("/v1/approvals?limit=200&state=\(state)\(from)", on: loop)
                    #expect(page.body.utf8.count < 1_200_000)
                    seen += page.json["approvals"]?.elements.compactMap { $0["id"]?.string } ?? []
                    before = page.json["before"]?.string
                } while before != nil
                #expect(seen == (0..<40).reversed().map { "a\($0)" })
                for number in 0..<40 { try await api.bench.ends(Asked.resolved("a\(number)", "deny"), on: loop) }
                try await api.restart(on: loop)
            }
        }
    }

    @Test func `a scope decides, and another one for good`() async throws {
        try await withAPI { api, loop in
            try await open(api, on: loop)
            try await api.bench.asks(Asked.exec("a"), on: loop)
            let reader = try await api.token("read", "control", "send", on: loop).bearer
            let refused = try await decide("a", "deny", reader, api, on: loop)
            #expect(refused.status == 403)
            #expect(refused.json["requiredScopes"]?[0]?.string == "approvals")
            let decider = try await api.token("approvals", on: loop).bearer
            #expect(try await api.get("/v1/approvals/a", decider, on: loop).status == 403)
            let always = try await decide("a", "allow-always", decider, api, on: loop)
            #expect(always.status == 403)
            #expect(always.json["requiredScopes"]?[0]?.string == "admin")
            #expect(api.gateway.requests("exec.approval.resolve").isEmpty)
            let done = try await decide("a", "allow-once", decider, api, on: loop)
            #expect(done.status == 200)
            #expect(done["decidedBy"] == "test")
        }
    }

    @Test func `a token for one session sees and decides what that session asks`() async throws {
        try await withAPI { api, loop in
            try await open(api, on: loop)
            let bearer = try await api.token(
                "read",
                "approvals",
                more: #","sessions":["den"]"#,
                on: loop
            ).bearer
            try await api.bench.asks(Asked.exec("own", session: "agent:main:den"), on: loop)
            try await api.bench.asks(Asked.exec("other"), on: loop)
            try await api.bench.asks(Asked.exec("nobody's", session: nil), on: loop)
            let list = try await api.get("/v1/approvals", bearer, on: loop).json
            #expect(list["approvals"]?.elements.map { $0["id"]?.string } == ["own"])
            #expect(list["pending"]?.int == 1)
            #expect(try await api.get("/v1/approvals", on: loop).json["pending"]?.int == 3)
            for id in ["other", "nobody's"] {
                #expect(try await api.get("/v1/approvals/\(id)", bearer, on: loop).status == 404)
                #expect(try await decide(id, "deny", bearer, api, on: loop).status == 404)
            }
            #expect(try await api.get("/v1/activity", bearer, on: loop).json["approvals"]?.int == 1)
            #expect(try await api.get("/v1/status", bearer, on: loop).json["approvals"]?["pending"]?.int == 1)
            let events = try await api.get("/v1/events?poll=0&types=approval&since=\(first(api))", bearer, on: loop)
            #expect(events.json["events"]?.elements.map { $0["approval"]?["id"]?.string } == ["own"])
            #expect(try await decide("own", "deny", bearer, api, on: loop).status == 200)
        }
    }

    @Test func `a stream that comes back sees the question and its end once`() async throws {
        try await withAPI { api, loop in
            try await open(api, on: loop)
            let start = api.bench.journal.newest.text
            try await api.bench.asks(Asked.exec("a"), on: loop)
            let part = try await api.get("/v1/events?poll=0&since=\(start)", on: loop).json
            _ = try await decide("a", "deny", [], api, on: loop)
            let cursor = try #require(part["cursor"]?.string)
            let rest = try await api.get("/v1/events?poll=0&since=\(cursor)", on: loop).json
            let states = [part, rest].flatMap { page in
                page["events"]?.elements.compactMap { $0["approval"]?["state"]?.string } ?? []
            }
            #expect(states == ["pending", "denied"])
        }
    }

    @Test func `an event that is too long to be sent leads to the whole`() async throws {
        try await withAPI { api, loop in
            try await open(api, on: loop)
            try await api.bench.asks(Asked.exec("a b", String(repeating: "\u{1B}", count: 20_000)), on: loop)
            let events = try await api.get("/v1/events?poll=0&types=approval&since=\(first(api))", on: loop).json
            let event = try #require(events["events"]?[0])
            #expect(event["truncated"]?.bool == true)
            #expect(event["href"]?.string == "/v1/approvals/a%20b")
            #expect(try await api.get("/v1/approvals/a%20b", on: loop)["command"]?.count == 6 * 20_000)
        }
    }

    @Test func `the audit line names the decision and the command's hash`() async throws {
        let folder = try ScratchDirectory()
        let audit = AuditTrail(path: folder.file("audit.log"), limit: 1 << 20, keep: 2) { Issue.record("\($0)") }
        try await withAPI(.init(audit: audit)) { api, loop in
            try await open(api, on: loop)
            try await api.bench.asks(Asked.exec("a", "rm -rf /tmp/x"), on: loop)
            let hash = try #require(try await api.get("/v1/approvals/a", on: loop)["commandSha256"])
            _ = try await decide("a", "deny", [], api, on: loop)
            await audit.finish()
            let text = String(decoding: try folder.bytes(of: "audit.log"), as: UTF8.self)
            #expect(text.contains(#""what":"decideApproval","which":"a","result":"done""#))
            #expect(text.contains(#""decision":"deny","commandSha256":"\#(hash)""#))
            #expect(!text.contains("rm -rf"))
        }
    }

    // MARK: One-tap links

    private static let linked = APIBench.Setup(api: { $0.hasApprovalLinks = true })

    private func link(
        _ id: String,
        _ decision: String,
        _ fields: [String] = [],
        _ api: APIBench,
        on loop: isolated EventLoop
    ) async throws -> Answer {
        try await api.post("/v1/approvals/\(id)/links", Field.json + fields, #"{"decision":"\#(decision)"}"#, on: loop)
    }

    @Test func `a link gives its decision once, and only by POST`() async throws {
        try await withAPI(Self.linked) { api, loop in
            try await open(api, on: loop)
            try await api.bench.asks(Asked.exec("a"), on: loop)
            let made = try await link("a", "deny", [], api, on: loop)
            #expect(made.status == 201, "\(made)")
            let url = try #require(made["url"])
            let other = try #require(try await link("a", "allow-once", [], api, on: loop)["url"])
            let stranger = APIBench.Place.user(4242)
            for method in ["PUT", "DELETE"] {
                let answer = try await api.request(method, url, from: stranger, on: loop)
                #expect(answer.status == 405)
                #expect(answer.field("Allow") == "GET, POST, HEAD, OPTIONS")
            }
            #expect(try await api.request("HEAD", url, from: stranger, on: loop).status == 200)
            #expect(api.gateway.requests("exec.approval.resolve").isEmpty)
            let done = try await api.post(url, [], nil, from: stranger, on: loop)
            #expect(done.status == 200, "\(done)")
            #expect(done["state"] == "denied")
            #expect(done["command"] == nil)
            #expect(api.gateway.requests("exec.approval.resolve").map { $0["decision"] } == ["deny"])
            // One link is used, the other ended with its approval.
            for used in [url, other] {
                let again = try await api.post(used, [], nil, from: stranger, on: loop)
                #expect(again.status == 404)
                #expect(again["code"] == "APPROVAL_NOT_FOUND")
            }
            #expect(api.gateway.requests("exec.approval.resolve").count == 1)
            #expect(try await link("a", "deny", [], api, on: loop).status == 409)
        }
    }

    @Test func `a GET of a link shows the whole question, as often as one likes, and changes nothing`() async throws {
        try await withAPI(Self.linked) { api, loop in
            try await open(api, on: loop)
            let more = #","cwd":"/home/ann","nodeId":"attic","envKeys":["PATH","HOME"],"warningText":"It deletes.""#
            let command = "rm -rf " + String(repeating: "long ", count: 1_000) + "end"
            try await api.bench.asks(Asked.exec("a", command, more: more), on: loop)
            let url = try #require(try await link("a", "deny", [], api, on: loop)["url"])
            let stranger = APIBench.Place.user(4242)
            for _ in 0..<30 {
                let shown = try await api.get(url, from: stranger, on: loop)
                #expect(shown.status == 200 && shown.field("Cache-Control") == "no-store")
                for part in [
                    command, "in /home/ann", "on the gateway", "on node attic",
                    "A POST to this link decides once: deny.",
                ] {
                    #expect(shown.body.contains(part), "\(part)")
                }
            }
            #expect(api.gateway.requests("exec.approval.resolve").isEmpty)
            #expect(try await api.post(url, [], nil, from: stranger, on: loop)["state"] == "denied")
            #expect(try await api.get(url, from: stranger, on: loop).status == 404)
        }
    }

    @Test func `a link decides the question that it was made for`() async throws {
        try await withAPI(Self.linked) { api, loop in
            try await open(api, on: loop)
            try await api.bench.asks(Asked.exec("a", "ls"), on: loop)
            let old = try #require(try await link("a", "allow-once", [], api, on: loop)["url"])
            try await api.bench.asks(Asked.exec("a", "rm -rf /"), on: loop)
            #expect(try await api.post(old, [], nil, on: loop).status == 404)
            #expect(api.gateway.requests("exec.approval.resolve").isEmpty)
            let body = #"{"decision":"deny","commandSha256":"0"}"#
            let wrong = try await api.post("/v1/approvals/a/links", Field.json, body, on: loop)
            #expect(wrong["code"] == "APPROVAL_CHANGED")
        }
    }

    @Test func `a page uses a link if its origin is listed`() async throws {
        var setup = Self.linked
        setup.origins = ["https://push.example"]
        try await withAPI(setup) { api, loop in
            try await open(api, on: loop)
            try await api.bench.asks(Asked.exec("a"), on: loop)
            let url = try #require(try await link("a", "deny", [], api, on: loop)["url"])
            let form = ["Content-Type: application/x-www-form-urlencoded"]
            for fields in [["Origin: https://evil.example"], ["Origin: null"], ["Sec-Fetch-Site: cross-site"]] {
                #expect(try await api.post(url, form + fields, "x=1", on: loop).status == 403)
            }
            #expect(api.gateway.requests("exec.approval.resolve").isEmpty)
            #expect(try await api.post(url, ["Origin: https://push.example"], nil, on: loop).status == 200)
        }
    }

    @Test func `links are off unless the owner says so, and none allows for good`() async throws {
        try await withAPI { api, loop in
            try await open(api, on: loop)
            try await api.bench.asks(Asked.exec("a"), on: loop)
            let off = try await link("a", "deny", [], api, on: loop)
            #expect(off.status == 404)
            #expect(off["hint"] == "ladle serve --approvals-links")
        }
        try await withAPI(Self.linked) { api, loop in
            try await open(api, on: loop)
            try await api.bench.asks(Asked.exec("a"), on: loop)
            let always = try await link("a", "allow-always", [], api, on: loop)
            #expect(always.status == 422)
            #expect(always.json["decisions"]?.elements.map(\.string) == ["allow-once", "deny"])
            let reader = try await api.token("read", "send", on: loop).bearer
            #expect(try await link("a", "deny", reader, api, on: loop).status == 403)
            let bound = try await api.token("approvals", more: #","sessions":["den"]"#, on: loop).bearer
            #expect(try await link("a", "deny", bound, api, on: loop).status == 404)
        }
    }

    @Test func `a link waits for the gateway, survives a restart, and ends with its token`() async throws {
        try await withAPI(Self.linked) { api, loop in
            try await open(api, on: loop)
            try await api.bench.asks(Asked.exec("a"), on: loop)
            try await api.bench.asks(Asked.exec("b"), on: loop)
            let url = try #require(try await link("a", "deny", [], api, on: loop)["url"])
            let token = try await api.token("approvals", on: loop)
            let tied = try #require(try await link("b", "deny", token.bearer, api, on: loop)["url"])
            try await api.bench.drop(on: loop)
            #expect(try await api.post(url, [], nil, on: loop).status == 503)
            try await api.restart(on: loop)
            api.gateway.next("exec.approval.list", ok("[\(Asked.exec("a")),\(Asked.exec("b"))]"))
            try await api.bench.open(methods: Asked.listing, on: loop)
            // The new process does not read the tokens again, which has the effect of a revocation.
            #expect(try await api.post(tied, [], nil, on: loop).status == 404)
            #expect(try await api.post(url, [], nil, on: loop).status == 200)
            #expect(api.gateway.requests("exec.approval.resolve").map { $0["id"] } == ["a"])
        }
    }

    @Test func `two taps at once are one decision, and wrong secrets count like wrong tokens`() async throws {
        let folder = try ScratchDirectory()
        let audit = AuditTrail(path: folder.file("audit.log"), limit: 1 << 20, keep: 2) { Issue.record("\($0)") }
        try await withAPI(.init(api: { $0.hasApprovalLinks = true }, audit: audit)) { api, loop in
            try await open(api, on: loop)
            try await api.bench.asks(Asked.exec("a"), on: loop)
            let url = try #require(try await link("a", "allow-once", [], api, on: loop)["url"])
            api.bench.journal.hold()
            let first = try await api.open("POST", url, on: loop)
            let second = try await api.open("POST", url, on: loop)
            api.bench.journal.release()
            try await api.bench.settle(on: loop)
            let taps = [first.answer?.status ?? 0, second.answer?.status ?? 0]
            #expect(taps.sorted() == [200, 404])
            #expect(api.gateway.requests("exec.approval.resolve").count == 1)
            let wrong = "/v1/act/lda_" + String(repeating: "x", count: 43)
            var statuses: [Int] = []
            for _ in 0..<20 { statuses.append(try await api.post(wrong, [], nil, on: loop).status) }
            #expect(statuses.first == 404)
            #expect(statuses.last == 429)
            // The owner may have the address of somebody who guesses.
            try await api.bench.asks(Asked.exec("b"), on: loop)
            let good = try #require(try await link("b", "deny", [], api, on: loop)["url"])
            #expect(try await api.post(good, [], nil, on: loop).status == 200)
            await audit.finish()
            let text = String(decoding: try folder.bytes(of: "audit.log"), as: UTF8.self)
            #expect(text.contains(#""who":"link:owner","#))
            #expect(text.contains(#""what":"actOnApproval","which":"a","result":"done""#))
            #expect(!text.contains("lda_"))
        }
    }
}
