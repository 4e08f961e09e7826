import Basics
import EventLoops
import EventStream
import Gateway
import JSONBytes
import Observability
import ReadableText
import Testing

@testable import Service

/// The used share of subscriptions, with slow gateways, refusals and passing time.
struct UsageServiceTests {
    static let methods = ["usage.status", "usage.cost", "models.list"]

    static func status(_ percent: String, resetAt: Int64? = nil, more: String = "") -> CallOutcome {
        let reset = resetAt.map { #","resetAt":\#($0)"# } ?? ""
        return ok(
            #"{"providers":[{"provider":"anthropic","displayName":"Claude","windows":[{"label":"5h","usedPercent":\#(percent)\#(reset)}]}\#(more)]}"#
        )
    }

    static let cost = ok(
        #"{"daily":[{"date":"2026-11-18","input":10,"output":5,"totalTokens":15,"totalCost":0.5,"missingCostEntries":1}]}"#
    )

    private final class Answers {
        var all: [Result<UsageService.Snapshot, UsageService.Fault>] = []

        /// The last answer as JSON; nil for a failure.
        var last: JSONValue? {
            guard case .success(let usage)? = all.last else { return nil }
            var writer = JSONWriter()
            usage.write(to: &writer, showsTimeLeft: true)
            return json(String(decoding: writer.bytes, as: UTF8.self))
        }
    }

    private func read(_ answers: Answers, _ bench: ServiceBench, on loop: isolated EventLoop) {
        bench.services.usage.read(on: loop) { answers.all.append($0) }
    }

    private func read(_ bench: ServiceBench, on loop: isolated EventLoop) async throws -> JSONValue? {
        let answers = Answers()
        read(answers, bench, on: loop)
        try await bench.settle(on: loop)
        return answers.last
    }

    private func calls(_ bench: ServiceBench) -> Int { bench.gateway.requests("usage.status").count }

    @Test func `fifty who ask a slow gateway make one call, and wait five seconds`() async throws {
        try await withServices { bench, loop in
            bench.gateway.responder = { request in
                request.method == "usage.status" ? .after(milliseconds: 8_000, Self.status("42")) : nil
            }
            try await bench.open(methods: Self.methods, on: loop)
            let answers = Answers()
            for _ in 0..<50 { read(answers, bench, on: loop) }
            try await bench.advance(4_999, on: loop)
            #expect(answers.all.isEmpty)
            try await bench.advance(1, on: loop)
            #expect(answers.all.count == 50)
            #expect(answers.last?["stale"]?.bool == true)
            #expect(answers.last?["providers"]?.count == 0)
            #expect(answers.last?["asOf"] == nil)
            #expect(calls(bench) == 1)
            #expect(bench.gateway.requests("usage.cost").count == 1)
            try await bench.advance(3_000, on: loop)
            let later = try #require(try await read(bench, on: loop))
            #expect(later["stale"]?.bool == false)
            #expect(later["providers"]?[0]?["windows"]?[0]?["usedPercent"]?.int == 42)
            #expect(answers.all.count == 50 && calls(bench) == 1)
        }
    }

    @Test func `one call a minute, and an old answer comes at once`() async throws {
        try await withServices { bench, loop in
            bench.gateway.next("usage.status", Self.status("42"), Self.status("43"))
            bench.gateway.next("usage.cost", Self.cost)
            try await bench.open(methods: Self.methods, on: loop)
            let first = try #require(try await read(bench, on: loop))
            #expect(first["stale"]?.bool == false)
            #expect(first["today"]?["tokens"]?.int == 15)
            #expect(first["today"]?["costUsd"]?.double == 0.5)
            #expect(first["today"]?["costIsLowerBound"]?.bool == true)
            try await bench.advance(59_000, on: loop)
            _ = try await read(bench, on: loop)
            #expect(calls(bench) == 1)
            bench.gateway.silent = ["usage.status"]
            try await bench.advance(301_000 - 59_000, on: loop)
            let old = try #require(try await read(bench, on: loop))
            #expect(old["stale"]?.bool == true)
            #expect(old["providers"]?[0]?["windows"]?[0]?["usedPercent"]?.int == 42)
            #expect(calls(bench) == 2)
            bench.gateway.answer("usage.status", Self.status("43"))
            let new = try #require(try await read(bench, on: loop))
            #expect(new["stale"]?.bool == false)
            #expect(new["providers"]?[0]?["windows"]?[0]?["usedPercent"]?.int == 43)
            #expect(calls(bench) == 2)
            // While the gateway is away, the known usage stays, and becomes stale.
            try await bench.drop(on: loop)
            try await bench.advance(301_000, on: loop)
            #expect(try await read(bench, on: loop)?["stale"]?.bool == true)
        }
    }

    @Test func `while the gateway still asks the providers, an empty answer is no answer`() async throws {
        try await withServices { bench, loop in
            let early = ok(#"{"updatedAt":1,"refreshing":true,"providers":[]}"#)
            bench.gateway.next("usage.status", early, early, Self.status("42"))
            try await bench.open(methods: Self.methods, on: loop)
            let answers = Answers()
            read(answers, bench, on: loop)
            try await bench.advance(1_000, on: loop)
            #expect(answers.all.isEmpty && calls(bench) == 2)
            try await bench.advance(1_000, on: loop)
            #expect(answers.last?["providers"]?[0]?["windows"]?[0]?["usedPercent"]?.int == 42)
            #expect(answers.last?["refreshing"] == nil && calls(bench) == 3)

            // The earlier answer stays, and says that more may come.
            bench.gateway.next("usage.status", early, Self.status("43"))
            try await bench.advance(60_000, on: loop)
            #expect(try await read(bench, on: loop)?["providers"]?.count == 1)
            let old = try #require(try await read(bench, on: loop))
            #expect(old["refreshing"]?.bool == true)
            #expect(old["providers"]?[0]?["windows"]?[0]?["usedPercent"]?.int == 42)
            try await bench.advance(1_000, on: loop)
            #expect(try await read(bench, on: loop)?["providers"]?[0]?["windows"]?[0]?["usedPercent"]?.int == 43)
        }
    }

    @Test func `a gateway that asks for ever is asked thirty times, and nothing is claimed`() async throws {
        try await withServices { bench, loop in
            let early = ok(#"{"updatedAt":1,"refreshing":true,"providers":[]}"#)
            bench.gateway.responder = { $0.method == "usage.status" ? .now(early) : nil }
            try await bench.open(methods: Self.methods, on: loop)
            let answers = Answers()
            read(answers, bench, on: loop)
            try await bench.advance(5_000, on: loop)
            #expect(answers.last?["refreshing"]?.bool == true && answers.last?["asOf"] == nil)
            try await bench.advance(50_000, on: loop)
            #expect(calls(bench) == 31)
            #expect(try await read(bench, on: loop)?["asOf"] == nil)
        }
    }

    @Test func `today is not complete while the gateway still counts, and is asked for again`() async throws {
        try await withServices { bench, loop in
            bench.gateway.next("usage.status", Self.status("42"))
            let day = #"{"date":"2026-11-18","totalTokens":15,"totalCost":0.5}"#
            bench.gateway.next(
                "usage.cost",
                ok(#"{"daily":[],"cacheStatus":{"status":"refreshing"}}"#),
                ok(#"{"daily":[\#(day)],"cacheStatus":{"status":"fresh"}}"#)
            )
            try await bench.open(methods: Self.methods, on: loop)
            let first = try #require(try await read(bench, on: loop)?["today"])
            #expect(first["tokens"]?.int == 0 && first["complete"]?.bool == false)
            #expect(UsageText.figures(first) == "0 tokens, $0.00 so far (the gateway still counts)")
            try await bench.advance(16_000, on: loop)
            _ = try await read(bench, on: loop)
            let second = try #require(try await read(bench, on: loop)?["today"])
            #expect(second["tokens"]?.int == 15 && second["complete"]?.bool == true)
            #expect(UsageText.figures(second) == "15 tokens, $0.50")
        }
    }

    @Test func `a window that was reset is not known`() async throws {
        try await withServices { bench, loop in
            let end = ManualClock.start.milliseconds + 10_000
            bench.gateway.next("usage.status", Self.status("97", resetAt: end))
            try await bench.open(methods: Self.methods, on: loop)
            let before = try #require(try await read(bench, on: loop)?["providers"]?[0]?["windows"]?[0])
            #expect(before["usedPercent"]?.int == 97)
            #expect(before["resetsInMs"]?.int == 10_000)
            try await bench.advance(10_000, on: loop)
            let after = try #require(try await read(bench, on: loop)?["providers"]?[0]?["windows"]?[0])
            #expect(after["usedPercent"]?.isNull == true)
            #expect(after["resetsInMs"] == nil)
            #expect(after["resetsAt"] != nil)
        }
    }

    @Test func `texts of providers are bounded and made safe to show`() async throws {
        try await withServices { bench, loop in
            let long = String(repeating: "x", count: 5_000)
            let odd =
                #",{"provider":"Open AI\u202e/Codex","displayName":"a\u001b[2J","windows":[{"label":"\#(long)","usedPercent":120.26}]}"#
                + #",{"provider":"","displayName":"b","windows":[],"error":"HTTP\n401"}"#
            bench.gateway.next("usage.status", Self.status("42.31", more: odd))
            try await bench.open(methods: Self.methods, on: loop)
            let providers = try #require(try await read(bench, on: loop)?["providers"])
            #expect(providers[0]?["windows"]?[0]?["usedPercent"]?.double == 42.3)
            let second = try #require(providers[1])
            #expect(second["id"]?.string == "open-ai----codex")
            #expect(second["name"]?.string == #"a\u{1B}[2J"#)
            #expect(second["windows"]?[0]?["usedPercent"]?.double == 120.3)
            #expect(second["windows"]?[0]?["name"]?.string?.utf8.count == 64)
            #expect(providers[2]?["id"]?.string == "unknown")
            #expect(providers[2]?["error"]?.string == #"HTTP\u{A}401"#)
        }
    }

    @Test func `a gateway that refuses or cannot tell is told of`() async throws {
        try await withServices { bench, loop in
            let answers = Answers()
            read(answers, bench, on: loop)
            // The gateway is away and nothing is known, so there is nothing to wait for.
            #expect(answers.last?["stale"]?.bool == true)
            try await bench.open(methods: ["usage.cost"], on: loop)
            read(answers, bench, on: loop)
            guard case .failure(.unsupported)? = answers.all.last else { Issue.record("it is supported"); return }
            bench.gateway.next("usage.status", refused("INVALID_REQUEST", "missing scope: operator.read"))
            try await bench.open(methods: Self.methods, on: loop)
            for _ in 0..<3 {
                read(answers, bench, on: loop)
                try await bench.settle(on: loop)
                guard case .failure(.gateway(.missingScope))? = answers.all.last else {
                    Issue.record("no fault"); return
                }
            }
            #expect(calls(bench) == 1)
            // The next connection asks again.
            bench.gateway.next("usage.status", Self.status("1"))
            try await bench.drop(on: loop)
            try await bench.open(methods: Self.methods, on: loop)
            #expect(try await read(bench, on: loop)?["providers"]?.count == 1)
        }
    }

    // MARK: The event

    @Test func `a step of five per cent is one event, in both directions`() async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: Self.methods, on: loop)
            for percent in ["44.9", "45", "49.9", "63", "0"] {
                bench.gateway.next("usage.status", Self.status(percent))
                _ = try await read(bench, on: loop)
                try await bench.advance(60_000, on: loop)
            }
            let events = bench.data("usage")
            #expect(events.map { $0["crossed"]?[0]?["usedPercent"]?.double } == [45, 63, 0])
            #expect(events[0]["crossed"]?[0]?["provider"]?.string == "anthropic")
            #expect(events[0]["crossed"]?[0]?["window"]?.string == "5h")
            #expect(events[0]["usage"]?["providers"]?.count == 1)
            #expect(bench.published.allSatisfy { $0.type != "usage" || $0.id == nil })
        }
    }

    @Test func `nobody is asked by itself, and while somebody follows every five minutes`() async throws {
        try await withServices { bench, loop in
            let stream = try EventFilter(types: "usage", session: nil, run: nil, known: ["usage"])
            bench.services.audience.joined(stream)
            try await bench.open(methods: Self.methods, on: loop)
            try await bench.advance(3_600_000, on: loop)
            #expect(calls(bench) == 0)
            bench.services.usage.follow(on: loop)
            try await bench.advance(900_000, on: loop)
            #expect(calls(bench) == 4)
            bench.services.audience.left(stream)
            try await bench.advance(3_600_000, on: loop)
            #expect(calls(bench) == 4)
        }
    }
}
