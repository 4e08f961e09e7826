package import JSONBytes

/// Lists commands that wait for a decision. Releases before spring 2026 lack this call.
package struct ExecApprovalList: GatewayCall {
    package static let method = "exec.approval.list"
    package var timeoutMs: Int64 { WaitingCalls.timeoutMs }
    package init() {}
    package func writeParams(to writer: inout JSONWriter) {}

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> [ApprovalEvent] {
        try WaitingCalls.rows(of: payload, "approvals", method: method).map { ApprovalEvent($0, kind: .exec) }
    }
}

/// Lists plugin actions that wait for a decision.
package struct PluginApprovalList: GatewayCall {
    package static let method = "plugin.approval.list"
    package var timeoutMs: Int64 { WaitingCalls.timeoutMs }
    package init() {}
    package func writeParams(to writer: inout JSONWriter) {}

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> [ApprovalEvent] {
        try WaitingCalls.rows(of: payload, "approvals", method: method).map { ApprovalEvent($0, kind: .plugin) }
    }
}

/// Lists changes of the gateway itself that wait for a decision. Written from documentation alone.
package struct SystemAgentApprovalList: GatewayCall {
    package static let method = "openclaw.approval.list"
    package var timeoutMs: Int64 { WaitingCalls.timeoutMs }
    package init() {}
    package func writeParams(to writer: inout JSONWriter) {}

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> [ApprovalEvent] {
        try WaitingCalls.rows(of: payload, "approvals", method: method).map { ApprovalEvent($0, kind: .systemAgent) }
    }
}

package struct ExecApprovalResolve: GatewayCall {
    package static let method = "exec.approval.resolve"
    package var timeoutMs: Int64 { WaitingCalls.timeoutMs }
    package var id: String
    package var decision: String

    package init(id: String, decision: String) {
        self.id = id
        self.decision = decision
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("decision", decision)
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) {}
}

package struct PluginApprovalResolve: GatewayCall {
    package static let method = "plugin.approval.resolve"
    package var timeoutMs: Int64 { WaitingCalls.timeoutMs }
    package var id: String
    package var decision: String

    package init(id: String, decision: String) {
        self.id = id
        self.decision = decision
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("decision", decision)
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) {}
}

/// The calls about approvals and questions have this in common.
enum WaitingCalls {
    /// Gateways answer from memory within milliseconds, and a person waits for the result.
    static let timeoutMs: Int64 = 10_000

    /// The rows of a list as an array; in some releases an object wraps it.
    static func rows(of payload: JSONValue, _ name: String, method: String) throws(GatewayShapeError) -> JSONElements {
        guard let list = payload.kind == .array ? payload : payload[name], list.kind == .array else {
            throw GatewayShapeError(method: method, missing: name)
        }
        guard list.count <= GatewayLimits.waitingRows else {
            throw GatewayShapeError(method: method, missing: "a list of no more than \(GatewayLimits.waitingRows)")
        }
        return list.elements
    }
}

/// The reason why the gateway refused a decision about an approval, or the answer to a question.
package enum WaitingRefusal: Sendable, Equatable {
    /// The approval or question does not exist: it expired, or somebody decided.
    case gone
    /// Somebody decided otherwise.
    case resolved
    /// The policy asks about this command each time.
    case alwaysUnavailable
    /// The run that asked was stopped.
    case runAborted
}

extension GatewayError {
    /// Newer releases give a reason code, older ones only a text. Nil for every other error.
    package var approvalRefusal: WaitingRefusal? {
        switch detailsReason ?? detailsCode {
        case "APPROVAL_NOT_FOUND": return .gone
        case "APPROVAL_ALREADY_RESOLVED": return .resolved
        case "APPROVAL_ALLOW_ALWAYS_UNAVAILABLE": return .alwaysUnavailable
        case "EXEC_APPROVAL_RUN_ABORTED": return .runAborted
        default: break
        }
        if message.contains("unknown approval id") || message.contains("unknown or expired approval id")
            || message.contains("approval expired or not found")
        {
            return .gone
        }
        if message.contains("approval already resolved") { return .resolved }
        if message.contains("allow-always is unavailable") { return .alwaysUnavailable }
        return nil
    }
}
