import Basics
import Gateway
import JSONBytes

extension Approval {
    /// An approval as `write` wrote it in an earlier process; nil if incomplete.
    package init?(kept json: [UInt8]) {
        guard let value = try? JSONDocument(parsing: json).root, let id = value["id"]?.string,
            let kind = value["kind"]?.string.flatMap({ Kind(rawValue: $0) }),
            let state = value["state"]?.string.flatMap({ State(rawValue: $0) }), let title = value["title"]?.string,
            let createdAt = value["createdAt"]?.string.flatMap({ Timestamp(rfc3339: $0) }),
            let expiresAt = value["expiresAt"]?.string.flatMap({ Timestamp(rfc3339: $0) })
        else { return nil }
        self.id = id
        self.kind = kind
        self.state = state
        self.title = title
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        decisions = value["decisions"]?.elements.compactMap { $0.string.flatMap { Decision(rawValue: $0) } } ?? []
        session = value["session"]?.string
        agent = value["agent"]?.string
        runID = value["runId"]?.string
        command = value["command"]?.string
        commandSHA256 = value["commandSha256"]?.string
        isTruncated = value["truncated"]?.bool ?? false
        explanation = value["description"]?.string
        tool = value["tool"]?.string
        cwd = value["cwd"]?.string
        host = value["host"]?.string
        node = value["node"]?.string
        variables = value["env"]?.elements.compactMap(\.string) ?? []
        warnings = value["warnings"]?.elements.compactMap(\.string) ?? []
        risk = value["risk"]?.string.flatMap { Risk(rawValue: $0) } ?? .info
        reach = value["reach"].flatMap { ApprovalReach($0) }
        decision = value["decision"]?.string.flatMap { Decision(rawValue: $0) }
        decidedBy = value["decidedBy"]?.string
        decidedAt = value["decidedAt"]?.string.flatMap { Timestamp(rfc3339: $0) }
        via = value["via"]?.string.flatMap { Via(rawValue: $0) }
    }
}
