import Basics
import EventLoops
import Gateway
import JSONBytes
import Ledger
import Observability
import Outbox
import Runs
import Store
import Testing

@testable import Service

/// How runs of the newest gateways end, by `sessions-status.jsonl`, `chat-events.jsonl` and `chat-send-queued.jsonl`.
struct NewestRunTests {
    private static let main = ServiceBench.main
    private static let start = ManualClock.start.milliseconds

    private func open(_ bench: ServiceBench, on loop: isolated EventLoop) async throws {
        let text = #"""
            {"type":"hello-ok","protocol":4,"server":{"version":"2026.10.2","bootId":"boot-1"},
            "features":{"methods":["sessions.subscribe","sessions.status"],"capabilities":["x"]},
            "snapshot":{"uptimeMs":3600000,"sessionDefaults":{"defaultAgentId":"main","mainKey":"main",
            "mainSessionKey":"agent:main:main"}}}
            """#
        try await bench.open(try #require(Hello(json(text), requested: [])), on: loop)
    }

    private static func page(_ status: String, isActive: Bool = false) -> String {
        #","sessionId":"c-1","hasMore":false,"sessionInfo":{"hasActiveRun":\#(isActive),"status":"\#(status)"}"#
    }

    private static func matched(_ run: String, _ status: String) -> CallOutcome {
        ok(
            #"{"observedAt":1,"session":{"key":"agent:main:main","status":"\#(status)","hasActiveRun":false,"#
                + #""matchedRun":{"runId":"\#(run)","status":"\#(status)"}}}"#
        )
    }

    private static let another = ok(
        #"{"observedAt":1,"session":{"key":"agent:main:main","status":"failed","hasActiveRun":false,"matchedRun":null}}"#
    )

    /// A run at work whose end Ladle misses. The page says how the session's last run ended, which may be another one.
    private func missed(_ bench: ServiceBench, _ answer: CallOutcome, on loop: isolated EventLoop) async throws -> Run?
    {
        try await open(bench, on: loop)
        let id = try await bench.accept("convert it", on: loop) ?? ""
        try await bench.event("agent", Frame.start(id, at: Self.start), on: loop)
        bench.gateway.rows[Self.main] = [Row.user("convert it", key: id, id: "u", at: Self.start)]
        bench.gateway.historyMembers = Self.page("running", isActive: true)
        try await bench.advance(20_000, on: loop)
        try await bench.drop(on: loop)
        bench.gateway.historyMembers = Self.page("failed")
        bench.gateway.responder = { $0.method == "sessions.status" ? .now(answer) : nil }
        try await open(bench, on: loop)
        try await bench.advance(60_000, on: loop)
        let question = bench.gateway.requests("sessions.status").first
        #expect(question?["key"] == Self.main && question?["sessionId"] == "c-1" && question?["expectedRunId"] == id)
        return bench.services.runs.run(id)
    }

    @Test(arguments: [("done", Run.State.completed), ("killed", .aborted), ("timeout", .failed), ("failed", .failed)])
    func `a run whose end was missed ended as the gateway says of it`(status: String, state: Run.State) async throws {
        try await withServices { bench, loop in
            let run = try await missed(bench, Self.matched("k", status), on: loop)
            #expect(run?.state == state && run?.end != .unknown)
        }
    }

    @Test(arguments: [NewestRunTests.another, ok(#"{"observedAt":1,"session":null}"#), refused("UNAVAILABLE", "later")])
    func `the end of another run is not told of this one`(answer: CallOutcome) async throws {
        try await withServices { bench, loop in
            let run = try await missed(bench, answer, on: loop)
            #expect(run?.end == .unknown)
        }
    }

    @Test func `a run whose agent goes on elsewhere says so, also after a restart`() async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            let id = try await bench.accept("look into it", on: loop) ?? ""
            try await bench.event("agent", Frame.start(id, at: Self.start), on: loop)
            let end = Frame.final(id, 5, "A helper goes on.").dropLast() + #","yielded":true}"#
            try await bench.event("chat", String(end), on: loop)
            try await bench.advance(5_000, on: loop)
            #expect(bench.services.runs.run(id)?.handedOver == true)
            #expect(bench.services.runs.run(id)?.text == "A helper goes on.")
            let kept = try await bench.journal.read { try $0.runs.run(id: id) }
            #expect(kept?.handedOver == true && kept?.state == .completed)
        }
    }

    /// The gateway's own setting joins what waits, where it does not know the mode that Ladle asks for.
    @Test(arguments: ["inputReceipts", "inputConsumptions"])
    func `messages that the gateway joined into one turn get its answer`(member: String) async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            let first = try await bench.accept("one", on: loop) ?? ""
            try await bench.advance(100, on: loop)
            try await bench.event("chat", Frame.final(first, 0, nil), on: loop)
            try await bench.advance(2_000, on: loop)
            let row =
                #"{"role":"user","content":[{"type":"text","text":"[Queued messages while agent was busy]\n\n1. nought\n"#
                + #"2. one"}],"timestamp":\#(Self.start + 2_000),"__openclaw":{"id":"e-30","seq":30}}"#
            let answer =
                #"{"role":"assistant","content":[{"type":"text","text":"Both done."}],"timestamp":\#(Self.start + 2_900),"#
                + #""stopReason":"stop","__openclaw":{"id":"e-31","runId":"g"}}"#
            bench.gateway.rows[Self.main] = [row, answer]
            let receipts = [first, "another"].map {
                #"{"runId":"\#($0)","state":"consumed","consumedByEventId":"e-30"}"#
            }
            bench.gateway.historyMembers = Self.page("done") + #","\#(member)":[\#(receipts.joined(separator: ","))]"#
            try await bench.event("agent", Frame.start("g", at: Self.start + 2_000), on: loop)
            try await bench.event("chat", Frame.final("g", 9, "Both done."), on: loop)
            try await bench.advance(60_000, on: loop)
            #expect(bench.services.runs.run(first)?.text == "Both done.")
            let entry = try await bench.journal.read { try $0.outbox.entry(id: first) }
            #expect(entry?.state == .delivered)
            #expect(bench.gateway.sentKeys == [first])
        }
    }
}
