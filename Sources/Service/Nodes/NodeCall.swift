/// A checked command for a node.
package struct NodeCall: Sendable {
    package let node: String
    package let command: String
    /// The parameters as one JSON object; nil for none.
    package let members: [UInt8]?
    /// The time the node may take.
    package let waitMs: Int64
    /// The id of this call for the gateway and the node.
    package let key: String

    package init(node: String, command: String, members: [UInt8]?, waitMs: Int64, key: String) {
        self.node = node
        self.command = command
        self.members = members
        self.waitMs = waitMs
        self.key = key
    }
}
