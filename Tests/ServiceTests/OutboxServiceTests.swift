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

struct OutboxServiceTests {
    // MARK: Accepting and sending

    @Test func `an accepted message is sent once the gateway is reached`() async throws {
        try await withServices { bench, loop in
            let id = try await bench.accept("hello", on: loop)
            #expect(try await bench.state(id) == .queued)
            try await bench.open(on: loop)
            #expect(bench.gateway.sentTexts == ["hello"])
            #expect(bench.gateway.sentKeys == [id])
            let entry = try await bench.entry(id)
            #expect(entry.state == .accepted)
            #expect(entry.runID == id)
        }
    }

    @Test func `nothing goes to the gateway before the disk has the entry as sending`() async throws {
        try await withLinkedServices { bench, loop in
            bench.journal.hold()
            try await bench.accept("hello", on: loop)
            #expect(bench.gateway.sentTexts.isEmpty)
            bench.journal.release()
            try await bench.settle(on: loop)
            #expect(bench.gateway.sentTexts == ["hello"])
            #expect(
                bench.data("outbox").compactMap { $0["entry"]?["state"]?.string } == ["queued", "sending", "accepted"]
            )
        }
    }

    @Test func `the start of its run leaves a message accepted, the end of it proves that it arrived`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("hello", on: loop) ?? ""
            try await bench.event("agent", Frame.start(id), on: loop)
            #expect(try await bench.state(id) == .accepted)
            try await bench.event("chat", Frame.final(id, 9, "done"), on: loop)
            try await bench.advance(5000, on: loop)
            let entry = try await bench.entry(id)
            #expect(entry.state == .delivered)
            #expect(entry.proof == .runEnd)
        }
    }

    @Test func `a row with its key proves that a message arrived`() async throws {
        try await withLinkedServices { bench, loop in
            let first = try await bench.accept("the session's first", on: loop) ?? ""
            // A new session has nothing on disk before its first answer is complete, whatever is said of rows.
            let early = Row.user("the session's first", key: first, id: "r1")
            try await bench.row(early, on: loop)
            #expect(try await bench.entry(first).proof == nil)
            try await bench.event("agent", Frame.start(first), on: loop)
            try await bench.event("chat", Frame.final(first, 9, "done"), on: loop)
            let id = try await bench.accept("hello", on: loop)
            let row = Row.user("hello", key: id, id: "r2")
            try await bench.row(row, on: loop)
            #expect(try await bench.entry(id).proof == nil, "the gateway may refuse to run it")
            try await bench.event("agent", Frame.start(id ?? ""), on: loop)
            #expect(try await bench.entry(id).proof == .messageEvent)
        }
    }

    @Test(arguments: [("in_flight", OutboxState.accepted), ("ok", .delivered), ("started", .accepted)])
    func `the gateway's status decides whether a message is accepted or delivered`(
        status: String,
        state: OutboxState
    ) async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.next("chat.send", ok(#"{"status":"\#(status)"}"#))
            let id = try await bench.accept("hello", on: loop)
            #expect(try await bench.state(id) == state)
        }
    }

    @Test func `an error with the summary of a run means that the message was taken`() async throws {
        try await withLinkedServices { bench, loop in
            let payload = json(#"{"summary":"it failed","runId":"r-1"}"#)
            bench.gateway.next("chat.send", .failed(.init(code: "AGENT_FAILED", message: "no"), payload: payload))
            let entry = try await bench.entry(await bench.accept("hello", on: loop))
            #expect(entry.state == .accepted)
            #expect(entry.runID == "r-1")
        }
    }

    // MARK: Order

    @Test func `one message of a session is under way at a time, sessions do not wait for each other`() async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.silent = ["chat.send"]
            let first = try await bench.accept("one", on: loop) ?? ""
            try await bench.accept("two", on: loop)
            try await bench.accept("other", session: "agent:main:den", on: loop)
            #expect(bench.gateway.sentTexts == ["one", "other"])
            bench.gateway.answer("chat.send")
            try await bench.settle(on: loop)
            #expect(bench.gateway.sentTexts == ["one", "other"])
            try await bench.event("chat", Frame.final(first, 9, "done"), on: loop)
            #expect(bench.gateway.sentTexts == ["one", "other", "two"])
        }
    }

    @Test func `at most four sessions send at the same time`() async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.silent = ["chat.send"]
            for number in 1...6 { try await bench.accept("hello", session: "agent:main:s\(number)", on: loop) }
            #expect(bench.gateway.openCalls("chat.send") == 4)
            bench.gateway.answer("chat.send")
            try await bench.settle(on: loop)
            #expect(bench.gateway.requests("chat.send").count == 5)
        }
    }

    @Test func `an abort overtakes the messages that wait in its session`() async throws {
        try await withServices { bench, loop in
            try await bench.accept("first", on: loop)
            let abort = try await bench.accept("run-1", kind: .abort, on: loop)
            try await bench.open(on: loop)
            let chat = bench.gateway.requests.filter { ["chat.send", "chat.abort"].contains($0.method) }
            #expect(chat.map(\.method) == ["chat.abort", "chat.send"])
            #expect(chat.first?["runId"] == "run-1")
            let entry = try await bench.entry(abort)
            #expect(entry.state == .delivered)
            #expect(entry.proof == .answer)
            #expect(bench.gateway.sentTexts == ["first"])
        }
    }

    @Test func `a message for later waits for its time and holds up nobody`() async throws {
        try await withLinkedServices { bench, loop in
            try await bench.accept("tomorrow", notBeforeMs: 60_000, on: loop)
            let now = try await bench.accept("now", on: loop) ?? ""
            #expect(bench.gateway.sentTexts == ["now"])
            try await bench.event("chat", Frame.final(now, 9, "done"), on: loop)
            try await bench.advance(60_000, on: loop)
            #expect(bench.gateway.sentTexts == ["now", "tomorrow"])
        }
    }

    @Test func `on protocol 3 a message waits until the run of its session has ended`() async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: [], on: loop)
            try await bench.event("agent", Frame.start("run-elsewhere"), on: loop)
            try await bench.accept("hello", on: loop)
            #expect(bench.gateway.sentTexts.isEmpty)
            try await bench.accept("other", session: "agent:main:den", on: loop)
            #expect(bench.gateway.sentTexts == ["other"])
            try await bench.event("chat", Frame.final("run-elsewhere", 9, "done"), on: loop)
            try await bench.advance(5000, on: loop)
            #expect(bench.gateway.sentTexts == ["other", "hello"])
        }
    }

    @Test func `on protocol 3 a message waits for the run that began before the link was lost`() async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: [], on: loop)
            let first = try await bench.accept("slow", on: loop) ?? ""
            try await bench.event("agent", Frame.start(first), on: loop)
            try await bench.drop(on: loop)
            try await bench.advance(3000, on: loop)
            try await bench.open(version: 3, uptimeMs: 3_603_000, methods: [], on: loop)
            let next = try await bench.accept("two", on: loop)
            try await bench.accept("three", session: "agent:main:den", on: loop)
            #expect(bench.gateway.sentTexts == ["slow", "three"])
            #expect(try await bench.state(next) == .queued)
            try await bench.event("chat", Frame.end(first, "aborted"), on: loop)
            try await bench.advance(20_000, on: loop)
            #expect(bench.gateway.sentTexts == ["slow", "three", "two"])
        }
    }

    @Test func `with strict ordering the next message waits until the one before is delivered`() async throws {
        var settings = ServiceSettings()
        settings.outbox.ordering = .strict
        try await withLinkedServices(settings) { bench, loop in
            let first = try await bench.accept("one", on: loop) ?? ""
            try await bench.accept("two", on: loop)
            try await bench.event("agent", Frame.start(first), on: loop)
            #expect(bench.gateway.sentTexts == ["one"])
            try await bench.event("chat", Frame.final(first, 9, "done"), on: loop)
            #expect(bench.gateway.sentTexts == ["one", "two"])
        }
    }

    @Test func `an abort that found the gateway away goes before the messages when it is back`() async throws {
        try await withLinkedServices { bench, loop in
            let first = try await bench.accept("slow", on: loop) ?? ""
            try await bench.event("agent", Frame.start(first), on: loop)
            try await bench.drop(on: loop)
            try await bench.accept("and then this", on: loop)
            try await bench.accept(first, kind: .abort, on: loop)
            try await bench.advance(3000, on: loop)
            try await bench.open(uptimeMs: 3_603_000, on: loop)
            let chat = bench.gateway.requests.filter { ["chat.send", "chat.abort"].contains($0.method) }
            #expect(chat.map(\.method) == ["chat.send", "chat.abort"])
            try await bench.event("chat", Frame.end(first, "aborted"), on: loop)
            #expect(bench.gateway.sentTexts == ["slow", "and then this"])
        }
    }

    @Test func `on protocol 4 a message waits for another client's run too`() async throws {
        try await withLinkedServices { bench, loop in
            try await bench.event("agent", Frame.start("run-elsewhere"), on: loop)
            try await bench.accept("hello", on: loop)
            #expect(bench.gateway.sentTexts == [])
            #expect(
                bench.services.outbox.blockedReason(session: ServiceBench.main)?.contains("a run of this session")
                    == true
            )
            try await bench.event("chat", Frame.final("run-elsewhere", 9, "done"), on: loop)
            #expect(bench.gateway.sentTexts == ["hello"])
        }
    }

    @Test func `on protocol 3 a busy send takes the run that answers it`() async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: [], on: loop)
            let id = try await bench.accept("hello", on: loop)
            // A run of somebody else began just before, unheard until now.
            try await bench.event("agent", Frame.text("run-elsewhere", 2, "Well,"), on: loop)
            try await bench.event("chat", Frame.final(id ?? "", 1, nil), on: loop)
            #expect(try await bench.state(id) == .accepted)
            try await bench.event("chat", Frame.final("run-elsewhere", 9, "done"), on: loop)
            let at: Int64 = 1_795_000_000_500
            try await bench.event("agent", Frame.start("run-answer", at: at), on: loop)
            #expect(try await bench.entry(id).runID != "run-answer")
            let row = Row.user("hello", id: "r1", at: at)
            try await bench.row(row, on: loop)
            #expect(try await bench.entry(id).runID == "run-answer")
        }
    }

    @Test func `a release that needs it gets a rest between the end of a run and the next message`() async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, on: loop)
            try await bench.advance(500, on: loop)
            let id = try await bench.accept("one", on: loop) ?? ""
            try await bench.event("agent", Frame.start(id), on: loop)
            try await bench.accept("two", on: loop)
            try await bench.event("chat", Frame.final(id, 9, "done"), on: loop)
            #expect(bench.gateway.sentTexts == ["one"])
            try await bench.advance(500, on: loop)
            #expect(bench.gateway.sentTexts == ["one", "two"])
        }
    }

    // MARK: Refusals

    @Test func `a definite refusal fails the message at once`() async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.next("chat.send", refused("INVALID_REQUEST", "no such thing"))
            let id = try await bench.accept("hello", on: loop)
            let entry = try await bench.entry(id)
            #expect(entry.state == .failed)
            #expect(entry.fault?.code == "INVALID_REQUEST")
            #expect(try await bench.attempts(id) == [.rejectedTerminal])
            #expect(bench.services.outbox.summary(now: loop.wallClock).counts.failed == 1)
            #expect(bench.services.runs.activeCount == 0)
        }
    }

    @Test func `a retry after a refusal has a key of its own`() async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.next("chat.send", refused("INVALID_REQUEST"))
            let id = try await bench.accept("hello", on: loop)
            _ = try await bench.retry(id, on: loop)
            #expect(bench.gateway.sentKeys == [id, "\(id ?? "")-r2"])
            #expect(try await bench.state(id) == .accepted)
        }
    }

    @Test func `a passing refusal is tried again when the gateway says so`() async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.next("chat.send", refused("UNAVAILABLE", more: #","retryAfterMs":7000"#))
            let id = try await bench.accept("hello", on: loop)
            #expect(try await bench.state(id) == .retrying)
            try await bench.advance(6999, on: loop)
            #expect(bench.gateway.sentTexts.count == 1)
            try await bench.advance(1, on: loop)
            #expect(bench.gateway.sentTexts.count == 2)
            #expect(try await bench.attempts(id) == [.rejectedTransient, .accepted])
        }
    }

    @Test func `seven attempts over the schedule, then the message has failed`() async throws {
        try await withLinkedServices { bench, loop in
            for _ in 0..<8 { bench.gateway.next("chat.send", refused("UNAVAILABLE")) }
            let id = try await bench.accept("hello", on: loop)
            try await bench.advance(2_179_999, on: loop)
            #expect(bench.gateway.sentTexts.count == 6)
            try await bench.advance(1, on: loop)
            #expect(bench.gateway.sentTexts.count == 7)
            #expect(try await bench.state(id) == .failed)
        }
    }

    @Test func `a message that is too large for the gateway's frame has failed`() async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.next("chat.send", .notDispatched(.tooLarge(bytes: 30, limit: 20)))
            let entry = try await bench.entry(await bench.accept("hello", on: loop))
            #expect(entry.state == .failed)
            #expect(entry.fault?.code == "TOO_LARGE")
        }
    }

    @Test func `a full session takes no more messages`() async throws {
        try await withServices { bench, loop in
            var limits = OutboxLimits()
            limits.perSession = 1
            let first = try await bench.accept("one", limits: limits, on: loop)
            let second = try await bench.accept("two", limits: limits, on: loop)
            let other = try await bench.accept("three", session: "agent:main:den", limits: limits, on: loop)
            #expect(first != nil && second == nil && other != nil)
        }
    }

    // MARK: Commands of people

    @Test func `a waiting message can be taken back, once and for all`() async throws {
        try await withServices { bench, loop in
            try await bench.drop(.refused, code: "AUTH", on: loop)
            let id = try await bench.accept("hello", on: loop)
            #expect(try await bench.cancel(id, version: 99, on: loop) == .failure(.staleVersion(current: 1)))
            #expect(try await bench.cancel(id, on: loop)?.get().state == .cancelled)
            #expect(try await bench.retry(id, on: loop) == .failure(.notFound))
            try await bench.open(on: loop)
            #expect(bench.gateway.sentTexts.isEmpty)
            #expect(bench.services.outbox.summary(now: loop.wallClock).counts.pending == 0)
        }
    }

    @Test func `what is on the wire can be neither taken back nor sent again`() async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.silent = ["chat.send"]
            let id = try await bench.accept("hello", on: loop)
            #expect(try await bench.cancel(id, on: loop) == .failure(.alreadyDispatched(.sending)))
            #expect(try await bench.retry(id, on: loop) == .failure(.alreadyDispatched(.sending)))
        }
    }

    @Test func `a retry by hand starts the count anew`() async throws {
        var settings = ServiceSettings()
        settings.outbox.offline = .count
        try await withServices(settings) { bench, loop in
            try await bench.drop(on: loop)
            let id = try await bench.accept("hello", on: loop)
            try await bench.advance(2_200_000, on: loop)
            #expect(try await bench.state(id) == .failed)
            #expect(try await bench.retry(id, on: loop)?.get().attemptCount == 0)
            try await bench.open(on: loop)
            #expect(bench.gateway.sentTexts == ["hello"])
        }
    }

    // MARK: Sessions that change

    @Test func `a session that somebody else resets fails what waits for it`() async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.next("chat.send", refused("UNAVAILABLE", more: #","retryAfterMs":600000"#))
            let id = try await bench.accept("for the old one", on: loop)
            try await bench.event("sessions.changed", #"{"sessionKey":"main","reason":"reset"}"#, on: loop)
            #expect(try await bench.entry(id).fault?.code == "TARGET_CHANGED")
            #expect(try await bench.attempts(id) == [.rejectedTransient, .routeChanged])
        }
    }

    @Test func `what waits behind a reset of ours is meant for the new conversation`() async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.silent = ["chat.send"]
            let reset = try await bench.accept("/new", on: loop) ?? ""
            let id = try await bench.accept("for the new one", on: loop)
            try await bench.event("sessions.changed", #"{"sessionKey":"main","reason":"reset"}"#, on: loop)
            bench.gateway.answer("chat.send")
            try await bench.settle(on: loop)
            try await bench.event("chat", Frame.final(reset, 9, "A new session."), on: loop)
            #expect(try await bench.state(id) == .sending)
            try await bench.event("sessions.changed", #"{"sessionKey":"main","reason":"delete"}"#, on: loop)
            bench.gateway.answer("chat.send", .notDispatched(.offline))
            try await bench.settle(on: loop)
            #expect(try await bench.entry(id).fault?.code == "TARGET_CHANGED")
        }
    }
}
