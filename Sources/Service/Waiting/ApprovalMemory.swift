import Basics
package import EventLoops
import Gateway
import JSONBytes
import Ledger
package import Runs
import TLS

/// The gateway's own memory of approvals: how they ended in the last thirty days, wherever that was decided, and the permissions that
/// decisions made. The gateway is asked each time, because others decide too.
package final class ApprovalMemory {
    package struct Page: Sendable {
        /// The approvals, newest first. Those of other sessions are left out, so a page may be short, or empty.
        package let approvals: [Approval]
        /// The place of the next page.
        package let next: String?
    }

    private unowned let gateway: any GatewayCalls
    private let runs: RunService

    init(gateway: any GatewayCalls, runs: RunService) {
        self.gateway = gateway
        self.runs = runs
    }

    /// - Parameter sessions: nil in it stands for all of them.
    package func ended(
        of sessions: [String?],
        kind: Approval.Kind?,
        before cursor: String?,
        limit: Int,
        on loop: isolated EventLoop
    ) async throws(GatewayFault) -> Page {
        let call = ApprovalHistory(cursor: cursor, limit: limit, kind: kind)
        let page = try await gateway.control(call, needing: .approvalsHistory, on: loop)
        let now = gateway.gatewayTime(on: loop)
        let all = page.snapshots.compactMap { approval($0, now: now) }
        return Page(approvals: all.filter { sessions.admit($0.session) }, next: page.next)
    }

    /// Nil if it waits, or cannot be read.
    private func approval(_ snapshot: ApprovalSnapshot, now: Timestamp) -> Approval? {
        guard let event = ApprovalEvent(snapshot), let end = ApprovalRegister.End(snapshot, now: now) else {
            return nil
        }
        var approval = Approval(
            event,
            session: event.sessionKey.map { runs.canonical($0).text },
            commandSHA256: event.request.map { Hex.encode(Digest.sha256($0.fingerprint)) },
            now: now
        )
        approval?.end(end)
        return approval
    }

    // MARK: Permissions

    package func grants(on loop: isolated EventLoop) async throws(GatewayFault) -> [StandingGrant] {
        try await gateway.control(ApprovalGrantsList(), needing: .approvalsGrants, on: loop).map { StandingGrant($0) }
    }

    /// - Returns: false if there is no such permission.
    package func revoke(_ id: String, on loop: isolated EventLoop) async throws(GatewayFault) -> Bool {
        try await gateway.control(ApprovalGrantsRevoke(id: id), needing: .approvalsGrants, on: loop)
    }
}
