package import Basics
package import JSONBytes

/// How far the subscriptions of the gateway's owner are used up. Earlier releases ask each provider then and there.
package struct UsageStatus: GatewayCall {
    package struct Window: Sendable, Equatable {
        package let label: String
        /// As the provider counts it: it may be over 100.
        package let usedPercent: Double?
        package let resetAt: Timestamp?
    }

    package struct Provider: Sendable, Equatable {
        package let id: String
        package let name: String?
        package let plan: String?
        /// The provider could not be asked; its other members are then of no use.
        package let error: String?
        package let windows: [Window]
    }

    package static let method = "usage.status"
    package init() {}
    package func writeParams(to writer: inout JSONWriter) {}

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> [Provider] {
        guard let rows = payload["providers"], rows.kind == .array else {
            throw GatewayShapeError(method: method, missing: "providers")
        }
        return rows.elements.prefix(GatewayLimits.usageProviders).compactMap { row in
            guard let id = row["provider"]?.string else { return nil }
            let windows = row["windows"]?.elements.prefix(GatewayLimits.usageWindows).map { window in
                Window(
                    label: window["label"]?.string ?? "",
                    usedPercent: window["usedPercent"]?.double,
                    resetAt: GatewayTime.read(window["resetAt"])
                )
            }
            return Provider(
                id: id,
                name: row["displayName"]?.string,
                plan: row["plan"]?.string,
                error: row["error"]?.string,
                windows: windows ?? []
            )
        }
    }
}

/// Tokens and what they cost.
package struct UsageFigures: Sendable, Equatable {
    package var input: Int64 = 0
    package var output: Int64 = 0
    package var cacheRead: Int64 = 0
    package var cacheWrite: Int64 = 0
    package var tokens: Int64 = 0
    /// In US dollars.
    package var cost: Double = 0
    /// Answers whose price the gateway does not know: the cost is a lower bound then.
    package var unpriced: Int64 = 0

    package init() {}

    init?(_ value: JSONValue?) {
        guard let value, value.kind == .object else { return nil }
        input = Self.count(value["input"])
        output = Self.count(value["output"])
        cacheRead = Self.count(value["cacheRead"])
        cacheWrite = Self.count(value["cacheWrite"])
        tokens = Self.count(value["totalTokens"])
        cost = value["totalCost"]?.double.map { min(max($0, 0), Self.most) } ?? 0
        unpriced = Self.count(value["missingCostEntries"])
    }

    /// Sums of so many days and sessions as there may be still fit.
    private static let most = 1e15

    private static func count(_ value: JSONValue?) -> Int64 {
        value?.double.map { Int64(min(max($0, 0), most)) } ?? 0
    }

    package static func + (left: UsageFigures, right: UsageFigures) -> UsageFigures {
        var sum = left
        sum.input += right.input
        sum.output += right.output
        sum.cacheRead += right.cacheRead
        sum.cacheWrite += right.cacheWrite
        sum.tokens += right.tokens
        sum.cost += right.cost
        sum.unpriced += right.unpriced
        return sum
    }
}

/// The days of a report, and where a day begins.
package struct UsageDates: Sendable, Hashable {
    package let from: CivilDate
    package let to: CivilDate
    /// East of UTC.
    package let offsetMinutes: Int
    /// The name of the zone, for the releases that take it.
    package let timeZone: String?

    package init(from: CivilDate, to: CivilDate, offsetMinutes: Int, timeZone: String? = nil) {
        self.from = from
        self.to = to
        self.offsetMinutes = offsetMinutes
        self.timeZone = timeZone
    }

    fileprivate func write(to writer: inout JSONWriter) {
        writer.member("startDate", from.iso)
        writer.member("endDate", to.iso)
        // Without a mode a day is one of UTC.
        writer.member("mode", "specific")
        writer.member("utcOffset", offset)
        writer.member("timeZone", timeZone)
    }

    /// `UTC+2`, `UTC-9:30`. No place on earth is farther from UTC than gateways take.
    private var offset: String {
        let minutes = min(max(offsetMinutes, -12 * 60), 14 * 60)
        let rest = abs(minutes) % 60
        let tail = rest == 0 ? "" : rest < 10 ? ":0\(rest)" : ":\(rest)"
        return "UTC\(minutes < 0 ? "-" : "+")\(abs(minutes) / 60)\(tail)"
    }
}

/// Tokens and cost by day. The gateway reads transcripts for it, which may take seconds.
package struct UsageCost: GatewayCall {
    package struct Day: Sendable, Equatable {
        package let date: CivilDate
        package let figures: UsageFigures
    }

    package struct Output: Sendable {
        package let days: [Day]
        /// False while the gateway still counts.
        package let isComplete: Bool
    }

    package static let method = "usage.cost"
    /// Before it the default agent alone is counted.
    package static let firstProtocolWithAgents = 4
    package var dates: UsageDates
    /// Nil for all of them.
    package var agent: String?
    /// The gateway takes the choice of agents.
    package var namesAgents: Bool

    package init(dates: UsageDates, agent: String?, namesAgents: Bool) {
        self.dates = dates
        self.agent = agent
        self.namesAgents = namesAgents
    }

    package func writeParams(to writer: inout JSONWriter) {
        dates.write(to: &writer)
        guard namesAgents else { return }
        writer.member("agentId", agent)
        if agent == nil { writer.member("agentScope", "all") }
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Output {
        guard let rows = payload["daily"], rows.kind == .array else {
            throw GatewayShapeError(method: method, missing: "daily")
        }
        let days = rows.elements.prefix(GatewayLimits.usageDays).compactMap { row -> Day? in
            guard let date = row["date"]?.string.flatMap({ CivilDate(iso: $0) }), let figures = UsageFigures(row) else {
                return nil
            }
            return Day(date: date, figures: figures)
        }
        return Output(days: days, isComplete: UsageCache.isComplete(payload))
    }
}

/// Tokens and cost by session. No hello lists this method, and every release has it. Its answers hold paths of the host.
package struct SessionsUsage: GatewayCall {
    package struct Row: Sendable {
        package let key: String
        package let label: String?
        package let agentId: String?
        package let channel: String?
        package let modelProvider: String?
        package let model: String?
        package let updatedAt: Timestamp?
        /// Nil while the gateway still counts.
        package let figures: UsageFigures?
    }

    package struct Output: Sendable {
        package let rows: [Row]
        package let isComplete: Bool
    }

    package static let method = "sessions.usage"
    package var dates: UsageDates
    /// Nil for all sessions.
    package var key: String?
    package var limit: Int

    package init(dates: UsageDates, key: String?, limit: Int) {
        self.dates = dates
        self.key = key
        self.limit = limit
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("key", key)
        dates.write(to: &writer)
        writer.member("limit", limit)
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Output {
        guard let rows = payload["sessions"], rows.kind == .array else {
            throw GatewayShapeError(method: method, missing: "sessions")
        }
        let found = rows.elements.prefix(GatewayLimits.usageSessions).compactMap { row -> Row? in
            guard let key = row["key"]?.string, !key.isEmpty, key.utf8.count <= SessionKey.limit else { return nil }
            return Row(
                key: key,
                label: row["label"]?.string,
                agentId: row["agentId"]?.wholeIdentifier,
                channel: row["channel"]?.string,
                modelProvider: row["modelProvider"]?.wholeIdentifier,
                model: row["model"]?.wholeIdentifier,
                updatedAt: GatewayTime.read(row["updatedAt"]),
                figures: UsageFigures(row["usage"])
            )
        }
        let isComplete = UsageCache.isComplete(payload) && found.allSatisfy { $0.figures != nil }
        return Output(rows: found, isComplete: isComplete)
    }
}

private enum UsageCache {
    /// Earlier releases count anew for each answer, and tell of no cache.
    static func isComplete(_ payload: JSONValue) -> Bool {
        payload["cacheStatus"]?["status"]?.string.map { $0 == "fresh" } ?? true
    }
}

extension Hello {
    /// The release counts the days of a named time zone by itself. There is no other sign of it than its age; a development build names
    /// none.
    package var takesTimeZones: Bool {
        guard protocolVersion >= UsageCost.firstProtocolWithAgents, let version = serverVersion else { return false }
        let numbers = version.split(separator: ".", maxSplits: 2).prefix(2).compactMap { Int64($0) }
        guard numbers.count == 2 else { return false }
        return (numbers[0], numbers[1]) >= (2026, 9)
    }
}

extension GatewayError {
    /// The release does not know a member of the call.
    package var refusesMember: Bool { message.contains("unexpected property") }
}
