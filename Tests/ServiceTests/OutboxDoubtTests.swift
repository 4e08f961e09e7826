import Basics
import EventLoops
import Gateway
import JSONBytes
import Observability
import Outbox
import Runs
import Store
import Testing
import Upstream

@testable import Service

/// Messages that may have arrived.
struct OutboxDoubtTests {
    private static let main = ServiceBench.main

    /// A message whose answer is lost with the link.
    private func loseAnswer(_ bench: ServiceBench, on loop: isolated EventLoop) async throws -> String? {
        bench.gateway.silent = ["chat.send"]
        let id = try await bench.accept("hello", on: loop)
        try await bench.drop(on: loop)
        bench.gateway.silent = []
        return id
    }

    @Test func `a message whose answer was lost with the link is found in the history`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await loseAnswer(bench, on: loop)
            #expect(try await bench.state(id) == .unconfirmed)
            bench.gateway.rows[Self.main] = [Row.user("hello", key: id)]
            try await bench.open(on: loop)
            let entry = try await bench.entry(id)
            #expect(entry.state == .delivered)
            #expect(entry.proof == .history)
            #expect(bench.gateway.sentTexts == ["hello"])
        }
    }

    @Test func `the same gateway process is asked again with the same key`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await loseAnswer(bench, on: loop)
            bench.gateway.next("chat.send", ok(#"{"status":"in_flight"}"#))
            try await bench.open(on: loop)
            #expect(bench.gateway.sentKeys == [id, id])
            #expect(try await bench.state(id) == .accepted)
        }
    }

    @Test func `a gateway that was restarted and has no row gets the message again`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await loseAnswer(bench, on: loop)
            bench.gateway.historyMembers = #","hasMore":false"#
            try await bench.open(uptimeMs: 100, on: loop)
            #expect(bench.gateway.sentKeys == [id, id])
            #expect(try await bench.attempts(id) == [.ambiguous, .accepted])
        }
    }

    @Test func `a history without keys is read by text and time`() async throws {
        try await withServices { bench, loop in
            bench.gateway.clockSkewMs = 60_000
            try await bench.open(on: loop)
            let id = try await loseAnswer(bench, on: loop)
            bench.gateway.rows[Self.main] = [Row.user("hello", at: 1_795_000_060_500)]
            try await bench.open(uptimeMs: 100, on: loop)
            #expect(try await bench.entry(id).proof == .textMatch)
        }
    }

    /// Recording two-lines.v2026.3.1: the gateway makes one blank of line feeds and no-break spaces.
    @Test(arguments: [
        "slow 25 poem\nof two lines", "slow 25 poem\u{a0}of two lines", " slow 25  poem\r\n\r\nof two lines\n",
    ])
    func `a message of two lines is found in the row that has one, and runs once`(text: String) async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: [], on: loop)
            bench.gateway.silent = ["chat.send"]
            let id = try await bench.accept(text, on: loop)
            try await bench.drop(on: loop)
            bench.gateway.silent = []
            bench.gateway.rows[Self.main] = [Row.user("slow 25 poem of two lines", at: 1_795_000_000_500)]
            try await bench.open(version: 3, uptimeMs: 100, methods: [], on: loop)
            #expect(try await bench.entry(id).proof == .textMatch)
            #expect(bench.gateway.sentTexts == [text])
        }
    }

    /// Recording equal-words-doubt.v2026.3.1, part 4.
    @Test func `a message is not in doubt because another one ends with its words`() async throws {
        try await withServices { bench, loop in
            try await bench.open(on: loop)
            bench.gateway.silent = ["chat.send"]
            let id = try await bench.accept("ok", on: loop)
            try await bench.drop(on: loop)
            bench.gateway.silent = []
            bench.gateway.historyMembers = #","hasMore":false"#
            bench.gateway.rows[Self.main] = [Row.user("I come at eight, is that ok", at: 1_795_000_000_500)]
            try await bench.open(uptimeMs: 100, on: loop)
            #expect(bench.gateway.sentKeys == [id, id])
            #expect(try await bench.attempts(id) == [.ambiguous, .accepted])
        }
    }

    @Test func `a row from before the message by the gateway's clock proves nothing`() async throws {
        try await withServices { bench, loop in
            bench.gateway.clockSkewMs = 60_000
            try await bench.open(on: loop)
            let id = try await loseAnswer(bench, on: loop)
            bench.gateway.rows[Self.main] = [Row.user("hello", at: 1_795_000_000_500)]
            try await bench.open(uptimeMs: 100, on: loop)
            #expect(try await bench.state(id) != .delivered)
        }
    }

    @Test(arguments: [-3_600_000, 3_600_000])
    func `a message sent after our clock was set is found in the history`(stepMs: Int64) async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, on: loop)
            bench.clock.set(forwardMs: stepMs)
            try await bench.advance(1_000, on: loop)
            bench.gateway.silent = ["chat.send"]
            let id = try await bench.accept("hello", on: loop)
            bench.gateway.rows[Self.main] = [Row.user("hello", at: 1_795_000_001_500)]
            bench.gateway.answer("chat.send", .ambiguous(.timedOut))
            try await bench.settle(on: loop)
            #expect(try await bench.entry(id).proof == .textMatch)
            #expect(bench.gateway.sentTexts == ["hello"])
        }
    }

    @Test(arguments: [-3_600_000, 3_600_000])
    func `a row is found by the clock that the gateway had when the message went out`(skewMs: Int64) async throws {
        try await withServices { bench, loop in
            bench.gateway.clockSkewMs = skewMs
            try await bench.open(on: loop)
            let id = try await loseAnswer(bench, on: loop)
            bench.gateway.clockSkewMs = 0
            bench.gateway.rows[Self.main] = [Row.user("hello", at: 1_795_000_000_500 + skewMs)]
            bench.gateway.historyMembers = #","hasMore":false"#
            try await bench.open(uptimeMs: 100, on: loop)
            #expect(try await bench.entry(id).proof == .textMatch)
            #expect(bench.gateway.sentTexts == ["hello"])
        }
    }

    @Test func `once the gateway's clock was set, the row of an equal message before proves nothing`() async throws {
        try await withServices { bench, loop in
            try await bench.open(on: loop)
            bench.gateway.rows[Self.main] = [Row.user("hello", at: 1_795_000_000_500)]
            let first = try await loseAnswer(bench, on: loop)
            try await bench.open(on: loop)
            #expect(try await bench.state(first) == .delivered)
            try await bench.advance(1_800_000, on: loop)
            let second = try await loseAnswer(bench, on: loop)
            bench.gateway.clockSkewMs = -3_600_000
            try await bench.open(uptimeMs: 100, on: loop)
            #expect(try await bench.state(second) != .delivered)
        }
    }

    @Test func `an answer after its time still counts`() async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.silent = ["chat.send", "chat.history"]
            let id = try await bench.accept("hello", on: loop)
            bench.gateway.answer("chat.send", .ambiguous(.timedOut))
            try await bench.settle(on: loop)
            #expect(try await bench.state(id) == .unconfirmed)
            let call = try #require(bench.gateway.requests("chat.send").first)
            bench.services.outbox.learned(ok(#"{"status":"started"}"#), of: call.id, on: loop)
            try await bench.settle(on: loop)
            #expect(try await bench.state(id) == .accepted)
        }
    }

    @Test func `a message in doubt holds up its session until it is settled`() async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.silent = ["chat.send"]
            let first = try await bench.accept("one", on: loop)
            try await bench.accept("two", on: loop)
            try await bench.drop(on: loop)
            bench.gateway.silent = ["chat.history"]
            try await bench.open(on: loop)
            #expect(bench.gateway.sentTexts == ["one"])
            bench.gateway.rows[Self.main] = [Row.user("one", key: first)]
            while bench.gateway.openCalls("chat.history") > 0 { bench.gateway.answer("chat.history") }
            try await bench.settle(on: loop)
            #expect(try await bench.state(first) == .delivered)
            try await bench.event("chat", Frame.final(first ?? "", 9, "done"), on: loop)
            #expect(bench.gateway.sentTexts == ["one", "two"])
        }
    }

    @Test func `an accepted message is in doubt once another gateway answers`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("hello", on: loop)
            try await bench.drop(on: loop)
            #expect(try await bench.state(id) == .accepted)
            try await bench.open(on: loop)
            #expect(try await bench.state(id) == .accepted)
            try await bench.drop(on: loop)
            bench.gateway.silent = ["chat.history"]
            try await bench.open(uptimeMs: 100, on: loop)
            #expect(try await bench.state(id) == .unconfirmed)
            #expect(bench.services.outbox.summary(now: loop.wallClock).counts.unconfirmed == 1)
        }
    }

    @Test func `a message that shows up later, after it was given up, is delivered after all`() async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.silent = ["chat.send", "chat.history"]
            let id = try await bench.accept("hello", ttlMs: 60_000, on: loop)
            bench.gateway.answer("chat.send", .ambiguous(.timedOut))
            try await bench.advance(60_000, on: loop)
            #expect(try await bench.state(id) == .expired)
            try await bench.event("agent", Frame.start(id ?? ""), on: loop)
            #expect(try await bench.state(id) == .accepted)
        }
    }

    @Test func `with ambiguous hold a message in doubt waits for a person`() async throws {
        var settings = ServiceSettings()
        settings.outbox.ambiguous = .hold
        try await withLinkedServices(settings) { bench, loop in
            let id = try await loseAnswer(bench, on: loop)
            bench.gateway.historyMembers = #","hasMore":false"#
            try await bench.open(uptimeMs: 100, on: loop)
            try await bench.advance(600_000, on: loop)
            #expect(try await bench.state(id) == .unconfirmed)
            #expect(try await bench.cancel(id, force: true, on: loop)?.get().state == .cancelled)
        }
    }

    /// Two hosts on one database, seen live: after a takeover the message's run was listed as queued for ever, also once it was cancelled.
    @Test func `a message that is told as unknown has no run in a list, also after a restart or once it is cancelled`()
        async throws
    {
        try await withLinkedServices { bench, loop in
            let id = try await loseAnswer(bench, on: loop)
            bench.gateway.silent = ["chat.send", "chat.history"]
            try await bench.open(on: loop)
            try await bench.kill(on: loop)
            try await bench.open(on: loop)
            #expect(bench.services.runs.runs(activeOnly: true).map(\.id) == [id])
            #expect(try await bench.cancel(id, force: true, on: loop)?.get().state == .cancelled)
            #expect(bench.services.runs.runs(activeOnly: true).isEmpty)
        }
        try await withLinkedServices { bench, loop in
            bench.gateway.silent = ["chat.send"]
            let id = try await bench.accept("/model large", on: loop)
            try await bench.drop(on: loop)
            bench.gateway.historyMembers = #","hasMore":false"#
            try await bench.open(on: loop)
            try await bench.advance(600_000, on: loop)
            #expect(try await bench.entry(id).fault?.code == "UNKNOWN")
            #expect(bench.services.runs.runs(activeOnly: true).isEmpty)
            try await bench.kill(on: loop)
            try await bench.open(on: loop)
            #expect(bench.services.runs.runs(activeOnly: true).isEmpty)
        }
    }

    @Test func `a slash command in doubt waits for a person, and the message behind it for a minute`() async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.silent = ["chat.send"]
            let id = try await bench.accept("/model large", on: loop)
            let behind = try await bench.accept("two", on: loop)
            try await bench.drop(on: loop)
            bench.gateway.silent = []
            bench.gateway.historyMembers = #","hasMore":false"#
            try await bench.open(on: loop)
            try await bench.advance(600_000, on: loop)
            #expect(try await bench.state(id) == .unconfirmed)
            #expect(try await bench.entry(id).fault?.code == "UNKNOWN")
            #expect(bench.gateway.sentTexts == ["/model large", "two"])
            try await bench.event("chat", Frame.final(behind ?? "", 9, "done"), on: loop)
            #expect(try await bench.cancel(id, on: loop) == .failure(.needsForce))
            _ = try await bench.retry(id, on: loop)
            #expect(try await bench.state(id) == .accepted)
            #expect(bench.gateway.sentTexts == ["/model large", "two", "/model large"])
        }
    }

    @Test func `a message that a restarted gateway took up by itself is found by the row it wrote`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("slow story", on: loop)
            try await bench.drop(on: loop)
            let opening = "[Queued user message that arrived while the previous turn was still active]"
            let note = "[System] Your previous turn was interrupted by a gateway restart while OpenClaw was waiting."
            bench.gateway.rows[Self.main] = [
                Row.user("hello", key: "another"),
                Row.user("\(opening)\nslow story\n\n\(note)", at: 1_795_000_001_000),
            ]
            try await bench.open(uptimeMs: 100, on: loop)
            #expect(try await bench.entry(id).proof == .textMatch)
            #expect(bench.gateway.sentTexts == ["slow story"])
        }
    }

    @Test func `a history that cannot be read settles nothing and is read again`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await loseAnswer(bench, on: loop)
            bench.gateway.next("chat.history", refused("UNAVAILABLE"), refused("UNAVAILABLE"))
            bench.gateway.rows[Self.main] = [Row.user("hello", key: id)]
            try await bench.open(uptimeMs: 100, on: loop)
            #expect(try await bench.state(id) == .unconfirmed)
            try await bench.advance(60_000, on: loop)
            #expect(try await bench.entry(id).proof == .history)
        }
    }

    // MARK: The row of a message that the gateway refused to run

    private static let conflict = "Error: reply session initialization conflicted for agent:main:main"

    /// A page that ends with the message's own row, sent at the start of the clock; the session's last run began so much later.
    private func showAlone(_ id: String?, lastRunAfterMs: Int64?, _ bench: ServiceBench, more: [String] = []) {
        let sent = ManualClock.start.milliseconds
        let start = lastRunAfterMs.map { #","startedAt":\#(sent + $0)"# } ?? ""
        bench.gateway.rows[Self.main] =
            [
                Row.user("one", at: sent - 9_000), Row.assistant("One.", at: sent - 8_000),
                Row.user("hello", key: id, at: sent),
            ] + more
        bench.gateway.historyMembers =
            #","hasMore":false,"sessionInfo":{"hasActiveRun":false,"status":"failed"\#(start)}"#
    }

    private func wait(_ status: String, _ more: String) -> CallOutcome { ok(#"{"status":"\#(status)",\#(more)}"#) }

    @Test(arguments: [true, false])
    func `a row whose message the gateway refused is no proof, and its words may come with the next message`(
        isAcknowledged: Bool
    ) async throws {
        try await withLinkedServices { bench, loop in
            let id: String?
            if isAcknowledged {
                id = try await bench.accept("hello", on: loop)
                try await bench.drop(on: loop)
            } else {
                id = try await loseAnswer(bench, on: loop)
            }
            showAlone(id, lastRunAfterMs: 0, bench)
            let error = wait("error", #""error":"\#(Self.conflict)""#)
            bench.gateway.responder = { $0.method == "agent.wait" ? .now(error) : nil }
            try await bench.open(on: loop)
            let entry = try await bench.entry(id)
            #expect(entry.state == .failed && entry.proof == nil)
            #expect(entry.fault?.code == "SESSION_CONFLICT")
            #expect(bench.services.outbox.blockedReason(session: Self.main)?.contains("new session") == true)
            let next = try await bench.accept("two", on: loop)
            #expect(bench.gateway.sentTexts == ["hello"])
            #expect(bench.services.outbox.summary(now: loop.wallClock).refused == 1)
            // A run in a new session is the cure.
            bench.gateway.rows["agent:main:new"] = [Row.user("hm"), Row.assistant("Hm.")]
            try await bench.event("agent", Frame.start("cure", session: "agent:main:new"), on: loop)
            try await bench.event("chat", Frame.final("cure", 2, "Hm.", session: "agent:main:new"), on: loop)
            try await bench.advance(5_000, on: loop)
            #expect(bench.gateway.sentTexts == ["hello", "two"])
            #expect(try await bench.state(next) == .accepted)
        }
    }

    /// Another process of the gateway knows nothing of the key. Its session shows whether a run began after the message.
    @Test func `behind a restart the session tells whether a message ran whose row stands alone`() async throws {
        for (after, state) in [
            (Int64?.some(0), OutboxState.failed), (-9_000, .failed), (600, .delivered), (nil, .delivered),
        ] {
            try await withLinkedServices { bench, loop in
                let id = try await bench.accept("hello", on: loop)
                try await bench.drop(on: loop)
                showAlone(id, lastRunAfterMs: after, bench)
                bench.gateway.responder = {
                    $0.method == "agent.wait" ? .now(wait("timeout", #""timeoutPhase":"queue""#)) : nil
                }
                try await bench.open(uptimeMs: 100, on: loop)
                let entry = try await bench.entry(id)
                #expect(entry.state == state, "last run \(after ?? 0) ms after the message")
                #expect(bench.gateway.sentTexts == ["hello"])
                guard state == .failed else { return }
                // Its words may come with the next message, which the gateway does not refuse.
                #expect(entry.fault?.code == "NOT_RUN" && entry.fault?.mayReturn == true)
                #expect(bench.services.outbox.blockedReason(session: Self.main) == nil)
            }
        }
    }

    /// 2026.6.11, seen live: another client wrote in the same moment. The gateway wrote the message's row, told its end and began no run.
    @Test func `a message that the gateway ended before a run of it began was not run`() async throws {
        for (after, state) in [(Int64(-9_000), OutboxState.failed), (600, .delivered)] {
            try await withLinkedServices { bench, loop in
                let id = try await bench.accept("hello", on: loop)
                try await bench.event("chat", Frame.final(id ?? "", 1, nil), on: loop)
                try await bench.drop(on: loop)
                showAlone(id, lastRunAfterMs: after, bench)
                bench.gateway.responder = { $0.method == "agent.wait" ? .now(wait("ok", #""endedAt":1"#)) : nil }
                try await bench.open(on: loop)
                try await bench.advance(5_000, on: loop)
                let entry = try await bench.entry(id)
                #expect(entry.state == state, "last run \(after) ms after the message")
                #expect(state != .failed || entry.fault?.code == "NOT_RUN" && entry.fault?.mayReturn == true)
                #expect(entry.fault?.detail.contains("restart") != true, "the gateway was not restarted")
                #expect(bench.services.runs.run(id ?? "")?.state.isActive != true)
            }
        }
    }

    @Test func `a message of which nothing shows what became of it says whether the gateway took it`() async throws {
        for isTaken in [true, false] {
            try await withLinkedServices { bench, loop in
                let id = isTaken ? try await bench.accept("hello", on: loop) : try await loseAnswer(bench, on: loop)
                try await bench.drop(on: loop)
                bench.gateway.historyMembers = #","hasMore":false,"sessionInfo":{"hasActiveRun":false}"#
                bench.gateway.responder = { $0.method == "chat.send" ? .now(.ambiguous(.timedOut)) : nil }
                try await bench.open(on: loop)
                try await bench.advance(600_000, on: loop)
                let entry = try await bench.entry(id)
                #expect(entry.fault?.code == "UNKNOWN")
                let detail = isTaken ? "The gateway took the message" : "Nothing at the gateway shows whether"
                #expect(entry.fault?.detail.hasPrefix(detail) == true, "\(entry.fault?.detail ?? "")")
            }
        }
    }

    /// 2026.6.11, seen live: of messages that a stop of their session met together, each has a row and none an answer.
    @Test func `a row without an answer before another's is proof, since the next run got its words`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("hello", on: loop)
            try await bench.drop(on: loop)
            let sent = ManualClock.start.milliseconds
            let later = [Row.user("two", at: sent + 2_000), Row.assistant("Two.", at: sent + 4_000)]
            showAlone(id, lastRunAfterMs: 3_000, bench, more: later)
            bench.gateway.responder = {
                $0.method == "agent.wait" ? .now(wait("timeout", #""timeoutPhase":"queue""#)) : nil
            }
            try await bench.open(uptimeMs: 100, on: loop)
            #expect(try await bench.entry(id).proof == .history)
            #expect(bench.gateway.sentTexts == ["hello"])
        }
    }

    /// Between its row and the end of a message that the gateway refuses, it counts as under way.
    @Test func `a row whose message is in the gateway's hands is proof once a run began after it`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("hello", on: loop)
            try await bench.kill(on: loop)
            showAlone(id, lastRunAfterMs: -9_000, bench)
            bench.gateway.responder = {
                $0.method == "agent.wait" ? .now(wait("timeout", #""timeoutPhase":"gateway_draining""#)) : nil
            }
            try await bench.open(on: loop)
            #expect(try await bench.state(id) == .accepted)
            showAlone(id, lastRunAfterMs: 600, bench)
            try await bench.drop(on: loop)
            try await bench.open(on: loop)
            #expect(try await bench.entry(id).proof == .history)
        }
    }

    /// 2026.4.26, seen live: another client had said the same, the gateway began its run, put ours behind that and was killed. The row was taken
    /// for ours, which was told as delivered and never sent.
    @Test func `the row of another client's run is no proof of a message with its words`() async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: ["sessions.subscribe"], on: loop)
            try await bench.advance(1_000, on: loop)
            let now = loop.wallClock.milliseconds
            let taken = #"{"role":"user","content":"hello","timestamp":\#(now),"__openclaw":{"seq":0}}"#
            let announced = #"{"sessionKey":"\#(Self.main)","message":\#(taken),"messageSeq":0}"#
            let id = try await bench.accept("hello", on: loop) ?? ""
            #expect(bench.gateway.sentTexts == ["hello"])
            for _ in ["ours", "theirs"] { try await bench.event("session.message", announced, on: loop) }
            try await bench.event("chat", Frame.final("theirs", 1, nil), on: loop)
            try await bench.event("agent", Frame.start("own", at: now), on: loop)
            bench.gateway.rows[Self.main] = [Row.user("hello", at: now)]
            try await bench.advance(50, on: loop)
            try await bench.event("chat", Frame.final(id, 1, nil), on: loop)
            try await bench.drop(on: loop)
            try await bench.advance(10_000, on: loop)
            try await bench.open(version: 3, uptimeMs: 4_000, methods: ["sessions.subscribe"], on: loop)
            try await bench.advance(10_000, on: loop)
            #expect(try await bench.state(id) != .delivered)
            try await bench.advance(120_000, on: loop)
            #expect(try await bench.state(id) == .unconfirmed, "a person decides")
            #expect(bench.gateway.sentTexts == ["hello"])
        }
    }

    /// 2026.4.26, seen live: the same words were said and answered while the message waited for the link.
    @Test func `a row from before the message was sent is not its own after a kill`() async throws {
        try await withLinkedServices { bench, loop in
            try await bench.drop(on: loop)
            let id = try await bench.accept("hello", on: loop)
            try await bench.advance(20_000, on: loop)
            bench.gateway.silent = ["chat.send"]
            try await bench.open(on: loop)
            try await bench.advance(1_000, on: loop)
            #expect(try await bench.entry(id).firstDispatchAt != nil)
            try await bench.kill(on: loop)
            bench.gateway.silent = []
            let said = ManualClock.start.milliseconds + 1_500
            bench.gateway.rows[Self.main] = [Row.user("hello", at: said), Row.assistant("Hi.", at: said + 50)]
            try await bench.open(version: 3, on: loop)
            try await bench.advance(5_000, on: loop)
            #expect(try await bench.state(id) != .delivered)
            #expect(!bench.published.contains { $0.type == "run.ended" })
        }
    }
}
