package import Basics
package import JSONBytes

/// A device that the gateway can use, as `node.list` describes it. Its addresses and paths are not even read.
package struct NodeRow: Sendable {
    package let id: String
    package let name: String?
    package let platform: String?
    package let version: String?
    package let model: String?
    package let family: String?
    package let capabilities: [String]
    /// The commands that the gateway allows. Releases of protocol 3 forget them while the node is away.
    package let commands: [String]
    /// Further declared commands that the gateway's operator has not approved.
    package let pendingCommands: [String]
    /// The commands that a client may use; nil if the release does not list them.
    package let invocable: Set<String>?
    package let permissions: [(name: String, isGranted: Bool)]
    package let isPaired: Bool
    package let isConnected: Bool
    /// Whether the operator has yet to approve the node's declarations.
    package let isPending: Bool
    package let connectedAt: Timestamp?
    package let lastSeenAt: Timestamp?

    /// Nil if the node has no id.
    package init?(_ value: JSONValue) {
        guard let id = value["nodeId"]?.visibleIdentifier else { return nil }
        self.id = id
        name = value["displayName"]?.string
        platform = value["platform"]?.identifier
        version = value["version"]?.identifier ?? value["coreVersion"]?.identifier
        model = value["modelIdentifier"]?.identifier
        family = value["deviceFamily"]?.identifier
        capabilities = Self.names(value["caps"])
        commands = Self.names(value["commands"])
        pendingCommands = Self.names(value["pendingDeclaredCommands"])
        invocable = value["invocableCommands"].map { Set(Self.names($0)) }
        permissions =
            value["permissions"]?.members.prefix(GatewayLimits.nodePermissions).compactMap { name, value in
                value.bool.map { (name.cut(toBytes: GatewayLimits.identifierBytes), $0) }
            } ?? []
        isPaired = value["paired"]?.bool ?? false
        isConnected = value["connected"]?.bool ?? false
        isPending = value["approvalState"]?.string.map { $0 != "approved" } ?? false
        connectedAt = GatewayTime.read(value["connectedAtMs"])
        lastSeenAt = GatewayTime.read(value["lastSeenAtMs"])
    }

    /// The names without repeats.
    private static func names(_ value: JSONValue?) -> [String] {
        var seen: Set<String> = []
        return value?.elements.prefix(GatewayLimits.nodeCommands).compactMap(\.visibleIdentifier)
            .filter { seen.insert($0).inserted } ?? []
    }
}
