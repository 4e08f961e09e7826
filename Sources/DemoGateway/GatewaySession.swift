import JSONBytes

/// One session: its settings, its transcript and what ran in it last.
final class GatewaySession {
    let key: String
    var sessionID: String
    var createdAt: Int64
    var updatedAt: Int64
    var label: String?
    var thinkingLevel: String?
    var verboseLevel: String?
    var reasoningLevel: String?
    var model: String?
    var rows: [TranscriptRow] = []
    var status: String?
    var startedAt: Int64?
    var endedAt: Int64?
    var inputTokens = 0
    var outputTokens = 0
    var wasAborted = false

    init(key: String, sessionID: String, now: Int64) {
        self.key = key
        self.sessionID = sessionID
        createdAt = now
        updatedAt = now
    }

    var agentID: String {
        SessionKey.agent(of: key)
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

    static let origin: WireValue = ["provider": "webchat", "surface": "webchat", "chatType": "direct"]
    static let deliveryContext: WireValue = ["channel": "webchat"]
    static let agentRuntime: WireValue = ["id": "auto", "source": "implicit"]

    /// What later releases say about thinking wherever they name a model.
    static let thinkingChoices: WireValue = {
        let levels = ["off", "minimal", "low", "medium", "high"]
        return [
            "thinkingLevels": levels.map { wireObject(["id": $0, "label": $0]) }, "thinkingOptions": levels,
            "thinkingDefault": "low",
        ]
    }()

    var estimatedCost: Double { Double(inputTokens * 1_000 + outputTokens * 2_000) / 1_000_000_000 }

    /// The row of `sessions.list` and of events.
    func row(release: GatewayRelease, hasActiveRun: Bool) -> WireValue {
        let head: WireValue = [
            "key": key, "kind": "direct", "label": label, "displayName": label, "chatType": "direct",
            "origin": Self.origin, "updatedAt": updatedAt, "sessionId": sessionID, "systemSent": !rows.isEmpty,
            "abortedLastRun": wasAborted, "thinkingLevel": thinkingLevel, "verboseLevel": verboseLevel,
            "reasoningLevel": reasoningLevel,
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
        let ended = hasActiveRun ? nil : endedAt
        let states: WireValue = [
            "effectiveFastMode": false, "effectiveFastModeSource": "default", "fastAutoOnSeconds": 60,
            "estimatedCostUsd": estimatedCost, "status": hasActiveRun ? "running" : status, "startedAt": startedAt,
            "endedAt": ended, "runtimeMs": ended.flatMap { end in startedAt.map { end - $0 } },
            "agentRuntime": Self.agentRuntime, "hasActiveRun": hasActiveRun,
        ]
        return head.adding(Self.thinkingChoices).adding(counts).adding(states).adding(tail)
    }

    func entry(release: GatewayRelease) -> WireValue {
        [
            "sessionId": sessionID, "updatedAt": updatedAt, "systemSent": !rows.isEmpty, "abortedLastRun": wasAborted,
            "chatType": "direct", "label": label, "thinkingLevel": thinkingLevel, "verboseLevel": verboseLevel,
            "reasoningLevel": reasoningLevel, "providerOverride": model == nil ? nil : "demo", "modelOverride": model,
            "modelProvider": "demo", "model": model ?? "demo-1", "contextTokens": 200_000, "inputTokens": inputTokens,
            "outputTokens": outputTokens, "totalTokens": inputTokens, "totalTokensFresh": true,
        ]
    }
}

/// Session keys as the gateway reads them.
enum SessionKey {
    /// The one form events carry; nil for `agent:` with nothing usable behind it.
    static func canonical(_ key: String, mainKey: String) -> String? {
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

    /// By bytes: a colon and a combining character behind it are one `Character`.
    private static func parts(_ key: String) -> [Substring] {
        key.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
            .map { Substring($0) }
    }
}
