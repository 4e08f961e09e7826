import Basics
import EventLoops
import Gateway
import JSONBytes
import Outbox
import Runs
import Store
import Testing

@testable import Service

struct RunServiceTests {
    private static let main = ServiceBench.main

    @Test func `a run is published from its start over its text to its end`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("hello", on: loop) ?? ""
            let place = bench.published.count
            try await bench.event("agent", Frame.start(id), on: loop)
            try await bench.event("agent", Frame.text(id, 2, "Hello"), on: loop)
            try await bench.event("agent", Frame.text(id, 3, "Hello you"), on: loop)
            try await bench.event("chat", Frame.final(id, 4, "Hello you"), on: loop)
            let types = bench.types(since: place).filter { $0.hasPrefix("run.") }
            #expect(types == ["run.started", "run.delta", "run.delta", "run.ended"])
            #expect(bench.data("run.delta").map { $0["text"]?.string } == ["Hello", " you"])
            #expect(bench.data("run.delta").map { $0["offset"]?.int } == [0, 5])
            #expect(bench.data("run.ended").first?["run"]?["state"]?.string == "completed")
            #expect(bench.services.runs.activeCount == 0)
        }
    }

    @Test func `a run and its steps are in the database with their events`() async throws {
        try await withLinkedServices { bench, loop in
            try await bench.event("agent", Frame.start("run-1"), on: loop)
            try await bench.event("agent", Frame.tool("run-1", 2, "start"), on: loop)
            try await bench.event("agent", Frame.tool("run-1", 3, "result"), on: loop)
            let steps = try await bench.journal.read { try $0.runs.steps(run: "run-1") }
            #expect(steps.count == 1)
            #expect(bench.data("run.step").map { $0["step"]?["state"]?.string } == ["running", "done"])
            #expect(try await bench.journal.read { try $0.runs.active().map(\.id) } == ["run-1"])
        }
    }

    @Test(arguments: [("error", "failed"), ("aborted", "aborted")])
    func `a run ends as the gateway says`(frame: String, state: String) async throws {
        try await withLinkedServices { bench, loop in
            try await bench.event("agent", Frame.start("run-1"), on: loop)
            try await bench.event("chat", Frame.end("run-1", frame), on: loop)
            try await bench.advance(20_000, on: loop)
            #expect(bench.data("run.ended").first?["run"]?["state"]?.string == state)
        }
    }

    @Test func `the end of a run nobody saw begin is no run`() async throws {
        try await withLinkedServices { bench, loop in
            try await bench.event("chat", Frame.end("run-1", "aborted"), on: loop)
            #expect(bench.services.runs.runs().isEmpty)
            #expect(bench.types().allSatisfy { !$0.hasPrefix("run.") })
        }
    }

    @Test func `a run whose end is on its way to the streams counts as ending until it is out`() async throws {
        try await withLinkedServices { bench, loop in
            try await bench.event("agent", Frame.start("run-1"), on: loop)
            bench.journal.hold()
            try await bench.event("chat", Frame.end("run-1", "aborted"), on: loop)
            #expect(bench.services.runs.active.isEmpty)
            #expect(bench.services.runs.ending.map(\.id) == ["run-1"])
            bench.journal.release()
            try await bench.settle(on: loop)
            #expect(bench.services.runs.ending.isEmpty)
        }
    }

    @Test func `a run of housekeeping is never shown`() async throws {
        try await withLinkedServices { bench, loop in
            bench.services.runs.hide("run-1")
            try await bench.event("agent", Frame.start("run-1"), on: loop)
            #expect(bench.services.runs.runs().isEmpty)
        }
    }

    // MARK: Asking the history

    @Test func `on the oldest release the history of others' runs is asked every second`() async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: [], on: loop)
            try await bench.event("agent", Frame.start("run-1"), on: loop)
            let before = bench.gateway.requests("chat.history").count
            try await bench.advance(4000, on: loop)
            #expect((3...5).contains(bench.gateway.requests("chat.history").count - before))
        }
    }

    @Test func `a silent run is asked about; a failure is its end once no other try has come`() async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, on: loop)
            try await bench.event("agent", Frame.start("run-1"), on: loop)
            try await bench.advance(15_000, on: loop)
            #expect(bench.gateway.requests("agent.wait").isEmpty)
            bench.gateway.next("agent.wait", ok(#"{"runId":"run-1","status":"timeout"}"#))
            try await bench.advance(2000, on: loop)
            #expect(bench.services.runs.active.map(\.id) == ["run-1"])
            bench.gateway.next("agent.wait", ok(#"{"runId":"run-1","status":"error","error":"429 slow down"}"#))
            try await bench.advance(30_000, on: loop)
            #expect(bench.services.runs.active.map(\.id) == ["run-1"])
            try await bench.advance(62_000, on: loop)
            #expect(bench.data("run.ended").first?["run"]?["error"]?.string == "429 slow down")
        }
    }

    @Test func `a run whose steps come live asks for no history`() async throws {
        try await withLinkedServices { bench, loop in
            try await bench.event("session.tool", Frame.tool("run-1", 2, "start"), on: loop)
            try await bench.event("agent", Frame.start("run-2", session: "agent:main:den"), on: loop)
            let before = bench.gateway.requests("chat.history").count
            try await bench.advance(5000, on: loop)
            #expect(bench.gateway.requests("chat.history").count == before)
        }
    }

    @Test func `nothing is asked while no run is active or the gateway is away`() async throws {
        try await withLinkedServices { bench, loop in
            try await bench.advance(60_000, on: loop)
            #expect(bench.gateway.requests("chat.history").isEmpty)
            try await bench.event("agent", Frame.start("run-1"), on: loop)
            try await bench.drop(on: loop)
            let before = bench.gateway.requests("chat.history").count
            try await bench.advance(10_000, on: loop)
            #expect(bench.gateway.requests("chat.history").count == before)
        }
    }

    @Test func `at most sixteen sessions are asked at a time, and each gets its turn`() async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.silent = ["chat.history"]
            for number in 10..<30 {
                try await bench.event("agent", Frame.start("run-\(number)", session: "agent:main:s\(number)"), on: loop)
            }
            try await bench.advance(17_000, on: loop)
            #expect(bench.gateway.openCalls("chat.history") == 16)
            for _ in 0..<16 { bench.gateway.answer("chat.history") }
            bench.gateway.silent = []
            try await bench.advance(10_000, on: loop)
            let asked = Set(bench.gateway.requests("chat.history").compactMap { $0["sessionKey"] })
            #expect(asked.count == 20)
        }
    }

    @Test func `a slow gateway is asked for few histories at a time`() async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.responder = { request in
                guard request.method == "chat.history" else { return nil }
                return .after(milliseconds: 100, ok(#"{"messages":[]}"#))
            }
            for number in 10..<60 {
                try await bench.event("agent", Frame.start("run-\(number)", session: "agent:main:s\(number)"), on: loop)
            }
            try await bench.advance(20_000, on: loop)
            let before = bench.gateway.requests("chat.history").count
            try await bench.advance(10_000, on: loop)
            #expect((5...25).contains(bench.gateway.requests("chat.history").count - before))
        }
    }
}
