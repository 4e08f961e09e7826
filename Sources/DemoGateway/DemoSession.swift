/// One session: its settings, its transcript, its active run and its waiting messages.
final class DemoSession {
    let key: String
    private(set) var sessionID: String
    var updatedAt: Int64
    var thinkingLevel: String?
    var verboseLevel: String?
    var reasoningLevel: String?
    var model: String?
    var label: String?
    /// Only in the latest release.
    var isArchived = false
    var isPinned = false
    var isUnread = false
    /// The policy for the session's commands that need an approval: `always`, `on-miss` or none.
    var execAsk: String?
    /// Notices for the agent at the start of the next message, with their times.
    var notices: [(text: String, at: Int64)] = []
    private(set) var rows: [DemoRow] = []
    var status: String?
    var startedAt: Int64?
    var endedAt: Int64?
    var inputTokens = 0
    var outputTokens = 0
    var wasAborted = false
    /// The name of the client that sent its first message.
    var displayName: String?

    var run: DemoRun?
    var queue = MessageQueue()
    var custody = InputCustody()
    /// The run that ended last, and its error.
    var lastRunID: String?
    var lastRunError: String?
    /// The end of its last run on the monotonic clock.
    var lastEnd: UInt64?
    /// Whether an earlier process ended during a run of the session, and no run has begun since.
    var isInterrupted = false
    /// The messages accepted since the process found the session or it was reset; nil for a new session.
    var messagesSinceFound: Int?

    init(key: String, sessionID: String, displayName: String?, now: Int64) {
        self.key = key
        self.displayName = displayName
        self.sessionID = sessionID
        updatedAt = now
    }

    var agentID: String { DemoSessionKey.agent(of: key) }

    func append(_ row: DemoRow, limit: Int) {
        rows.append(row)
        if rows.count > limit { rows.removeFirst(rows.count - limit) }
    }

    func removeLastRow() { rows.removeLast() }

    /// Whether the transcript has the user's row of a key.
    func hasRow(of key: String) -> Bool {
        rows.contains { if case .user(let found) = $0.kind { found == key } else { false } }
    }

    /// Drops the state that a process holds only in memory.
    func loseMemory() {
        run = nil
        queue = MessageQueue()
        custody.interrupt()
        notices = []
        lastEnd = nil
        isInterrupted = false
        messagesSinceFound = 0
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
        (lastRunID, lastRunError) = (nil, nil)
        messagesSinceFound = 0
    }

    // MARK: - As frames show it

    private var origin: WireValue {
        ["label": displayName, "provider": "webchat", "surface": "webchat", "chatType": "direct"]
    }
    static let deliveryContext: WireValue = ["channel": "webchat"]
    static let agentRuntime: WireValue = ["id": "auto", "source": "implicit"]

    /// The thinking levels, which later releases add wherever they name a model.
    static let thinkingChoices: WireValue = {
        let levels = ["off", "minimal", "low", "medium", "high"]
        return [
            "thinkingLevels": levels.map { wireObject(["id": $0, "label": $0]) }, "thinkingOptions": levels,
            "thinkingDefault": "low",
        ]
    }()

    var estimatedCost: Double { Double(inputTokens * 1_000 + outputTokens * 2_000) / 1_000_000_000 }

    /// The session's row in `sessions.list` and in events.
    func row(_ release: DemoRelease) -> WireValue {
        let isLater = release >= .june
        let head: WireValue = ["key": key, "thinkingLevel": thinkingLevel, "reasoningLevel": reasoningLevel]
        let models = release >= .april ? Self.thinkingChoices : [:]
        let runtime: WireValue =
            isLater ? Self.fastMode.adding(["agentRuntime": Self.agentRuntime, "hasActiveRun": isActive]) : [:]
        let marks: WireValue =
            release >= .autumn ? ["archived": isArchived, "pinned": isPinned, "unread": isUnread] : [:]
        return head.adding(summary(release)).adding(models).adding(runtime).adding(marks).adding(runs(release))
    }

    /// The ids of the active run, or of the one about to begin: the whole set. Waiting turns are no runs yet.
    var activeRunIDs: [String] { (run.map { [$0.id] } ?? []) + queue.direct.map(\.key) }

    private func runs(_ release: DemoRelease) -> WireValue {
        guard release.namesRuns else { return [:] }
        return [
            "activeRunIds": activeRunIDs, "lastRunId": lastRunID, "lastRunError": lastRunError,
            "activeLeafEntryId": rows.last?.id,
        ]
    }

    /// Whether the session has had no run, and no process has found it on disk.
    var isNew: Bool { rows.isEmpty && status == nil && messagesSinceFound == nil }

    /// Whether a run of the session is active or about to begin.
    var isActive: Bool { run != nil || !queue.direct.isEmpty }

    static let fastMode: WireValue = [
        "effectiveFastMode": false, "effectiveFastModeSource": "default", "fastAutoOnSeconds": 60,
    ]

    /// The members that the session's events also carry at their top level.
    func summary(_ release: DemoRelease) -> WireValue {
        let base: WireValue = [
            "kind": "direct", "label": label, "displayName": label ?? displayName, "chatType": "direct",
            "origin": origin,
            "updatedAt": updatedAt, "sessionId": sessionID, "systemSent": !rows.isEmpty,
            "abortedLastRun": wasAborted, "verboseLevel": verboseLevel, "inputTokens": inputTokens,
            "outputTokens": outputTokens, "totalTokens": inputTokens, "totalTokensFresh": true,
            "modelProvider": "demo", "model": model ?? "demo-1", "contextTokens": 200_000,
            "deliveryContext": Self.deliveryContext, "lastChannel": "webchat",
        ]
        guard release >= .april else { return base }
        let ended = run == nil ? endedAt : nil
        return base.adding([
            "estimatedCostUsd": estimatedCost, "status": status, "startedAt": startedAt, "endedAt": ended,
            "runtimeMs": ended.flatMap { end in startedAt.map { end - $0 } },
        ])
    }
}

/// Session keys as the gateway parses them.
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
