import JSONBytes

/// The commands that wait for an operator's decision, and the calls about them. They live in memory: a process that
/// ends forgets them without an event.
final class DemoApprovals {
    enum Decision: String, CaseIterable {
        case allowOnce = "allow-once"
        case allowAlways = "allow-always"
        case deny
    }

    /// A command waiting to run, and its run.
    struct Command {
        let text: String
        /// The policy of its session: `always`, or `on-miss` for commands that are not on the host's list.
        let ask: String
        let lifeMs: Int?
        let workspace: String
        let session: DemoSession
        let runID: String
        let callID: String
        /// The device that sent the message.
        let device: String?
    }

    /// The decision; nil if the time ran out.
    typealias Decided = (Record, Decision?) -> Void

    struct Record {
        let id: String
        let command: Command
        let request: WireValue
        let createdAt: Int64
        let expiresAt: Int64
        fileprivate var decision: Decision?
        fileprivate let decided: Decided
    }

    private static let scope = "operator.approvals"
    /// The time for which later releases remember a decided approval.
    private static let memoryMs = 15_000
    /// The gateway's own apps, which ask their users.
    private static let apps: Set<String> = [
        "openclaw-control-ui", "openclaw-macos", "openclaw-ios", "openclaw-android",
    ]

    private let release: DemoRelease
    private let clock: DemoClock
    private let primitives: DemoPrimitives
    private let connections: DemoConnections
    /// In the order of the requests: pending ones, and in later releases recently decided ones.
    private var records: [Record] = []
    /// Commands that an operator has allowed permanently.
    private var allowed: Set<String> = []
    private let memory: DemoApprovalMemory

    init(_ release: DemoRelease, _ clock: DemoClock, _ primitives: DemoPrimitives, _ connections: DemoConnections) {
        self.release = release
        self.clock = clock
        self.primitives = primitives
        self.connections = connections
        memory = DemoApprovalMemory(release, clock, primitives)
    }

    // MARK: - Requests

    func isAllowed(_ command: String) -> Bool {
        release.remembersApprovals ? memory.allows(command) : allowed.contains(command)
    }

    /// Asks all clients that may decide. `decided` is called once, and never during this call.
    func ask(_ command: Command, decided: @escaping Decided) -> Record {
        let record = Record(
            id: primitives.uuid(),
            command: command,
            request: DemoApprovalRequest(command, release).wire,
            createdAt: clock.wallMs,
            expiresAt: clock.wallMs + Int64(command.lifeMs ?? release.approvalLifeMs),
            decided: decided
        )
        records.append(record)
        tell("exec.approval.requested", row(of: record), about: record)
        // The newest releases do not wait if no client can answer.
        let isHopeless = release.gatesApprovalsByCap && connections.all.allSatisfy { !reaches($0, record) }
        clock.after(ms: isHopeless ? 0 : Int(record.expiresAt - record.createdAt)) { [weak self] in
            self?.expire(record.id)
        }
        return record
    }

    /// Expires an approval without an event: clients watch the time themselves.
    private func expire(_ id: String) {
        guard let place = records.firstIndex(where: { $0.id == id && $0.decision == nil }) else { return }
        let record = records.remove(at: place)
        memory.note(record, nil)
        record.decided(record, nil)
    }

    // MARK: - Calls

    func list(_ request: DemoRequest) -> DemoReply {
        .ok(.array(records.filter { $0.decision == nil && sees(request.connection, $0) }.map(row)))
    }

    func get(_ request: DemoRequest) -> DemoReply {
        switch find(request) {
        case .failure(let refused): return refused.reply
        case .success(let place):
            let record = records[place]
            guard record.decision == nil else { return Refused.unknown(release).reply }
            return .ok([
                "id": record.id, "commandText": record.command.text, "commandPreview": WireValue.null,
                "allowedDecisions": DemoApprovalRequest.decisions(record.command, release).map(\.rawValue),
                "host": "gateway", "nodeId": WireValue.null, "agentId": record.command.session.agentID,
                "expiresAtMs": record.expiresAt,
            ])
        }
    }

    func resolve(_ request: DemoRequest) -> DemoReply {
        guard let decision = request.string("decision").flatMap(Decision.init(rawValue:)) else {
            return .invalid("invalid decision")
        }
        switch find(request) {
        case .failure(let refused): return refused.reply
        case .success(let place): return resolve(place, decision, by: request.connection)
        }
    }

    /// `approval.resolve`: any kind, and how long the decision holds. It answers with the end, whoever made it.
    func resolveAny(_ request: DemoRequest) -> DemoReply {
        guard let decision = request.string("decision").flatMap(Decision.init(rawValue:)) else {
            return .invalid("invalid decision")
        }
        let id = request.string("id") ?? ""
        if let snapshot = memory.snapshot(of: id) { return .ok(["applied": false, "approval": snapshot]) }
        guard let place = records.firstIndex(where: { $0.id == id && sees(request.connection, $0) }) else {
            return Refused.unknown(release).reply
        }
        guard request.string("kind") == "exec" else { return .invalid("approval kind does not match") }
        let reply = resolve(place, decision, by: request.connection, days: request.int("grantExpiresInDays"))
        guard case .ok = reply, let snapshot = memory.snapshot(of: id) else { return reply }
        return .ok(["applied": true, "approval": snapshot])
    }

    func history(_ request: DemoRequest) -> DemoReply { memory.history(request) }
    func grants(_ request: DemoRequest) -> DemoReply { memory.list() }
    func revoke(_ request: DemoRequest) -> DemoReply { memory.revoke(request) }

    private func resolve(
        _ place: Int,
        _ decision: Decision,
        by connection: DemoConnection,
        days: Int64? = nil
    ) -> DemoReply {
        let record = records[place]
        if let earlier = record.decision {
            return earlier == decision ? .ok(["ok": true]) : Refused.alreadyResolved.reply
        }
        let offered = DemoApprovalRequest.decisions(record.command, release)
        // March offers no choice, and accepts every decision.
        guard release == .march || offered.contains(decision) else { return Refused.notOffered(release).reply }
        if decision == .allowAlways { allowed.insert(record.command.text) }
        memory.note(record, decision, by: connection.deviceID, days: days)
        if release < .june {
            records.remove(at: place)
        } else {
            records[place].decision = decision
            clock.after(ms: Self.memoryMs) { [weak self] in self?.records.removeAll { $0.id == record.id } }
        }
        tell(
            "exec.approval.resolved",
            [
                "id": record.id, "decision": decision.rawValue,
                "resolvedBy": connection.client.displayName ?? connection.client.id, "ts": clock.wallMs,
                "request": record.request,
            ],
            about: record
        )
        // The answer to the call comes before the command starts.
        clock.after(ms: 0) { record.decided(record, decision) }
        return .ok(["ok": true])
    }

    /// Finds an approval by its id; later releases also accept the beginning of an id. An approval that the client may
    /// not see counts as missing.
    private func find(_ request: DemoRequest) -> Result<Int, Refused> {
        let id = request.string("id") ?? ""
        let visible = records.indices.filter { sees(request.connection, records[$0]) }
        if let place = visible.first(where: { records[$0].id == id }) { return .success(place) }
        guard release != .march else { return .failure(.unknown(release)) }
        let found = visible.filter { records[$0].id.utf8.starts(with: id.utf8) && records[$0].decision == nil }
        guard let place = found.first else { return .failure(.unknown(release)) }
        return found.count == 1 ? .success(place) : .failure(.ambiguous)
    }

    // MARK: - Clients

    private func row(of record: Record) -> WireValue {
        [
            "id": record.id, "request": record.request, "createdAtMs": record.createdAt,
            "expiresAtMs": record.expiresAt,
        ]
    }

    /// Sends an event about an approval. Later releases choose the clients that get it, and do not number it.
    private func tell(_ event: String, _ payload: WireValue, about record: Record) {
        guard release >= .june else { return connections.broadcast(event, payload, scope: Self.scope) }
        connections.send(event, payload, to: connections.all.filter { reaches($0, record) })
    }

    /// Whether the client may see the approval. In later releases an operator without the admin scope sees only
    /// approvals of messages from its own device.
    private func sees(_ connection: DemoConnection, _ record: Record) -> Bool {
        guard connection.may(Self.scope) else { return false }
        if release < .june || connection.scopes.contains("operator.admin") { return true }
        return record.command.device != nil && record.command.device == connection.deviceID
    }

    /// Whether the client gets approval events. The newest releases send them only to clients that declare that they
    /// can ask somebody.
    private func reaches(_ connection: DemoConnection, _ record: Record) -> Bool {
        guard connection.isOpen, sees(connection, record) else { return false }
        guard release.gatesApprovalsByCap else { return true }
        return Self.apps.contains(connection.client.id)
            || !connection.caps.isDisjoint(with: ["approvals", "exec-approvals"])
    }

    // MARK: - Refusals

    /// A refused call about an approval, in the gateway's words.
    private struct Refused: Error {
        let message: String
        var details: WireValue?

        var reply: DemoReply { .failed(DemoError("INVALID_REQUEST", message, details: details)) }

        static func unknown(_ release: DemoRelease) -> Refused {
            guard release >= .june else {
                return Refused(message: release == .march ? "unknown approval id" : "unknown or expired approval id")
            }
            return Refused(
                message: "unknown or expired approval id",
                details: [
                    "reason": "APPROVAL_NOT_FOUND",
                    "remediation": "Re-request the action; pending approvals are cleared after expiry or restart.",
                ]
            )
        }
        static let ambiguous = Refused(message: "ambiguous approval id prefix; use the full id")
        static let alreadyResolved = Refused(
            message: "approval already resolved",
            details: ["reason": "APPROVAL_ALREADY_RESOLVED"]
        )
        static func notOffered(_ release: DemoRelease) -> Refused {
            let cause =
                release >= .autumn ? "for this command" : "because the effective policy requires approval every time"
            return Refused(
                message: "allow-always is unavailable \(cause)",
                details: release >= .june ? ["reason": "APPROVAL_ALLOW_ALWAYS_UNAVAILABLE"] : nil
            )
        }
    }
}
