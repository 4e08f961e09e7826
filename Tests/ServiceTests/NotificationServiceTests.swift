import Basics
import EventLoops
import Gateway
import JSONBytes
import Notifications
import Observability
import Outbox
import Store
import Synchronization
import TestSupport
import Testing

@testable import Service

/// Notifications over a day without their receiver, restarts, quiet nights and loops.
struct NotificationServiceTests {
    private static let hour: Int64 = 3_600_000
    private static let dead = DeliveryMachine.Outcome.failed(status: nil, error: "refused", retryAfterMs: nil)

    private static func sink(_ kind: String = "webhook", _ more: String = "", id: String = "s") throws
        -> NotificationSink
    {
        let topic = kind == "ntfy" ? #","topic":"t""# : ""
        let json = #"{"kind":"\#(kind)","url":"https://example.org/hook"\#(topic)\#(more)}"#
        return try NotificationSink(id: id, name: id, origin: .config, JSONDocument(parsing: json).root)
    }

    private static func settings(
        _ inbox: ScriptedSinks.Inbox,
        _ sinks: [NotificationSink],
        _ change: (inout NotificationSettings) -> Void = { _ in }
    ) -> ServiceSettings {
        var settings = ServiceSettings()
        settings.notifications.sinks = sinks
        change(&settings.notifications)
        settings.sinkTransport = { ScriptedSinks(inbox) }
        return settings
    }

    private func types(_ inbox: ScriptedSinks.Inbox) -> [String] {
        inbox.requests.compactMap { try? JSONDocument(parsing: $0.body).root["type"]?.string }
    }

    private func ids(_ inbox: ScriptedSinks.Inbox) -> Set<String> {
        Set(inbox.requests.compactMap { $0.fields.first { $0.name == "webhook-id" }?.value })
    }

    /// A run of the main session that takes so long.
    private func run(_ id: String, seconds: Int64, _ bench: ServiceBench, on loop: isolated EventLoop) async throws {
        try await bench.event("agent", Frame.start(id), on: loop)
        try await bench.advance(seconds * 1000, on: loop)
        // Gateways date their events.
        let end = "\(1_795_000_000_000 + seconds * 1000)"
        try await bench.event("chat", Frame.final(id, 9, "done").replacingText("1795000009000", with: end), on: loop)
        try await bench.advance(1000, on: loop)
    }

    @Test func `a long run is told once, in the transaction of its end`() async throws {
        let inbox = ScriptedSinks.Inbox()
        try await withServices(Self.settings(inbox, [try Self.sink()])) { bench, loop in
            try await bench.open(on: loop)
            try await run("short", seconds: 5, bench, on: loop)
            #expect(types(inbox) == [])
            try await run("long", seconds: 40, bench, on: loop)
            #expect(types(inbox) == ["run.completed"])
            let told = bench.types()
            let place = try #require(told.firstIndex(of: "notification"))
            #expect(told[place - 1] == "run.ended")
            let one = try #require(bench.data("notification").last?["notification"])
            #expect(one["type"]?.string == "run.completed" && one["chime"]?.string == "done")
            #expect(one["session"]?.string == ServiceBench.main && one["rule"]?.string == "standard")
            let rows = try await bench.journal.read {
                try $0.notifications.page(state: "sent", sessions: nil, before: nil, limit: 9)
            }
            #expect(rows?.rows.count == 1)
        }
    }

    @Test func `without sinks the event alone is there`() async throws {
        try await withServices { bench, loop in
            try await bench.open(on: loop)
            try await run("long", seconds: 40, bench, on: loop)
            #expect(bench.data("notification").count == 1)
        }
    }

    @Test func `a message whose time ended while Ladle was down is told of at its start`() async throws {
        let inbox = ScriptedSinks.Inbox()
        try await withServices(Self.settings(inbox, [try Self.sink()])) { bench, loop in
            let id = try await bench.accept("hello", ttlMs: Self.hour, on: loop) ?? ""
            bench.clock.set(forwardMs: 2 * Self.hour)
            try await bench.kill(on: loop)
            #expect(try await bench.entry(id).state == .expired)
            try await bench.advance(1_000, on: loop)
            #expect(types(inbox) == ["outbox.expired"])
        }
    }

    @Test func `nothing is sent before the windows of quiet hours are known`() async throws {
        let inbox = ScriptedSinks.Inbox()
        let hours = #","quietHours":{"enabled":true,"from":"12:00","to":"13:00","timeZone":"Europe/Berlin"}"#
        var settings = Self.settings(inbox, [try Self.sink("webhook", hours)])
        let berlin = try #require(FuzzInput.all(of: "TimeZone").first { $0.name.hasSuffix("Berlin") })
        let asked = Mutex<[@Sendable ([UInt8]?) -> Void]>([])
        settings.timeZones = { _, completion in asked.withLock { $0.append(completion) } }
        try await withServices(settings) { bench, loop in
            let note = Notification(id: "n", type: .note, at: loop.wallClock, title: "hi")
            bench.services.notificationMaker.note(note, sinks: nil, on: loop) { _ in }
            try await bench.settle(on: loop)
            #expect(!types(inbox).contains("note"))
            for completion in asked.withLock({ $0 }) { completion(berlin.bytes) }
            try await bench.settle(on: loop)
            #expect(!types(inbox).contains("note"), "it is quiet in Berlin")
        }
    }

    /// It is 12:06 in Berlin, and 11:06 UTC.
    @Test func `quiet hours that the disk did not take leave the former ones as they were`() async throws {
        let inbox = ScriptedSinks.Inbox()
        var settings = Self.settings(inbox, [])
        let berlin = try #require(FuzzInput.all(of: "TimeZone").first { $0.name.hasSuffix("Berlin") })
        settings.timeZones = { _, completion in completion(berlin.bytes) }
        try await withServices(settings) { bench, loop in
            let preferences = bench.services.notificationPreferences
            func save(_ zone: String, on loop: isolated EventLoop) async throws {
                let hours = #"{"enabled":true,"from":"12:00","to":"13:00","timeZone":"\#(zone)"}"#
                let sink = try Self.sink("webhook", #","quietHours":\#(hours)"#)
                loop.start { _ = try? await preferences.save(sink, on: loop) }
                try await bench.settle(on: loop)
            }
            try await save("Europe/Berlin", on: loop)
            bench.journal.failWrites(.storageFull)
            try await save("UTC", on: loop)
            bench.journal.failWrites(nil)
            let note = Notification(id: "n", type: .note, at: loop.wallClock, title: "hi")
            bench.services.notificationMaker.note(note, sinks: nil, on: loop) { _ in }
            try await bench.settle(on: loop)
            #expect(!types(inbox).contains("note"), "it is quiet in Berlin")
        }
    }

    @Test func `an event that the disk did not take makes nothing`() async throws {
        let inbox = ScriptedSinks.Inbox()
        try await withServices(Self.settings(inbox, [try Self.sink()])) { bench, loop in
            try await bench.open(on: loop)
            bench.journal.failWrites(.storageFull)
            try await run("long", seconds: 40, bench, on: loop)
            #expect(!types(inbox).contains("run.completed") && bench.data("notification").isEmpty)
        }
    }

    @Test func `a day without the receiver, and a restart in it: one id, nothing lost`() async throws {
        let inbox = ScriptedSinks.Inbox()
        inbox.answer(Self.dead)
        try await withServices(Self.settings(inbox, [try Self.sink()])) { bench, loop in
            try await bench.open(on: loop)
            try await run("long", seconds: 40, bench, on: loop)
            try await bench.advance(3 * Self.hour, on: loop)
            #expect(
                inbox.requests.count == 5 && bench.services.notificationDeliveries.health(of: "s").state == .failing
            )
            try await bench.kill(on: loop)
            try await bench.advance(15 * Self.hour, on: loop)
            #expect(ids(inbox).count == 1)
            inbox.answer(.accepted(status: 200))
            try await bench.advance(5 * Self.hour, on: loop)
            #expect(Set(types(inbox)) == ["run.completed"])
            let open = try await bench.journal.read { try $0.notifications.open(limit: 10).count }
            #expect(open == 0 && bench.services.notificationDeliveries.health(of: "s").state == .ok)
            let failed = try await bench.journal.read {
                try $0.notifications.page(state: "failed", sessions: nil, before: nil, limit: 9)
            }
            #expect(failed?.rows.isEmpty == true)
        }
    }

    @Test func `killed between sending and writing it is sent again under the same id`() async throws {
        let inbox = ScriptedSinks.Inbox()
        try await withServices(Self.settings(inbox, [try Self.sink()])) { bench, loop in
            try await bench.open(on: loop)
            inbox.answer(nil)
            try await run("long", seconds: 40, bench, on: loop)
            #expect(inbox.requests.count == 1)
            inbox.answer(.accepted(status: 200))
            try await bench.kill(on: loop)
            #expect(inbox.requests.count == 2 && ids(inbox).count == 1)
        }
    }

    @Test func `a failure is told after a minute, and not when the gateway repeats the run`() async throws {
        let inbox = ScriptedSinks.Inbox()
        try await withServices(Self.settings(inbox, [try Self.sink()])) { bench, loop in
            try await bench.open(on: loop)
            try await bench.event("agent", Frame.start("r"), on: loop)
            try await bench.event("chat", Frame.end("r", "error"), on: loop)
            try await bench.advance(55_000, on: loop)
            #expect(types(inbox) == [])
            try await bench.advance(70_000, on: loop)
            #expect(types(inbox) == ["run.failed"])
        }
    }

    @Test func `the link is told when it is away for a minute, and when it is back`() async throws {
        let inbox = ScriptedSinks.Inbox()
        try await withServices(Self.settings(inbox, [try Self.sink()])) { bench, loop in
            try await bench.open(on: loop)
            try await bench.drop(on: loop)
            try await bench.advance(50_000, on: loop)
            try await bench.open(on: loop)
            try await bench.advance(20_000, on: loop)
            #expect(types(inbox) == [])
            try await bench.drop(on: loop)
            try await bench.advance(61_000, on: loop)
            try await bench.open(on: loop)
            try await bench.drop(.waitingForApproval, on: loop)
            #expect(types(inbox) == ["link.offline", "link.online", "link.waiting_for_approval"])
        }
    }

    @Test func `an approval is told at once, reminded of, and taken back when it is decided`() async throws {
        let inbox = ScriptedSinks.Inbox()
        let settings = Self.settings(inbox, [try Self.sink("ntfy", #","detail":"detailed""#)]) {
            $0.hasApprovalLinks = true
            $0.publicURL = "https://ladle.example"
        }
        try await withServices(settings) { bench, loop in
            bench.gateway.next("exec.approval.list", ok("[]"))
            try await bench.open(methods: Asked.listing, on: loop)
            try await bench.asks(Asked.exec("a", "ls -la", at: loop.wallClock), on: loop)
            let first = try #require(inbox.requests.first)
            let body = try JSONDocument(parsing: first.body).root
            #expect(body["message"]?.string == "ls -la\non the gateway\nfor agent main" && body["priority"]?.int == 5)
            #expect(body["actions"]?.elements.map { $0["label"]?.string } == ["Allow once", "Deny"])
            let link = try #require(body["actions"]?[0]?["url"]?.string)
            #expect(link.hasPrefix("https://ladle.example/v1/act/"))
            let kept = bench.published.map { String(decoding: $0.data, as: UTF8.self) }
            #expect(!kept.contains { $0.contains("/v1/act/") })
            // The list repeats the same question.
            try await bench.asks(Asked.exec("a", "ls -la", at: ManualClock.start), on: loop)
            #expect(inbox.requests.count == 1)
            try await bench.advance(901_000, on: loop)
            #expect(inbox.requests.count == 2)
            try await bench.ends(Asked.resolved("a", "deny"), on: loop)
            #expect(inbox.requests.dropFirst(2).map(\.method) == ["DELETE", "DELETE"])
            try await bench.advance(Self.hour, on: loop)
            #expect(inbox.requests.count == 4)
        }
    }

    @Test func `a message that a notification caused tells nothing`() async throws {
        let inbox = ScriptedSinks.Inbox()
        try await withServices(Self.settings(inbox, [try Self.sink()])) { bench, loop in
            try await bench.open(on: loop)
            var message = NewMessage(session: ServiceBench.main, text: "from the webhook")
            message.isEcho = true
            let entry = bench.services.intake.entry(for: message, now: loop.wallClock)
            bench.services.intake.commit(message, as: entry, on: loop) { _ in }
            try await bench.settle(on: loop)
            try await run(entry.id, seconds: 40, bench, on: loop)
            #expect(bench.types().contains("run.ended"))
            #expect(types(inbox) == [] && bench.data("notification").isEmpty)
        }
    }

    @Test func `of rules the first that matches takes a sink`() async throws {
        let inbox = ScriptedSinks.Inbox()
        let sinks = [try Self.sink(id: "a"), try Self.sink(id: "b")]
        try await withServices(Self.settings(inbox, sinks)) { bench, loop in
            try await bench.open(on: loop)
            var rule = NotificationRule(id: "0", name: "mine", types: ["run.*"])
            try rule.take(JSONDocument(parsing: #"{"sinks":["a"],"priority":5,"minDurationMs":1000}"#).root)
            loop.start { try? await bench.services.notificationPreferences.save(rule, on: loop) }
            try await bench.settle(on: loop)
            try await run("long", seconds: 40, bench, on: loop)
            let rules = bench.data("notification").map { $0["notification"]?["rule"]?.string }
            #expect(rules == ["0", "standard"])
            #expect(inbox.requests.count == 2)
            // Another one at once, within the cooldown of ten seconds.
            try await run("next", seconds: 2, bench, on: loop)
            #expect(inbox.requests.count == 2)
        }
    }

    @Test func `a sink that says 410 is told of by the other one`() async throws {
        let inbox = ScriptedSinks.Inbox()
        let sinks = [try Self.sink(id: "a"), try Self.sink("ntfy", id: "b")]
        try await withServices(Self.settings(inbox, sinks)) { bench, loop in
            inbox.answer(.failed(status: 410, error: "status 410", retryAfterMs: nil))
            try await bench.drop(.refused, on: loop)
            #expect(bench.services.notificationDeliveries.health(of: "a").state == .disabled)
            inbox.answer(.accepted(status: 200))
            try await bench.advance(20_000, on: loop)
            let told = bench.data("notification").compactMap { $0["notification"]?["type"]?.string }
            #expect(told == ["link.refused", "sink.disabled"])
            let words = inbox.requests.last.map { String(decoding: $0.body, as: UTF8.self) } ?? ""
            #expect(words.contains("Notification sink disabled") || words.contains("Gateway refuses"))
            bench.services.notificationPreferences.restart(sinks[0], on: loop)
            #expect(bench.services.notificationDeliveries.health(of: "a").state == .ok)
        }
    }

    @Test func `a dead sink costs a bounded queue and a bounded table`() async throws {
        let inbox = ScriptedSinks.Inbox()
        inbox.answer(Self.dead)
        try await withServices(Self.settings(inbox, [try Self.sink()])) { bench, loop in
            for index in 0..<1_200 {
                var occasion = Occasion(.approvalRequested, source: "x/\(index)", at: loop.wallClock, text: "x")
                occasion.session = ServiceBench.main
                bench.services.notificationMaker.tell(occasion, on: loop)
            }
            try await bench.settle(on: loop)
            #expect(bench.services.notifications.summary.waiting <= NotificationLimits.queue + 1)
            let open = try await bench.journal.read { try $0.notifications.open(limit: 10_000).count }
            #expect(open <= NotificationLimits.queue + 1)
            _ = try await bench.journal.commit { transaction in
                while try transaction.notifications.prune(keeping: 100, before: ManualClock.start, slice: 64) > 0 {}
            }
            let left = try await bench.journal.read {
                try $0.notifications.page(state: nil, sessions: nil, before: nil, limit: 10_000)?.rows.count
            }
            #expect(left == 100)
        }
    }

    @Test func `a script says something ten times a minute, and a person mutes the rest`() async throws {
        let inbox = ScriptedSinks.Inbox()
        try await withServices(Self.settings(inbox, [try Self.sink()])) { bench, loop in
            var made = 0
            for index in 0..<12 {
                let note = Notification(id: "n\(index)", type: .note, at: loop.wallClock, title: "hi")
                bench.services.notificationMaker.note(note, sinks: nil, on: loop) {
                    if case .success(.made) = $0 { made += 1 }
                }
            }
            try await bench.settle(on: loop)
            #expect(made == 10 && inbox.requests.count == 10)
            let until = loop.wallClock.adding(milliseconds: Self.hour)
            loop.start { try? await bench.services.notificationPreferences.mute(until: until, on: loop) }
            try await bench.advance(60_000, on: loop)
            let note = Notification(id: "late", type: .note, at: loop.wallClock, title: "hi")
            bench.services.notificationMaker.note(note, sinks: nil, on: loop) { _ in }
            try await bench.settle(on: loop)
            #expect(inbox.requests.count == 10)
            var sinks: Int?
            try await bench.advance(Self.hour, on: loop)
            loop.start { sinks = try? await bench.services.notificationDeliveries.retry("late", on: loop) }
            try await bench.settle(on: loop)
            #expect(sinks == 1 && inbox.requests.count == 11)
        }
    }
}
