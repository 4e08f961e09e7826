package import JSONBytes

/// Needs no scope, so it also works where every other call is refused.
package struct Health: GatewayCall {
    package static let method = "health"
    package var probe: Bool?

    package init(probe: Bool? = nil) {
        self.probe = probe
    }

    package func writeParams(to writer: inout JSONWriter) { writer.member("probe", probe) }
    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> JSONValue { payload }
}

package struct ModelsList: GatewayCall {
    package struct Model: Sendable {
        package let id: String
        package let name: String?
        package let provider: String?
        package let contextWindow: Int64?
        package let reasoning: Bool?
    }

    package static let method = "models.list"
    package init() {}
    package func writeParams(to writer: inout JSONWriter) {}

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> [Model] {
        guard let models = payload["models"], models.kind == .array else {
            throw GatewayShapeError(method: method, missing: "models")
        }
        return models.elements.compactMap { model in
            guard let id = model["id"]?.string else { return nil }
            return Model(
                id: id,
                name: model["name"]?.string,
                provider: model["provider"]?.string,
                contextWindow: model["contextWindow"]?.int,
                reasoning: model["reasoning"]?.bool
            )
        }
    }
}

package struct UsageStatus: GatewayCall {
    package static let method = "usage.status"
    package init() {}
    package func writeParams(to writer: inout JSONWriter) {}
    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> JSONValue { payload }
}

/// Pending approvals; only from protocol 4 on.
package struct ExecApprovalList: GatewayCall {
    package static let method = "exec.approval.list"
    package init() {}
    package func writeParams(to writer: inout JSONWriter) {}
    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> JSONValue { payload }
}

package struct ExecApprovalResolve: GatewayCall {
    package enum Decision: String, Sendable, CaseIterable {
        case allowOnce = "allow-once"
        case allowAlways = "allow-always"
        case deny
    }

    package static let method = "exec.approval.resolve"
    package var id: String
    package var decision: Decision

    package init(id: String, decision: Decision) {
        self.id = id
        self.decision = decision
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("decision", decision.rawValue)
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> JSONValue { payload }
}
