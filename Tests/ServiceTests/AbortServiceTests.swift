import Basics
import EventLoops
import Gateway
import JSONBytes
import Outbox
import Runs
import Store
import Testing
import Upstream

@testable import Service

/// A run that is to be stopped while its fate is unknown.
struct AbortServiceTests {
    private static let main = ServiceBench.main
    private static let nothingRan = ok(#"{"aborted":false,"runIds":[]}"#)

    /// Asks for a stop as a request does.
    private func stop(_ run: String, _ bench: ServiceBench, on loop: isolated EventLoop) async throws {
        bench.services.aborts.stop([run], in: Self.main, owner: "token-1", on: loop) { _ in }
        // A run that has not begun has that long to begin.
        try await bench.advance(5_000, on: loop)
    }

    private func stops(_ bench: ServiceBench) async throws -> [OutboxEntry] {
        let all = try await bench.journal.read { tables in try tables.outbox.list(OutboxTable.Query()) }
        return all.filter { $0.kind == .abort }
    }

    private func stoppedRuns(_ bench: ServiceBench) -> [String] {
        bench.gateway.requests("chat.abort").compactMap { $0["runId"] }
    }

    /// A message that the gateway's process took with it; nothing shows whether it arrived.
    private func lostMessage(_ bench: ServiceBench, on loop: isolated EventLoop) async throws -> String {
        bench.gateway.silent = ["chat.send"]
        let id = try await bench.accept("hello", on: loop) ?? ""
        try await bench.drop(on: loop)
        bench.gateway.silent = []
        #expect(try await bench.state(id) == .unconfirmed)
        return id
    }

    /// A run whose gateway was killed after its message was stored.
    private func interruptedRun(_ bench: ServiceBench, on loop: isolated EventLoop) async throws -> String {
        let id = try await bench.accept("hello", on: loop) ?? ""
        try await bench.event("agent", Frame.start(id), on: loop)
        bench.gateway.rows[Self.main] = [Row.user("hello", key: id)]
        try await bench.drop(on: loop)
        return id
    }

    /// The restarted gateway takes the stop, has no such run, and does not show its history yet.
    private func openInDoubt(_ bench: ServiceBench, on loop: isolated EventLoop) async throws {
        bench.gateway.silent = ["chat.history"]
        bench.gateway.next("chat.abort", Self.nothingRan)
        try await bench.open(uptimeMs: 100, on: loop)
    }

    /// The gateway shows that it does not have the message.
    private func openWithoutMessage(_ bench: ServiceBench, on loop: isolated EventLoop) async throws {
        bench.gateway.silent = []
        bench.gateway.historyMembers = #","hasMore":false"#
        try await bench.open(uptimeMs: 2_000, on: loop)
    }

    /// The restarted gateway goes on with the run under an id of its own.
    private func goOn(
        as run: String,
        with words: String = "hello",
        _ bench: ServiceBench,
        on loop: isolated EventLoop
    ) async throws {
        try await begin(run, Row.resumption(of: words), bench, on: loop)
    }

    /// The gateway begins a run with a row of this text.
    private func begin(_ run: String, _ text: String, _ bench: ServiceBench, on loop: isolated EventLoop) async throws {
        let now = loop.wallClock.milliseconds
        try await bench.event("agent", Frame.start(run, at: now), on: loop)
        try await bench.row(Row.user(text, id: "r-\(run)", at: now), on: loop)
    }

    private static let joined =
        "[Queued messages while agent was busy]\n\n---\nQueued #1\nbuy milk\n\n---\nQueued #2\nbook the train"

    /// The gateway is slow to answer, or the run has yet to begin.
    @Test(arguments: [true, false])
    func `a stop that is under way when Ladle shuts down is answered at once, and sent by the next process`(
        hasBegun: Bool
    ) async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("hello", on: loop) ?? ""
            if hasBegun { try await bench.event("agent", Frame.start(id), on: loop) }
            bench.gateway.silent = ["chat.abort"]
            var answer: AbortService.Outcome?
            bench.services.aborts.stop([id], in: Self.main, owner: "token-1", on: loop) { answer = try? $0.get() }
            try await bench.advance(10, on: loop)
            #expect(answer == nil)
            bench.services.aborts.shutDown(on: loop)
            try await bench.advance(10, on: loop)
            guard case .kept(let kept, stopped: [], isGone: false)? = answer else {
                Issue.record("not kept: \(String(describing: answer))")
                return
            }
            #expect(try await stops(bench).map(\.id) == kept.map(\.id))
            let sent = stoppedRuns(bench)
            bench.gateway.silent = []
            try await bench.kill(on: loop)
            bench.gateway.next("chat.abort", ok(#"{"aborted":true,"runIds":["\#(id)"]}"#))
            try await bench.open(uptimeMs: 100_000, on: loop)
            try await bench.advance(5_000, on: loop)
            #expect(stoppedRuns(bench) == sent + [id])
            #expect(try await stops(bench).map(\.state) == [.delivered])
        }
    }

    @Test func `a stop that has reached the gateway outlives a kill of Ladle during the doubt`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await lostMessage(bench, on: loop)
            try await stop(id, bench, on: loop)
            try await openInDoubt(bench, on: loop)
            #expect(try await stops(bench).map(\.state) == [.delivered])
            #expect(try await bench.state(id) == .unconfirmed)
            try await bench.kill(on: loop)
            try await openWithoutMessage(bench, on: loop)
            #expect(try await bench.state(id) == .cancelled)
            #expect(bench.gateway.sentKeys == [id])
        }
    }

    @Test func `a stop that found the run gone outlives a kill of Ladle`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await lostMessage(bench, on: loop)
            bench.gateway.silent = ["chat.history"]
            try await bench.open(uptimeMs: 100, on: loop)
            bench.gateway.next("chat.abort", Self.nothingRan, Self.nothingRan)
            try await stop(id, bench, on: loop)
            try await bench.kill(on: loop)
            try await openWithoutMessage(bench, on: loop)
            #expect(try await bench.state(id) == .cancelled)
            #expect(bench.gateway.sentKeys == [id])
        }
    }

    /// Ladle was killed while the message was on its way. The gateway's process is the same, has no such run, and shows nothing of the
    /// message for a minute.
    @Test(arguments: [(4, false), (4, true), (3, false), (3, true)])
    func `a stopped message that the gateway does not have is cancelled`(version: Int, isKilled: Bool) async throws {
        try await withServices { bench, loop in
            let methods = version == 3 ? [] : ["sessions.subscribe"]
            try await bench.open(version: version, methods: methods, on: loop)
            bench.gateway.silent = ["chat.send"]
            let id = try await bench.accept("hello", on: loop) ?? ""
            try await bench.kill(on: loop)
            bench.gateway.silent = []
            bench.gateway.historyMembers = #","hasMore":false"#
            bench.gateway.next("chat.abort", Self.nothingRan, Self.nothingRan)
            try await stop(id, bench, on: loop)
            try await bench.open(version: version, methods: methods, on: loop)
            if isKilled {
                try await bench.kill(on: loop)
                try await bench.open(version: version, methods: methods, on: loop)
            }
            #expect(try await bench.state(id) == .unconfirmed)
            try await bench.advance(120_000, on: loop)
            let entry = try await bench.entry(id)
            #expect(entry.state == .cancelled)
            // The gateway may have had the message before another stop, of which Ladle has no answer.
            #expect(entry.fault?.code == "STOPPED_UNSEEN" && entry.fault?.mayReturn == true)
            #expect(entry.runID == nil, "no run of it can be asked for")
            #expect(bench.gateway.sentKeys == [id])
            #expect(bench.services.runs.run(id) == nil)
        }
    }

    /// Its run is on the stream, so somebody may ask for it.
    @Test(arguments: [false, true])
    func `a cancelled message names the run that had begun, over a restart too`(isKilled: Bool) async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("hello", on: loop) ?? ""
            try await bench.event("agent", Frame.start(id), on: loop)
            try await bench.drop(on: loop)
            bench.gateway.historyMembers = #","hasMore":false"#
            bench.gateway.next("chat.abort", Self.nothingRan)
            try await stop(id, bench, on: loop)
            if isKilled { try await bench.kill(on: loop) }
            try await bench.open(uptimeMs: 100, on: loop)
            try await bench.advance(120_000, on: loop)
            let entry = try await bench.entry(id)
            #expect(entry.state == .cancelled && entry.runID == id)
        }
    }

    /// The gateway says that it stopped the run, and both are killed before its event came.
    @Test func `a stop that the gateway confirmed outlives a kill of Ladle`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("hello", on: loop) ?? ""
            try await stop(id, bench, on: loop)
            let kept = try #require(try await stops(bench).first)
            #expect(kept.state == .delivered)
            #expect(kept.proof == .answer)
            #expect(kept.owner == "token-1")
            #expect(stoppedRuns(bench) == [id])
            try await bench.drop(on: loop)
            try await bench.kill(on: loop)
            bench.gateway.historyMembers = #","hasMore":false"#
            try await bench.open(uptimeMs: 100, on: loop)
            #expect(try await bench.state(id) == .delivered)
            #expect(bench.data("run.ended").map { $0["run"]?["state"]?.string } == ["aborted"])
            #expect(bench.gateway.sentKeys == [id])
        }
    }

    /// `captures-faults-2/stop-early`: before a run has begun, gateways do not keep a stop.
    @Test(arguments: [false, true])
    func `a stop waits for its run to begin, and not for long`(begins: Bool) async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("hello", on: loop) ?? ""
            bench.services.aborts.stop([id], in: Self.main, owner: nil, on: loop) { _ in }
            try await bench.advance(4_900, on: loop)
            #expect(stoppedRuns(bench) == [])
            if begins {
                try await bench.event("agent", Frame.start(id), on: loop)
            } else {
                try await bench.advance(200, on: loop)
            }
            #expect(stoppedRuns(bench) == [id])
            #expect(try await stops(bench).map(\.state) == [.delivered])
        }
    }

    /// `captures-faults-2/stop-early`: the final event of a stopped run has the answer before once more.
    @Test func `a message whose stop was confirmed is aborted after a kill of Ladle, whatever its final event says`()
        async throws
    {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("hello", on: loop) ?? ""
            bench.gateway.silent = ["chat.history"]
            try await stop(id, bench, on: loop)
            #expect(try await stops(bench).map(\.state) == [.delivered])
            try await bench.kill(on: loop)
            try await bench.open(uptimeMs: 2_000_000, on: loop)
            try await bench.event("chat", Frame.final(id, 2, "the answer to another message"), on: loop)
            try await bench.advance(60_000, on: loop)
            let run = try await bench.journal.read { try $0.runs.run(id: id) }
            #expect(run?.state == .aborted)
            #expect(bench.published.contains { $0.type == "run.ended" && $0.run == id })
            #expect(!bench.published.contains { String(decoding: $0.data, as: UTF8.self).contains("another message") })
        }
    }

    @Test func `the gateway's word counts though the disk takes nothing`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("hello", on: loop) ?? ""
            bench.journal.failWrites(StoreError.unavailable("disk I/O error"))
            var stopped: [String] = []
            bench.services.aborts.stop([id], in: Self.main, owner: nil, on: loop) { result in
                if case .success(.stopped(let runs)) = result { stopped = runs }
            }
            try await bench.advance(5_000, on: loop)
            #expect(stopped == [id])
        }
    }

    @Test(arguments: [false, true])
    func `a stop that waited also stops the run with which the gateway goes on`(isKilled: Bool) async throws {
        try await withLinkedServices { bench, loop in
            let id = try await interruptedRun(bench, on: loop)
            try await stop(id, bench, on: loop)
            bench.gateway.next("chat.abort", Self.nothingRan)
            try await bench.open(uptimeMs: 100, on: loop)
            if isKilled {
                try await bench.kill(on: loop)
                try await bench.open(uptimeMs: 3_000, on: loop)
            }
            try await bench.advance(6_000, on: loop)
            try await goOn(as: "run-own", bench, on: loop)
            #expect(stoppedRuns(bench) == [id, "run-own"])
            let entries = try await stops(bench)
            #expect(entries.map(\.text) == ["run-own", id])
            #expect(entries.map(\.state) == [.delivered, .delivered])
            #expect(entries.allSatisfy { $0.owner == "token-1" })
            // Rows of the same prompt come again with the next page.
            try await bench.advance(30_000, on: loop)
            #expect(try await stops(bench).count == 2)
        }
    }

    /// The gateway says that it stopped the run, and is killed before the stop is on its disk.
    @Test(arguments: [false, true])
    func `a stop that was lost with the gateway's process follows the run with which it goes on`(
        isKilled: Bool
    ) async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("hello", on: loop) ?? ""
            try await bench.event("agent", Frame.start(id, at: loop.wallClock.milliseconds), on: loop)
            bench.gateway.rows[Self.main] = [Row.user("hello", key: id)]
            try await stop(id, bench, on: loop)
            try await bench.event("chat", Frame.end(id, "aborted"), on: loop)
            #expect(try await stops(bench).map(\.state) == [.delivered])
            try await bench.drop(on: loop)
            if isKilled { try await bench.kill(on: loop) }
            try await bench.advance(5_000, on: loop)
            try await bench.open(uptimeMs: 100, on: loop)
            try await bench.advance(6_000, on: loop)
            try await goOn(as: "run-own", bench, on: loop)
            #expect(stoppedRuns(bench) == [id, "run-own"])
            #expect(try await stops(bench).map(\.text) == ["run-own", id])
            let run = try #require(bench.data("run.corrected").last?["run"])
            #expect(run["id"]?.string == id)
            #expect(run["state"]?.string == "aborted")
            #expect(run["continuedAs"]?.string == "run-own")
        }
    }

    @Test func `a stop follows a run through two restarts of the gateway`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await interruptedRun(bench, on: loop)
            try await stop(id, bench, on: loop)
            bench.gateway.next("chat.abort", Self.nothingRan)
            try await bench.open(uptimeMs: 100, on: loop)
            try await bench.advance(6_000, on: loop)
            bench.gateway.silent = ["chat.abort"]
            try await goOn(as: "run-2", bench, on: loop)
            try await bench.drop(on: loop)
            bench.gateway.silent = []
            bench.gateway.next("chat.abort", Self.nothingRan)
            try await bench.open(uptimeMs: 200, on: loop)
            try await bench.advance(6_000, on: loop)
            try await goOn(as: "run-3", bench, on: loop)
            #expect(stoppedRuns(bench).suffix(2) == ["run-2", "run-3"])
        }
    }

    @Test func `a stop does not follow into a prompt with more than its message`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await interruptedRun(bench, on: loop)
            try await stop(id, bench, on: loop)
            bench.gateway.next("chat.abort", Self.nothingRan)
            try await bench.open(uptimeMs: 100, on: loop)
            try await goOn(as: "run-own", with: "hello to you too", bench, on: loop)
            #expect(stoppedRuns(bench) == [id])
            let asked = try #require(try await stops(bench).first)
            #expect(asked.text == "run-own")
            #expect(asked.state == .failed)
            #expect(asked.fault?.code == "SHARED_RUN")
            #expect(asked.owner == "token-1")
            // A person decides that the run is to be stopped all the same.
            _ = try await bench.retry(asked.id, on: loop)
            #expect(stoppedRuns(bench) == [id, "run-own"])
            #expect(try await bench.state(asked.id) == .delivered)
        }
    }

    @Test func `a stop does not follow into a turn with other messages`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("buy milk", on: loop) ?? ""
            try await bench.event("chat", Frame.final(id, 1, nil), on: loop)
            bench.gateway.next("chat.abort", Self.nothingRan, Self.nothingRan)
            try await stop(id, bench, on: loop)
            let asked = stoppedRuns(bench)
            try await begin("joined", Self.joined, bench, on: loop)
            #expect(bench.services.runs.resolved(id) == "joined")
            #expect(stoppedRuns(bench) == asked)
            #expect(try await stops(bench).first?.fault?.code == "SHARED_RUN")
        }
    }

    @Test func `a run goes on where nobody has stopped it`() async throws {
        try await withLinkedServices { bench, loop in
            _ = try await interruptedRun(bench, on: loop)
            try await bench.open(uptimeMs: 100, on: loop)
            try await bench.advance(6_000, on: loop)
            try await goOn(as: "run-own", bench, on: loop)
            #expect(stoppedRuns(bench).isEmpty)
        }
    }

    @Test(arguments: [false, true])
    func `a stop that is taken back in time lets its message go again`(isKilled: Bool) async throws {
        try await withLinkedServices { bench, loop in
            let id = try await lostMessage(bench, on: loop)
            try await stop(id, bench, on: loop)
            let waiting = try #require(try await stops(bench).first)
            _ = try await bench.cancel(waiting.id, on: loop)
            if isKilled { try await bench.kill(on: loop) }
            bench.gateway.historyMembers = #","hasMore":false"#
            try await bench.open(uptimeMs: 100, on: loop)
            #expect(bench.gateway.sentKeys == [id, id])
            #expect(stoppedRuns(bench).isEmpty)
        }
    }

    @Test func `a stop whose answer is lost with the link waits in the outbox`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("hello", on: loop) ?? ""
            try await bench.event("agent", Frame.start(id), on: loop)
            bench.gateway.silent = ["chat.abort"]
            try await stop(id, bench, on: loop)
            try await bench.drop(on: loop)
            #expect(try await stops(bench).map(\.state) == [.queued])
            bench.gateway.silent = []
            try await bench.open(on: loop)
            #expect(stoppedRuns(bench) == [id, id])
            #expect(try await stops(bench).map(\.state) == [.delivered])
        }
    }

    @Test func `a stop of which the gateway told before its answer was lost is a stop`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("hello", on: loop) ?? ""
            try await bench.event("agent", Frame.start(id), on: loop)
            bench.gateway.silent = ["chat.abort"]
            var stopped: [String]?
            bench.services.aborts.stop([id], in: Self.main, owner: nil, on: loop) { result in
                if case .success(.stopped(let runs)) = result { stopped = runs }
            }
            try await bench.event("chat", Frame.end(id, "aborted"), on: loop)
            try await bench.drop(on: loop)
            #expect(stopped == [id])
            #expect(try await stops(bench).map(\.state) == [.delivered])
        }
    }

    @Test func `what an abort found is kept with its attempt`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await interruptedRun(bench, on: loop)
            try await stop(id, bench, on: loop)
            bench.gateway.next("chat.abort", Self.nothingRan)
            try await bench.open(uptimeMs: 100, on: loop)
            let entry = try #require(try await stops(bench).first)
            let attempts = try await bench.journal.read { tables in try tables.outbox.attempts(id: entry.id) }
            #expect(attempts.map(\.code) == ["NOTHING_RAN"])
        }
    }

    @Test(arguments: [true, false])
    func `without a look at the session nobody says that nothing runs there`(isAway: Bool) async throws {
        try await withLinkedServices { bench, loop in
            if isAway { try await bench.drop(on: loop) }
            bench.gateway.next("chat.history", refused("UNAVAILABLE", "starting"))
            var faults = 0
            bench.services.aborts.stopAll(in: Self.main, owner: nil, on: loop) { result in
                if case .failure(.gateway) = result { faults += 1 }
            }
            try await bench.settle(on: loop)
            #expect(faults == 1)
        }
    }

    @Test func `an abort of a run that a restart has cut off does not say that nothing runs`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await interruptedRun(bench, on: loop)
            try await bench.open(uptimeMs: 100, on: loop)
            bench.gateway.next("chat.abort", ok(#"{"aborted":false,"runIds":[]}"#))
            var outcomes: [AbortService.Outcome] = []
            bench.services.aborts.stopAll(in: Self.main, owner: nil, on: loop) { result in
                if case .success(let outcome) = result { outcomes.append(outcome) }
            }
            try await bench.settle(on: loop)
            #expect(bench.services.runs.run(id)?.state == .running)
            let saysSo = if case .kept(_, _, isGone: true)? = outcomes.first { true } else { false }
            #expect(saysSo, "\(outcomes)")
        }
    }

    @Test func `a repeated stop that is taken back leaves the first one in force`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await lostMessage(bench, on: loop)
            try await stop(id, bench, on: loop)
            try await openInDoubt(bench, on: loop)
            try await bench.drop(on: loop)
            try await stop(id, bench, on: loop)
            let repeated = try #require(try await stops(bench).first)
            #expect(repeated.state == .queued)
            _ = try await bench.cancel(repeated.id, on: loop)
            try await openWithoutMessage(bench, on: loop)
            #expect(try await bench.state(id) == .cancelled)
            #expect(try await bench.entry(id).fault?.code == "STOPPED_UNSEEN")
            #expect(bench.gateway.sentKeys == [id])
        }
    }

    @Test func `somebody else's repeat does not replace a stop`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await lostMessage(bench, on: loop)
            for owner in ["token-1", "token-2"] {
                bench.services.aborts.stop([id], in: Self.main, owner: owner, on: loop) { _ in }
                try await bench.settle(on: loop)
            }
            #expect(try await stops(bench).map(\.state) == [.queued, .queued])
        }
    }

    @Test func `a retry by hand is a newer word than a stop, over a restart too`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await lostMessage(bench, on: loop)
            try await stop(id, bench, on: loop)
            try await openInDoubt(bench, on: loop)
            try await bench.drop(on: loop)
            _ = try await bench.retry(id, on: loop)
            try await bench.kill(on: loop)
            try await openWithoutMessage(bench, on: loop)
            #expect(bench.gateway.sentKeys == [id, id])
            #expect(try await bench.state(id) == .accepted)
        }
    }

    @Test func `a full outbox refuses messages and takes stops`() async throws {
        try await withServices { bench, loop in
            var limits = OutboxLimits()
            limits.perSession = 1
            let first = try await bench.accept("first", limits: limits, on: loop)
            #expect(first != nil)
            #expect(try await bench.accept("second", limits: limits, on: loop) == nil)
            #expect(try await bench.accept(first ?? "", kind: .abort, limits: limits, on: loop) != nil)
        }
    }

    @Test func `a run that the gateway refuses to stop is not hidden behind another`() async throws {
        try await withLinkedServices { bench, loop in
            for run in ["run-1", "run-2"] { try await bench.event("agent", Frame.start(run), on: loop) }
            bench.gateway.next("chat.abort", ok(#"{"aborted":true}"#), refused("INVALID_REQUEST", "not yours"))
            var faults = 0
            bench.services.aborts.stopAll(in: Self.main, owner: nil, on: loop) { result in
                if case .failure(.gateway) = result { faults += 1 }
            }
            try await bench.settle(on: loop)
            #expect(faults == 1)
        }
    }

    @Test func `a refused stop is not hidden behind one that waits`() async throws {
        try await withLinkedServices { bench, loop in
            for run in ["run-1", "run-2"] { try await bench.event("agent", Frame.start(run), on: loop) }
            bench.gateway.next("chat.abort", Self.nothingRan, refused("INVALID_REQUEST", "not yours"), Self.nothingRan)
            var faults = 0
            bench.services.aborts.stopAll(in: Self.main, owner: nil, on: loop) { result in
                if case .failure(.gateway) = result { faults += 1 }
            }
            try await bench.settle(on: loop)
            #expect(faults == 1)
            #expect(try await stops(bench).count == 1)
        }
    }
}
