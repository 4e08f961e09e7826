package import JSONBytes

package struct SessionsList: GatewayCall {
    package static let method = "sessions.list"
    package var limit: Int?
    package var agentId: String?
    package var includeDerivedTitles: Bool?
    package var includeLastMessage: Bool?
    /// A part of the key, or of what the session is called.
    package var search: String?

    package init(
        limit: Int? = nil,
        agentId: String? = nil,
        includeDerivedTitles: Bool? = nil,
        includeLastMessage: Bool? = nil,
        search: String? = nil
    ) {
        self.limit = limit.map { max($0, 1) }
        self.agentId = agentId
        self.includeDerivedTitles = includeDerivedTitles
        self.includeLastMessage = includeLastMessage
        self.search = search
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("limit", limit)
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

/// Asks for `sessions.changed`, `session.message` and `session.tool` of all sessions, for this connection only.
/// The oldest supported release does not have it.
package struct SessionsSubscribe: GatewayCall {
    package static let method = "sessions.subscribe"
    package init() {}
    package func writeParams(to writer: inout JSONWriter) {}
    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Bool {
        payload["subscribed"]?.bool ?? true
    }
}

/// Changes settings of a session. A key that the gateway does not have makes a new one, in every release.
package struct SessionsPatch: GatewayCall {
    /// A setting to be written, or to be taken back to its default.
    package enum Setting<Value: Sendable & Equatable>: Sendable, Equatable {
        case set(Value)
        case clear
    }

    /// The members that every release takes stand first; the last three came together, and a release before them refuses a call
    /// that has one.
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
        /// It has members that only releases with `Capability.sessionsArchive` take.
        package var isLater: Bool { unread != nil || pinned != nil || archived != nil }
    }

    package static let method = "sessions.patch"
    package var key: String
    package var change: Change
    /// The conversation it is meant for; only the newest releases take it.
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

    /// The conversation that was changed. Nothing else of the answer is read: it holds prompts and files of the host.
    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> String? {
        payload["entry"]?["sessionId"]?.identifier
    }
}

/// Makes a session; 2026.3.1 does not have it.
package struct SessionsCreate: GatewayCall {
    package static let method = "sessions.create"
    /// Nil: the gateway makes one.
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

/// Begins a session anew. A key that the gateway does not have makes a new one.
package struct SessionsReset: GatewayCall {
    package static let method = "sessions.reset"
    package var key: String

    package init(key: String) { self.key = key }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("key", key)
        writer.member("reason", "reset")
    }

    /// The conversation that the key leads to now.
    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> String? {
        payload["entry"]?["sessionId"]?.identifier
    }
}

package struct SessionsDelete: GatewayCall {
    package static let method = "sessions.delete"
    package var key: String
    package var deletesTranscript: Bool
    /// The conversation it is meant for; only the newest releases take it.
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

    /// False where there was no such session.
    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Bool {
        payload["deleted"]?.bool ?? true
    }
}

/// Shortens the context of a session: 2026.3.1 cuts lines, later releases have the model write a summary.
package struct SessionsCompact: GatewayCall {
    package static let method = "sessions.compact"
    /// The model reads the whole conversation, which takes up to minutes.
    package var timeoutMs: Int64 { 600_000 }
    package var key: String

    package init(key: String) { self.key = key }

    package func writeParams(to writer: inout JSONWriter) { writer.member("key", key) }

    /// False where nothing was left out.
    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Bool {
        payload["compacted"]?.bool ?? true
    }
}

/// Why the gateway did not change a session.
package enum SessionRefusal: Sendable, Equatable {
    case labelTaken
    /// It does not know the model, or the agent may not use it.
    case unknownModel
    case mainSession
    /// It waited for the end of a run.
    case busy
    /// The key leads to another conversation than the call was meant for.
    case moved
}

extension GatewayError {
    /// Most releases have only words. Nil for every other refusal.
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
