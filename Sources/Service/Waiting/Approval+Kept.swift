import Basics
import JSONBytes
import Runs
import Store

extension Approval {
    /// An approval as an earlier process wrote it; nil if incomplete.
    init?(kept json: [UInt8]) {
        guard let value = try? JSONDocument(parsing: json).root, let id = value["id"]?.string,
            let kind = value["kind"]?.string.flatMap({ Kind(rawValue: $0) }),
            let state = value["state"]?.string.flatMap({ State(rawValue: $0) }), let title = value["title"]?.string,
            let createdAt = value["createdAt"]?.string.flatMap({ Timestamp(rfc3339: $0) }),
            let expiresAt = value["expiresAt"]?.string.flatMap({ Timestamp(rfc3339: $0) })
        else { return nil }
        let decisions = value["decisions"]?.elements.compactMap { $0.string.flatMap { Decision(rawValue: $0) } }
        self.init(
            id: id,
            kind: kind,
            title: title,
            decisions: decisions ?? [],
            createdAt: createdAt,
            expiresAt: expiresAt
        )
        self.state = state
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
        decision = value["decision"]?.string.flatMap { Decision(rawValue: $0) }
        decidedBy = value["decidedBy"]?.string
        decidedAt = value["decidedAt"]?.string.flatMap { Timestamp(rfc3339: $0) }
        via = value["via"]?.string.flatMap { Via(rawValue: $0) }
    }
}

extension StoredApproval {
    /// - Parameter now: the time on our own clock, which decides how long the row is kept.
    init(_ approval: Approval, now: Timestamp) {
        var writer = JSONWriter(capacity: 1024)
        approval.write(to: &writer)
        self.init(
            id: approval.id,
            kind: approval.kind.rawValue,
            session: approval.session,
            createdAt: approval.createdAt,
            endedAt: approval.isPending ? nil : now,
            body: writer.bytes
        )
    }
}
