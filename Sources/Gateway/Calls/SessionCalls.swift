package import JSONBytes

package struct SessionsList: GatewayCall {
    package static let method = "sessions.list"
    package var limit: Int?
    /// Only sessions that changed in the last so many minutes.
    package var activeMinutes: Int?
    package var agentId: String?
    package var includeDerivedTitles: Bool?
    package var includeLastMessage: Bool?
    /// A part of the session's key or name.
    package var search: String?

    package init(
        limit: Int? = nil,
        activeMinutes: Int? = nil,
        agentId: String? = nil,
        includeDerivedTitles: Bool? = nil,
        includeLastMessage: Bool? = nil,
        search: String? = nil
    ) {
        self.limit = limit.map { max($0, 1) }
        self.activeMinutes = activeMinutes.map { max($0, 1) }
        self.agentId = agentId
        self.includeDerivedTitles = includeDerivedTitles
        self.includeLastMessage = includeLastMessage
        self.search = search
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("limit", limit)
        writer.member("activeMinutes", activeMinutes)
        writer.member("agentId", agentId)
        writer.member("includeDerivedTitles", includeDerivedTitles)
        writer.member("includeLastMessage", includeLastMessage)
        writer.member("search", search)
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> [SessionRow] {
        guard let rows = payload["sessions"], rows.kind == .array else {
            throw GatewayShapeError(method: method, missing: "sessions")
        }
        return rows.elements.map { SessionRow($0) }.filter { $0.key != nil }
    }
}

/// Subscribes this connection to `sessions.changed`, `session.message` and `session.tool` of all sessions. The oldest
/// supported release lacks this call.
package struct SessionsSubscribe: GatewayCall {
    package static let method = "sessions.subscribe"
    package init() {}
    package func writeParams(to writer: inout JSONWriter) {}
    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Bool {
        payload["subscribed"]?.bool ?? true
    }
}

/// Changes settings of a session. In every release an unknown key creates a new session.
package struct SessionsPatch: GatewayCall {
    /// A setting to write, or to reset to its default.
    package enum Setting<Value: Sendable & Equatable>: Sendable, Equatable {
        case set(Value)
        case clear
    }

    /// Every release takes the first members; one release added the last three, and earlier ones refuse a call with any
    /// of them.
    package struct Change: Sendable, Equatable {
        package var label: Setting<String>?
        package var model: Setting<String>?
        package var thinking: Setting<String>?
        package var verbose: Setting<String>?
        package var unread: Bool?
        package var pinned: Bool?
        package var archived: Bool?

        package init() {}

        package var isEmpty: Bool { self == Change() }
        /// Whether the change has members that require `Capability.sessionsArchive`.
        package var isLater: Bool { unread != nil || pinned != nil || archived != nil }
    }

    package static let method = "sessions.patch"
    package var key: String
    package var change: Change
    /// The required conversation; only the newest releases take this member.
    package var expectedSessionId: String?

    package init(key: String, change: Change, expectedSessionId: String? = nil) {
        self.key = key
        self.change = change
        self.expectedSessionId = expectedSessionId
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("key", key)
        Self.write("label", change.label, to: &writer)
        Self.write("model", change.model, to: &writer)
        Self.write("thinkingLevel", change.thinking, to: &writer)
        Self.write("verboseLevel", change.verbose, to: &writer)
        writer.member("unread", change.unread)
        writer.member("pinned", change.pinned)
        writer.member("archived", change.archived)
        writer.member("expectedSessionId", expectedSessionId)
    }

    private static func write(_ name: String, _ setting: Setting<String>?, to writer: inout JSONWriter) {
        switch setting {
        case .set(let text): writer.member(name, text)
        case .clear:
            writer.key(name)
            writer.null()
        case nil: break
        }
    }

    /// The changed conversation. The rest of the answer is not read: it holds prompts and files of the host.
    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> String? {
        payload["entry"]?["sessionId"]?.identifier
    }
}

/// Creates a session; 2026.3.1 lacks this call.
package struct SessionsCreate: GatewayCall {
    package static let method = "sessions.create"
    /// Nil to let the gateway choose a key.
    package var key: String?
    package var agentId: String?
    package var label: String?
    package var model: String?

    package init(key: String? = nil, agentId: String? = nil, label: String? = nil, model: String? = nil) {
        self.key = key
        self.agentId = agentId
        self.label = label
        self.model = model
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("key", key)
        writer.member("agentId", agentId)
        writer.member("label", label)
        writer.member("model", model)
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> String {
        guard let key = payload["key"]?.string else { throw GatewayShapeError(method: method, missing: "key") }
        return key
    }
}

/// Resets a session. An unknown key creates a new session.
package struct SessionsReset: GatewayCall {
    package static let method = "sessions.reset"
    package var key: String

    package init(key: String) { self.key = key }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("key", key)
        writer.member("reason", "reset")
    }

    /// The new conversation behind the key.
    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> String? {
        payload["entry"]?["sessionId"]?.identifier
    }
}

package struct SessionsDelete: GatewayCall {
    package static let method = "sessions.delete"
    package var key: String
    package var deletesTranscript: Bool
    /// The required conversation; only the newest releases take this member.
    package var expectedSessionId: String?

    package init(key: String, deletesTranscript: Bool, expectedSessionId: String? = nil) {
        self.key = key
        self.deletesTranscript = deletesTranscript
        self.expectedSessionId = expectedSessionId
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("key", key)
        writer.member("deleteTranscript", deletesTranscript)
        writer.member("expectedSessionId", expectedSessionId)
    }

    /// False if there was no such session.
    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Bool {
        payload["deleted"]?.bool ?? true
    }
}

/// Shortens a session's context: 2026.3.1 cuts lines, later releases let the model write a summary.
package struct SessionsCompact: GatewayCall {
    package static let method = "sessions.compact"
    /// The model reads the whole conversation, which may take minutes.
    package var timeoutMs: Int64 { 600_000 }
    package var key: String

    package init(key: String) { self.key = key }

    package func writeParams(to writer: inout JSONWriter) { writer.member("key", key) }

    /// False if nothing was left out.
    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Bool {
        payload["compacted"]?.bool ?? true
    }
}

/// The reason why the gateway did not change a session.
package enum SessionRefusal: Sendable, Equatable {
    case labelTaken
    /// The model does not exist, or the agent may not use it.
    case unknownModel
    case mainSession
    /// The gateway timed out waiting for a run to end.
    case busy
    /// The key belongs to another conversation than the call requires.
    case moved
}

extension GatewayError {
    /// Most releases send only a text. Nil for every other error.
    package var sessionRefusal: SessionRefusal? {
        if message.contains("label already in use") { return .labelTaken }
        if message.contains("model not allowed") || message.contains("unknown model")
            || message.contains("invalid model")
        {
            return .unknownModel
        }
        if message.contains("Cannot delete the main session") { return .mainSession }
        if message.contains("is still active; try again") { return .busy }
        if message.contains("expectedSessionId") || detailsCode == "SESSION_CHANGED" { return .moved }
        return nil
    }
}
