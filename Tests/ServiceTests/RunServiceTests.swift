import Basics
import EventLoops
import Gateway
import JSONBytes
import Labels
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

    @Test func `a step is read as it was kept`() throws {
        var step = Step(
            id: "r:c1",
            runID: "r",
            sequence: 3,
            kind: .tool,
            tool: "exec",
            toolCallID: "c1",
            category: .terminal,
            label: "Running make...",
            detail: "make -j2",
            state: .running,
            startedAt: Timestamp(milliseconds: 1_795_000_000_123)
        )
        for isOver in [false, true] {
            if isOver {
                (step.state, step.endedAt) = (.failed, Timestamp(milliseconds: 1_795_000_001_000))
                (step.durationMilliseconds, step.exitCode, step.error) = (877, 2, "no rule")
            }
            var writer = JSONWriter()
            step.write(to: &writer)
            #expect(Step(kept: writer.bytes) == step)
        }
        #expect(Step(kept: Array(#"{"id":"r:c1"}"#.utf8)) == nil)
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

    // MARK: Runs of an earlier process

    @Test func `a run that a killed process left open ends when the gateway's process is another`() async throws {
        try await withLinkedServices { bench, loop in
            try await bench.event("agent", Frame.start("run-1"), on: loop)
            try await bench.kill(on: loop)
            #expect(bench.services.runs.active.map(\.id) == ["run-1"])
            try await bench.advance(10_000, on: loop)
            try await bench.open(uptimeMs: 4000, on: loop)
            #expect(bench.services.runs.active.isEmpty)
            let run = try #require(bench.data("run.ended").first?["run"])
            #expect(run["state"]?.string == "failed")
            #expect(run["code"]?.string == "RUN_INTERRUPTED")
        }
    }

    @Test func `the text of a run outlives Ladle and the gateway's process`() async throws {
        try await withLinkedServices { bench, loop in
            try await bench.event("agent", Frame.start("run-1"), on: loop)
            for (number, text) in ["Once", "Once upon", "Once upon a time"].enumerated() {
                try await bench.event("agent", Frame.text("run-1", number + 2, text), on: loop)
                try await bench.advance(1_500, on: loop)
            }
            try await bench.advance(1_000, on: loop)
            try await bench.kill(on: loop)
            #expect(bench.services.runs.active.map(\.text) == ["Once upon a time"])
            try await bench.advance(10_000, on: loop)
            try await bench.open(uptimeMs: 4000, on: loop)
            let run = try #require(bench.data("run.ended").first?["run"])
            #expect(run["code"]?.string == "RUN_INTERRUPTED")
            #expect(run["text"]?.string == "Once upon a time")
            try await bench.advance(10_000, on: loop)
            #expect(bench.data("message").isEmpty, "no transcript has it, so no list would")
        }
    }

    @Test func `the kept text of a run gives way to its whole answer`() async throws {
        try await withLinkedServices { bench, loop in
            try await bench.event("agent", Frame.start("run-1"), on: loop)
            try await bench.event("agent", Frame.text("run-1", 2, "Once"), on: loop)
            try await bench.advance(2_500, on: loop)
            try await bench.kill(on: loop)
            try await bench.open(on: loop)
            try await bench.event("agent", Frame.text("run-1", 3, "Once upon a"), on: loop)
            try await bench.event("chat", Frame.final("run-1", 9, "Once upon a time."), on: loop)
            #expect(bench.data("run.ended").map { $0["run"]?["text"]?.string } == ["Once upon a time."])
        }
    }

    @Test func `a message that both kills left without a trace is sent again, and its run goes on`() async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: [], on: loop)
            let id = try await bench.accept("hello", on: loop) ?? ""
            try await bench.event("agent", Frame.start(id), on: loop)
            try await bench.kill(on: loop)
            try await bench.advance(10_000, on: loop)
            try await bench.open(version: 3, uptimeMs: 4000, methods: [], on: loop)
            try await bench.advance(5000, on: loop)
            #expect(bench.gateway.sentTexts == ["hello", "hello"])
            #expect(bench.data("run.ended").isEmpty)
            try await bench.event("agent", Frame.start(id), on: loop)
            try await bench.event("chat", Frame.final(id, 9, "Hello you."), on: loop)
            try await bench.advance(5000, on: loop)
            #expect(bench.data("run.ended").map { $0["run"]?["text"]?.string } == ["Hello you."])
        }
    }

    @Test func `a message refused by a session conflict that a restart answers is not sent again`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("hello", on: loop) ?? ""
            let words = "Error: reply session initialization conflicted for agent:main:main"
            let refusal = Frame.end(id, "error").replacing("it broke", with: words)
            try await bench.event("chat", refusal, on: loop)
            #expect(try await bench.journal.read { try $0.outbox.entry(id: id)?.state } == .retrying)
            try await bench.kill(on: loop)
            bench.gateway.rows[Self.main] = [
                Row.user("hello", key: id),
                Row.user(Row.resumption(of: "hello"), at: ManualClock.start.milliseconds + 9_000),
                Row.assistant("Hello you.", at: ManualClock.start.milliseconds + 10_000),
            ]
            try await bench.advance(20_000, on: loop)
            try await bench.open(uptimeMs: 15_000, on: loop)
            try await bench.advance(1_900_000, on: loop)
            #expect(bench.gateway.sentTexts == ["hello"])
            let entry = try await bench.journal.read { try $0.outbox.entry(id: id) }
            #expect(entry?.state == .delivered)
            let run = bench.services.runs.run(entry?.runID ?? "")
            #expect(run?.state == .completed)
            #expect(run?.text == "Hello you.")
        }
    }

    @Test func `a run given up before a restart of Ladle is corrected when the gateway has answered it after all`()
        async throws
    {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("hello", on: loop) ?? ""
            try await bench.event("agent", Frame.start(id), on: loop)
            bench.gateway.rows[Self.main] = [Row.user("hello", key: id)]
            try await bench.drop(on: loop)
            try await bench.open(uptimeMs: 100, on: loop)
            try await bench.advance(120_000, on: loop)
            #expect(bench.data("run.ended").first?["run"]?["code"]?.string == "RUN_INTERRUPTED")
            try await bench.kill(on: loop)
            bench.gateway.rows[Self.main]? += [
                Row.user(Row.resumption(of: "hello"), at: ManualClock.start.milliseconds + 130_000),
                Row.assistant("Hello you.", at: ManualClock.start.milliseconds + 131_000),
            ]
            try await bench.advance(200_000, on: loop)
            try await bench.open(uptimeMs: 320_000, on: loop)
            try await bench.advance(5_000, on: loop)
            let run = try await bench.journal.read { try $0.runs.run(id: id) }
            #expect(run?.state == "completed")
            #expect(bench.data("run.corrected").first?["run"]?["text"]?.string == "Hello you.")
        }
    }

    @Test func `a message delivered long ago names the run with which the gateway goes on`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("hello", on: loop) ?? ""
            try await bench.event("agent", Frame.start(id), on: loop)
            bench.gateway.rows[Self.main] = [Row.user("hello", key: id)]
            try await bench.drop(on: loop)
            try await bench.open(uptimeMs: 100, on: loop)
            try await bench.advance(120_000, on: loop)
            #expect(bench.data("run.ended").first?["run"]?["code"]?.string == "RUN_INTERRUPTED")
            #expect(try await bench.state(id) == .delivered)
            let now = ManualClock.start.milliseconds + 130_000
            try await bench.event("agent", Frame.start("run-own", at: now), on: loop)
            try await bench.row(Row.user(Row.resumption(of: "hello"), id: "r2", at: now), on: loop)
            #expect(try await bench.entry(id).runID == "run-own")
            #expect(bench.data("outbox").last?["entry"]?["runId"]?.string == "run-own")
        }
    }

    @Test(arguments: [true, false])
    func `the run with which the gateway goes on is named also when the disk failed meanwhile`(
        isRead: Bool
    ) async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("hello", on: loop) ?? ""
            try await bench.event("agent", Frame.start(id), on: loop)
            bench.gateway.rows[Self.main] = [Row.user("hello", key: id)]
            try await bench.drop(on: loop)
            try await bench.open(uptimeMs: 100, on: loop)
            try await bench.advance(120_000, on: loop)
            #expect(try await bench.state(id) == .delivered)
            let now = ManualClock.start.milliseconds + 130_000
            try await bench.event("agent", Frame.start("run-own", at: now), on: loop)
            let fault = StoreError.unavailable("disk I/O error")
            if isRead { bench.journal.failReads(fault) } else { bench.journal.failWrites(fault) }
            try await bench.row(Row.user(Row.resumption(of: "hello"), id: "r2", at: now), on: loop)
            try await bench.advance(2_500, on: loop)
            bench.journal.failReads(nil)
            bench.journal.failWrites(nil)
            #expect(try await bench.entry(id).runID == id)
            try await bench.advance(1_000, on: loop)
            #expect(try await bench.entry(id).runID == "run-own")
            #expect(bench.data("outbox").last?["entry"]?["runId"]?.string == "run-own")
        }
    }

    @Test func `a message that is taken up twice, with a kill of Ladle between, names its last run`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("hello", on: loop) ?? ""
            try await bench.event("agent", Frame.start(id), on: loop)
            bench.gateway.rows[Self.main] = [Row.user("hello", key: id)]
            for (place, run) in ["run-one", "run-two"].enumerated() {
                try await bench.drop(on: loop)
                if place == 1 { try await bench.kill(on: loop) }
                try await bench.open(uptimeMs: 100, on: loop)
                try await bench.advance(6_000, on: loop)
                let now = bench.clock.wall.milliseconds
                try await bench.event("agent", Frame.start(run, at: now), on: loop)
                let row = Row.user(Row.resumption(of: "hello"), id: run, at: now)
                bench.gateway.rows[Self.main] = [row]
                try await bench.row(row, on: loop)
                #expect(try await bench.entry(id).runID == run)
            }
            try await bench.event("chat", Frame.final("run-two", 9, "Hello you."), on: loop)
            try await bench.advance(120_000, on: loop)
            let ends = bench.data("run.ended").compactMap { $0["run"] }
            #expect(ends.map { $0["id"]?.string } == ["run-one", "run-two"], "since the kill")
            #expect(ends.first?["error"]?.string?.contains("run-two") == true)
            #expect(ends.last?["text"]?.string == "Hello you.")
        }
    }

    /// 2026.6.11 takes an interrupted message into the prompt of the next one, and then nobody answers it.
    @Test(arguments: [true, false])
    func `behind a restart the next message waits for the interrupted one`(goesOn: Bool) async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("hello", on: loop) ?? ""
            try await bench.event("agent", Frame.start(id), on: loop)
            bench.gateway.rows[Self.main] = [Row.user("hello", key: id)]
            try await bench.drop(on: loop)
            try await bench.accept("two", on: loop)
            try await bench.open(uptimeMs: 100, on: loop)
            try await bench.advance(6_000, on: loop)
            #expect(try await bench.state(id) == .delivered)
            #expect(bench.gateway.sentTexts == ["hello"])
            #expect(bench.services.outbox.blockedReason(session: Self.main)?.contains("may go on") == true)
            if goesOn {
                let now = bench.clock.wall.milliseconds
                try await bench.event("agent", Frame.start("run-own", at: now), on: loop)
                try await bench.row(Row.user(Row.resumption(of: "hello"), id: "r2", at: now), on: loop)
            } else {
                // A run that broke off in a tool is failed some seconds after the start.
                bench.gateway.historyMembers = #","sessionInfo":{"status":"failed","hasActiveRun":false}"#
                try await bench.advance(5_000, on: loop)
            }
            #expect(bench.gateway.sentTexts == ["hello", "two"])
        }
    }

    /// Ladle was killed before the answer to its send came; the run was seen after that.
    @Test func `a run whose message is in doubt does not end before its message is sent again`() async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.silent = ["chat.send"]
            let id = try await bench.accept("hello", on: loop) ?? ""
            try await bench.kill(on: loop)
            bench.gateway.silent = []
            bench.gateway.historyMembers = #","inFlightRun":{"runId":"\#(id)","text":"Half"}"#
            try await bench.open(on: loop)
            try await bench.advance(1_000, on: loop)
            #expect(bench.services.runs.run(id)?.state == .running)
            bench.gateway.historyMembers = ""
            try await bench.drop(on: loop)
            try await bench.advance(20_000, on: loop)
            try await bench.open(uptimeMs: 4_000, on: loop)
            try await bench.advance(120_000, on: loop)
            #expect(bench.data("run.ended").isEmpty)
            #expect(bench.gateway.sentTexts.count > 1)
        }
    }

    @Test func `a run of the same process of the gateway is not given up`() async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, on: loop)
            try await bench.event("agent", Frame.start("run-1"), on: loop)
            try await bench.kill(on: loop)
            try await bench.open(version: 3, on: loop)
            try await bench.advance(600_000, on: loop)
            #expect(bench.services.runs.active.map(\.id) == ["run-1"])
            try await bench.event("chat", Frame.final("run-1", 9, "At last."), on: loop)
            #expect(bench.data("run.ended").first?["run"]?["text"]?.string == "At last.")
        }
    }

    @Test func `a run that goes on over a restart keeps its row and ends by its own event`() async throws {
        try await withLinkedServices { bench, loop in
            try await bench.event("agent", Frame.start("run-1"), on: loop)
            try await bench.restart(on: loop)
            try await bench.open(on: loop)
            try await bench.event("agent", Frame.text("run-1", 5, "still here"), on: loop)
            try await bench.advance(20_000, on: loop)
            #expect(bench.services.runs.active.map(\.id) == ["run-1"])
            try await bench.event("chat", Frame.final("run-1", 9, "still here"), on: loop)
            #expect(bench.data("run.ended").first?["run"]?["state"]?.string == "completed")
            #expect(!bench.types().contains("run.started"))
        }
    }

    @Test func `steps go on with their numbers after a restart`() async throws {
        try await withLinkedServices { bench, loop in
            try await bench.event("agent", Frame.start("run-1"), on: loop)
            try await bench.event("agent", Frame.tool("run-1", 2, "start"), on: loop)
            try await bench.restart(on: loop)
            try await bench.open(on: loop)
            try await bench.event("agent", Frame.tool("run-1", 3, "result"), on: loop)
            let steps = try await bench.journal.read { try $0.runs.steps(run: "run-1") }
            #expect(steps.count == 1)
        }
    }

    @Test func `a delivered message whose run nobody saw is looked up in the history`() async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.silent = ["chat.send"]
            let id = try await bench.accept("hello", on: loop) ?? ""
            try await bench.drop(on: loop)
            bench.gateway.silent = []
            bench.gateway.rows[Self.main] = [Row.user("hello", key: id), Row.assistant("Hello you", key: id)]
            try await bench.open(on: loop)
            try await bench.advance(20_000, on: loop)
            #expect(bench.services.runs.run(id)?.state == .completed)
            #expect(bench.services.runs.run(id)?.text == "Hello you")
        }
    }

    @Test func `a message that was just delivered before a restart gets its run from the history`() async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.next("chat.send", ok(#"{"status":"in_flight"}"#))
            let id = try await bench.accept("hello", on: loop) ?? ""
            try await bench.restart(on: loop)
            bench.gateway.rows[Self.main] = [Row.user("hello", key: id), Row.assistant("Hello you", key: id)]
            try await bench.open(on: loop)
            try await bench.advance(20_000, on: loop)
            #expect(bench.services.runs.run(id)?.state == .completed)
        }
    }

    @Test func `on protocol 3 a message waits for a run that began before the restart`() async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: [], on: loop)
            try await bench.event("agent", Frame.start("run-1"), on: loop)
            try await bench.restart(on: loop)
            try await bench.open(version: 3, methods: [], on: loop)
            try await bench.accept("two", on: loop)
            #expect(bench.gateway.sentTexts.isEmpty)
            try await bench.event("chat", Frame.final("run-1", 9, "done"), on: loop)
            try await bench.advance(5000, on: loop)
            #expect(bench.gateway.sentTexts == ["two"])
        }
    }

    @Test func `the runs of another process of the gateway hold up nobody`() async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: [], on: loop)
            try await bench.event("agent", Frame.start("run-1"), on: loop)
            try await bench.drop(on: loop)
            try await bench.advance(60_000, on: loop)
            try await bench.open(version: 3, uptimeMs: 1000, methods: [], on: loop)
            try await bench.accept("two", on: loop)
            #expect(bench.gateway.sentTexts == ["two"])
        }
    }
}
