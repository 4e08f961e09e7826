import Basics

/// The demo's models, its subscriptions and the tokens of its transcripts.
final class DemoUsage {
    private static let hourMs: Int64 = 3_600_000
    private static let dayMs: Int64 = 24 * hourMs
    private static let windowMs: Int64 = 5 * hourMs
    /// The time of an answer in earlier releases, which query each provider meanwhile.
    private static let askMs = 2_000

    private let host: DemoHost

    /// Until the providers have answered for the first time, the newest releases have nothing.
    private var isCold = true
    private var isWarming = false

    init(_ host: DemoHost) { self.host = host }

    private var release: DemoRelease { host.release }
    private var now: Int64 { host.clock.wallMs }

    // MARK: - Models

    func models(_ request: DemoRequest) -> DemoReply {
        var rows = [model("demo-1", "Demo One", alias: "one"), model("demo-2", "Demo Two", alias: "two")]
        if request.string("view") == "all" { rows.append(model("demo-large", "Demo Large", isAvailable: false)) }
        return .ok(["models": rows])
    }

    private func model(_ id: String, _ name: String, alias: String? = nil, isAvailable: Bool = true) -> WireValue {
        let isLater = release >= .june
        return [
            "id": id, "name": name, "provider": "demo", "api": isLater ? "openai-completions" : nil,
            "contextWindow": 200_000, "reasoning": true, "input": ["text", "image"], "alias": isLater ? alias : nil,
            "available": isLater ? isAvailable : nil,
        ]
    }

    // MARK: - Subscriptions

    /// Each run uses one percent of the shorter window.
    func status(_ request: DemoRequest) -> DemoReply {
        if release.refreshesUsage, isCold, request.connection.caps.contains("usage-refreshing") {
            if !isWarming {
                isWarming = true
                host.clock.after(ms: host.clock.paced(Self.askMs)) { [weak self] in self?.isCold = false }
            }
            return .ok(["updatedAt": now, "providers": [WireValue](), "refreshing": true])
        }
        let start = now - now % Self.windowMs
        let week = now - now % (7 * Self.dayMs)
        let runs = answers.count { $0.at >= start }
        let windows: [WireValue] = [
            ["label": "5h", "usedPercent": 42 + runs, "resetAt": start + Self.windowMs],
            ["label": "Week", "usedPercent": 63.5, "resetAt": week + 7 * Self.dayMs],
        ]
        let answer = DemoReply.ok([
            "updatedAt": now,
            "providers": [
                wireObject(["provider": "demo", "displayName": "Demo", "windows": windows, "plan": "Max"]),
                wireObject([
                    "provider": "demo-coding", "displayName": "Demo Coding", "windows": [WireValue](),
                    "error": "HTTP 401",
                ]),
            ],
        ])
        return release >= .june ? answer : .later(ms: host.clock.paced(Self.askMs), answer)
    }

    // MARK: - Tokens

    private struct Answer {
        let session: DemoSession
        let at: Int64
        let input: Int
        let output: Int
    }

    private var answers: [Answer] {
        host.sessions.all.values.flatMap { session in
            session.rows.compactMap { row in
                guard case .assistant(_, _, let usage?) = row.kind else { return nil }
                return Answer(session: session, at: row.timestamp, input: usage.input, output: usage.output)
            }
        }
    }

    /// The first and the last day, and the UTC offset for counting them.
    private struct Days {
        let first: Int64
        let last: Int64
        let offsetMs: Int64

        func day(of time: Int64) -> Int64 { (time + offsetMs).dividedDown(by: DemoUsage.dayMs) }
        func contains(_ time: Int64) -> Bool { (first...last).contains(day(of: time)) }
    }

    private func days(_ request: DemoRequest) -> Days {
        let offset = request.string("mode") == "specific" ? request.string("utcOffset").map(Self.offset) ?? 0 : 0
        let today = (now + offset).dividedDown(by: Self.dayMs)
        let start = request.string("startDate").flatMap { CivilDate(iso: $0) }
        let end = request.string("endDate").flatMap { CivilDate(iso: $0) }
        if let start, let end {
            let first = start.daysSinceEpoch
            return Days(first: first, last: max(first, end.daysSinceEpoch), offsetMs: offset)
        }
        let count = min(max(request.int("days") ?? 30, 1), 36_500)
        return Days(first: today - count + 1, last: today, offsetMs: offset)
    }

    /// The offset in a text that matches the rule of `utcOffset`.
    private static func offset(_ text: String) -> Int64 {
        let parts = text.dropFirst(4).split(separator: ":").compactMap { Int64($0) }
        let minutes = (parts.first ?? 0) * 60 + (parts.count > 1 ? parts[1] : 0)
        return (text.dropFirst(3).first == "-" ? -minutes : minutes) * 60_000
    }

    func cost(_ request: DemoRequest) -> DemoReply {
        let days = days(request)
        var found = answers.filter { days.contains($0.at) }
        if let agent = request.string("agentId") {
            found = found.filter { $0.session.agentID == agent }
        } else if request.string("agentScope") == nil {
            found = found.filter { $0.session.agentID == "main" }
        }
        let daily = Dictionary(grouping: found) { days.day(of: $0.at) }.sorted { $0.key < $1.key }.map { day, answers in
            wireObject(["date": CivilDate(daysSinceEpoch: day).iso]).adding(figures(answers))
        }
        return .ok([
            "updatedAt": now, "days": days.last - days.first + 2, "daily": daily, "totals": figures(found),
            "cacheStatus": cacheStatus,
        ])
    }

    private var cacheStatus: WireValue? {
        release < .june
            ? nil : ["status": "fresh", "cachedFiles": host.sessions.count, "pendingFiles": 0, "staleFiles": 0]
    }

    func sessions(_ request: DemoRequest) -> DemoReply {
        let days = days(request)
        let found = answers.filter { days.contains($0.at) }
        let wanted = request.string("key").flatMap { host.sessions.canonical($0) }
        let limit = Int(clamping: request.int("limit") ?? 50)
        let all = host.sessions.all.values.filter { request.string("key") == nil || $0.key == wanted }
        let shown = all.sorted { ($0.updatedAt, $1.key) > ($1.updatedAt, $0.key) }.prefix(limit)
        let rows = shown.map { session in row(session, found.filter { $0.session === session }) }
        let counted = found.filter { answer in shown.contains { $0 === answer.session } }
        return .ok([
            "updatedAt": now, "startDate": CivilDate(daysSinceEpoch: days.first).iso,
            "endDate": CivilDate(daysSinceEpoch: days.last).iso, "sessions": rows, "totals": figures(counted),
            "aggregates": wireObject([
                "messages": wireObject(["total": counted.count]), "byModel": [WireValue](), "byAgent": [WireValue](),
                "daily": [WireValue](),
            ]),
            // Without sessions there is nothing to cache.
            "cacheStatus": shown.isEmpty ? nil : cacheStatus,
        ])
    }

    private func row(_ session: DemoSession, _ answers: [Answer]) -> WireValue {
        let path = "/home/demo/.openclaw/agents/\(session.agentID)/sessions/\(session.sessionID).jsonl"
        let usage: WireValue = ["sessionId": session.sessionID, "sessionFile": path]
        return [
            "key": session.key, "sessionId": session.sessionID, "scope": release >= .june ? "instance" : nil,
            "updatedAt": session.updatedAt, "agentId": session.agentID, "channel": "webchat", "chatType": "direct",
            "modelProvider": "demo", "model": session.model ?? "demo-1", "usage": usage.adding(figures(answers)),
        ]
    }

    /// A thousand tokens of input cost a tenth of a cent, of output two tenths.
    private func figures(_ answers: [Answer]) -> WireValue {
        let input = answers.reduce(0) { $0 + $1.input }
        let output = answers.reduce(0) { $0 + $1.output }
        let (inputCost, outputCost) = (Double(input) / 1_000_000, Double(output) / 500_000)
        return [
            "input": input, "output": output, "cacheRead": 0, "cacheWrite": 0, "totalTokens": input + output,
            "totalCost": inputCost + outputCost, "inputCost": inputCost, "outputCost": outputCost, "cacheReadCost": 0,
            "cacheWriteCost": 0, "missingCostEntries": 0,
        ]
    }
}
