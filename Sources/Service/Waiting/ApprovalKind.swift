package import Basics
package import EventLoops
package import Gateway
import JSONBytes
package import Ledger
package import Runs
package import Store
import TLS

/// The gateway's approvals: pending ones, and our clients' decisions.
package typealias ApprovalService = WaitingService<ApprovalKind>

package struct ApprovalKind: WaitingKind {
    package static let name = "approval"
    package static let scope = Scopes.approvals
    package static let isCancelledByStop = true

    private unowned let gateway: any GatewayCalls
    private let runs: RunService
    /// How long "allow always" holds; nil for ever.
    private var grantDays: Int?

    init(gateway: any GatewayCalls, runs: RunService) {
        self.gateway = gateway
        self.runs = runs
    }

    /// The same kind, whose "allow always" holds for so many days; nil for ever.
    func granting(days: Int?) -> ApprovalKind {
        var kind = self
        kind.grantDays = days
        return kind
    }

    // MARK: What the gateway says

    package func lists(of profile: GatewayProfile) -> [WaitingList<Approval>] {
        let commands = WaitingList<Approval>(ExecApprovalList()) { $0.kind == .exec }
        let plugins = WaitingList<Approval>(PluginApprovalList(), isMain: false) { $0.kind == .plugin }
        let changes = WaitingList<Approval>(SystemAgentApprovalList(), isMain: false) { $0.kind == .systemAgent }
        return (profile.listsCommandApprovals ? [commands] : []) + (profile.listsPluginApprovals ? [plugins] : [])
            + (profile.listsSystemAgentApprovals ? [changes] : [])
    }

    package func report(in event: GatewayEvent) -> ApprovalEvent? {
        if case .approval(let event) = event.payload { event } else { nil }
    }

    package func item(_ event: ApprovalEvent, now: Timestamp) -> Approval? {
        var approval = Approval(
            event,
            session: event.sessionKey.map { runs.canonical($0).text },
            commandSHA256: event.request.map { Hex.encode(Digest.sha256($0.fingerprint)) },
            now: now
        )
        let run = runs.reading { $0.run(asking: event) } ?? event.request?.runId.map { runs.resolved($0) }
        approval?.runID = run.map { Printable.escaped($0).text }
        return approval
    }

    /// A listed approval also marks its waiting run.
    package func missed(_ row: ApprovalEvent, on loop: isolated EventLoop) { runs.listed(row, on: loop) }

    package func recall(
        _ id: String,
        on loop: isolated EventLoop,
        completion: @escaping (ApprovalRegister.End?) -> Void
    ) {
        guard gateway.profile?.tellsEndedApprovals == true else { return completion(nil) }
        gateway.call(ApprovalGet(id: id), on: loop) { result in
            completion((try? result.get()).flatMap { ApprovalRegister.End($0, now: gateway.gatewayTime(on: loop)) })
        }
    }

    /// Neither an event nor a row of a list says how far the action reaches.
    package func isPart(_ report: ApprovalEvent) -> Bool {
        gateway.profile?.tellsReachOfApprovals == true && !report.isResolved
    }

    package func complete(
        _ id: String,
        _ report: ApprovalEvent,
        on loop: isolated EventLoop,
        completion: @escaping (ApprovalEvent?) -> Void
    ) {
        gateway.call(ApprovalGet(id: id), on: loop) { completion((try? $0.get()).flatMap { report.whole($0) }) }
    }

    // MARK: Deciding

    /// Whether the gateway lists the call for this kind of approval, or is not known yet.
    private func resolves(_ kind: Approval.Kind) -> Bool {
        guard let profile = gateway.profile else { return true }
        return switch kind {
        case .exec: profile.resolvesCommandApprovals
        case .plugin: profile.resolvesPluginApprovals
        case .systemAgent: false
        }
    }

    var takesGrantDays: Bool? { gateway.isOnline ? gateway.profile?.takesGrantDays : nil }

    package func takesChoice(of approval: Approval) -> Bool {
        resolves(approval.kind) || gateway.profile?.resolvesAnyApproval ?? true
    }

    package func send(
        _ decision: Approval.Decision,
        of approval: Approval,
        on loop: isolated EventLoop,
        completion: @escaping (Result<ApprovalRegister.Answer, CallFailure>) -> Void
    ) {
        let (id, text, days) = (approval.id, decision.rawValue, grantDays)
        switch approval.kind {
        case .exec where days == nil && resolves(.exec):
            gateway.call(ExecApprovalResolve(id: id, decision: text), on: loop) { completion($0.map { .accepted }) }
        case .plugin where days == nil && resolves(.plugin):
            gateway.call(PluginApprovalResolve(id: id, decision: text), on: loop) { completion($0.map { .accepted }) }
        case .exec, .plugin, .systemAgent:
            let call = ApprovalResolve(id: id, kind: approval.kind, decision: text, grantDays: days)
            gateway.call(call, on: loop) { result in
                let now = gateway.gatewayTime(on: loop)
                completion(
                    result.map { earlier in
                        guard let earlier else { return .accepted }
                        return ApprovalRegister.End(earlier, now: now).map { .ended($0) } ?? .refused(.resolved)
                    }
                )
            }
        }
    }

    package func refusal(_ error: GatewayError) -> WaitingRefusal? { error.approvalRefusal }

    // MARK: Runs and rows

    package func ended(_ approval: Approval, on loop: isolated EventLoop) {
        let decision: ApprovalEvent.Decision =
            switch approval.state {
            case .allowed: .allow
            case .denied: .deny
            case .pending, .expired, .cancelled, .unknown: .unknown
            }
        runs.approvalEnded(approval.id, decision, on: loop)
    }

    package func row(
        of approval: Approval,
        now: Timestamp
    ) -> @Sendable (inout StoreTransaction) throws -> Void {
        var writer = JSONWriter(capacity: 1024)
        approval.write(to: &writer)
        let row = StoredApproval(
            id: approval.id,
            kind: approval.kind.rawValue,
            session: approval.session,
            createdAt: approval.createdAt,
            endedAt: approval.isPending ? nil : now,
            body: writer.bytes
        )
        return { try $0.approvals.save(row) }
    }

    package static let rows:
        @Sendable (StoreTables) throws -> (waiting: [Approval], ended: [ApprovalRegister.Identity]) = {
            let waiting = try $0.approvals.waiting(limit: ApprovalLimits.pending)
            let ended = try $0.approvals.lastEnded(limit: ApprovalLimits.past) { Approval(kept: $0.body)?.identity }
            return (waiting.compactMap { Approval(kept: $0.body) }, ended.reversed().compactMap(\.self))
        }
}

extension ApprovalService {
    /// Whether "allow always" may have an end at the connected gateway; nil while none is.
    package var takesGrantDays: Bool? { kind.takesGrantDays }

    /// - Parameters:
    ///   - question: the hash of the question that was shown; nil if the sender gave none.
    ///   - days: how long "allow always" holds; nil for ever.
    package func decide(
        _ id: String,
        _ decision: Approval.Decision,
        of question: String? = nil,
        days: Int? = nil,
        by sender: String,
        on loop: isolated EventLoop,
        completion: @escaping (Outcome) -> Void
    ) {
        if let question, let known = item(id, on: loop), known.commandSHA256 != question {
            return completion(.changed(known))
        }
        decide(id, by: sender, as: kind.granting(days: days), on: loop, { _ in decision }, completion: completion)
    }
}
