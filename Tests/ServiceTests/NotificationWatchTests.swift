import Basics
import EventLoops
import JSONBytes
import Notifications
import Observability
import Store
import Synchronization
import TestSupport
import Testing

@testable import Service

/// The link, the disk and the night: subjects that are not events of the gateway.
struct NotificationWatchTests {
    private static let minute: Int64 = 60_000
    private static let hour: Int64 = 60 * minute
    private static let dead = DeliveryMachine.Outcome.failed(status: nil, error: "refused", retryAfterMs: nil)

    private static func settings(
        _ inbox: ScriptedSinks.Inbox,
        hasSink: Bool = true,
        free: (@Sendable () -> UInt64?)? = nil
    ) throws -> ServiceSettings {
        let json = try JSONDocument(parsing: #"{"kind":"webhook","url":"https://example.org/hook","perHour":3600}"#)
            .root
        var settings = ServiceSettings()
        if hasSink {
            settings.notifications.sinks = [try NotificationSink(id: "s", name: "s", origin: .config, json)]
        }
        settings.sinkTransport = { ScriptedSinks(inbox) }
        if let free { settings.freeBytes = free }
        return settings
    }

    private func types(_ inbox: ScriptedSinks.Inbox) -> [String] {
        inbox.requests.compactMap { try? JSONDocument(parsing: $0.body).root["type"]?.string }
    }

    private func made(_ bench: ServiceBench) -> [String] {
        bench.data("notification").compactMap { $0["notification"]?["type"]?.string }
    }

    // MARK: The link

    @Test func `a gateway that says how long it restarts is waited for`() async throws {
        let inbox = ScriptedSinks.Inbox()
        try await withServices(try Self.settings(inbox)) { bench, loop in
            try await bench.open(on: loop)
            try await bench.event("shutdown", #"{"reason":"update","restartExpectedMs":240000}"#, on: loop)
            try await bench.drop(on: loop)
            try await bench.advance(3 * Self.minute, on: loop)
            try await bench.open(on: loop)
            try await bench.advance(5 * Self.minute, on: loop)
            #expect(made(bench) == [])
            // The gateway did not announce this one.
            try await bench.drop(on: loop)
            try await bench.advance(Self.minute + 1_000, on: loop)
            #expect(types(inbox) == ["link.offline"])
        }
    }

    @Test(arguments: [("240000", Int64(240_000)), ("9223372036854775807", 600_000), ("-5", 60_000), ("1500", 60_000)])
    func `a restart that takes longer than it said is told, and no promise is believed for ever`(
        _ expected: String,
        _ wait: Int64
    ) async throws {
        let inbox = ScriptedSinks.Inbox()
        try await withServices(try Self.settings(inbox)) { bench, loop in
            try await bench.open(on: loop)
            try await bench.event("shutdown", #"{"reason":"r","restartExpectedMs":\#(expected)}"#, on: loop)
            try await bench.drop(on: loop)
            try await bench.advance(wait - 1_000, on: loop)
            #expect(made(bench) == [])
            try await bench.advance(2_000, on: loop)
            #expect(made(bench) == ["link.offline"])
        }
    }

    @Test func `a link that is refused again and again is told of once, also by the next process`() async throws {
        let inbox = ScriptedSinks.Inbox()
        try await withServices(try Self.settings(inbox)) { bench, loop in
            for _ in 0..<5 {
                try await bench.drop(.connecting, on: loop)
                try await bench.drop(.refused, on: loop)
                try await bench.advance(Self.minute, on: loop)
            }
            #expect(types(inbox) == ["link.refused"])
            try await bench.kill(on: loop)
            try await bench.drop(.refused, on: loop)
            try await bench.advance(5 * Self.minute, on: loop)
            #expect(types(inbox) == ["link.refused"])
            // The process that reported it is gone; the return of the link is still reported.
            try await bench.open(on: loop)
            #expect(types(inbox) == ["link.refused", "link.online"])
            try await bench.drop(on: loop)
            try await bench.open(on: loop)
            #expect(types(inbox).count == 2)
        }
    }

    @Test func `a gateway that is back in the night is no news at seven`() async throws {
        let inbox = ScriptedSinks.Inbox()
        // 23:00 UTC.
        let late = Timestamp(milliseconds: 1_795_042_800_000)
        try await withServices(try Self.settings(inbox), startingAt: late) { bench, loop in
            try await quiet("hold", bench, on: loop)
            try await bench.open(on: loop)
            try await bench.drop(on: loop)
            try await bench.advance(2 * Self.minute, on: loop)
            try await bench.open(on: loop)
            try await bench.advance(8 * Self.hour, on: loop)
            #expect(made(bench) == ["link.offline", "link.online"] && types(inbox) == ["link.online"])
        }
    }

    // MARK: The disk

    private final class Disk: Sendable {
        private let left = Mutex<(free: UInt64, looks: Int)>((1 << 40, 0))
        var looks: Int { left.withLock { $0.looks } }
        func set(_ mebibytes: UInt64) { left.withLock { $0.free = mebibytes << 20 } }
        func look() -> UInt64 {
            left.withLock {
                $0.looks += 1
                return $0.free
            }
        }
    }

    @Test func `a disk that fills is told of once, until there is room again`() async throws {
        let inbox = ScriptedSinks.Inbox()
        let disk = Disk()
        try await withServices(try Self.settings(inbox) { disk.look() }) { bench, loop in
            try await bench.advance(Self.hour, on: loop)
            #expect(disk.looks > 3 && types(inbox) == [])
            disk.set(199)
            try await bench.advance(Self.hour, on: loop)
            #expect(types(inbox) == ["storage.low"])
            let one = try #require(bench.data("notification").last?["notification"])
            #expect(one["priority"]?.int == 5 && one["text"]?.string == "199 MiB are free where the database is.")
            // Near the limit it is the same subject; on another day it is a new one.
            for free in [UInt64(250), 150, 400, 150] {
                disk.set(free)
                try await bench.advance(Self.hour, on: loop)
            }
            #expect(types(inbox).count == 1)
            disk.set(400)
            try await bench.advance(24 * Self.hour, on: loop)
            disk.set(1)
            try await bench.advance(Self.hour, on: loop)
            #expect(types(inbox).count == 2)
        }
    }

    @Test func `a full disk keeps no notification, and is told of all the same`() async throws {
        let inbox = ScriptedSinks.Inbox()
        try await withServices(try Self.settings(inbox)) { bench, loop in
            try await bench.open(on: loop)
            bench.journal.failWrites(.storageFull)
            for name in ["a", "b"] {
                try await bench.event("agent", Frame.start(name), on: loop)
                try await bench.settle(on: loop)
            }
            #expect(types(inbox) == ["storage.low"] && made(bench) == [])
        }
    }

    /// No timer, no check of the disk, no usage figures.
    @Test func `where nobody listens nothing is polled`() async throws {
        let inbox = ScriptedSinks.Inbox()
        let disk = Disk()
        try await withServices(try Self.settings(inbox, hasSink: false) { disk.look() }) { bench, loop in
            try await bench.advance(48 * Self.hour, on: loop)
            #expect(disk.looks == 0 && !bench.services.audience.isTold(of: .usageThreshold))
            var rule = NotificationRule.standard
            rule.isEnabled = false
            loop.start { try? await bench.services.notificationPreferences.save(rule, on: loop) }
            try await bench.open(on: loop)
            try await bench.drop(.refused, on: loop)
            try await bench.advance(Self.hour, on: loop)
            let rows = try await bench.journal.read {
                try $0.notifications.page(state: nil, sessions: nil, before: nil, limit: 9)?.rows.count
            }
            #expect(rows == 0 && made(bench) == [])
        }
    }

    // MARK: The night

    private func quiet(_ mode: String, _ bench: ServiceBench, on loop: isolated EventLoop) async throws {
        var hours = QuietHours(timeZone: "UTC")
        let json = #"{"enabled":true,"from":"22:00","to":"07:00","mode":"\#(mode)"}"#
        try hours.take(JSONDocument(parsing: json).root)
        loop.start { _ = try? await bench.services.notificationPreferences.save(hours, on: loop) }
        try await bench.settle(on: loop)
    }

    @Test(arguments: ["hold", "digest"])
    func `Ladle is killed while 500 are held: at seven they are sent once`(_ mode: String) async throws {
        let inbox = ScriptedSinks.Inbox()
        let late = Timestamp(milliseconds: 1_795_042_800_000)
        try await withServices(try Self.settings(inbox), startingAt: late) { bench, loop in
            try await quiet(mode, bench, on: loop)
            for index in 0..<500 {
                var occasion = Occasion(.questionRequested, source: "x/\(index)", at: loop.wallClock, text: "x")
                occasion.session = "agent:main:\(index % 2)"
                bench.services.notificationMaker.tell(occasion, on: loop)
            }
            try await bench.settle(on: loop)
            let held = try await bench.journal.read { try $0.notifications.open(limit: 1_000).count }
            #expect(held == 500 && inbox.requests.isEmpty)
            try await bench.kill(on: loop)
            try await bench.advance(8 * Self.hour + Self.minute, on: loop)
            #expect(inbox.requests.count == (mode == "hold" ? 2 : 1))
            try await bench.kill(on: loop)
            try await bench.advance(Self.hour, on: loop)
            #expect(inbox.requests.count == (mode == "hold" ? 2 : 1))
            let open = try await bench.journal.read { try $0.notifications.open(limit: 1_000).count }
            #expect(open == 0)
        }
    }
}
