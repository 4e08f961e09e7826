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
    package var thinkingLevel: String? { value["thinkingLevel"]?.string }
    package var verboseLevel: String? { value["verboseLevel"]?.string }
    package var status: String? { value["status"]?.string }
    /// Milliseconds since 1970.
    package var updatedAt: Int64? { value["updatedAt"]?.int }
}
