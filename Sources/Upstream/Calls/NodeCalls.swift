package import JSONBytes

package struct Node: Sendable {
    package let id: String
    package let displayName: String?
    package let platform: String?
    package let version: String?
    package let deviceFamily: String?
    package let caps: [String]
    package let commands: [String]
    package let paired: Bool?
    package let connected: Bool?
    package let connectedAtMs: Int64?
    package let whole: JSONValue

    init?(_ node: JSONValue) {
        guard let id = node["nodeId"]?.string else { return nil }
        self.id = id
        displayName = node["displayName"]?.string
        platform = node["platform"]?.string
        version = node["version"]?.string
        deviceFamily = node["deviceFamily"]?.string
        caps = node["caps"]?.elements.compactMap(\.string) ?? []
        commands = node["commands"]?.elements.compactMap(\.string) ?? []
        paired = node["paired"]?.bool
        connected = node["connected"]?.bool
        connectedAtMs = node["connectedAtMs"]?.int
        whole = node
    }
}

package struct NodeList: GatewayCall {
    package static let method = "node.list"
    package init() {}
    package func writeParams(to writer: inout JSONWriter) {}

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> [Node] {
        guard let nodes = payload["nodes"], nodes.kind == .array else {
            throw GatewayShapeError(method: method, missing: "nodes")
        }
        return nodes.elements.compactMap { Node($0) }
    }
}

package struct NodeDescribe: GatewayCall {
    package static let method = "node.describe"
    package var nodeId: String

    package init(nodeId: String) {
        self.nodeId = nodeId
    }

    package func writeParams(to writer: inout JSONWriter) { writer.member("nodeId", nodeId) }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Node {
        guard let node = Node(payload["node"] ?? payload) else {
            throw GatewayShapeError(method: method, missing: "nodeId")
        }
        return node
    }
}

package struct NodeInvoke: GatewayCall {
    package struct Output: Sendable {
        package let payload: JSONValue?
        /// The same as text, as older releases only send it.
        package let payloadJSON: String?
    }

    package static let method = "node.invoke"
    package var nodeId: String
    package var command: String
    /// One JSON value.
    package var arguments: [UInt8]?
    package var waitMs: Int64?
    package var idempotencyKey: String

    package init(
        nodeId: String,
        command: String,
        arguments: [UInt8]? = nil,
        waitMs: Int64? = nil,
        idempotencyKey: String
    ) {
        self.nodeId = nodeId
        self.command = command
        self.arguments = arguments
        self.waitMs = waitMs.map { min(max($0, 0), 86_400_000) }
        self.idempotencyKey = idempotencyKey
    }

    /// The gateway may wake a sleeping node first, in two steps of 3 and 12 seconds.
    package var timeoutMs: Int64 { (waitMs ?? 30_000) + 20_000 }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("nodeId", nodeId)
        writer.member("command", command)
        writer.member("params", raw: arguments)
        writer.member("timeoutMs", waitMs)
        writer.member("idempotencyKey", idempotencyKey)
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Output {
        Output(payload: payload["payload"], payloadJSON: payload["payloadJSON"]?.string)
    }
}
