/// What is asked of a node, checked.
package struct NodeCall: Sendable {
    package let node: String
    package let command: String
    /// One JSON object; nil for none.
    package let members: [UInt8]?
    /// How long the node may take.
    package let waitMs: Int64
    /// The gateway's and the node's name of this call.
    package let key: String

    package init(node: String, command: String, members: [UInt8]?, waitMs: Int64, key: String) {
        self.node = node
        self.command = command
        self.members = members
        self.waitMs = waitMs
        self.key = key
    }
}
