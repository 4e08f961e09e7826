package import Basics
package import JSONBytes

/// The used share of the owner's subscriptions. Earlier releases query each provider during the call.
package struct UsageStatus: GatewayCall {
    package struct Window: Sendable, Equatable {
        package let label: String
        /// The provider's own number, which may exceed 100.
        package let usedPercent: Double?
        package let resetAt: Timestamp?
    }

    package struct Provider: Sendable, Equatable {
        package let id: String
        package let name: String?
        package let plan: String?
        /// The error if the provider could not be queried; its other members are then meaningless.
        package let error: String?
        package let windows: [Window]
    }

    package struct Output: Sendable {
        package let providers: [Provider]
        /// The newest gateways still ask the providers: what they answer with is old, or nothing yet.
        package let isRefreshing: Bool
    }

    package static let method = "usage.status"
    package init() {}
    package func writeParams(to writer: inout JSONWriter) {}

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Output {
        guard let rows = payload["providers"], rows.kind == .array else {
            throw GatewayShapeError(method: method, missing: "providers")
        }
        let providers = rows.elements.prefix(GatewayLimits.usageProviders).compactMap { row -> Provider? in
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
        return Output(providers: providers, isRefreshing: payload["refreshing"]?.bool ?? false)
    }
}

/// Tokens and their cost.
package struct UsageFigures: Sendable, Equatable {
    package var input: Int64 = 0
    package var output: Int64 = 0
    package var cacheRead: Int64 = 0
    package var cacheWrite: Int64 = 0
    package var tokens: Int64 = 0
    /// In US dollars.
    package var cost: Double = 0
    /// The number of answers without a known price; the cost is then a lower bound.
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

    /// Small enough that the sum over all days and sessions does not overflow.
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

/// The days of a report, and the start of a day.
package struct UsageDates: Sendable, Hashable {
    package let from: CivilDate
    package let to: CivilDate
    /// The offset east of UTC.
    package let offsetMinutes: Int
    /// The zone's name, for releases that accept it.
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
        // Without a mode the days are in UTC.
        writer.member("mode", "specific")
        writer.member("utcOffset", offset)
        writer.member("timeZone", timeZone)
    }

    /// `UTC+2`, `UTC-9:30`. Gateways accept every offset that exists on earth.
    private var offset: String {
        let minutes = min(max(offsetMinutes, -12 * 60), 14 * 60)
        let rest = abs(minutes) % 60
        let tail = rest == 0 ? "" : rest < 10 ? ":0\(rest)" : ":\(rest)"
        return "UTC\(minutes < 0 ? "-" : "+")\(abs(minutes) / 60)\(tail)"
    }
}

/// Tokens and cost by day. The gateway reads transcripts to count them, which may take seconds.
package struct UsageCost: GatewayCall {
    package struct Day: Sendable, Equatable {
        package let date: CivilDate
        package let figures: UsageFigures
    }

    package struct Output: Sendable {
        package let days: [Day]
        /// False while the gateway is still counting.
        package let isComplete: Bool
    }

    package static let method = "usage.cost"
    package var dates: UsageDates
    /// Nil for all agents.
    package var agent: String?
    /// Whether the gateway accepts a choice of agents.
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

/// Tokens and cost by session. Every release has this method, but no hello lists it. Answers contain paths of the host.
package struct SessionsUsage: GatewayCall {
    package struct Row: Sendable {
        package let key: String
        package let label: String?
        package let agentId: String?
        package let channel: String?
        package let modelProvider: String?
        package let model: String?
        package let updatedAt: Timestamp?
        /// Nil while the gateway is still counting.
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
    /// Earlier releases count again for each answer, and report no cache.
    static func isComplete(_ payload: JSONValue) -> Bool {
        payload["cacheStatus"]?["status"]?.string.map { $0 == "fresh" } ?? true
    }
}

extension GatewayError {
    /// Whether the release rejects a member of the call.
    package var refusesMember: Bool { message.contains("unexpected property") }
}
