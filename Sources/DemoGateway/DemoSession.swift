/// One session: its settings, its transcript, its active run and the messages that wait for the run's end.
final class DemoSession {
    let key: String
    private(set) var sessionID: String
    var updatedAt: Int64
    var thinkingLevel: String?
    var verboseLevel: String?
    var reasoningLevel: String?
    var model: String?
    private(set) var rows: [TranscriptRow] = []
    var status: String?
    var startedAt: Int64?
    var endedAt: Int64?
    var inputTokens = 0
    var outputTokens = 0
    var wasAborted = false

    var run: DemoRun?
    var waiting: [DemoMessage] = []

    init(key: String, sessionID: String, now: Int64) {
        self.key = key
        self.sessionID = sessionID
        updatedAt = now
    }

    var agentID: String { DemoSessionKey.agent(of: key) }

    func append(_ row: TranscriptRow, limit: Int) {
        rows.append(row)
        if rows.count > limit { rows.removeFirst(rows.count - limit) }
    }

    func reset(sessionID: String, now: Int64) {
        self.sessionID = sessionID
        updatedAt = now
        rows = []
        status = nil
        startedAt = nil
        endedAt = nil
        inputTokens = 0
        outputTokens = 0
        wasAborted = false
    }

    // MARK: - As frames show it

    static let origin: WireValue = ["provider": "webchat", "surface": "webchat", "chatType": "direct"]
    static let deliveryContext: WireValue = ["channel": "webchat"]
    static let agentRuntime: WireValue = ["id": "auto", "source": "implicit"]

    /// Later releases add the thinking levels wherever they name a model.
    static let thinkingChoices: WireValue = {
        let levels = ["off", "minimal", "low", "medium", "high"]
        return [
            "thinkingLevels": levels.map { wireObject(["id": $0, "label": $0]) }, "thinkingOptions": levels,
            "thinkingDefault": "low",
        ]
    }()

    var estimatedCost: Double { Double(inputTokens * 1_000 + outputTokens * 2_000) / 1_000_000_000 }

    /// The row of `sessions.list` and of events.
    func row(_ release: DemoRelease) -> WireValue {
        let head: WireValue = [
            "key": key, "kind": "direct", "chatType": "direct", "origin": Self.origin, "updatedAt": updatedAt,
            "sessionId": sessionID, "systemSent": !rows.isEmpty, "abortedLastRun": wasAborted,
            "thinkingLevel": thinkingLevel, "verboseLevel": verboseLevel, "reasoningLevel": reasoningLevel,
        ]
        let counts: WireValue = [
            "inputTokens": inputTokens, "outputTokens": outputTokens, "totalTokens": inputTokens,
            "totalTokensFresh": true,
        ]
        let tail: WireValue = [
            "modelProvider": "demo", "model": model ?? "demo-1", "contextTokens": 200_000,
            "deliveryContext": Self.deliveryContext, "lastChannel": "webchat",
        ]
        guard release >= .june else { return head.adding(counts).adding(tail) }
        let isActive = run != nil
        let ended = isActive ? nil : endedAt
        let states: WireValue = [
            "effectiveFastMode": false, "effectiveFastModeSource": "default", "fastAutoOnSeconds": 60,
            "estimatedCostUsd": estimatedCost, "status": isActive ? "running" : status, "startedAt": startedAt,
            "endedAt": ended, "runtimeMs": ended.flatMap { end in startedAt.map { end - $0 } },
            "agentRuntime": Self.agentRuntime, "hasActiveRun": isActive,
        ]
        return head.adding(Self.thinkingChoices).adding(counts).adding(states).adding(tail)
    }
}

/// Session keys as the gateway reads them.
package enum DemoSessionKey {
    /// The form that events carry; nil for `agent:` without a usable agent and name.
    package static func canonical(_ key: String, mainKey: String) -> String? {
        let key = key.lowercased()
        if key == "main" || key == mainKey { return "agent:main:\(mainKey)" }
        guard key.utf8.starts(with: "agent:".utf8) else { return "agent:main:\(key)" }
        let parts = parts(key)
        guard parts.count == 3, !parts[1].isEmpty, !parts[2].isEmpty else { return nil }
        return parts[2] == "main" ? "agent:\(parts[1]):\(mainKey)" : key
    }

    static func agent(of key: String) -> String {
        let parts = parts(key)
        return parts.count > 1 ? String(parts[1]) : "main"
    }

    /// Split by bytes: a colon followed by a combining character would be one `Character`.
    private static func parts(_ key: String) -> [Substring] {
        key.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
            .map { Substring($0) }
    }
}
