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

/// Runs that an earlier process of Ladle followed, and runs with which a restarted gateway goes on.
struct EarlierRunTests {
    private static let main = ServiceBench.main

    /// A run that the gateway's restart cut off, and that Ladle has given up since.
    private func givenUpRun(_ bench: ServiceBench, on loop: isolated EventLoop) async throws -> String {
        let id = try await bench.accept("hello", on: loop) ?? ""
        try await bench.event("agent", Frame.start(id), on: loop)
        bench.gateway.rows[Self.main] = [Row.user("hello", key: id)]
        try await bench.drop(on: loop)
        try await bench.open(uptimeMs: 100, on: loop)
        try await bench.advance(120_000, on: loop)
        #expect(bench.data("run.ended").first?["run"]?["code"]?.string == "RUN_INTERRUPTED")
        return id
    }

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

    /// The end of the run was on disk before the kill, and the entry's proof was not. Found by the kill loop.
    @Test func `a run that ended before the kill proves its message, and holds up nobody`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("hello", on: loop) ?? ""
            try await bench.event("agent", Frame.start(id), on: loop)
            try await bench.event("chat", Frame.final(id, 9, "Hi."), on: loop)
            try await bench.advance(2_000, on: loop)
            #expect(bench.data("run.ended").count == 1)
            try await bench.takeProof(of: id, on: loop)
            try await bench.kill(on: loop)
            #expect(try await bench.state(id) == .delivered)
            _ = try await bench.accept("next", on: loop)
            try await bench.open(on: loop)
            try await bench.advance(1_000, on: loop)
            #expect(bench.gateway.sentTexts == ["hello", "next"])
        }
    }

    /// Killed a moment later, the failed run may be one that the gateway refused: that is no proof, but it is over.
    @Test func `a run that failed before the kill holds up nobody`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("hello", on: loop) ?? ""
            try await bench.event("agent", Frame.start(id), on: loop)
            let failed = #"{"runId":"\#(id)","sessionKey":"\#(Self.main)","seq":9,"state":"error","errorMessage":"no"}"#
            try await bench.event("chat", failed, on: loop)
            try await bench.advance(2_000, on: loop)
            #expect(bench.data("run.ended").count == 1)
            try await bench.takeProof(of: id, on: loop)
            try await bench.kill(on: loop)
            #expect(try await bench.state(id) == .accepted)
            bench.gateway.rows[Self.main] = [Row.user("hello", key: id)]
            _ = try await bench.accept("next", on: loop)
            try await bench.open(on: loop)
            try await bench.advance(70_000, on: loop)
            #expect(bench.gateway.sentTexts == ["hello", "next"])
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

    @Test(arguments: [false, true])
    func `a message that both kills left without a trace is sent again, and its run goes on`(
        isKilledOnceMore: Bool
    ) async throws {
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
            if isKilledOnceMore {
                try await bench.kill(on: loop)
                try await bench.open(version: 3, uptimeMs: 9000, methods: [], on: loop)
            }
            try await bench.event("agent", Frame.start(id), on: loop)
            try await bench.event("chat", Frame.final(id, 9, "Hello you."), on: loop)
            try await bench.advance(5000, on: loop)
            let runs = bench.data("run.ended").map { $0["run"] }
            #expect(runs.map { $0?["text"]?.string } == ["Hello you."])
            #expect(runs.map { $0?["executedAgain"]?.bool } == [true], "\(runs)")
        }
    }

    @Test func `a message refused by a session conflict that a restart answers is not sent again`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("hello", on: loop) ?? ""
            let words = "Error: reply session initialization conflicted for agent:main:main"
            let refusal = Frame.end(id, "error").replacing("it broke", with: words)
            try await bench.event("chat", refusal, on: loop)
            #expect(try await bench.state(id) == .failed)
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

    /// 2026.6.11, seen live: Ladle follows the run in which a restarted gateway runs a message that it had refused.
    @Test(arguments: [false, true])
    func `a refused message that the gateway runs by itself names that run`(isKilled: Bool) async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("hello", on: loop) ?? ""
            let words = "Error: reply session initialization conflicted for agent:main:main"
            try await bench.event("chat", Frame.end(id, "error").replacing("it broke", with: words), on: loop)
            #expect(try await bench.state(id) == .failed)
            try await bench.advance(10_000, on: loop)
            try await bench.drop(on: loop)
            try await bench.advance(5_000, on: loop)
            try await bench.open(uptimeMs: 1_000, on: loop)
            try await bench.advance(6_000, on: loop)
            let now = loop.wallClock.milliseconds
            let prompt = Row.user(Row.resumption(of: "hello"), id: "row-g", at: now)
            let older = [
                Row.user("older", id: "row-1", at: now - 90_000), Row.assistant("yes", id: "row-2", at: now - 80_000),
            ]
            bench.gateway.rows[Self.main] = older + [prompt]
            try await bench.event("agent", Frame.start("run-g", at: now), on: loop)
            try await bench.row(prompt, on: loop)
            try await bench.advance(1_000, on: loop)
            bench.gateway.rows[Self.main] = older + [prompt, Row.assistant("Hello you.", at: now + 1_000)]
            let final = Frame.final("run-g", 9, "Hello you.").replacing("1795000009000", with: "\(now + 1_000)")
            try await bench.event("chat", final, on: loop)
            if isKilled {
                try await bench.kill(on: loop)
                try await bench.open(uptimeMs: 1_000, on: loop)
            }
            try await bench.advance(120_000, on: loop)
            #expect(bench.data("run.started").allSatisfy { $0["run"]?["id"]?.string == "run-g" })
            let entry = try await bench.journal.read { try $0.outbox.entry(id: id) }
            #expect(entry?.state == .delivered)
            #expect(entry?.runID == "run-g")
            #expect(bench.gateway.sentTexts == ["hello"])
        }
    }

    private enum ReadLater: CaseIterable {
        case knownBefore, foundWithAnswer, unanswered, failed
    }

    /// 2026.6.11, seen live: the words of a refused message were in the prompt of the next one, whose row stands between it and the
    /// answer. The gateway says of the refused one, as long as it runs, that it was refused.
    @Test(arguments: ReadLater.allCases)
    private func `a refused message is delivered once the model has read it with the next one`(
        read: ReadLater
    ) async throws {
        try await withLinkedServices { bench, loop in
            let words = "Error: reply session initialization conflicted for agent:main:main"
            bench.gateway.responder = {
                $0.method == "agent.wait" ? .now(ok(#"{"runId":"r","status":"error","error":"\#(words)"}"#)) : nil
            }
            let id = try await bench.accept("hello", on: loop) ?? ""
            let start = ManualClock.start.milliseconds
            let own = Row.user("hello", key: id, id: "row-1", at: start + 10)
            if read == .foundWithAnswer {
                try await bench.drop(on: loop)
            } else {
                try await bench.event("chat", Frame.end(id, "error").replacing("it broke", with: words), on: loop)
                #expect(try await bench.state(id) == .failed)
                bench.gateway.rows[Self.main] = [own]
                try await bench.advance(5_000, on: loop)
                #expect(try await bench.state(id) == .failed)
                try await bench.event("agent", Frame.start("run-b", at: start + 6_000), on: loop)
            }
            let next = Row.user("next", id: "row-2", at: start + 6_000)
            let answer = Row.assistant("Both.", id: "row-3", at: start + 7_000)
            let broken = answer.replacing(#"[{"type":"text","text":"Both."}]"#, with: "[]").replacing(
                "stop\"",
                with: "error\""
            )
            bench.gateway.rows[Self.main] =
                [own, next] + (read == .unanswered ? [] : [read == .failed ? broken : answer])
            if read == .foundWithAnswer {
                try await bench.open(on: loop)
            } else {
                try await bench.event("chat", Frame.final("run-b", 9, "Both."), on: loop)
            }
            try await bench.advance(20_000, on: loop)
            let entry = try await bench.entry(id)
            let isRead = read == .knownBefore || read == .foundWithAnswer
            #expect(entry.state == (isRead ? .delivered : .failed))
            #expect(entry.runID == nil, "no run of its own can be asked for")
            #expect(bench.gateway.sentTexts == ["hello"])
        }
    }

    @Test func `a run given up before a restart of Ladle is corrected when the gateway has answered it after all`()
        async throws
    {
        try await withLinkedServices { bench, loop in
            let id = try await givenUpRun(bench, on: loop)
            try await bench.kill(on: loop)
            bench.gateway.rows[Self.main]? += [
                Row.user(Row.resumption(of: "hello"), at: ManualClock.start.milliseconds + 130_000),
                Row.assistant("Hello you.", at: ManualClock.start.milliseconds + 131_000),
            ]
            try await bench.advance(200_000, on: loop)
            try await bench.open(uptimeMs: 320_000, on: loop)
            try await bench.advance(5_000, on: loop)
            let run = try await bench.journal.read { try $0.runs.run(id: id) }
            #expect(run?.state == .completed)
            #expect(bench.data("run.corrected").first?["run"]?["text"]?.string == "Hello you.")
            let replies = bench.messages.filter { $0["role"]?.string == "assistant" }
            #expect(replies.map { $0["text"]?.string } == ["Hello you."])
        }
    }

    @Test func `a message delivered long ago names the run with which the gateway goes on`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await givenUpRun(bench, on: loop)
            #expect(try await bench.state(id) == .delivered)
            let now = ManualClock.start.milliseconds + 130_000
            try await bench.event("agent", Frame.start("run-own", at: now), on: loop)
            try await bench.row(Row.user(Row.resumption(of: "hello"), id: "r2", at: now), on: loop)
            #expect(try await bench.entry(id).runID == "run-own")
            #expect(bench.data("outbox").last?["entry"]?["runId"]?.string == "run-own")
            let said = bench.data("message").filter { $0["message"]?["id"]?.string == id }.compactMap { $0["message"] }
            #expect(said.map { $0["runId"]?.string }.suffix(2) == [id, "run-own"])
            #expect(said.map { $0["state"]?.string }.suffix(2) == ["sent", "sent"])
            #expect(bench.said.count { $0.id == id && $0.state == .sent } == 1, "the session's preview stays")
            var page: MessagePages.Page?
            let query = MessagePages.Query(session: Self.main, limit: 9, before: nil, after: nil)
            loop.start { page = try? await bench.services.messagePages.read(query, refresh: true, on: loop) }
            try await bench.settle(on: loop)
            #expect(page?.messages.first?.runID == "run-own", "the list says what the entry and its event say")
        }
    }

    /// It is at a tool when Ladle is killed, so nothing else of it was written since its start.
    @Test func `a run that goes on with another one is told as executed again after a kill`() async throws {
        try await withLinkedServices { bench, loop in
            _ = try await givenUpRun(bench, on: loop)
            let now = ManualClock.start.milliseconds + 130_000
            try await bench.event("agent", Frame.start("run-own", at: now), on: loop)
            try await bench.row(Row.user(Row.resumption(of: "hello"), id: "r2", at: now), on: loop)
            try await bench.kill(on: loop)
            try await bench.open(uptimeMs: 20_000, on: loop)
            try await bench.event("chat", Frame.final("run-own", 9, "Hello you."), on: loop)
            try await bench.advance(5_000, on: loop)
            let run = bench.data("run.ended").compactMap { $0["run"] }.last
            #expect(run?["text"]?.string == "Hello you." && run?["executedAgain"]?.bool == true)
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
            #expect(ends.first?["continuedAs"]?.string == "run-two")
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
                #expect(bench.gateway.sentTexts == ["hello"])
                try await bench.event("chat", Frame.final("run-own", 9, "done"), on: loop)
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

    /// Ladle and the gateway were killed within two seconds of the gateway's start, so its next process may be the same one.
    @Test func `a message of which nothing is seen does not hold up its session by its own run`() async throws {
        try await withServices { bench, loop in
            try await bench.open(on: loop)
            let id = try #require(try await bench.accept("one", on: loop))
            try await bench.kill(on: loop)
            try await bench.open(on: loop)
            try await bench.accept("two", on: loop)
            #expect(!bench.gateway.sentTexts.contains("two"))
            try await bench.advance(130_000, on: loop)
            let entry = try await bench.entry(id)
            #expect(entry.letsOthersGo)
            #expect(bench.gateway.sentTexts.contains("two"))
            #expect(!bench.services.runs.active.map(\.id).contains(id), "of its run nothing is shown either")
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

    /// 2026.3.1, seen live: rows have no keys there, and the second message was told with the answer of the first.
    @Test(arguments: [false, true])
    func `an answered message keeps its row from one with equal words that a kill left in doubt`(
        isGatewayOther: Bool
    ) async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: [], on: loop)
            let first = try await bench.accept("hello", on: loop) ?? ""
            try await bench.event("agent", Frame.start(first), on: loop)
            bench.gateway.rows[Self.main] = [Row.user("hello"), Row.assistant("Hello you.")]
            try await bench.event("chat", Frame.final(first, 9, "Hello you."), on: loop)
            try await bench.advance(1_000, on: loop)
            let second = try await bench.accept("hello", on: loop) ?? ""
            #expect(bench.gateway.sentTexts == ["hello", "hello"])
            try await bench.kill(on: loop)
            try await bench.advance(10_000, on: loop)
            if isGatewayOther {
                try await bench.open(version: 3, uptimeMs: 4000, methods: [], on: loop)
            } else {
                try await bench.open(version: 3, methods: [], on: loop)
            }
            try await bench.advance(20_000, on: loop)
            #expect(bench.services.runs.run(second)?.text.isEmpty ?? true)
            #expect(bench.data("run.ended").isEmpty)
            #expect(try await bench.state(second) != .delivered)
            #expect(
                bench.gateway.sentTexts.count == (isGatewayOther ? 3 : 2),
                "it left no trace at a gateway that is gone"
            )
        }
    }

    /// 2026.3.1, seen live: it writes no row of a run that the model refused, and the row just behind it was told as that run's.
    @Test func `the answer of a run that ended before a kill is no other run's`() async throws {
        try await withServices { bench, loop in
            let start: Int64 = 1_795_000_000_000
            try await bench.open(version: 3, methods: [], on: loop)
            try await bench.event("agent", Frame.start("stranger", at: start), on: loop)
            try await bench.event(
                "agent",
                Frame.agent("stranger", 2, "lifecycle", #"{"phase":"error","error":"no"}"#),
                on: loop
            )
            let id = try await bench.accept("hello", on: loop) ?? ""
            try await bench.event("agent", Frame.start(id, at: start + 64), on: loop)
            bench.gateway.rows[Self.main] = [
                Row.user("hello", at: start + 64), Row.assistant("Hello you.", at: start + 90),
            ]
            try await bench.event("chat", Frame.final(id, 9, "Hello you."), on: loop)
            #expect(bench.data("run.ended").map { $0["run"]?["id"]?.string } == [id])
            let failed = ok(#"{"runId":"stranger","status":"error","error":"no"}"#)
            bench.gateway.responder = { $0.method == "agent.wait" ? .now(failed) : nil }
            try await bench.kill(on: loop)
            try await bench.open(version: 3, methods: [], on: loop)
            try await bench.advance(120_000, on: loop)
            let ended = bench.data("run.ended").compactMap { $0["run"] }
            #expect(ended.map { $0["id"]?.string } == ["stranger"])
            #expect(ended.first?["state"]?.string == "failed")
            #expect(ended.first?["text"]?.string?.isEmpty ?? true)
            #expect(bench.data("run.corrected").isEmpty)
        }
    }

    /// 2026.4.26 and 2026.3.1, seen live: both were killed after the run of the gateway's own had ended, and our message began a second run
    /// with that run's answer.
    @Test func `a run that ended before a kill stays the only one of its row`() async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: [], on: loop)
            let id = try await bench.accept("hello", on: loop) ?? ""
            try await bench.event("agent", Frame.start("own"), on: loop)
            bench.gateway.rows[Self.main] = [Row.user("hello"), Row.assistant("Hello you.")]
            try await bench.event("chat", Frame.final("own", 9, "Hello you."), on: loop)
            #expect(bench.data("run.ended").map { $0["run"]?["id"]?.string } == ["own"])
            try await bench.kill(on: loop)
            try await bench.advance(10_000, on: loop)
            try await bench.open(version: 3, uptimeMs: 4000, methods: [], on: loop)
            try await bench.advance(5_000, on: loop)
            try await bench.accept("next", on: loop)
            #expect(bench.gateway.sentTexts == ["hello", "next"], "that run is over and holds up nobody")
            try await bench.advance(120_000, on: loop)
            #expect(bench.data("run.started").isEmpty)
            #expect(bench.data("run.ended").isEmpty)
            #expect(try await bench.state(id) == .delivered)
            #expect(try await bench.entry(id).runID == "own")
        }
    }

    /// The row was on the stream before our message was sent, so the run that began with it does not answer ours.
    @Test func `a run whose message was told before ours was sent answers another one`() async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: ["sessions.subscribe"], on: loop)
            try await bench.advance(1_000, on: loop)
            let now = loop.wallClock.milliseconds
            let row = Row.user("hello", id: "row-1", at: now)
            try await bench.event("agent", Frame.start("theirs", at: now), on: loop)
            try await bench.row(row, on: loop)
            bench.gateway.rows[Self.main] = [row, Row.assistant("Hello you.", id: "row-2", at: now + 100)]
            let final = Frame.final("theirs", 9, "Hello you.").replacing("1795000009000", with: "\(now + 100)")
            try await bench.event("chat", final, on: loop)
            try await bench.advance(500, on: loop)
            let id = try await bench.accept("hello", on: loop) ?? ""
            #expect(bench.gateway.sentTexts == ["hello"])
            try await bench.kill(on: loop)
            try await bench.advance(10_000, on: loop)
            try await bench.open(version: 3, uptimeMs: 4000, methods: ["sessions.subscribe"], on: loop)
            try await bench.advance(10_000, on: loop)
            #expect(try await bench.entry(id).runID != "theirs")
            #expect(bench.gateway.sentTexts == ["hello", "hello"], "it left no trace")
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

extension ServiceBench {
    /// Brings the entry back to the state in which a kill leaves it that comes before its proof is on disk.
    fileprivate func takeProof(of id: String, on loop: isolated EventLoop) async throws {
        var entry = try await entry(id)
        #expect(entry.state == .delivered)
        (entry.state, entry.proof) = (.accepted, nil)
        let change = OutboxChange(expectedVersion: entry.version, entry: entry)
        services.feed.commit(on: loop) { transaction in
            try transaction.outbox.apply(change)
        } completion: { result in
            #expect((try? result.get()) == true)
        }
        try await settle(on: loop)
    }
}
