/// Builds the tape in one pass, with an explicit stack instead of recursion. It applies the rules of RFC 8259 and
/// accepts no extensions.
struct JSONParser {
    private static let `true` = Array("true".utf8)
    private static let `false` = Array("false".utf8)
    private static let null = Array("null".utf8)

    private let limits: JSONLimits
    private var nodes: [JSONNode] = []
    /// Tape indices of the open containers.
    private var open: [Int] = []

    init(limits: JSONLimits) {
        self.limits = limits
    }

    mutating func parse(_ bytes: [UInt8]) throws(JSONError) -> [JSONNode] {
        guard bytes.count <= min(limits.bytes, Int(UInt32.max) - 1) else {
            throw JSONError(offset: 0, reason: .tooLarge)
        }
        nodes.reserveCapacity(bytes.count / 16 + 4)
        var position = 0
        let source = bytes.span
        skipBlanks(source, &position)
        try value(source, &position)
        while let container = open.last {
            skipBlanks(source, &position)
            try member(of: container, source, &position)
        }
        skipBlanks(source, &position)
        guard position == source.count else { throw JSONError(offset: position, reason: .trailingBytes) }
        return nodes
    }

    /// Parses one step inside an open container: a comma and the next member, or the container's end.
    private mutating func member(of container: Int, _ source: Span<UInt8>, _ position: inout Int) throws(JSONError) {
        guard position < source.count else { throw JSONError(offset: position, reason: .unexpectedEnd) }
        let isObject = nodes[container].kind == .object
        let isFirst = nodes.count == container + 1
        let byte = source[position]
        if byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
            position += 1
            try close(container, source, at: position)
            return
        }
        if !isFirst {
            guard byte == UInt8(ascii: ",") else { throw JSONError(offset: position, reason: .unexpectedByte) }
            position += 1
            skipBlanks(source, &position)
        }
        if isObject {
            guard position < source.count else { throw JSONError(offset: position, reason: .unexpectedEnd) }
            guard source[position] == UInt8(ascii: "\"") else {
                throw JSONError(offset: position, reason: .unexpectedByte)
            }
            try string(source, &position)
            skipBlanks(source, &position)
            guard position < source.count else { throw JSONError(offset: position, reason: .unexpectedEnd) }
            guard source[position] == UInt8(ascii: ":") else {
                throw JSONError(offset: position, reason: .unexpectedByte)
            }
            position += 1
            skipBlanks(source, &position)
        }
        try value(source, &position)
    }

    private mutating func close(_ container: Int, _ source: Span<UInt8>, at end: Int) throws(JSONError) {
        open.removeLast()
        nodes[container].end = UInt32(end)
        nodes[container].next = UInt32(nodes.count)
        if nodes[container].kind == .object { try JSONKeys.checkUnique(of: container, in: nodes, source) }
    }

    private mutating func value(_ source: Span<UInt8>, _ position: inout Int) throws(JSONError) {
        guard position < source.count else { throw JSONError(offset: position, reason: .unexpectedEnd) }
        switch source[position] {
        case UInt8(ascii: "\""): try string(source, &position)
        case UInt8(ascii: "{"): try openContainer(.object, &position)
        case UInt8(ascii: "["): try openContainer(.array, &position)
        case UInt8(ascii: "t"): try literal(Self.true, .bool, source, &position)
        case UInt8(ascii: "f"): try literal(Self.false, .bool, source, &position)
        case UInt8(ascii: "n"): try literal(Self.null, .null, source, &position)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number(source, &position)
        default: throw JSONError(offset: position, reason: .unexpectedByte)
        }
    }

    private mutating func openContainer(_ kind: JSONKind, _ position: inout Int) throws(JSONError) {
        guard open.count < limits.depth else { throw JSONError(offset: position, reason: .tooDeep) }
        open.append(nodes.count)
        append(kind, position, position + 1)
        position += 1
    }

    private mutating func literal(
        _ text: [UInt8],
        _ kind: JSONKind,
        _ source: Span<UInt8>,
        _ position: inout Int
    ) throws(JSONError) {
        let start = position
        for index in 0..<text.count {
            guard position < source.count else { throw JSONError(offset: position, reason: .unexpectedEnd) }
            guard source[position] == text[index] else { throw JSONError(offset: position, reason: .unexpectedByte) }
            position += 1
        }
        append(kind, start, position)
    }

    private mutating func number(_ source: Span<UInt8>, _ position: inout Int) throws(JSONError) {
        let start = position
        if source[position] == UInt8(ascii: "-") { position += 1 }
        let leading = position
        guard digits(source, &position) else { throw JSONError(offset: position, reason: .invalidNumber) }
        if source[leading] == UInt8(ascii: "0"), position > leading + 1 {
            throw JSONError(offset: leading + 1, reason: .invalidNumber)
        }
        if position < source.count, source[position] == UInt8(ascii: ".") {
            position += 1
            guard digits(source, &position) else { throw JSONError(offset: position, reason: .invalidNumber) }
        }
        if position < source.count, source[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < source.count, source[position] == UInt8(ascii: "+") || source[position] == UInt8(ascii: "-") {
                position += 1
            }
            guard digits(source, &position) else { throw JSONError(offset: position, reason: .invalidNumber) }
        }
        append(.number, start, position)
    }

    private func digits(_ source: Span<UInt8>, _ position: inout Int) -> Bool {
        let start = position
        while position < source.count, source[position] &- 0x30 < 10 { position += 1 }
        return position > start
    }

    /// Parses a string; the node's range covers the text between the quotes.
    private mutating func string(_ source: Span<UInt8>, _ position: inout Int) throws(JSONError) {
        position += 1
        let start = position
        var hasEscapes = false
        while position < source.count {
            let byte = source[position]
            if byte == UInt8(ascii: "\"") {
                append(.string, start, position)
                nodes[nodes.count - 1].hasEscapes = hasEscapes
                position += 1
                return
            }
            if byte == UInt8(ascii: "\\") {
                hasEscapes = true
                try JSONStrings.checkEscape(source, &position)
            } else if byte < 0x20 {
                throw JSONError(offset: position, reason: .controlCharacter)
            } else if byte < 0x80 {
                position += 1
            } else {
                try JSONStrings.checkSequence(source, &position)
            }
        }
        throw JSONError(offset: position, reason: .unexpectedEnd)
    }

    private func skipBlanks(_ source: Span<UInt8>, _ position: inout Int) {
        while position < source.count {
            switch source[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    private mutating func append(_ kind: JSONKind, _ start: Int, _ end: Int) {
        nodes.append(
            JSONNode(start: UInt32(start), end: UInt32(end), next: UInt32(nodes.count + 1), kind: kind)
        )
    }
}
