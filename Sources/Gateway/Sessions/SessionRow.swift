package import JSONBytes

/// A session as `sessions.list` and `sessions.changed` describe it.
package struct SessionRow: Sendable {
    private let value: JSONValue

    package init(_ value: JSONValue) { self.value = value }

    package var key: String? { value["key"]?.string }
    package var kind: String? { value["kind"]?.string }
    package var label: String? { value["label"]?.string }
    /// The conversation behind the key; a reset starts another one.
    package var sessionId: String? { value["sessionId"]?.identifier }
    package var displayName: String? { value["displayName"]?.string }
    /// The sender's name in the channel. In a chat over the gateway's own connections it is the client program's name.
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
    /// The model's thinking levels; empty if the release does not list them.
    package var thinkingLevels: [String] {
        let levels = value["thinkingLevels"]?.elements.compactMap { $0["id"]?.string ?? $0.string } ?? []
        return Array(levels.prefix(GatewayLimits.thinkingLevels))
    }
    package var verboseLevel: String? { value["verboseLevel"]?.string }
    package var status: String? { value["status"]?.string }
    /// The whole set of the runs under way; nil if the row does not say, or says that they cannot be named. A row of a page or a list
    /// has the set or leaves it out. In an event the set replaces the one before, a missing one changes nothing, and null makes it
    /// unknown, so in an event too only an empty set says that the session is idle.
    package var activeRuns: Set<String>? {
        guard let list = value["activeRunIds"], list.kind == .array else { return nil }
        let ids = list.elements.compactMap(\.identifier)
        return ids.count == list.count ? Set(ids) : nil
    }
    package var wasAborted: Bool { value["abortedLastRun"]?.bool ?? false }
    /// Milliseconds since 1970.
    package var updatedAt: Int64? { value["updatedAt"]?.int }
    package var inputTokens: Int64? { value["inputTokens"]?.int }
    package var outputTokens: Int64? { value["outputTokens"]?.int }
    /// The number of tokens with which the next turn begins.
    package var totalTokens: Int64? { value["totalTokens"]?.int }
    package var hasFreshTotal: Bool? { value["totalTokensFresh"]?.bool }
    /// The model's context size.
    package var contextTokens: Int64? { value["contextTokens"]?.int }
    package var estimatedCostUsd: Double? { value["estimatedCostUsd"]?.double }
    /// One release added these three members.
    package var isUnread: Bool? { value["unread"]?.bool }
    package var isPinned: Bool? { value["pinned"]?.bool }
    package var isArchived: Bool? { value["archived"]?.bool }
    /// False for an event that names a session without describing it.
    package var isWhole: Bool { value["updatedAt"] != nil && value["sessionId"] != nil }
}
