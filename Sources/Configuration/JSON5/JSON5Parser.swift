import JSONBytes

/// Reads JSON5 and writes JSON in one pass. The recursion is bounded by the depth limit.
struct JSON5Parser {
    struct Place: Sendable {
        var json: Int
        var source: Int
    }

    private(set) var json = JSONWriter(capacity: 1024)
    private(set) var places: [Place] = []
    private var scanner: JSON5Scanner
    private var depth = 0

    init(_ bytes: [UInt8]) {
        scanner = JSON5Scanner(bytes)
    }

    mutating func parse() throws(JSON5Error) {
        try scanner.checkText()
        try scanner.skipBlanks()
        try value()
        try scanner.skipBlanks()
        guard scanner.isAtEnd else { throw scanner.error(.textBehindValue) }
    }

    private mutating func value() throws(JSON5Error) {
        places.append(Place(json: json.bytes.count, source: scanner.offset))
        guard let first = scanner.peek else { throw scanner.error(.endOfText) }
        switch first {
        case UInt8(ascii: "{"): try object()
        case UInt8(ascii: "["): try array()
        case UInt8(ascii: "\""), UInt8(ascii: "'"): json.string(try scanner.string())
        case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), 0x30...0x39: json.raw(try scanner.number())
        default: try word()
        }
    }

    private mutating func word() throws(JSON5Error) {
        let start = scanner.offset
        guard let word = try scanner.identifier() else { throw scanner.error(.unexpected(scanner.character)) }
        switch word {
        case "true": json.bool(true)
        case "false": json.bool(false)
        case "null": json.null()
        case "Infinity", "NaN": throw scanner.error(.notFinite(word), at: start)
        default: throw scanner.error(.unexpected("\"\(word.prefix(40))\"; a text needs quotes"), at: start)
        }
    }

    private mutating func array() throws(JSON5Error) {
        try enter()
        json.beginArray()
        while true {
            try scanner.skipBlanks()
            if scanner.take("]") { break }
            try value()
            try scanner.skipBlanks()
            if scanner.take(",") { continue }
            if scanner.take("]") { break }
            throw scanner.error(scanner.isAtEnd ? .endOfText : .missingComma)
        }
        json.endArray()
        depth -= 1
    }

    private mutating func object() throws(JSON5Error) {
        try enter()
        json.beginObject()
        var keys = Set<String>()
        while true {
            try scanner.skipBlanks()
            if scanner.take("}") { break }
            let start = scanner.offset
            let key = try key()
            guard keys.insert(key).inserted else { throw scanner.error(.duplicateKey(key), at: start) }
            json.key(key)
            try scanner.skipBlanks()
            guard scanner.take(":") else { throw scanner.error(scanner.isAtEnd ? .endOfText : .missingColon) }
            try scanner.skipBlanks()
            try value()
            try scanner.skipBlanks()
            if scanner.take(",") { continue }
            if scanner.take("}") { break }
            throw scanner.error(scanner.isAtEnd ? .endOfText : .missingComma)
        }
        json.endObject()
        depth -= 1
    }

    private mutating func key() throws(JSON5Error) -> String {
        guard let first = scanner.peek else { throw scanner.error(.endOfText) }
        if first == UInt8(ascii: "\"") || first == UInt8(ascii: "'") { return try scanner.string() }
        guard let name = try scanner.identifier() else { throw scanner.error(.badKey) }
        return name
    }

    private mutating func enter() throws(JSON5Error) {
        guard depth < JSON5Text.maximumDepth else { throw scanner.error(.tooDeep(limit: JSON5Text.maximumDepth)) }
        depth += 1
        scanner.advance()
    }
}
