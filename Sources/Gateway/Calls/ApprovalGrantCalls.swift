package import Basics
package import JSONBytes

/// A permission that an automation has to run a command without asking, made by a decision "allow always".
package struct ApprovalGrant: Sendable {
    /// The complete id, never cut.
    package let id: String
    /// The approval whose decision made it.
    package let approval: String?
    package let agent: String?
    package let job: String?
    package let jobName: String?
    package let command: String
    package let cwd: String?
    package let createdAt: Timestamp?
    /// Nil for one without an end.
    package let expiresAt: Timestamp?
    package let revokedAt: Timestamp?
    package let revokedBy: String?
    package let lastUsedAt: Timestamp?
    package let uses: Int64

    init?(_ value: JSONValue) {
        guard let id = value["grantId"]?.visibleIdentifier, let command = value["command"]?.string else { return nil }
        self.id = id
        self.command = command
        approval = value["mintedByApprovalId"]?.identifier
        agent = value["agentId"]?.identifier
        job = value["cronJobId"]?.identifier
        jobName = value["cronJobName"]?.string
        cwd = value["cwd"]?.string
        createdAt = GatewayTime.read(value["createdAtMs"])
        expiresAt = GatewayTime.read(value["expiresAtMs"])
        revokedAt = GatewayTime.read(value["revokedAtMs"])
        revokedBy = value["revokedBy"]?.string
        lastUsedAt = GatewayTime.read(value["lastUsedAtMs"])
        uses = max(value["useCount"]?.int ?? 0, 0)
    }
}

package struct ApprovalGrantsList: GatewayCall {
    package static let method = "exec.approval.grants.list"
    package var timeoutMs: Int64 { WaitingCalls.timeoutMs }
    package init() {}
    package func writeParams(to writer: inout JSONWriter) {}

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> [ApprovalGrant] {
        guard let rows = payload["grants"], rows.kind == .array else {
            throw GatewayShapeError(method: method, missing: "grants")
        }
        return rows.elements.prefix(GatewayLimits.approvalGrants).compactMap { ApprovalGrant($0) }
    }
}

/// Takes a permission back.
package struct ApprovalGrantsRevoke: GatewayCall {
    package static let method = "exec.approval.grants.revoke"
    package var timeoutMs: Int64 { WaitingCalls.timeoutMs }
    package var id: String

    package init(id: String) { self.id = id }

    package func writeParams(to writer: inout JSONWriter) { writer.member("grantId", id) }

    /// False if there is no such permission.
    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Bool {
        guard let outcome = payload["outcome"]?.string else {
            throw GatewayShapeError(method: method, missing: "outcome")
        }
        return outcome != "not-found"
    }
}

/// One page of the approvals that ended in the last thirty days, wherever they were decided; newest first.
package struct ApprovalHistory: GatewayCall {
    package struct Page: Sendable {
        package let snapshots: [ApprovalSnapshot]
        package let next: String?
    }

    package static let method = "approval.history"
    /// The largest page that the gateway gives.
    private static let longestPage = 100
    /// In characters.
    private static let longestCursor = 512
    package var timeoutMs: Int64 { WaitingCalls.timeoutMs }
    package var cursor: String?
    package var limit: Int
    package var kind: ApprovalEvent.Kind?

    package init(cursor: String? = nil, limit: Int, kind: ApprovalEvent.Kind? = nil) {
        self.cursor = cursor
        self.limit = limit
        self.kind = kind
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("cursor", cursor)
        writer.member("limit", min(limit, Self.longestPage))
        writer.member("kind", kind?.rawValue)
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Page {
        guard let rows = payload["items"], rows.kind == .array else {
            throw GatewayShapeError(method: method, missing: "items")
        }
        let cursor = payload["nextCursor"]?.string
        return Page(
            snapshots: rows.elements.prefix(longestPage).map { ApprovalSnapshot($0) },
            next: cursor.flatMap { $0.isEmpty || $0.utf16.count > longestCursor ? nil : $0 }
        )
    }
}
