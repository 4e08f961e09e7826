import JSONBytes
import Testing

@testable import Commands

struct AutomationCommandTests {
    private static let row =
        #"{"id":"7d3b2c9e-4f50-4182-8cb3-d4e5f6071823","name":"Check","enabled":true,"kind":"command","#
        + #""schedule":{"kind":"every","text":"every 1h"},"running":false,"failures":1,"last":{"at":"2026-03-04T11:58:00Z","status":"error","error":"no\u001b[1m"}}"#

    @Test func `jobs are one line each`() {
        let io = RecordedIO()
        io.replies = [.json(200, #"{"automations":[\#(Self.row)],"live":true}"#)]
        #expect(io.run("automations") == .ok)
        #expect(io.output.contains("7d3b2c9e-4f50-4182-8cb3-d4e5f6071823  Check  every 1h  never  error"))
        io.replies = [.json(200, #"{"automations":[],"live":true}"#)]
        #expect(io.run("automations", "list", "--limit", "3") == .ok)
        #expect(io.requests[1].hasPrefix("GET /v1/automations?limit=3 HTTP"))
    }

    @Test func `a job is shown without control characters`() {
        let io = RecordedIO()
        io.replies = [.json(200, Self.row)]
        #expect(io.run("automations", "show", "7d3b2c9e-4f50-4182-8cb3-d4e5f6071823") == .ok)
        #expect(!io.output.contains("\u{1B}") && io.output.contains("every 1h"))
    }

    @Test func `each run has a key of its own`() {
        let io = RecordedIO()
        let answer = #"{"automation":"job"}"#
        io.replies = [.json(202, answer), .json(202, answer), .json(202, answer)]
        #expect(io.run("automations", "run", "job") == .ok)
        #expect(io.run("automations", "run", "job") == .ok)
        #expect(io.run("automations", "run", "--idempotency-key", "mine", "job") == .ok)
        let keys = io.requests.map { request in
            request.split(separator: "\r\n").first { $0.lowercased().hasPrefix("idempotency-key: ") }.map(String.init)
        }
        #expect(Set(keys).count == 3 && keys.allSatisfy { $0 != nil } && keys[2]?.hasSuffix(" mine") == true)
    }

    @Test func `switching goes by a patch, and a word by wake`() throws {
        let io = RecordedIO()
        io.replies = [.json(200, Self.row), .json(202, #"{"session":"agent:main:main","mode":"next-heartbeat"}"#)]
        #expect(io.run("automations", "disable", "job") == .ok)
        #expect(io.requests[0].hasPrefix("PATCH /v1/automations/job HTTP"))
        #expect(try io.body(0)["enabled"]?.bool == false)
        #expect(io.run("wake", "--later", "the", "door") == .ok)
        #expect(try io.body(1)["text"]?.string == "the door" && io.body(1)["mode"]?.string == "next-heartbeat")
    }
}
