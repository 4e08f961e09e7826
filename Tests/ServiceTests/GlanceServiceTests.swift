import Basics
import EventLoops
import Gateway
import JSONBytes
import Service
import TestSupport
import Testing

/// The glance of all services: its content, how often it is built, and that it sends no calls.
struct GlanceServiceTests {
    private func glance(
        _ bench: ServiceBench,
        _ sessions: SessionSet? = nil,
        as form: GlanceForm = GlanceForm(),
        on loop: isolated EventLoop
    ) throws -> JSONValue {
        let service = bench.services.glance
        let reader = service.reader(of: sessions, named: "token:x")
        return try JSONDocument(parsing: service.encoded(for: reader, as: form, on: loop).bytes).root
    }

    @Test func `runs, approvals and the link are shown, each reader's own`() async throws {
        try await withServices { bench, loop in
            bench.gateway.next("exec.approval.list", ok("[]"))
            try await bench.open(methods: Asked.listing, on: loop)
            #expect(try glance(bench, on: loop)["state"]?.string == "idle")
            try await bench.event("agent", Frame.start("r1"), on: loop)
            try await bench.event("agent", Frame.start("r2", session: "agent:main:den"), on: loop)
            try await bench.asks(Asked.exec("a", "echo \u{202E}x"), on: loop)
            try await bench.advance(300, on: loop)
            let all = try glance(bench, on: loop)
            #expect(all["state"]?.string == "attention")
            #expect(all["active"]?.int == 2)
            #expect(all["headline"]?.string == "2 active")
            #expect(all["attention"]?["approvals"]?.int == 1)
            #expect(all["attention"]?["next"]?["kind"]?.string == "approval")
            #expect(all["attention"]?["next"]?["title"]?.string == #"echo \u{202E}x"#)
            #expect(all["top"]?.count == 2)
            #expect(all["outbox"]?["pending"]?.int == 0)
            #expect(all["usage"] == nil && all["today"] == nil && all["unread"] == nil)
            let den = try glance(bench, ["agent:main:den"], on: loop)
            #expect(den["state"]?.string == "working")
            #expect(den["active"]?.int == 1)
            #expect(den["attention"]?["approvals"]?.int == 0)
            #expect(den["attention"]?["next"] == nil)
            #expect(den["top"]?[0]?["title"]?.string == "den")
            try await bench.drop(on: loop)
            try await bench.advance(300, on: loop)
            let away = try glance(bench, on: loop)
            #expect(away["state"]?.string == "offline")
            #expect(away["link"]?.string != "online")
            #expect(away["attention"]?["approvals"] == nil, "nobody knows")
        }
    }

    @Test func `it is made four times a second at most, and asks nobody`() async throws {
        try await withServices { bench, loop in
            try await bench.open(on: loop)
            try await bench.event("agent", Frame.start("r1"), on: loop)
            _ = try glance(bench, on: loop)
            try await bench.advance(1_000, on: loop)
            let before = bench.services.glance.builds
            let (asked, stored) = (bench.gateway.requests.count, bench.journal.operations)
            for step in 0..<100 {
                let text = String(repeating: "x", count: step)
                try await bench.event("agent", Frame.text("r1", step + 2, text), on: loop)
                _ = try glance(bench, as: GlanceForm(fields: [.state]), on: loop)
                bench.clock.move(to: bench.clock.monotonic + 10_000_000)
            }
            #expect(bench.services.glance.builds - before <= 5)
            // The text of the run is kept in the meantime.
            try await bench.settle(on: loop)
            let made = bench.journal.operations - stored
            for _ in 0..<100 { _ = try glance(bench, as: GlanceForm(fields: [.state]), on: loop) }
            try await bench.settle(on: loop)
            #expect(bench.journal.operations - stored == made)
            #expect(bench.gateway.requests.dropFirst(asked).allSatisfy { $0.method != "sessions.list" })
        }
    }

    @Test func `deltas that change nothing shown leave its version and its time`() async throws {
        try await withServices { bench, loop in
            try await bench.open(on: loop)
            try await bench.event("agent", Frame.start("r1"), on: loop)
            try await bench.event("agent", Frame.text("r1", 2, "a"), on: loop)
            try await bench.advance(1_000, on: loop)
            let first = try glance(bench, on: loop)
            for step in 0..<20 {
                try await bench.event(
                    "agent",
                    Frame.text("r1", step + 3, String(repeating: "a", count: step + 2)),
                    on: loop
                )
                try await bench.advance(500, on: loop)
                let now = try glance(bench, on: loop)
                #expect(now["rev"]?.string == first["rev"]?.string)
                #expect(now["at"]?.string == first["at"]?.string)
            }
        }
    }

    @Test func `an observer is told of each change it can see, and of no other`() async throws {
        try await withServices { bench, loop in
            try await bench.open(on: loop)
            let service = bench.services.glance
            var told = [0, 0]
            let all = service.observe(service.reader(of: nil, named: "a"), on: loop) { told[0] += 1 }
            let den = service.observe(service.reader(of: ["agent:main:den"], named: "b"), on: loop) { told[1] += 1 }
            try await bench.advance(3_000, on: loop)
            #expect(told == [0, 0])
            try await bench.event("agent", Frame.start("r1"), on: loop)
            try await bench.advance(300, on: loop)
            #expect(told == [1, 0])
            service.stopObserving(all)
            try await bench.event("agent", Frame.start("r2", session: "agent:main:den"), on: loop)
            try await bench.advance(300, on: loop)
            #expect(told == [1, 1])
            service.stopObserving(den)
            try await bench.advance(3_000, on: loop)
            let builds = service.builds
            try await bench.advance(60_000, on: loop)
            #expect(service.builds == builds, "nobody waits")
        }
    }

    @Test func `usage is what is known, and asked for without waiting`() async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: ["usage.status"], on: loop)
            bench.gateway.next(
                "usage.status",
                ok(
                    #"{"providers":[{"provider":"anthropic","windows":[{"label":"Week","usedPercent":63.4},{"label":"5h","usedPercent":71.6,"resetAt":\#(ManualClock.start.milliseconds + 60_000)}]}]}"#
                )
            )
            #expect(try glance(bench, on: loop)["usage"] == nil)
            try await bench.advance(1_500, on: loop)
            let known = try glance(bench, on: loop)["usage"]
            #expect(known?.elements.map { $0["used"]?.int } == [72, 63])
            #expect(known?[0]?["window"]?.string == "5h")
            #expect(try glance(bench, ["agent:main:main"], on: loop)["usage"] == nil)
            // The window has ended; the use of the next one is unknown.
            try await bench.advance(60_000, on: loop)
            #expect(try glance(bench, on: loop)["usage"]?.elements.map { $0["used"]?.int } == [63])
        }
    }
}
