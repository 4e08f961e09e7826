import Basics
import EventLoops
import Gateway
import JSONBytes
import TestSupport
import Testing

@testable import Service

/// Tokens and cost by day and by session.
struct UsageReportTests {
    private static func period(
        _ from: String? = "2026-11-01",
        _ to: String? = "2026-11-22",
        zone: String? = nil,
        now: Timestamp = ManualClock.start,
        offset: (Int64) -> Int = { _ in 0 }
    ) throws(UsagePeriod.Fault) -> UsagePeriod {
        try UsagePeriod(
            from: from.flatMap { CivilDate(iso: $0) },
            to: to.flatMap { CivilDate(iso: $0) },
            zone: zone,
            now: now,
            offset: offset
        )
    }

    // MARK: Days

    @Test func `days are in order, and a year at most`() throws {
        #expect(try Self.period("2026-01-01", "2027-01-01").from.iso == "2026-01-01")
        #expect(throws: UsagePeriod.Fault.tooLong) { try Self.period("2026-01-01", "2027-01-02") }
        #expect(throws: UsagePeriod.Fault.endsBeforeItBegins) { try Self.period("2026-11-23", "2026-11-22") }
        let usual = try Self.period(nil, nil)
        #expect(usual.to.iso == "2026-11-18" && usual.from.iso == "2026-10-20")
        #expect(try Self.period("2026-11-18", nil).to.iso == "2026-11-18")
        // In another zone it is tomorrow already.
        #expect(try Self.period(nil, nil, offset: { _ in 50_400 }).to.iso == "2026-11-19")
        #expect(try Self.period("1970-01-01", "1970-01-01", offset: { _ in -43_200 }).offsetText == "-12:00")
    }

    @Test(arguments: [
        ("2026-03-28", "2026-03-28", "+01:00", false), ("2026-03-28", "2026-03-29", "+02:00", true),
        ("2026-03-29", "2026-03-29", "+02:00", true), ("2026-03-30", "2026-10-24", "+02:00", false),
        ("2026-10-25", "2026-10-25", "+01:00", true), ("2026-11-01", "2026-11-22", "+01:00", false),
    ])
    func `a change of clocks is noticed`(_ from: String, _ to: String, _ offset: String, _ spans: Bool) throws {
        let berlin = try #require(FuzzInput.all(of: "TimeZone").first { $0.name.hasSuffix("Berlin") })
        let zone = try #require(TimeZoneTable(parsing: berlin.bytes))
        let period = try Self.period(from, to, zone: "Europe/Berlin", offset: zone.offset(at:))
        #expect(period.offsetText == offset)
        #expect(period.spansChange == spans)
    }

    // MARK: Cost

    private func cost(
        _ period: UsagePeriod,
        agent: String? = nil,
        _ bench: ServiceBench,
        on loop: isolated EventLoop
    ) async throws -> Result<KeptAnswer<UsageCost.Output>, UsageReports.Fault>? {
        var answer: Result<KeptAnswer<UsageCost.Output>, UsageReports.Fault>?
        loop.start {
            answer = await Result { () async throws(UsageReports.Fault) in
                try await bench.services.usageReports.cost(period, agent: agent, on: loop)
            }
        }
        try await bench.settle(on: loop)
        return answer
    }

    @Test func `an answer is kept for five minutes, and asked for once at a time`() async throws {
        try await withServices { bench, loop in
            let period = try Self.period()
            bench.gateway.silent = ["usage.cost"]
            try await bench.open(methods: UsageServiceTests.methods, on: loop)
            var answers = 0
            for _ in 0..<10 {
                loop.start {
                    _ = try? await bench.services.usageReports.cost(period, agent: nil, on: loop)
                    answers += 1
                }
            }
            try await bench.settle(on: loop)
            bench.gateway.answer("usage.cost", UsageServiceTests.cost)
            try await bench.settle(on: loop)
            #expect(answers == 10)
            bench.gateway.silent = []
            try await bench.advance(299_999, on: loop)
            #expect(try await cost(period, bench, on: loop)?.get().value.totals.tokens == 15)
            #expect(bench.gateway.requests("usage.cost").count == 1)
            // Other days are a different question.
            bench.gateway.next("usage.cost", UsageServiceTests.cost, UsageServiceTests.cost)
            _ = try await cost(Self.period("2026-11-02"), bench, on: loop)
            #expect(bench.gateway.requests("usage.cost").count == 2)
            try await bench.advance(1, on: loop)
            _ = try await cost(period, bench, on: loop)
            #expect(bench.gateway.requests("usage.cost").count == 3)
            try await bench.drop(on: loop)
            #expect(try await cost(period, bench, on: loop)?.get().isLive == false)
            try await bench.advance(300_000, on: loop)
            #expect(try await cost(period, bench, on: loop)?.get().isLive == false)
            guard case .failure(.gateway(.notConnected))? = try await cost(Self.period("2026-11-03"), bench, on: loop)
            else { Issue.record("no fault"); return }
        }
    }

    @Test func `a gateway that still counts is asked again soon`() async throws {
        try await withServices { bench, loop in
            let period = try Self.period()
            bench.gateway.next(
                "usage.cost",
                ok(#"{"daily":[],"cacheStatus":{"status":"refreshing"}}"#),
                UsageServiceTests.cost
            )
            try await bench.open(methods: UsageServiceTests.methods, on: loop)
            #expect(try await cost(period, bench, on: loop)?.get().value.isComplete == false)
            try await bench.advance(15_000, on: loop)
            #expect(try await cost(period, bench, on: loop)?.get().value.isComplete == true)
        }
    }

    @Test func `each release gets the members it knows`() async throws {
        try await withServices { bench, loop in
            let period = try Self.period(zone: "Europe/Berlin", offset: { _ in 3_600 })
            try await bench.open(version: 3, methods: UsageServiceTests.methods, on: loop)
            _ = try await cost(period, bench, on: loop)
            let old = try #require(bench.gateway.requests("usage.cost").last?.params)
            #expect(old.members.map(\.key) == ["startDate", "endDate", "mode", "utcOffset"])
            #expect(old["utcOffset"]?.string == "UTC+1")
            guard case .failure(.allAgentsOnly)? = try await cost(period, agent: "main", bench, on: loop)
            else { Issue.record("a name was sent"); return }

            try await bench.open(version: 4, methods: UsageServiceTests.methods, on: loop)
            _ = try await cost(period, bench, on: loop)
            #expect(bench.gateway.requests("usage.cost").last?["agentScope"] == "all")
            _ = try await cost(period, agent: "scout", bench, on: loop)
            let one = try #require(bench.gateway.requests("usage.cost").last?.params)
            #expect(one["agentId"]?.string == "scout" && one["agentScope"] == nil && one["timeZone"] == nil)
            #expect(!bench.services.usageReports.knowsZone(of: period))
        }
    }

    @Test func `the newest release counts the days of a zone, and one that refuses is asked without`() async throws {
        try await withServices { bench, loop in
            let period = try Self.period(zone: "Europe/Berlin", offset: { _ in 3_600 })
            let text =
                #"{"type":"hello-ok","protocol":4,"server":{"version":"2026.10.2"},"features":{"methods":["usage.cost"]}}"#
            let hello = try #require(Hello(json(text), requested: []))
            try await bench.open(hello, on: loop)
            bench.gateway.next(
                "usage.cost",
                UsageServiceTests.cost,
                refused("INVALID_REQUEST", "invalid usage.cost params: at root: unexpected property 'timeZone'"),
                UsageServiceTests.cost
            )
            #expect(bench.services.usageReports.knowsZone(of: period))
            _ = try await cost(period, bench, on: loop)
            #expect(bench.gateway.requests("usage.cost").last?["timeZone"] == "Europe/Berlin")
            let other = try Self.period("2026-11-02", zone: "Europe/Berlin", offset: { _ in 3_600 })
            #expect(try await cost(other, bench, on: loop)?.get().value.totals.tokens == 15)
            #expect(
                bench.gateway.requests("usage.cost").map { $0["timeZone"] } == ["Europe/Berlin", "Europe/Berlin", nil]
            )
            #expect(!bench.services.usageReports.knowsZone(of: period))
        }
    }

    @Test func `a release that knows no word for all agents is asked without`() async throws {
        try await withServices { bench, loop in
            let refusal = refused(
                "INVALID_REQUEST",
                "invalid usage.cost params: at root: unexpected property 'agentScope'"
            )
            bench.gateway.next("usage.cost", refusal, UsageServiceTests.cost, UsageServiceTests.cost)
            try await bench.open(methods: UsageServiceTests.methods, on: loop)
            #expect(try await cost(Self.period(), bench, on: loop)?.get().value.totals.tokens == 15)
            _ = try await cost(Self.period("2026-11-02"), bench, on: loop)
            #expect(bench.gateway.requests("usage.cost").map { $0["agentScope"] } == ["all", nil, nil])
        }
    }

    // MARK: Sessions

    private func recorded() throws -> JSONValue {
        let lines = try TestData.bytes("captures-control/sessions.usage.v2026.3.1.jsonl").split(separator: 0x0A)
        let frames = try lines.map { try JSONDocument(parsing: Array($0), limits: .gateway).root["frame"] }
        return try #require(frames.compactMap { $0 }.first { $0["ok"]?.bool == true }?["payload"])
    }

    private func sessions(
        only keys: SessionSet? = nil,
        limit: Int = 50,
        _ bench: ServiceBench,
        on loop: isolated EventLoop
    ) async throws -> KeptAnswer<UsageReports.SessionReport>? {
        var answer: Result<KeptAnswer<UsageReports.SessionReport>, UsageReports.Fault>?
        let period = try Self.period()
        loop.start {
            answer = await Result { () async throws(UsageReports.Fault) in
                try await bench.services.usageReports.sessions(period, only: keys, limit: limit, on: loop)
            }
        }
        try await bench.settle(on: loop)
        return try answer?.get()
    }

    @Test func `of a recorded answer named fields are shown, and no path`() async throws {
        try await withServices { bench, loop in
            bench.gateway.next("sessions.usage", .ok(try recorded()))
            try await bench.open(version: 3, methods: UsageServiceTests.methods, on: loop)
            let report = try #require(try await sessions(bench, on: loop)?.value)
            #expect(report.rows.count == 3 && report.isComplete)
            #expect(report.rows.totals.tokens == 5_749 + 5_747 + 11_510)
            for row in report.rows {
                var writer = JSONWriter()
                writer.value(row)
                let text = String(decoding: writer.bytes, as: UTF8.self)
                #expect(!text.contains("/home/") && text.utf8.count < 500, "\(text)")
            }
            let sent = try #require(bench.gateway.requests("sessions.usage").last?.params)
            #expect(sent.members.map(\.key) == ["startDate", "endDate", "mode", "utcOffset", "limit"])
        }
    }

    @Test func `a caller limited to sessions has these asked for`() async throws {
        try await withServices { bench, loop in
            bench.gateway.responder = { request in
                guard request.method == "sessions.usage", let key = request["key"] else { return nil }
                return .now(ok(#"{"sessions":[{"key":"\#(key)","usage":{"totalTokens":7,"totalCost":0.1}}]}"#))
            }
            try await bench.open(methods: UsageServiceTests.methods, on: loop)
            let own: SessionSet = ["agent:main:a", "agent:main:b"]
            let report = try #require(try await sessions(only: own, bench, on: loop)?.value)
            #expect(report.rows.map(\.key) == ["agent:main:a", "agent:main:b"])
            #expect(report.rows.totals.tokens == 14)
            #expect(bench.gateway.requests("sessions.usage").map { $0["key"] } == ["agent:main:a", "agent:main:b"])
            _ = try await sessions(only: own, limit: 1, bench, on: loop)
            #expect(bench.gateway.requests("sessions.usage").count == 2)
            #expect(try await sessions(only: [], bench, on: loop)?.value.rows.isEmpty == true)
        }
    }
}
