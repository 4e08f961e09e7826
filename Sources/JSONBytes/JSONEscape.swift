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

    /// The number of leading bytes that need no escape. Lead bytes C2 and E2 end them, as they may start U+0085, U+2028
    /// or U+2029.
    private static func plainLength(_ source: Span<UInt8>) -> Int {
        var place = 0
        while place < source.count {
            let byte = source[place]
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == 0xC2 || byte == 0xE2 {
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
            case 0..<0x20:
                bytes.append(ascii: "\\u00")
                Hex.append(byte, to: &bytes)
            case 0xC2 where place + 1 < source.count && source[place + 1] == 0x85:
                bytes.append(ascii: "\\u0085")
                place += 1
            case 0xE2 where place + 2 < source.count && source[place + 1] == 0x80 && source[place + 2] & 0xFE == 0xA8:
                bytes.append(ascii: "\\u202")
                bytes.append(source[place + 2] == 0xA8 ? UInt8(ascii: "8") : UInt8(ascii: "9"))
                place += 2
            default: bytes.append(byte)
            }
            place += 1
        }
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
