package import JSONBytes

/// A session as `sessions.list` and `sessions.changed` describe it.
package struct SessionRow: Sendable {
    private let value: JSONValue

    package init(_ value: JSONValue) { self.value = value }

    package var key: String? { value["key"]?.string }
    package var kind: String? { value["kind"]?.string }
    package var label: String? { value["label"]?.string }
    package var displayName: String? { value["displayName"]?.string }
    package var derivedTitle: String? { value["derivedTitle"]?.string }
    package var lastMessagePreview: String? { value["lastMessagePreview"]?.string }
    package var model: String? { value["model"]?.string }
    package var thinkingLevel: String? { value["thinkingLevel"]?.string }
    package var verboseLevel: String? { value["verboseLevel"]?.string }
    package var status: String? { value["status"]?.string }
    /// Milliseconds since 1970.
    package var updatedAt: Int64? { value["updatedAt"]?.int }
}
