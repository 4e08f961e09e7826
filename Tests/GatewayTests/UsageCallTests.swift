import Basics
import JSONBytes
import TestSupport
import Testing

@testable import Gateway

/// Models and usage: recorded answers, and edge cases.
struct UsageCallTests {
    private static let versions = ["2026.3.1", "2026.6.11"]

    /// The successful answers of a recording.
    private func answers(_ method: String, _ version: String) throws -> [JSONValue] {
        try TestData.bytes("captures-control/\(method).v\(version).jsonl").split(separator: 0x0A).compactMap { line in
            let frame = try JSONDocument(parsing: Array(line), limits: .gateway).root["frame"]
            return frame?["ok"]?.bool == true ? frame?["payload"] : nil
        }
    }

    private func json(_ text: String) throws -> JSONValue { try JSONDocument(parsing: text).root }

    @Test(arguments: versions)
    func `recorded models are read`(_ version: String) throws {
        for payload in try answers("models.list", version) {
            let models = try ModelsList.output(from: payload)
            #expect(!models.isEmpty && models.count == payload["models"]?.count)
            #expect(models.allSatisfy { $0.name != nil && $0.contextWindow ?? 0 > 1_000 && $0.reasoning != nil })
            #expect(models.allSatisfy { ($0.available != nil) == (version == "2026.6.11") })
        }
    }

    @Test(arguments: versions)
    func `recorded usage is read`(_ version: String) throws {
        for payload in try answers("usage.status", version) {
            #expect(try UsageStatus.output(from: payload).providers.isEmpty)
        }
        for payload in try answers("usage.cost", version) {
            let cost = try UsageCost.output(from: payload)
            let day = try #require(cost.days.first)
            #expect(cost.days.count == 1 && day.date.iso == "2026-11-22")
            #expect(day.figures == UsageFigures(payload["totals"]))
            #expect(day.figures.tokens == day.figures.input + day.figures.output)
            #expect(day.figures.cost > 0.3 && day.figures.unpriced == 0)
            #expect(cost.isComplete == (version == "2026.3.1"))
        }
        for payload in try answers("sessions.usage", version) {
            let usage = try SessionsUsage.output(from: payload)
            #expect(usage.rows.count == payload["sessions"]?.count)
            // While it is counting, the later release sends no figures.
            #expect(usage.rows.allSatisfy { ($0.figures != nil) == (version == "2026.3.1") })
            #expect(usage.isComplete == (version == "2026.3.1" || usage.rows.isEmpty))
        }
    }

    @Test func `figures that are none are no figures`() throws {
        let odd = #"{"input":-5,"output":1e300,"totalTokens":"x","totalCost":-1,"missingCostEntries":2.5}"#
        let figures = try #require(UsageFigures(try json(odd)))
        #expect(figures.input == 0 && figures.output == 1_000_000_000_000_000 && figures.tokens == 0)
        #expect(figures.cost == 0 && figures.unpriced == 2)
        var sum = UsageFigures()
        for _ in 0..<2_000 { sum = sum + figures }
        #expect(sum.output == 2_000_000_000_000_000_000)
        #expect(UsageFigures(nil) == nil)
        #expect(UsageFigures(try json("null")) == nil)
    }

    @Test func `answers are read as far as they have what is needed`() throws {
        let odd =
            #"{"providers":[{"provider":"new one"},{},{"provider":"a","windows":[{"usedPercent":"x","resetAt":-1},7]}]}"#
        let providers = try UsageStatus.output(from: json(odd)).providers
        #expect(providers.map(\.id) == ["new one", "a"])
        #expect(providers[1].windows.map(\.usedPercent) == [nil, nil])
        #expect(providers[1].windows[0].resetAt == nil)
        for text in ["{}", "[]", #"{"providers":{}}"#] {
            #expect(throws: GatewayShapeError.self) { try UsageStatus.output(from: self.json(text)) }
            #expect(throws: GatewayShapeError.self) { try UsageCost.output(from: self.json(text)) }
            #expect(throws: GatewayShapeError.self) { try SessionsUsage.output(from: self.json(text)) }
            #expect(throws: GatewayShapeError.self) { try ModelsList.output(from: self.json(text)) }
        }
        let days = try UsageCost.output(from: json(#"{"daily":[{"date":"2026-02-30"},{"date":"2026-02-28"},1]}"#))
        #expect(days.days.map(\.date.iso) == ["2026-02-28"])
        let many = (0..<1_000).map { _ in #"{"provider":"a"}"# }.joined(separator: ",")
        let status = try UsageStatus.output(from: json(#"{"refreshing":true,"providers":[\#(many)]}"#))
        #expect(status.providers.count == GatewayLimits.usageProviders && status.isRefreshing)
    }

    @Test(arguments: [
        (0, "UTC+0"), (120, "UTC+2"), (-570, "UTC-9:30"), (345, "UTC+5:45"), (-30, "UTC-0:30"), (840, "UTC+14"),
        (1_000, "UTC+14"), (-1_000, "UTC-12"), (65, "UTC+1:05"),
    ])
    func `a distance from UTC is written as gateways take it`(_ minutes: Int, _ text: String) throws {
        let day = try #require(CivilDate(iso: "2026-11-23"))
        let call = SessionsUsage(dates: UsageDates(from: day, to: day, offsetMinutes: minutes), key: nil, limit: 5)
        let params = try JSONDocument(parsing: call.params).root
        #expect(params["utcOffset"]?.string == text)
        #expect(params["mode"]?.string == "specific")
        #expect(params["startDate"]?.string == "2026-11-23")
        #expect(params["timeZone"] == nil && params["key"] == nil)
    }
}
