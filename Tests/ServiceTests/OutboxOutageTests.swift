import Basics
import EventLoops
import Gateway
import JSONBytes
import Observability
import Outbox
import Store
import Testing
import Upstream

@testable import Service

/// The outbox while the gateway, the disk or this program is away.
struct OutboxOutageTests {
    private static let main = ServiceBench.main

    // MARK: The gateway is away

    @Test func `with offline count attempts without a gateway count, and a reconnect brings the next one forward`()
        async throws
    {
        var settings = ServiceSettings()
        settings.outbox.offline = .count
        try await withServices(settings) { bench, loop in
            try await bench.drop(on: loop)
            let id = try await bench.accept("hello", on: loop)
            try await bench.advance(5000, on: loop)
            #expect(try await bench.attempts(id) == [.notDispatched, .notDispatched, .notDispatched])
            #expect(try await bench.entry(id).attemptCount == 3)
            try await bench.open(on: loop)
            #expect(bench.gateway.sentTexts == ["hello"])
        }
    }

    @Test func `while the gateway is away no attempt is used up`() async throws {
        try await withServices { bench, loop in
            try await bench.drop(on: loop)
            let id = try await bench.accept("hello", on: loop)
            try await bench.advance(3_600_000, on: loop)
            #expect(try await bench.entry(id).attemptCount == 0)
            let reason = bench.services.outbox.blockedReason(session: "agent:main:main")
            #expect(reason == "gateway offline: the test says so")
            try await bench.open(on: loop)
            #expect(try await bench.attempts(id) == [.accepted])
        }
    }

    @Test func `while the device waits for its approval messages wait too`() async throws {
        try await withServices { bench, loop in
            try await bench.drop(.waitingForApproval, code: "PAIRING_REQUIRED", on: loop)
            let id = try await bench.accept("hello", on: loop)
            try await bench.advance(60_000, on: loop)
            #expect(try await bench.entry(id).attemptCount == 0)
            #expect(bench.services.outbox.blockedReason(session: "agent:main:main") == "PAIRING_REQUIRED")
        }
    }

    /// 2026.3.1 and 2026.4.26, seen live: a gateway acknowledges a message while it is about to restart, says this in place of an answer
    /// and keeps nothing.
    private static let turningAway = [
        #"⚠️ Agent failed before reply: Gateway is draining for restart; new tasks are not accepted.\nLogs: openclaw logs --follow"#,
        "⚠️ Gateway is restarting. Please wait a few seconds and try again.",
    ]

    private static func turnedAway(_ key: String, _ words: String) -> String {
        let content = #"[{"type":"text","text":"\#(words)"}]"#
        let message = #"{"role":"assistant","model":"gateway-injected","content":\#(content)}"#
        return #"{"runId":"\#(key)","sessionKey":"\#(main)","seq":1,"state":"final","message":\#(message)}"#
    }

    @Test(arguments: [false, true], turningAway)
    func `a message that a gateway turns away before its restart goes again after it`(
        isStopped: Bool,
        words: String
    ) async throws {
        try await withServices { bench, loop in
            try await bench.open(on: loop)
            let id = try await bench.accept("hello", on: loop) ?? ""
            try await bench.event("chat", Self.turnedAway(id, words), on: loop)
            let turnedAway = try await bench.entry(id)
            #expect(turnedAway.state == .retrying && turnedAway.fault?.code == "GATEWAY_DRAINING")
            #expect(turnedAway.attemptCount == 0 && turnedAway.proof == nil)
            #expect(bench.services.runs.run(id) == nil, "nothing ran")
            try await bench.accept("elsewhere", session: "agent:main:den", on: loop)
            try await bench.advance(20_000, on: loop)
            #expect(bench.gateway.sentKeys == [id], "it would turn away every message")
            #expect(bench.services.outbox.blockedReason(session: Self.main)?.contains("about to restart") == true)
            if isStopped { bench.services.outbox.stopped(run: id, on: loop) }
            try await bench.drop(on: loop)
            try await bench.open(uptimeMs: 100, on: loop)
            let expected: Set = isStopped ? ["elsewhere"] : ["hello", "elsewhere"]
            #expect(Set(bench.gateway.sentTexts.dropFirst()) == expected)
            let after = try await bench.entry(id)
            #expect(after.state == (isStopped ? .cancelled : .accepted))
            #expect(
                isStopped || after.upstreamKey != id,
                "the process before may be the present one, and knows the key"
            )
        }
    }

    @Test func `a message that is not sent in its time expires`() async throws {
        try await withServices { bench, loop in
            try await bench.drop(.refused, code: "AUTH", on: loop)
            let id = try await bench.accept("hello", ttlMs: 1000, on: loop)
            try await bench.advance(1000, on: loop)
            let entry = try await bench.entry(id)
            #expect(entry.state == .expired)
            #expect(entry.fault?.code == "EXPIRED")
            try await bench.open(on: loop)
            #expect(bench.gateway.sentTexts.isEmpty)
        }
    }

    // MARK: The disk

    @Test func `an outcome that the disk does not take is written when it does`() async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.silent = ["chat.send"]
            let id = try await bench.accept("hello", on: loop)
            bench.journal.failWrites(.storageFull)
            bench.gateway.answer("chat.send")
            try await bench.settle(on: loop)
            #expect(try await bench.state(id) == .sending)
            var answer: Result<OutboxEntry, OutboxRefusal>?
            bench.services.outbox.cancel(id ?? "", force: false, expectedVersion: nil, on: loop) { answer = $0 }
            try await bench.advance(1000, on: loop)
            #expect(answer == .failure(.storage(.storageFull)))
            #expect(bench.services.outbox.summary(now: loop.wallClock).closed == "the disk is full")
            bench.journal.failWrites(nil)
            try await bench.advance(2000, on: loop)
            #expect(bench.services.outbox.summary(now: loop.wallClock).closed == nil)
            #expect(try await bench.state(id) == .accepted)
        }
    }

    @Test func `a message whose text cannot be read is not sent, and tried again`() async throws {
        try await withServices { bench, loop in
            bench.journal.failReads(nil)
            try await bench.open(on: loop)
            bench.journal.failReads(.unavailable("torn page"))
            let id = try await bench.accept("hello", on: loop)
            #expect(bench.gateway.sentTexts.isEmpty)
            bench.journal.failReads(nil)
            #expect(try await bench.entry(id).fault?.code == "GATEWAY_UNREACHABLE")
            try await bench.advance(1000, on: loop)
            #expect(bench.gateway.sentTexts == ["hello"])
        }
    }

    // MARK: Restarts

    @Test func `what waited before a restart is sent after it`() async throws {
        try await withServices { bench, loop in
            try await bench.drop(on: loop)
            let id = try await bench.accept("hello", on: loop)
            try await bench.restart(on: loop)
            #expect(bench.services.outbox.summary(now: loop.wallClock).counts.pending == 1)
            try await bench.open(on: loop)
            #expect(bench.gateway.sentKeys == [id])
        }
    }

    @Test func `what was on the wire at a kill may have arrived`() async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.silent = ["chat.send"]
            let id = try await bench.accept("hello", on: loop)
            bench.journal.hold()
            try await bench.kill(on: loop)
            #expect(try await bench.state(id) == .unconfirmed)
            bench.gateway.silent = []
            bench.gateway.rows[Self.main] = [Row.user("hello", key: id)]
            try await bench.open(uptimeMs: 3_600_500, on: loop)
            #expect(try await bench.state(id) == .delivered)
            #expect(bench.gateway.sentTexts == ["hello"])
        }
    }

    @Test func `with resume hold messages that waited are sent only by hand`() async throws {
        var settings = ServiceSettings()
        settings.outbox.resume = .hold
        try await withServices(settings) { bench, loop in
            try await bench.drop(on: loop)
            let id = try await bench.accept("hello", on: loop)
            try await bench.restart(on: loop)
            try await bench.open(on: loop)
            #expect(bench.gateway.sentTexts.isEmpty)
            #expect(try await bench.entry(id).fault?.code == "HELD_AFTER_RESTART")
            _ = try await bench.retry(id, on: loop)
            #expect(bench.gateway.sentTexts == ["hello"])
        }
    }

    @Test func `while the saved entries cannot be read nothing is sent, and the reason is shown`() async throws {
        try await withServices { bench, loop in
            try await bench.drop(on: loop)
            try await bench.accept("before", on: loop)
            bench.journal.failReads(.unavailable("torn page"))
            try await bench.restart(on: loop)
            try await bench.open(on: loop)
            let id = try await bench.accept("meanwhile", on: loop)
            #expect(bench.gateway.sentTexts.isEmpty)
            #expect(bench.services.outbox.summary(now: loop.wallClock).fault == "torn page")
            #expect(bench.services.outbox.blockedReason(session: "agent:main:main")?.hasSuffix("torn page") == true)
            guard case .failure(.storage) = try await bench.cancel(id, on: loop) else {
                Issue.record("a command was carried out without its entry")
                return
            }
            bench.journal.failReads(nil)
            try await bench.advance(1000, on: loop)
            #expect(bench.services.outbox.summary(now: loop.wallClock).fault == nil)
            #expect(bench.gateway.sentTexts == ["before"])
        }
    }
}
