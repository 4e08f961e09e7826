package import JSONBytes

package struct SessionsList: GatewayCall {
    package struct Row: Sendable {
        package let key: String
        package let kind: String?
        package let sessionId: String?
        package let label: String?
        package let displayName: String?
        package let derivedTitle: String?
        package let lastMessagePreview: String?
        package let model: String?
        package let thinkingLevel: String?
        package let verboseLevel: String?
        package let status: String?
        package let updatedAt: Int64?
        package let whole: JSONValue
    }

    package static let method = "sessions.list"
    package var limit: Int?
    package var agentId: String?
    package var includeDerivedTitles: Bool?
    package var includeLastMessage: Bool?

    package init(
        limit: Int? = nil,
        agentId: String? = nil,
        includeDerivedTitles: Bool? = nil,
        includeLastMessage: Bool? = nil
    ) {
        self.limit = limit.map { max($0, 1) }
        self.agentId = agentId
        self.includeDerivedTitles = includeDerivedTitles
        self.includeLastMessage = includeLastMessage
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("limit", limit)
        writer.member("agentId", agentId)
        writer.member("includeDerivedTitles", includeDerivedTitles)
        writer.member("includeLastMessage", includeLastMessage)
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> [Row] {
        guard let rows = payload["sessions"], rows.kind == .array else {
            throw GatewayShapeError(method: method, missing: "sessions")
        }
        return rows.elements.compactMap { row in
            guard let key = row["key"]?.string else { return nil }
            return Row(
                key: key,
                kind: row["kind"]?.string,
                sessionId: row["sessionId"]?.string,
                label: row["label"]?.string,
                displayName: row["displayName"]?.string,
                derivedTitle: row["derivedTitle"]?.string,
                lastMessagePreview: row["lastMessagePreview"]?.string,
                model: row["model"]?.string,
                thinkingLevel: row["thinkingLevel"]?.string,
                verboseLevel: row["verboseLevel"]?.string,
                status: row["status"]?.string,
                updatedAt: row["updatedAt"]?.int,
                whole: row
            )
        }
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
