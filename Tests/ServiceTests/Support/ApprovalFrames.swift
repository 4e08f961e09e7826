import Basics
import EventLoops
import JSONBytes
import Runs
import Service

/// Approvals as gateways send them.
enum Asked {
    static let listing = [
        "sessions.subscribe", "exec.approval.list", "exec.approval.resolve", "plugin.approval.resolve",
    ]
    static let march = ["exec.approval.resolve"]

    static func exec(
        _ id: String,
        _ command: String = "date",
        session: String? = Frame.main,
        at created: Timestamp = ManualClock.start,
        lifeMs: Int64 = 1_800_000,
        more: String = ""
    ) -> String {
        let key = session.map { #","sessionKey":"\#($0)""# } ?? ""
        return """
            {"id":"\(id)","request":{"command":\(quoted(command)),"host":"gateway","agentId":"main"\(key)\(more)},\
            "createdAtMs":\(created.milliseconds),"expiresAtMs":\(created.milliseconds + lifeMs)}
            """
    }

    static func resolved(_ id: String, _ decision: String, by name: String = "phone", at: Timestamp = ManualClock.start)
        -> String
    {
        #"{"id":"\#(id)","decision":"\#(decision)","resolvedBy":"\#(name)","ts":\#(at.milliseconds)}"#
    }
}

extension ServiceBench {
    func asks(_ payload: String, on loop: isolated EventLoop) async throws {
        try await event("exec.approval.requested", payload, on: loop)
    }

    func ends(_ payload: String, on loop: isolated EventLoop) async throws {
        try await event("exec.approval.resolved", payload, on: loop)
    }

    /// The states in the events of an approval, in order.
    func states(of id: String) -> [String?] {
        data("approval").filter { $0["approval"]?["id"]?.string == id }.map { $0["approval"]?["state"]?.string }
    }

    /// The states of the steps that waited for an approval, in order.
    func steps(waitingFor id: String) -> [String?] {
        data("run.step").filter { $0["step"]?["approvalId"]?.string == id }.map { $0["step"]?["state"]?.string }
    }

    /// Decides and waits until no work is pending.
    func decide(_ id: String, _ decision: Approval.Decision, on loop: isolated EventLoop) async throws -> String {
        var answer = "none"
        services.approvals.decide(id, decision, by: "owner", on: loop) { answer = Self.word($0) }
        try await settle(on: loop)
        return answer
    }

    static func word(_ outcome: ApprovalService.Outcome) -> String {
        switch outcome {
        case .decided(let approval): "decided \(approval.state.rawValue)"
        case .ended(let approval): "ended \(approval.state.rawValue)"
        case .tooLate: "too late"
        case .notFound: "not found"
        case .changed: "changed"
        case .notOffered(let approval): "not offered \(approval.decisions.map(\.rawValue))"
        case .unsupported: "unsupported"
        case .notReady: "not ready"
        case .failed(let fault): "failed \(fault)"
        }
    }
}
