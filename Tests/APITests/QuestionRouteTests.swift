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

/// Questions over HTTP: who sees them, who answers, and the form of each refusal.
struct QuestionRouteTests {
    private static let red = #"{"answers":{"colour":"red"}}"#

    private func open(_ api: APIBench, on loop: isolated EventLoop) async throws {
        api.gateway.next("exec.approval.list", ok("[]"))
        api.gateway.next("question.list", ok("[]"))
        try await api.bench.open(methods: Asked.newest, on: loop)
    }

    private func answer(
        _ id: String,
        _ body: String,
        _ fields: [String] = [],
        _ api: APIBench,
        on loop: isolated EventLoop
    ) async throws -> Answer {
        try await api.post("/v1/questions/\(id)", Field.json + fields, body, on: loop)
    }

    @Test func `a pending question is listed, read, answered and published`() async throws {
        try await withAPI { api, loop in
            try await open(api, on: loop)
            let start = api.bench.journal.newest.text
            try await api.bench.asksPeople(Asked.question("q"), on: loop)
            let list = try await api.get("/v1/questions", on: loop)
            #expect(list.json["pending"]?.int == 1)
            #expect(list.json["live"]?.bool == true && list.json["complete"]?.bool == true)
            #expect(list.json["questions"]?[0]?["questions"]?[0]?["options"]?[1]?["label"]?.string == "green")
            #expect(list.json["questions"]?[0]?["expiresInMs"]?.int ?? 0 > 800_000)
            let tag = try #require(try await api.get("/v1/questions/q", on: loop).field("ETag"))
            try await api.advance(5_000, on: loop)
            #expect(try await api.get("/v1/questions/q", ["If-None-Match: \(tag)"], on: loop).status == 304)
            let done = try await answer("q", Self.red, [], api, on: loop)
            #expect(done.status == 200, "\(done)")
            #expect(done["state"] == "answered" && done["endedBy"] == "owner")
            #expect(try await answer("q", #"{"answers":{"colour":["red"]}}"#, [], api, on: loop).status == 200)
            let other = try await answer("q", #"{"cancel":true}"#, [], api, on: loop)
            #expect(other.status == 409)
            #expect(other["code"] == "QUESTION_RESOLVED")
            #expect(other.json["question"]?["state"]?.string == "answered")
            #expect(try await api.get("/v1/questions", on: loop).json["questions"]?.count == 0)
            #expect(try await api.get("/v1/questions?state=resolved", on: loop).json["questions"]?.count == 1)
            let events = try await api.get("/v1/events?poll=0&types=question&since=\(start)", on: loop).json
            #expect(events["events"]?.elements.map { $0["question"]?["state"]?.string } == ["pending", "answered"])
        }
    }

    @Test func `every refusal has its own answer`() async throws {
        try await withAPI { api, loop in
            // A release without questions.
            try await api.bench.open(methods: Asked.listing, on: loop)
            for answer in [
                try await api.get("/v1/questions", on: loop), try await api.get("/v1/questions/q", on: loop),
                try await answer("q", Self.red, [], api, on: loop),
            ] {
                #expect(answer.status == 501)
                #expect(answer["code"] == "GATEWAY_UNSUPPORTED" && answer["capability"] == "questions")
            }
            try await open(api, on: loop)
            try await api.bench.asksPeople(Asked.question("q-1"), on: loop)
            for id in ["q", "q-", "%2A"] {
                #expect(try await answer(id, Self.red, [], api, on: loop)["code"] == "QUESTION_NOT_FOUND")
            }
            for body in [
                #"{"answers":{"colour":"blue"}}"#, #"{"answers":{"colour":["red","green"]}}"#, #"{"answers":{}}"#,
                #"{"answers":{"colour":""}}"#,
            ] {
                let refused = try await answer("q-1", body, [], api, on: loop)
                #expect(refused.status == 422, "\(body)")
                #expect(refused["code"] == "ANSWER_NOT_ALLOWED" && refused["field"] == "answers.colour")
                #expect(refused.json["options"]?.elements.map(\.string) == ["red", "green"])
            }
            let size = try await answer("q-1", #"{"answers":{"colour":"red","size":"2"}}"#, [], api, on: loop)
            #expect(size.status == 422 && size["field"] == "answers.size")
            for body in [
                "[]", "{}", #"{"answers":"red"}"#, #"{"answers":{"colour":1}}"#, #"{"cancel":false}"#,
                #"{"cancel":true,"answers":{}}"#,
                #"{"answers":{"colour":[\#(Array(repeating: "\"x\"", count: 10).joined(separator: ","))]}}"#,
            ] {
                #expect(try await answer("q-1", body, [], api, on: loop).status == 422, "\(body)")
            }
            #expect(api.gateway.requests("question.resolve").isEmpty)

            api.gateway.next("question.resolve", .ambiguous(.timedOut))
            let lost = try await answer("q-1", Self.red, [], api, on: loop)
            #expect(lost.status == 504)
            #expect(lost["hint"]?.contains("GET /v1/questions/q-1") == true)

            try await api.bench.asksPeople(Asked.question("late", at: loop.wallClock, lifeMs: 1_000), on: loop)
            try await api.advance(600, on: loop)
            let late = try await answer("late", Self.red, [], api, on: loop)
            #expect(late.status == 410 && late["code"] == "QUESTION_EXPIRED")

            try await api.bench.asksPeople(Asked.question("away"), on: loop)
            try await api.bench.drop(on: loop)
            let away = try await answer("away", Self.red, [], api, on: loop)
            #expect(away.status == 503 && away["code"] == "GATEWAY_UNAVAILABLE")
            let list = try await api.get("/v1/questions", on: loop).json
            #expect(list["live"]?.bool == false && list["reason"]?.string == "offline")
            #expect(list["pending"]?.int == 0)
            #expect(list["questions"]?.elements.allSatisfy { $0["state"]?.string == "unknown" } == true)
        }
    }

    @Test func `a token for one session sees and answers what that session asks`() async throws {
        try await withAPI { api, loop in
            try await open(api, on: loop)
            let reader = try await api.token("read", on: loop).bearer
            let bearer = try await api.token("read", "approvals", more: #","sessions":["den"]"#, on: loop).bearer
            let start = api.bench.journal.newest.text
            try await api.bench.asksPeople(Asked.question("own", session: "agent:main:den"), on: loop)
            try await api.bench.asksPeople(Asked.question("other"), on: loop)
            try await api.bench.asksPeople(Asked.question("nobody's", session: nil), on: loop)
            let list = try await api.get("/v1/questions", bearer, on: loop).json
            #expect(list["questions"]?.elements.map { $0["id"]?.string } == ["own"])
            #expect(list["pending"]?.int == 1)
            for id in ["other", "nobody's"] {
                #expect(try await api.get("/v1/questions/\(id)", bearer, on: loop).status == 404)
                #expect(try await answer(id, Self.red, bearer, api, on: loop).status == 404)
            }
            let events = try await api.get("/v1/events?poll=0&types=question&since=\(start)", bearer, on: loop)
            #expect(events.json["events"]?.elements.map { $0["question"]?["id"]?.string } == ["own"])
            let refused = try await answer("own", Self.red, reader, api, on: loop)
            #expect(refused.status == 403 && refused.json["requiredScopes"]?[0]?.string == "approvals")
            let done = try await answer("own", Self.red, bearer, api, on: loop)
            #expect(done.status == 200 && done["endedBy"] == "test")
        }
    }

    @Test func `a secret is in no answer, event or audit line`() async throws {
        let folder = try ScratchDirectory()
        let audit = AuditTrail(path: folder.file("audit.log"), limit: 1 << 20, keep: 2) { Issue.record("\($0)") }
        try await withAPI(.init(audit: audit)) { api, loop in
            try await open(api, on: loop)
            let start = api.bench.journal.newest.text
            let part = #"{"questionId":"key","question":"Which key?","isSecret":true}"#
            try await api.bench.asksPeople(Asked.question("q", part), on: loop)
            let done = try await answer("q", #"{"answers":{"key":"hunter2"}}"#, [], api, on: loop)
            #expect(done.status == 200)
            #expect(done.json["questions"]?[0]?["answered"]?.bool == true)
            let events = try await api.get("/v1/events?poll=0&types=question&since=\(start)", on: loop)
            let list = try await api.get("/v1/questions?state=all", on: loop)
            await audit.finish()
            let lines = String(decoding: try folder.bytes(of: "audit.log"), as: UTF8.self)
            #expect(lines.contains(#""what":"answerQuestion","which":"q","result":"done""#))
            #expect(!lines.contains("sha256"))
            for text in [done.body, events.body, list.body, lines] { #expect(!text.contains("hunter2")) }
        }
    }
}
