package import JSONBytes

/// The devices that the gateway knows, connected or not.
package struct NodeList: GatewayCall {
    package static let method = "node.list"

    package init() {}

    package func writeParams(to writer: inout JSONWriter) {}

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> [NodeRow] {
        guard let rows = payload["nodes"], rows.kind == .array else {
            throw GatewayShapeError(method: method, missing: "nodes")
        }
        return rows.elements.prefix(GatewayLimits.nodes).compactMap { NodeRow($0) }
    }
}

/// Runs a command on a node. The gateway passes the key on and expects nodes to drop duplicates by it; Ladle relies on
/// its own keys.
package struct NodeInvoke: GatewayCall {
    package struct Answer: Sendable {
        /// The answer as JSON text, which the node may have written incorrectly.
        package let text: String?
        package let value: JSONValue?
    }

    package static let method = "node.invoke"
    /// The gateway wakes a sleeping app twice before it gives up, in addition to the node's own time.
    private static let wakeMs: Int64 = 30_000

    package var node: String
    package var command: String
    /// The parameters as one JSON object; nil for none.
    package var members: [UInt8]?
    package var waitMs: Int64
    package var key: String

    package init(node: String, command: String, members: [UInt8]?, waitMs: Int64, key: String) {
        self.node = node
        self.command = command
        self.members = members
        self.waitMs = waitMs
        self.key = key
    }

    package var timeoutMs: Int64 { waitMs + Self.wakeMs }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("nodeId", node)
        writer.member("command", command)
        writer.member("params", raw: members)
        writer.member("timeoutMs", waitMs)
        writer.member("idempotencyKey", key)
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Answer {
        Answer(text: payload["payloadJSON"]?.string, value: payload["payload"].flatMap { $0.isNull ? nil : $0 })
    }
}

/// Lists devices that wait for the operator's approval to connect.
package struct DevicePairList: GatewayCall {
    package static let method = "device.pair.list"

    package init() {}

    package func writeParams(to writer: inout JSONWriter) {}

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> [DeviceRequest] {
        try DeviceRequest.pending(payload, .device, of: method)
    }
}

/// Lists nodes that wait for the operator's approval of their declarations.
package struct NodePairList: GatewayCall {
    package static let method = "node.pair.list"

    package init() {}

    package func writeParams(to writer: inout JSONWriter) {}

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> [DeviceRequest] {
        try DeviceRequest.pending(payload, .node, of: method)
    }
}

extension DeviceRequest {
    fileprivate static func pending(
        _ payload: JSONValue,
        _ kind: Kind,
        of method: String
    ) throws(GatewayShapeError) -> [DeviceRequest] {
        guard let rows = payload["pending"], rows.kind == .array else {
            throw GatewayShapeError(method: method, missing: "pending")
        }
        return rows.elements.prefix(GatewayLimits.pairingRequests).compactMap { DeviceRequest($0, kind) }
    }
}
