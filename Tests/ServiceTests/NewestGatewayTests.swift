import Basics
import EventLoops
import EventStream
import Gateway
import JSONBytes
import Ledger
import Observability
import Outbox
import Runs
import Store
import Testing

@testable import Service

/// The gateways from 2026.9 on, by what their source and documents say: nobody has run Ladle with one.
struct NewestGatewayTests {
    private static let main = ServiceBench.main
    private static let start = ManualClock.start.milliseconds

    private func open(_ bench: ServiceBench, boot: String = "boot-1", on loop: isolated EventLoop) async throws {
        let text = #"""
            {"type":"hello-ok","protocol":4,"server":{"version":"2026.9.7","bootId":"\#(boot)"},
            "features":{"methods":["sessions.subscribe"],"capabilities":["session-settings-contract"]},
            "snapshot":{"uptimeMs":3600000,"sessionDefaults":{"defaultAgentId":"main","mainKey":"main",
            "mainSessionKey":"agent:main:main"}}}
            """#
        try await bench.open(try #require(Hello(json(text), requested: [])), on: loop)
    }

    private func user(_ text: String, key: String, at milliseconds: Int64) -> String {
        Row.user(text, key: key, id: "u-\(milliseconds)", at: Self.start + milliseconds)
    }

    /// An answer's row, which names the run that wrote it.
    private func assistant(_ text: String, by run: String, at milliseconds: Int64) -> String {
        #"{"role":"assistant","content":[{"type":"text","text":"\#(text)"}],"timestamp":\#(Self.start + milliseconds),"#
            + #""stopReason":"stop","__openclaw":{"id":"a-\#(milliseconds)","runId":"\#(run)"}}"#
    }

    private func told(_ bench: ServiceBench) async throws -> [String] {
        try await bench.journal.read { tables in
            let log = try tables.events.bounds().newest.epoch
            let page = try tables.events.page(after: EventID(epoch: log, sequence: 0), limit: 2_000)
            return try page.events.compactMap { event in
                let data = try JSONDocument(parsing: event.data).root
                switch event.type {
                case "run.started", "run.ended", "run.corrected":
                    let run = data["run"]
                    return "\(event.type) \(run?["id"]?.string ?? "") \(run?["text"]?.string ?? "")"
                case "message":
                    let message = data["message"]
                    return "\(message?["role"]?.string ?? "") \(message?["text"]?.string ?? "") "
                        + "\(message?["runId"]?.string ?? "-")"
                default: return nil
                }
            }
        }
    }

    /// How the gateway reports the end of a message that waited behind a run.
    enum Queue: CaseIterable, Sendable {
        /// 2026.9.7: an empty final event under the message's key while it still waits.
        case earlyEnd
        /// Newer source: one final event with the answer under the message's key, when the run with the other id has ended.
        case oneEnd
        /// The same, before the events of that run have come.
        case endFirst
        /// No event of the other run comes at all, only rows.
        case rowsAlone
    }

    @Test(arguments: Queue.allCases, [true, false])
    func `the answer under an id of the gateway's own is the message's`(queue: Queue, sendsRows: Bool) async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            let id = try await bench.accept("next", on: loop) ?? ""
            try await bench.advance(100, on: loop)
            #expect(bench.gateway.requests("chat.send").last?["queueMode"] == "followup")
            if queue == .earlyEnd { try await bench.event("chat", Frame.final(id, 0, nil), on: loop) }
            try await bench.advance(2_000, on: loop)
            #expect(bench.services.runs.run(id)?.state == .queued)
            let begun = loop.wallClock.milliseconds - Self.start
            if queue != .rowsAlone, queue != .endFirst {
                try await bench.event("agent", Frame.start("g", at: Self.start + begun), on: loop)
            }
            let own = user("next", key: id, at: begun + 1)
            bench.gateway.rows[Self.main] = [own]
            if sendsRows { try await bench.row(own, on: loop) }
            try await bench.advance(3_000, on: loop)
            let answer = assistant("The answer.", by: "g", at: begun + 2_900)
            bench.gateway.rows[Self.main]?.append(answer)
            if queue == .endFirst { try await bench.event("chat", Frame.final(id, 3, "The answer."), on: loop) }
            if sendsRows { try await bench.row(answer, on: loop) }
            if queue != .rowsAlone { try await bench.event("chat", Frame.final("g", 9, "The answer."), on: loop) }
            if queue == .oneEnd { try await bench.event("chat", Frame.final(id, 3, "The answer."), on: loop) }
            try await bench.advance(60_000, on: loop)
            let entry = try await bench.journal.read { try $0.outbox.entry(id: id) }
            #expect(entry?.state == .delivered)
            let run = try #require(bench.services.runs.run(id))
            #expect(run.state == .completed)
            #expect(run.text == "The answer.")
            let told = try await told(bench)
            let ends = told.filter { $0.hasPrefix("run.ended") }
            #expect(ends.count == 1, "one run answered: \(told)")
            #expect(told.filter { $0.hasPrefix("assistant") }.count == 1, "\(told)")
            #expect(told.filter { $0.hasPrefix("user") }.count == 2, "sending and sent: \(told)")
        }
    }

    /// The row of a message has the time at which the gateway accepted it, however long it waited.
    @Test func `a run that began when the message was sent is not its answer`() async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            try await bench.event("agent", Frame.start("cron", at: Self.start - 20), on: loop)
            try await bench.event("chat", Frame.final("cron", 5, "Something else."), on: loop)
            let id = try await bench.accept("next", on: loop) ?? ""
            try await bench.event("chat", Frame.final(id, 0, nil), on: loop)
            try await bench.advance(3_500, on: loop)
            let own = user("next", key: id, at: 0)
            bench.gateway.rows[Self.main] = [own]
            try await bench.event("agent", Frame.start("g", at: Self.start + 3_400), on: loop)
            try await bench.row(own, on: loop)
            try await bench.advance(5_000, on: loop)
            let answer = assistant("The answer.", by: "g", at: 8_400)
            bench.gateway.rows[Self.main]?.append(answer)
            try await bench.row(answer, on: loop)
            try await bench.event("chat", Frame.final("g", 9, "The answer."), on: loop)
            try await bench.advance(60_000, on: loop)
            #expect(bench.services.runs.run(id)?.text == "The answer.")
            #expect(bench.services.runs.run("cron")?.text == "Something else.")
        }
    }

    /// Another client's stop came before the acknowledgement, or the gateway's restart did. Seen live on 2026.6.11.
    @Test(arguments: [("rpc", OutboxState.failed, 1), ("restart", .accepted, 2), ("timeout", .accepted, 2)])
    func `a message that was given up before it was taken is not told as delivered`(
        reason: String,
        state: OutboxState,
        sends: Int
    ) async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            let word = #"{"runId":"k","status":"timeout","summary":"aborted","stopReason":"\#(reason)","endedAt":1}"#
            bench.gateway.next("chat.send", ok(word))
            let id = try await bench.accept("hello", on: loop) ?? ""
            try await bench.advance(5_000, on: loop)
            #expect(try await entry(id, bench)?.state == state)
            #expect(bench.gateway.sentKeys.count == sends)
            #expect(bench.services.runs.run(id)?.state != .completed)
        }
    }

    @Test func `a turn that failed before it answered is told as failed`() async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            let id = try await bench.accept("next", on: loop) ?? ""
            try await bench.event("chat", Frame.final(id, 0, nil), on: loop)
            try await bench.event("agent", Frame.start("g", at: Self.start + 500), on: loop)
            let own = user("next", key: id, at: 501)
            try await bench.row(own, on: loop)
            let failure =
                #"{"role":"custom","customType":"run-failed-before-reply","content":"This turn ended before a reply.","#
                + #""timestamp":\#(Self.start + 950),"__openclaw":{"id":"e-22","runId":"g"}}"#
            bench.gateway.rows[Self.main] = [own, failure]
            bench.gateway.historyMembers = #","sessionInfo":{"hasActiveRun":false,"status":"failed"}"#
            try await bench.advance(120_000, on: loop)
            let run = try #require(bench.services.runs.run(id))
            #expect(run.state == .failed && run.error == "This turn ended before a reply.")
        }
    }

    @Test func `a gateway without queue modes gets the message once more without one`() async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            let words = "invalid chat.send params: at root: unexpected property 'queueMode'"
            bench.gateway.next("chat.send", refused("INVALID_REQUEST", words))
            let id = try await bench.accept("hello", on: loop) ?? ""
            try await bench.advance(100, on: loop)
            let sends = bench.gateway.requests("chat.send")
            #expect(sends.map { $0["queueMode"] } == ["followup", nil])
            #expect(Set(sends.compactMap { $0["idempotencyKey"] }) == [id])
            let entry = try await bench.journal.read { try $0.outbox.entry(id: id) }
            #expect(entry?.state == .accepted && entry?.attemptCount == 1)
            try await bench.accept("more", session: "agent:main:den", on: loop)
            try await bench.advance(100, on: loop)
            #expect(bench.gateway.requests("chat.send").last?["queueMode"] == nil)
        }
    }

    // MARK: Messages for the run at work

    /// The row of a message that another client's run read. `chat-send-steered.jsonl`.
    private func steered(_ text: String, key: String, into run: String, at milliseconds: Int64) -> String {
        #"{"role":"user","content":[{"type":"text","text":"\#(text)"}],"timestamp":\#(Self.start + milliseconds),"#
            + #""idempotencyKey":"\#(key):user","__openclaw":{"id":"e-12","seq":12,"steerTargetRunId":"\#(run)"}}"#
    }

    @Test(arguments: [true, false], [true, false])
    func `a message for the run at work is told as delivered into that run`(sendsRows: Bool, isOwn: Bool) async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            let first = isOwn ? try await bench.accept("convert it", on: loop) ?? "" : "theirs"
            try await bench.event("agent", Frame.start(first, at: Self.start), on: loop)
            let waiting = try await bench.accept("and then?", on: loop) ?? ""
            let id = try await bench.accept("in metric units", mode: .sayNow, on: loop) ?? ""
            try await bench.advance(100, on: loop)
            #expect(bench.gateway.requests("chat.send").last?["queueMode"] == "steer")
            #expect(bench.gateway.sentKeys == (isOwn ? [first, id] : [id]), "it passes the one that waits")
            let asked = user("convert it", key: first, at: 1)
            let row = steered("in metric units", key: id, into: first, at: 120)
            bench.gateway.rows[Self.main] = [asked, row]
            bench.gateway.historyMembers = #","hasMore":false,"sessionInfo":{"hasActiveRun":true}"#
            try await bench.event("chat", Frame.final(id, 0, nil), on: loop)
            if sendsRows { try await bench.row(row, on: loop) }
            try await bench.advance(30_000, on: loop)
            let entry = try #require(try await entry(id, bench))
            #expect(entry.state == .delivered && entry.joinedRun == first && entry.runID == nil)
            let answer = assistant("Done, in metric units", by: first, at: 31_000)
            bench.gateway.rows[Self.main]?.append(answer)
            bench.gateway.historyMembers = #","hasMore":false,"sessionInfo":{"hasActiveRun":false,"status":"done"}"#
            if sendsRows { try await bench.row(answer, on: loop) }
            try await bench.event("chat", Frame.final(first, 9, "Done, in metric units"), on: loop)
            try await bench.advance(5_000, on: loop)
            #expect(bench.services.runs.run(first)?.text == "Done, in metric units")
            #expect(bench.services.runs.run(id) == nil, "it has no run")
            #expect(bench.gateway.sentKeys.last == waiting, "the run has ended")
            let told = try await told(bench)
            #expect(told.filter { $0.hasPrefix("run.started") }.count == 1, "\(told)")
            #expect(told.last { $0.hasPrefix("user in metric units") } == "user in metric units \(first)", "\(told)")
            var page: MessagePages.Page?
            let query = MessagePages.Query(session: Self.main, limit: 9, before: nil, after: nil)
            loop.start { page = try? await bench.services.messagePages.read(query, refresh: true, on: loop) }
            try await bench.settle(on: loop)
            let listed = page?.messages.map { "\($0.id) \($0.text) \($0.runID ?? "-")" } ?? []
            #expect(page?.messages.first { $0.id == id }?.runID == first, "\(listed)")
        }
    }

    @Test func `after a restart a message that went into a run is not taken for a run of its own`() async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            try await bench.event("agent", Frame.start("theirs", at: Self.start), on: loop)
            let id = try await bench.accept("in metric units", mode: .sayNow, on: loop) ?? ""
            try await bench.advance(100, on: loop)
            bench.gateway.rows[Self.main] = [steered("in metric units", key: id, into: "theirs", at: 120)]
            bench.gateway.historyMembers = #","hasMore":false,"sessionInfo":{"hasActiveRun":false}"#
            try await bench.kill(on: loop)
            try await open(bench, on: loop)
            try await bench.advance(60_000, on: loop)
            #expect(try await entry(id, bench)?.joinedRun == "theirs")
            try await bench.kill(on: loop)
            try await open(bench, on: loop)
            try await bench.advance(60_000, on: loop)
            #expect(bench.services.runs.run(id) == nil && bench.gateway.sentKeys == [id])
            #expect(try await told(bench).allSatisfy { !$0.contains(" \(id)") })
        }
    }

    @Test func `a gateway that refuses to put a message into a run gets it at its turn`() async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            try await bench.event("agent", Frame.start("theirs", at: Self.start), on: loop)
            let words = "invalid chat.send params: at root: unexpected property 'queueMode'"
            bench.gateway.next("chat.send", refused("INVALID_REQUEST", words))
            let id = try await bench.accept("in metric units", mode: .sayNow, on: loop) ?? ""
            try await bench.advance(10_000, on: loop)
            #expect(bench.gateway.sentKeys == [id], "the run is at work")
            #expect(bench.services.runs.run(id) == nil, "nothing of it has begun")
            try await bench.event("chat", Frame.final("theirs", 9, "Done"), on: loop)
            try await bench.advance(5_000, on: loop)
            #expect(bench.gateway.sentKeys == [id, id])
            #expect(bench.gateway.requests("chat.send").last?["queueMode"] == nil)
            #expect(try await entry(id, bench)?.state == .accepted)
        }
    }

    @Test(arguments: [
        #","retryable":true,"retryAfterMs":1000,"details":{"reason":"gateway-suspending","phase":"draining"}"#,
        #","retryable":true,"retryAfterMs":500,"details":{"reason":"startup-sidecars"}"#,
        #","retryable":true,"retryAfterMs":1000,"details":{"reason":"gateway-restarting"}"#,
    ])
    func `a pause costs no attempt and no key, however long it is`(details: String) async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            var isPaused = true
            bench.gateway.responder = { request in
                let words = "chat.send unavailable during gateway suspension"
                let isRefused = isPaused && request.method == "chat.send"
                return isRefused ? .now(refused("UNAVAILABLE", words, more: details)) : nil
            }
            let id = try await bench.accept("hello", on: loop) ?? ""
            try await bench.accept("elsewhere", session: "agent:main:den", on: loop)
            try await bench.advance(3_600_000, on: loop)
            let entry = try await bench.journal.read { try $0.outbox.entry(id: id) }
            #expect(entry?.state == .queued && entry?.attemptCount == 0)
            #expect(bench.services.outbox.blockedReason(session: Self.main)?.contains("suspension") == true)
            #expect(bench.gateway.requests("chat.send").count < 260, "it tries every half minute, in two sessions")
            isPaused = false
            try await bench.advance(30_000, on: loop)
            let sent = try await bench.journal.read { try $0.outbox.entry(id: id) }
            #expect(sent?.state == .accepted && sent?.attemptCount == 1 && sent?.upstreamKey == id)
        }
    }

    @Test(arguments: [
        ("changed", #","details":{"reason":"session-routing-changed"}"#),
        ("changed", #","details":{"reason":"active-leaf-changed"}"#),
        ("changed", #","details":{"reason":"session-settings-changed"}"#),
        ("Session storage changed while starting work. Retry.", ""),
    ])
    func `a message that could not be taken because its session had changed goes again under its key`(
        words: String,
        more: String
    ) async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            bench.gateway.next("chat.send", refused("INVALID_REQUEST", words, more: more))
            let id = try await bench.accept("hello", on: loop) ?? ""
            try await bench.advance(5_000, on: loop)
            #expect(bench.gateway.sentKeys == [id, id])
            let entry = try await bench.journal.read { try $0.outbox.entry(id: id) }
            #expect(entry?.state == .accepted)
        }
    }

    @Test func `a failed set-up ran nothing, so the message goes under a new key`() async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            let words = "Error: Chat admission ended or was cancelled; submit a new turn."
            bench.gateway.responder = { request in
                guard request.method == "chat.send", let key = request["idempotencyKey"], !key.hasSuffix("-r2") else {
                    return nil
                }
                let payload = json(#"{"runId":"\#(key)","status":"error","summary":"\#(words)"}"#)
                let error = GatewayError(json(#"{"code":"UNAVAILABLE","message":"\#(words)"}"#))
                return .now(.failed(error, payload: payload))
            }
            let id = try await bench.accept("hello", on: loop) ?? ""
            try await bench.advance(50, on: loop)
            let failed =
                #"{"runId":"\#(id)","sessionKey":"agent:main:main","seq":1,"state":"error","errorMessage":"\#(words)"}"#
            try await bench.event("chat", failed, on: loop)
            try await bench.advance(5_000, on: loop)
            #expect(bench.gateway.sentKeys == [id, "\(id)-r2"])
            let entry = try await bench.journal.read { try $0.outbox.entry(id: id) }
            #expect(entry?.state == .accepted)
            #expect(try await told(bench).allSatisfy { !$0.hasPrefix("run.ended") })
        }
    }

    // MARK: Messages that the gateway keeps

    /// The members of a page about a message that the gateway keeps.
    private func kept(_ id: String, _ receipt: String, _ state: String? = nil) -> String {
        let items = state.map { #"{"id":"p-1","runId":"\#(id)","state":"\#($0)"}"# } ?? ""
        return #","hasMore":false,"pendingInputs":{"items":[\#(items)],"total":1},"#
            + #""inputReceipts":[{"runId":"\#(id)"\#(receipt)}],"sessionInfo":{"hasActiveRun":false}"#
    }

    /// A message was acknowledged, and then the gateway was killed.
    private func killed(_ bench: ServiceBench, on loop: isolated EventLoop) async throws -> String {
        try await open(bench, on: loop)
        let id = try await bench.accept("hello", on: loop) ?? ""
        try await bench.advance(100, on: loop)
        try await bench.drop(on: loop)
        return id
    }

    private func entry(_ id: String, _ bench: ServiceBench) async throws -> OutboxEntry? {
        try await bench.journal.read { try $0.outbox.entry(id: id) }
    }

    @Test func `a message that the next process has in its queue is not sent again`() async throws {
        try await withServices { bench, loop in
            let id = try await killed(bench, on: loop)
            bench.gateway.historyMembers = kept(id, #","state":"pending","queued":true"#, "queued")
            try await open(bench, boot: "boot-2", on: loop)
            try await bench.advance(3_600_000, on: loop)
            #expect(bench.gateway.sentKeys == [id])
            #expect(try await entry(id, bench)?.state == .accepted)
            #expect(bench.gateway.requests("chat.history").contains { $0.params["inputRunIds"]?[0]?.string == id })
        }
    }

    @Test func `a message that its process left behind goes again with the same parameters`() async throws {
        try await withServices { bench, loop in
            let id = try await killed(bench, on: loop)
            bench.gateway.historyMembers = kept(id, #","state":"pending""#, "interrupted")
            try await open(bench, boot: "boot-2", on: loop)
            try await bench.advance(10_000, on: loop)
            let sends = bench.gateway.requests("chat.send").map { "\($0.params)" }
            #expect(sends.count == 2 && Set(sends).count == 1, "a repeat with other parameters is a conflict")
            #expect(try await entry(id, bench)?.state == .accepted)
        }
    }

    @Test func `a repeat that is answered as completed leads to the row at once`() async throws {
        try await withServices { bench, loop in
            let id = try await killed(bench, on: loop)
            bench.gateway.historyMembers = #","hasMore":false,"sessionInfo":{"hasActiveRun":false}"#
            bench.gateway.responder = { [weak bench] request in
                guard request.method == "chat.send" else { return nil }
                bench?.gateway.rows[Self.main] = [self.user("hello", key: id, at: 50)]
                return .now(ok(#"{"runId":"\#(id)","status":"completed"}"#))
            }
            try await open(bench, boot: "boot-2", on: loop)
            try await bench.advance(5_000, on: loop)
            #expect(bench.gateway.sentKeys == [id, id])
            #expect(try await entry(id, bench)?.state == .delivered)
        }
    }

    @Test(arguments: [
        ("Error: Pending input is already admitted; wait for its current turn", ""),
        (
            "accepted chat turn recovery is waiting for the Gateway runtime; retry",
            #","retryable":true,"retryAfterMs":250"#
        ),
        ("chat turn ownership changed; automatic retry stopped, review it", #","retryable":false"#),
    ])
    func `a message that the gateway says it has goes under no other key`(words: String, more: String) async throws {
        try await withServices { bench, loop in
            let id = try await killed(bench, on: loop)
            bench.gateway.historyMembers = kept(id, #","state":"pending""#, "interrupted")
            bench.gateway.responder = { request in
                guard request.method == "chat.send" else { return nil }
                let error = GatewayError(json(#"{"code":"UNAVAILABLE","message":"\#(words)"\#(more)}"#))
                let payload = json(#"{"runId":"\#(id)","status":"error","summary":"\#(words)"}"#)
                return .now(.failed(error, payload: more.isEmpty ? payload : nil))
            }
            try await open(bench, boot: "boot-2", on: loop)
            try await bench.advance(600_000, on: loop)
            #expect(Set(bench.gateway.sentKeys) == [id], "\(bench.gateway.sentKeys)")
            #expect(bench.gateway.requests("chat.abort").isEmpty)
            let state = try await entry(id, bench)?.state
            #expect(state.map { !$0.hasEnded } == true, "\(String(describing: state))")
            #expect(try await told(bench).allSatisfy { !$0.hasPrefix("run.ended") })
        }
    }

    @Test func `a message that the gateway will not take up again is dropped there and sent anew`() async throws {
        try await withServices { bench, loop in
            let id = try await killed(bench, on: loop)
            bench.gateway.historyMembers = kept(id, #","state":"pending""#, "interrupted")
            let words = "Error: Pending input ownership ended; submit a new turn to continue"
            let payload = json(#"{"runId":"\#(id)","status":"error","summary":"\#(words)"}"#)
            let error = GatewayError(json(#"{"code":"UNAVAILABLE","message":"\#(words)"}"#))
            bench.gateway.next("chat.send", .failed(error, payload: payload))
            try await open(bench, boot: "boot-2", on: loop)
            try await bench.advance(10_000, on: loop)
            #expect(bench.gateway.sentKeys == [id, id, "\(id)-r2"])
            let dropped = bench.gateway.requests("chat.abort")
            #expect(dropped.map { $0["runId"] } == [id])
            #expect(dropped.first?.params["discardPendingInput"]?.bool == true)
            #expect(try await entry(id, bench)?.state == .accepted)
        }
    }

    @Test func `a message that was stopped while the gateway kept it is dropped there and never sent`() async throws {
        try await withServices { bench, loop in
            let id = try await killed(bench, on: loop)
            bench.gateway.historyMembers = kept(id, #","state":"pending""#, "interrupted")
            bench.services.outbox.stopped(run: id, on: loop)
            bench.gateway.responder = { [weak bench] request in
                guard request.method == "chat.abort", request.params["discardPendingInput"]?.bool == true else {
                    return nil
                }
                bench?.gateway.historyMembers = self.kept(id, #","state":"pending","cancelled":true"#, "cancelled")
                return .now(ok(#"{"ok":true,"aborted":true,"runIds":[]}"#))
            }
            try await open(bench, boot: "boot-2", on: loop)
            try await bench.advance(60_000, on: loop)
            #expect(bench.gateway.sentKeys == [id])
            #expect(bench.gateway.requests("chat.abort").count == 1)
            #expect(try await entry(id, bench)?.state == .cancelled)
        }
    }

    @Test(arguments: [("consumed", OutboxState.delivered), ("cancelled", .cancelled)])
    func `what became of a message at the gateway is told`(receipt: String, state: OutboxState) async throws {
        try await withServices { bench, loop in
            let id = try await killed(bench, on: loop)
            let word =
                receipt == "consumed"
                ? #","state":"consumed","consumedByEventId":"e-30""# : #","state":"pending","cancelled":true"#
            bench.gateway.historyMembers = kept(id, word)
            try await open(bench, boot: "boot-2", on: loop)
            try await bench.advance(10_000, on: loop)
            #expect(bench.gateway.sentKeys == [id])
            #expect(try await entry(id, bench)?.state == state)
        }
    }

    // MARK: Pauses and who we are

    @Test func `a paused link keeps runs and holds messages until it goes on`() async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            try await bench.event("agent", Frame.start("other"), on: loop)
            bench.gateway.status.state = .paused
            bench.gateway.status.detail = "Connected, but the gateway is paused."
            bench.services.events.notify(.linkChanged(bench.gateway.status), on: loop)
            let id = try await bench.accept("hello", on: loop) ?? ""
            try await bench.advance(20, on: loop)
            #expect(bench.gateway.sentKeys.isEmpty)
            #expect(bench.services.outbox.blockedReason(session: Self.main)?.contains("paused") == true)
            #expect(bench.services.runs.run("other")?.state == .running)
            bench.gateway.status.state = .online
            bench.services.events.notify(.linkChanged(bench.gateway.status), on: loop)
            try await bench.event("chat", Frame.final("other", 9, "Done."), on: loop)
            try await bench.advance(1_000, on: loop)
            #expect(bench.gateway.sentKeys == [id])
        }
    }

    @Test func `a link that opens to a suspended gateway holds messages too`() async throws {
        try await withServices { bench, loop in
            let id = try await bench.accept("hello", on: loop) ?? ""
            let text = #"{"type":"hello-ok","protocol":4,"server":{"bootId":"b"},"features":{"methods":[]}}"#
            let hello = try #require(Hello(json(text), requested: []))
            bench.gateway.hello = hello
            bench.gateway.measureClock(on: loop)
            bench.gateway.isOnline = true
            bench.gateway.status.state = .paused
            bench.services.events.notify(.linkChanged(bench.gateway.status), on: loop)
            bench.services.events.notify(.linkOpened(hello), on: loop)
            try await bench.advance(500, on: loop)
            #expect(bench.gateway.sentKeys.isEmpty)
            try await bench.advance(60_000, on: loop)
            #expect(bench.gateway.sentKeys == [id], "a message is tried now and then, in case the end was missed")
        }
    }

    @Test func `a page that the gateway cannot read yet is asked for again`() async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            bench.gateway.rows[Self.main] = [user("hello", key: "k", at: 0)]
            let more = #","retryable":true,"retryAfterMs":250,"details":{"method":"chat.history"}"#
            let words = "session rows are initializing; reload the conversation"
            let asked = bench.gateway.requests("chat.history").count
            bench.gateway.next("chat.history", refused("UNAVAILABLE", words, more: more))
            var rows: Int?
            bench.services.transcript.read(Self.main, rows: 50, on: loop) { rows = (try? $0.get())?.rows.count }
            try await bench.advance(1_000, on: loop)
            #expect(rows == 1)
            #expect(bench.gateway.requests("chat.history").count == asked + 2)
        }
    }

    @Test func `the end of a conversation that another one has replaced deletes nothing`() async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            let row = #"{"reason":"create","sessionKey":"agent:main:den","sessionId":"new","updatedAt":5}"#
            try await bench.event("sessions.changed", row, on: loop)
            let gone = #"{"reason":"delete","sessionKey":"agent:main:den","sessionId":"old"}"#
            try await bench.event("sessions.changed", gone, on: loop)
            #expect(bench.services.sessionModel["agent:main:den"] != nil)
            try await bench.event("sessions.changed", gone.replacing("old", with: "new"), on: loop)
            #expect(bench.services.sessionModel["agent:main:den"] == nil)
        }
    }

    @Test(arguments: [
        (["operator.sessions.write"], ["operator.sessions.read", "operator.sessions.write"]),
        (["operator.sessions.read"], ["operator.sessions.read"]), (["operator.read"], ["operator.read"]),
        (["operator.write"], ["operator.read", "operator.write"]),
    ])
    func `a grant counts with what it includes`(granted: [String], scopes: [String]) throws {
        let list = granted.map { "\"\($0)\"" }.joined(separator: ",")
        let text = #"{"type":"hello-ok","protocol":4,"auth":{"scopes":[\#(list)]}}"#
        let hello = try #require(Hello(json(text), requested: ["operator.read", "operator.write"]))
        #expect(hello.scopes == scopes)
    }
}
