import Basics

/// How approvals ended, and the permissions that decisions made. Real gateways keep both on disk for thirty days; the demo in memory.
final class DemoApprovalMemory {
    private struct Grant {
        let id: String
        let approval: String
        let command: DemoApprovals.Command
        let createdAt: Int64
        let expiresAt: Int64?
        var revokedAt: Int64?
        var revokedBy: String?
    }

    private static let limit = 1_000
    private static let dayMs: Int64 = 86_400_000

    private let release: DemoRelease
    private let clock: DemoClock
    private let primitives: DemoPrimitives
    /// The newest first, with their kind of end.
    private var ended: [WireValue] = []
    private var snapshots: [String: WireValue] = [:]
    private var grants: [Grant] = []

    init(_ release: DemoRelease, _ clock: DemoClock, _ primitives: DemoPrimitives) {
        self.release = release
        self.clock = clock
        self.primitives = primitives
    }

    // MARK: - Ends

    /// - Parameters:
    ///   - decision: nil if the time ran out.
    ///   - device: the client that decided.
    ///   - days: how long "allow always" holds.
    func note(
        _ record: DemoApprovals.Record,
        _ decision: DemoApprovals.Decision?,
        by device: String? = nil,
        days: Int64? = nil
    ) {
        let command = record.command
        let offered = DemoApprovalRequest.decisions(command, release).map(\.rawValue)
        let status = decision.map { $0 == .deny ? "denied" : "allowed" } ?? "expired"
        let snapshot: WireValue = [
            "id": record.id, "urlPath": "/approve/\(record.id)", "createdAtMs": record.createdAt,
            "expiresAtMs": record.expiresAt,
            "presentation": wireObject([
                "kind": "exec", "commandText": command.text, "host": "gateway", "agentId": command.session.agentID,
                "allowedDecisions": offered,
            ]),
            "status": status, "decision": decision?.rawValue, "reason": decision == nil ? "timeout" : "user",
            "resolvedAtMs": clock.wallMs,
            "source": wireObject(["agentId": command.session.agentID, "sessionKey": command.session.key]),
            "resolver": decision == nil ? nil : wireObject(["kind": "device", "id": device ?? "demo"]),
        ]
        ended.insert(snapshot, at: 0)
        snapshots[record.id] = snapshot
        if ended.count > Self.limit { ended.removeLast() }
        guard decision == .allowAlways else { return }
        grants.insert(
            Grant(
                id: primitives.uuid(),
                approval: record.id,
                command: command,
                createdAt: clock.wallMs,
                expiresAt: days.map { clock.wallMs + $0 * Self.dayMs }
            ),
            at: 0
        )
    }

    func snapshot(of id: String) -> WireValue? { snapshots[id] }

    /// The place of a page is the number of its first row.
    func history(_ request: DemoRequest) -> DemoReply {
        let start = request.string("cursor").map { Int($0) ?? -1 } ?? 0
        guard start >= 0 else { return .invalid("invalid approval.history cursor") }
        let kind = request.string("kind") ?? "exec"
        let rows = kind == "exec" ? ended : []
        let page = Array(rows.dropFirst(start).prefix(Int(clamping: request.int("limit") ?? 50)))
        let next = start + page.count
        return .ok(["items": page, "nextCursor": next < rows.count ? "\(next)" : nil])
    }

    // MARK: - Permissions

    /// Whether a permission for the command holds.
    func allows(_ command: String) -> Bool {
        grants.contains { grant in
            grant.command.text == command && grant.revokedAt == nil && grant.expiresAt.map { $0 > clock.wallMs } ?? true
        }
    }

    func list() -> DemoReply {
        .ok(["grants": grants.map(row)])
    }

    private func row(_ grant: Grant) -> WireValue {
        func orNull(_ value: (some WireConvertible)?) -> WireValue { value?.wire ?? .null }
        return [
            "grantId": grant.id, "mintedByApprovalId": grant.approval, "agentId": grant.command.session.agentID,
            "cronJobId": "demo", "cronJobName": WireValue.null, "command": grant.command.text,
            "cwd": grant.command.workspace, "createdAtMs": grant.createdAt, "expiresAtMs": orNull(grant.expiresAt),
            "revokedAtMs": orNull(grant.revokedAt), "revokedBy": orNull(grant.revokedBy),
            "lastUsedAtMs": WireValue.null, "useCount": 0,
        ]
    }

    func revoke(_ request: DemoRequest) -> DemoReply {
        guard let place = grants.firstIndex(where: { $0.id == request.string("grantId") }) else {
            return .ok(["outcome": "not-found"])
        }
        guard grants[place].revokedAt == nil else { return .ok(["outcome": "already-revoked"]) }
        grants[place].revokedAt = clock.wallMs
        grants[place].revokedBy = request.connection.client.displayName ?? request.connection.client.id
        return .ok(["outcome": "revoked"])
    }
}
