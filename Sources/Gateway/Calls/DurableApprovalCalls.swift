package import Basics
package import JSONBytes

/// An approval as the newest gateways keep it, even after its end. Written from documentation alone.
package struct ApprovalSnapshot: Sendable {
    package enum Status: String, Sendable {
        case pending, allowed, denied, expired, cancelled
    }

    package let status: Status?
    /// The decision as sent.
    package let decision: String?
    package let endedAt: Timestamp?
    /// The device, channel or part of the gateway that decided, as the gateway names it.
    package let decider: String?
    /// The presentation for the person who decides.
    let presentation: JSONValue?
    let value: JSONValue

    init(_ answer: JSONValue) {
        let snapshot = answer["approval"] ?? answer
        value = snapshot
        presentation = snapshot["presentation"]
        status = snapshot["status"]?.string.flatMap(Status.init)
        decision = snapshot["decision"]?.string
        endedAt = GatewayTime.read(snapshot["resolvedAtMs"])
        let resolver = snapshot["resolver"]
        decider = resolver?["kind"]?.identifier.map { kind in
            resolver?["id"]?.identifier.map { "\(kind) \($0)" } ?? kind
        }
    }
}

/// Reads one approval in any state.
package struct ApprovalGet: GatewayCall {
    package static let method = "approval.get"
    package var timeoutMs: Int64 { WaitingCalls.timeoutMs }
    package var id: String

    package init(id: String) { self.id = id }

    package func writeParams(to writer: inout JSONWriter) { writer.member("id", id) }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> ApprovalSnapshot {
        ApprovalSnapshot(payload)
    }
}

/// Decides an approval of any kind.
package struct ApprovalResolve: GatewayCall {
    package static let method = "approval.resolve"
    package var timeoutMs: Int64 { WaitingCalls.timeoutMs }
    package var id: String
    package var kind: ApprovalEvent.Kind
    package var decision: String
    /// How long "allow always" holds; nil for ever. Gateways before 2026.9 refuse this member.
    package var grantDays: Int?

    package init(id: String, kind: ApprovalEvent.Kind, decision: String, grantDays: Int? = nil) {
        self.id = id
        self.kind = kind
        self.decision = decision
        self.grantDays = grantDays
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("kind", kind.rawValue)
        writer.member("decision", decision)
        writer.member("grantExpiresInDays", grantDays)
    }

    /// Nil if the decision was accepted; otherwise the earlier decision.
    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> ApprovalSnapshot? {
        payload["applied"]?.bool == false ? ApprovalSnapshot(payload) : nil
    }
}
