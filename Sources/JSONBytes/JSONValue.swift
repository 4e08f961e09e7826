/// A view of one value in a document; copying the view copies a reference and a number.
package struct JSONValue: Sendable {
    let tape: JSONTape
    let index: Int

    init(tape: JSONTape, index: Int) {
        self.tape = tape
        self.index = index
    }

    var node: JSONNode { tape.nodes[index] }

    package var kind: JSONKind { node.kind }
    package var isNull: Bool { node.kind == .null }

    /// The start of the value in the source, for messages; for a string, its opening quote.
    package var offset: Int { Int(node.start) - (node.kind == .string ? 1 : 0) }

    /// The source bytes of the value, quotes included.
    package var raw: ArraySlice<UInt8> {
        let quote = node.kind == .string ? 1 : 0
        return tape.bytes[Int(node.start) - quote..<Int(node.end) + quote]
    }

    package var bool: Bool? {
        node.kind == .bool ? node.end - node.start == 4 : nil
    }

    package var string: String? {
        guard node.kind == .string else { return nil }
        if node.hasEscapes { return String(decoding: decoded(node), as: UTF8.self) }
        return String(decoding: tape.bytes[Int(node.start)..<Int(node.end)], as: UTF8.self)
    }

    /// The string's UTF-8 with escapes resolved, without making a `String`.
    package var utf8: ArraySlice<UInt8>? {
        guard node.kind == .string else { return nil }
        if node.hasEscapes { return decoded(node)[...] }
        return tape.bytes[Int(node.start)..<Int(node.end)]
    }

    /// Compares a string value with `text`; it decodes only a value that contains escapes.
    package func equals(_ text: String) -> Bool {
        node.kind == .string && matches(node, text)
    }

    /// The number if it is whole and fits, in any spelling (`1`, `1.0`, `1e3`).
    package var int: Int64? {
        guard node.kind == .number else { return nil }
        if let exact = wholeNumber() { return exact }
        return double.flatMap { Int64(exactly: $0) }
    }

    package var double: Double? {
        guard node.kind == .number else { return nil }
        let value = Double(String(decoding: tape.bytes[Int(node.start)..<Int(node.end)], as: UTF8.self))
        return value.flatMap { $0.isFinite ? $0 : nil }
    }

    /// The member with this name; nil also when the value is not an object.
    package subscript(key: String) -> JSONValue? {
        guard node.kind == .object else { return nil }
        var position = index + 1
        while position < node.next {
            let name = tape.nodes[position]
            if matches(name, key) { return JSONValue(tape: tape, index: position + 1) }
            position = Int(tape.nodes[position + 1].next)
        }
        return nil
    }

    /// The element at this index; nil also when the value is not an array.
    package subscript(place: Int) -> JSONValue? {
        guard node.kind == .array, place >= 0 else { return nil }
        var left = place
        for element in elements {
            if left == 0 { return element }
            left -= 1
        }
        return nil
    }

    package var elements: JSONElements { JSONElements(of: self) }
    package var members: JSONMembers { JSONMembers(of: self) }

    /// The number of elements of an array or members of an object; 0 for other values.
    package var count: Int {
        var total = 0
        if node.kind == .array { for _ in elements { total += 1 } }
        if node.kind == .object {
            var position = index + 1
            while position < node.next {
                total += 1
                position = Int(tape.nodes[position + 1].next)
            }
        }
        return total
    }

    /// The way from this value to a node on the tape; of a member's name, the way to its object.
    func place(ofNode index: Int, _ path: String = "") -> String {
        for (number, element) in elements.enumerated() where index < element.node.next {
            return element.place(ofNode: index, "\(path)[\(number)]")
        }
        for (name, member) in members where index < member.node.next {
            guard index >= member.index else { break }
            return member.place(ofNode: index, path.isEmpty ? name : "\(path).\(name)")
        }
        return path.isEmpty ? "body" : path
    }

    private func decoded(_ node: JSONNode) -> [UInt8] {
        let bytes = tape.bytes
        return JSONStrings.decoded(node, bytes.span)
    }

    private func wholeNumber() -> Int64? {
        let bytes = tape.bytes
        let source = bytes.span
        var position = Int(node.start)
        let isNegative = source[position] == UInt8(ascii: "-")
        if isNegative { position += 1 }
        var value: Int64 = 0
        while position < Int(node.end) {
            let digit = source[position] &- 0x30
            guard digit < 10 else { return nil }
            let (scaled, overflow) = value.multipliedReportingOverflow(by: 10)
            let (next, carry) = scaled.subtractingReportingOverflow(Int64(digit))
            guard !overflow, !carry else { return nil }
            value = next
            position += 1
        }
        if isNegative { return value }
        return value == .min ? nil : -value
    }

    private func matches(_ name: JSONNode, _ text: String) -> Bool {
        if name.hasEscapes { return decoded(name).elementsEqual(text.utf8) }
        let wanted = text.utf8Span.span
        guard Int(name.end - name.start) == wanted.count else { return false }
        let bytes = tape.bytes
        let source = bytes.span
        var position = Int(name.start)
        for place in 0..<wanted.count {
            guard source[position] == wanted[place] else { return false }
            position += 1
        }
        return true
    }
}

/// The elements of an array in order; empty for other values.
package struct JSONElements: Sequence, IteratorProtocol, Sendable {
    private let tape: JSONTape
    private var position: Int
    private let end: Int

    init(of value: JSONValue) {
        tape = value.tape
        position = value.index + 1
        end = value.kind == .array ? Int(value.node.next) : position
    }

    package mutating func next() -> JSONValue? {
        guard position < end else { return nil }
        defer { position = Int(tape.nodes[position].next) }
        return JSONValue(tape: tape, index: position)
    }
}

/// The members of an object in source order; empty for other values.
package struct JSONMembers: Sequence, IteratorProtocol, Sendable {
    private let tape: JSONTape
    private var position: Int
    private let end: Int

    init(of value: JSONValue) {
        tape = value.tape
        position = value.index + 1
        end = value.kind == .object ? Int(value.node.next) : position
    }

    package mutating func next() -> (key: String, value: JSONValue)? {
        guard position < end else { return nil }
        let key = JSONValue(tape: tape, index: position).string ?? ""
        let value = JSONValue(tape: tape, index: position + 1)
        position = Int(tape.nodes[position + 1].next)
        return (key, value)
    }
}
