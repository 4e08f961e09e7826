package import JSONBytes

package struct SessionsList: GatewayCall {
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
