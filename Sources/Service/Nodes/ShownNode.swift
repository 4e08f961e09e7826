package import JSONBytes

/// A node in a list: from the gateway, or as last written to the database.
package struct ShownNode: Sendable {
    package let id: String
    package let node: Node?
    private let kept: [UInt8]

    init(_ node: Node) {
        id = node.id
        self.node = node
        kept = []
    }

    init(id: String, kept: [UInt8]) {
        self.id = id
        node = nil
        self.kept = kept
    }

    package func write(to writer: inout JSONWriter) {
        guard let node else { return writer.raw(kept) }
        node.write(to: &writer)
    }
}
