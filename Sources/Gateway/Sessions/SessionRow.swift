package import JSONBytes

/// A session as `sessions.list` and `sessions.changed` describe it.
package struct SessionRow: Sendable {
    private let value: JSONValue

    package init(_ value: JSONValue) { self.value = value }

    package var key: String? { value["key"]?.string }
    package var kind: String? { value["kind"]?.string }
    package var label: String? { value["label"]?.string }
    /// The conversation that the key leads to now; another one after a reset.
    package var sessionId: String? { value["sessionId"]?.identifier }
    package var displayName: String? { value["displayName"]?.string }
    /// The sender as the channel names it. Of a chat over the gateway's own connections that is the client program.
    package var clientName: String? {
        let origin = value["origin"]
        guard origin?["provider"]?.equals("webchat") ?? false else { return nil }
        return origin?["label"]?.string
    }
    package var derivedTitle: String? { value["derivedTitle"]?.string }
    package var lastMessagePreview: String? { value["lastMessagePreview"]?.string }
    package var model: String? { value["model"]?.string }
    package var modelProvider: String? { value["modelProvider"]?.string }
    package var thinkingLevel: String? { value["thinkingLevel"]?.string }
    /// The levels that the model has; none where the release does not tell.
    package var thinkingLevels: [String] {
        let levels = value["thinkingLevels"]?.elements.compactMap { $0["id"]?.string ?? $0.string } ?? []
        return Array(levels.prefix(GatewayLimits.thinkingLevels))
    }
    package var verboseLevel: String? { value["verboseLevel"]?.string }
    package var status: String? { value["status"]?.string }
    package var wasAborted: Bool { value["abortedLastRun"]?.bool ?? false }
    /// Milliseconds since 1970.
    package var updatedAt: Int64? { value["updatedAt"]?.int }
    package var inputTokens: Int64? { value["inputTokens"]?.int }
    package var outputTokens: Int64? { value["outputTokens"]?.int }
    /// What the next turn begins with.
    package var totalTokens: Int64? { value["totalTokens"]?.int }
    package var hasFreshTotal: Bool? { value["totalTokensFresh"]?.bool }
    /// The room that the model has.
    package var contextTokens: Int64? { value["contextTokens"]?.int }
    package var estimatedCostUsd: Double? { value["estimatedCostUsd"]?.double }
    /// These three came with one release.
    package var isUnread: Bool? { value["unread"]?.bool }
    package var isPinned: Bool? { value["pinned"]?.bool }
    package var isArchived: Bool? { value["archived"]?.bool }
    /// False of an event that names a session and does not describe it.
    package var isWhole: Bool { value["updatedAt"] != nil && value["sessionId"] != nil }
}
