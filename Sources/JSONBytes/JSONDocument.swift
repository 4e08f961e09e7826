/// A checked JSON text: its bytes, and a tape with one node per value in source order. Immutable, so free to share.
package struct JSONDocument: Sendable {
    let tape: JSONTape

    package init(parsing bytes: [UInt8], limits: JSONLimits = .standard) throws(JSONError) {
        var parser = JSONParser(limits: limits)
        let nodes = try parser.parse(bytes)
        tape = JSONTape(bytes: bytes, nodes: nodes)
    }

    package init(parsing text: String, limits: JSONLimits = .standard) throws(JSONError) {
        try self.init(parsing: Array(text.utf8), limits: limits)
    }

    package var root: JSONValue { JSONValue(tape: tape, index: 0) }
    package var bytes: [UInt8] { tape.bytes }

    /// The place of the first string with half of a surrogate pair, such as `text` or `attachments[0].name`; nil if there is none.
    package var placeOfHalfPair: String? {
        let bytes = tape.bytes
        let source = bytes.span
        for (index, node) in tape.nodes.enumerated() where node.hasEscapes {
            if JSONStrings.hasHalfPair(node, source) { return root.place(ofNode: index) }
        }
        return nil
    }
}

final class JSONTape: Sendable {
    let bytes: [UInt8]
    let nodes: [JSONNode]

    init(bytes: [UInt8], nodes: [JSONNode]) {
        self.bytes = bytes
        self.nodes = nodes
    }
}

package enum JSONKind: UInt8, Sendable {
    case null, bool, number, string, array, object
}

/// One value on the tape, in 16 bytes. A container's children follow it; `next` is the node after its last descendant.
/// An object member is a string node followed by its value.
struct JSONNode {
    var start: UInt32
    var end: UInt32
    var next: UInt32
    var kind: JSONKind
    var hasEscapes = false
}
