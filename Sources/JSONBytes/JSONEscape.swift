import Basics

/// Writes a string in quotes with its escapes.
enum JSONEscape {
    static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.makeContiguousUTF8()
        let source = text.utf8Span.span
        let plain = plainLength(source)
        if plain == source.count {
            bytes.append(contentsOf: text.utf8)
        } else {
            for place in 0..<plain { bytes.append(source[place]) }
            append(source, from: plain, to: &bytes)
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// The number of leading bytes that need no escape. Lead bytes C2, D8 and E2 end them, as they may start a control of C1,
    /// a line separator or a mark of direction.
    private static func plainLength(_ source: Span<UInt8>) -> Int {
        var place = 0
        while place < source.count {
            let byte = source[place]
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == 0xC2 || byte == 0xE2
                || byte == 0xD8
            {
                break
            }
            place += 1
        }
        return place
    }

    private static func append(_ source: Span<UInt8>, from start: Int, to bytes: inout [UInt8]) {
        var place = start
        while place < source.count {
            let byte = source[place]
            switch byte {
            case UInt8(ascii: "\""): bytes.append(ascii: "\\\"")
            case UInt8(ascii: "\\"): bytes.append(ascii: "\\\\")
            case 0x0A: bytes.append(ascii: "\\n")
            case 0x0D: bytes.append(ascii: "\\r")
            case 0x09: bytes.append(ascii: "\\t")
            case 0..<0x20: append(0, byte, to: &bytes)
            case 0xC2 where place + 1 < source.count && source[place + 1] < 0xA0:
                append(0, source[place + 1], to: &bytes)
                place += 1
            case 0xD8 where place + 1 < source.count && source[place + 1] == 0x9C:
                append(0x06, 0x1C, to: &bytes)
                place += 1
            case 0xE2 where place + 2 < source.count && isHidden(source[place + 1], source[place + 2]):
                append(0x20, (source[place + 1] & 0x03) << 6 | source[place + 2] & 0x3F, to: &bytes)
                place += 2
            default: bytes.append(byte)
            }
            place += 1
        }
    }

    /// The second and third byte after E2: U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069.
    private static func isHidden(_ second: UInt8, _ third: UInt8) -> Bool {
        switch second {
        case 0x80: third == 0x8E || third == 0x8F || (0xA8...0xAE).contains(third)
        case 0x81: (0xA6...0xA9).contains(third)
        default: false
        }
    }

    private static func append(_ high: UInt8, _ low: UInt8, to bytes: inout [UInt8]) {
        bytes.append(ascii: "\\u")
        Hex.append(high, to: &bytes)
        Hex.append(low, to: &bytes)
    }
}

/// Writes a parsed value again in this writer's form: without blanks, and with line separators escaped.
extension JSONValue: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        switch kind {
        case .string: writer.string(string ?? "")
        case .array:
            writer.beginArray()
            for element in elements { element.write(to: &writer) }
            writer.endArray()
        case .object:
            writer.beginObject()
            for member in members {
                writer.key(member.key)
                member.value.write(to: &writer)
            }
            writer.endObject()
        case .null, .bool, .number: writer.raw(raw)
        }
    }
}
