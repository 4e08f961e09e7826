import Basics
import EventLoops
import EventStream
import Gateway
import JSONBytes
import Ledger
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
            #expect(run.state == .failed)
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

    @Test(arguments: [
        #","retryable":true,"retryAfterMs":1000,"details":{"reason":"gateway-suspending","phase":"draining"}"#,
        #","retryable":true,"retryAfterMs":500,"details":{"reason":"startup-sidecars"}"#,
        #","retryable":true,"retryAfterMs":250"#,
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

    @Test func `a message that could not be taken because its session had changed goes again under its key`()
        async throws
    {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            let more = #","details":{"reason":"session-settings-changed"}"#
            bench.gateway.next("chat.send", refused("INVALID_REQUEST", "changed", more: more))
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
}
