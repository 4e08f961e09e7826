/// Checks and decodes the text between a string's quotes.
enum JSONStrings {
    /// Checks one escape: `position` is at the backslash and moves past the escape.
    static func checkEscape(_ source: Span<UInt8>, _ position: inout Int) throws(JSONError) {
        let start = position
        position += 1
        guard position < source.count else { throw JSONError(offset: position, reason: .unexpectedEnd) }
        switch source[position] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 1
        case UInt8(ascii: "u"):
            guard position + 4 < source.count else { throw JSONError(offset: source.count, reason: .unexpectedEnd) }
            guard codeUnit(source, at: position + 1) != nil else {
                throw JSONError(offset: start, reason: .invalidEscape)
            }
            position += 5
        default:
            throw JSONError(offset: start, reason: .invalidEscape)
        }
    }

    /// Checks one multi-byte UTF-8 sequence by the table of RFC 3629 §4: no overlong form, no surrogate, no code point
    /// above U+10FFFF.
    static func checkSequence(_ source: Span<UInt8>, _ position: inout Int) throws(JSONError) {
        let lead = source[position]
        let length: Int
        var low: UInt8 = 0x80
        var high: UInt8 = 0xBF
        switch lead {
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, low) = (3, 0xA0)
        case 0xED: (length, high) = (3, 0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, low) = (4, 0x90)
        case 0xF4: (length, high) = (4, 0x8F)
        case 0xF1...0xF3: length = 4
        default: throw JSONError(offset: position, reason: .invalidUTF8)
        }
        guard position + length <= source.count else { throw JSONError(offset: position, reason: .invalidUTF8) }
        guard source[position + 1] >= low, source[position + 1] <= high else {
            throw JSONError(offset: position, reason: .invalidUTF8)
        }
        for index in 2..<max(length, 2) where source[position + index] & 0xC0 != 0x80 {
            throw JSONError(offset: position, reason: .invalidUTF8)
        }
        position += length
    }

    /// The bytes of a checked string with its escapes resolved. A lone surrogate, which JavaScript can send, becomes
    /// U+FFFD.
    static func decoded(_ node: JSONNode, _ source: Span<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(node.end - node.start))
        var position = Int(node.start)
        while position < Int(node.end) {
            let byte = source[position]
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                position += 1
                continue
            }
            switch source[position + 1] {
            case UInt8(ascii: "b"): bytes.append(0x08)
            case UInt8(ascii: "f"): bytes.append(0x0C)
            case UInt8(ascii: "n"): bytes.append(0x0A)
            case UInt8(ascii: "r"): bytes.append(0x0D)
            case UInt8(ascii: "t"): bytes.append(0x09)
            case UInt8(ascii: "u"):
                position = appendScalar(source, at: position, end: Int(node.end), to: &bytes)
                continue
            default: bytes.append(source[position + 1])
            }
            position += 2
        }
        return bytes
    }

    /// Whether a checked string has half of a surrogate pair. That is valid JSON, but no Unicode text (RFC 8259 §8.2).
    static func hasHalfPair(_ node: JSONNode, _ source: Span<UInt8>) -> Bool {
        var position = Int(node.start)
        while position < Int(node.end) {
            guard source[position] == UInt8(ascii: "\\") else {
                position += 1
                continue
            }
            guard let unit = escapedUnit(source, at: position, end: Int(node.end)), unit & 0xF800 == 0xD800 else {
                position += 2
                continue
            }
            guard unit & 0xFC00 == 0xD800, let second = escapedUnit(source, at: position + 6, end: Int(node.end)),
                second & 0xFC00 == 0xDC00
            else { return true }
            position += 12
        }
        return false
    }

    /// The code unit of the escape `\uXXXX` at this position; nil if something else stands there.
    private static func escapedUnit(_ source: Span<UInt8>, at start: Int, end: Int) -> UInt16? {
        guard start + 6 <= end, source[start] == UInt8(ascii: "\\"), source[start + 1] == UInt8(ascii: "u") else {
            return nil
        }
        return codeUnit(source, at: start + 2)
    }

    private static func appendScalar(_ source: Span<UInt8>, at start: Int, end: Int, to bytes: inout [UInt8]) -> Int {
        let first = codeUnit(source, at: start + 2) ?? 0xFFFD
        var position = start + 6
        var scalar = Unicode.Scalar(UInt32(first))
        if first & 0xFC00 == 0xD800, let second = escapedUnit(source, at: position, end: end),
            second & 0xFC00 == 0xDC00
        {
            scalar = Unicode.Scalar(0x10000 + (UInt32(first & 0x3FF) << 10 | UInt32(second & 0x3FF)))
            position += 6
        }
        bytes.append(contentsOf: UTF8.encode(scalar ?? "\u{FFFD}") ?? UTF8.encodedReplacementCharacter)
        return position
    }

    private static func codeUnit(_ source: Span<UInt8>, at start: Int) -> UInt16? {
        guard start + 4 <= source.count else { return nil }
        var value: UInt16 = 0
        for index in start..<start + 4 {
            let digit: UInt8
            switch source[index] {
            case 0x30...0x39: digit = source[index] - 0x30
            case 0x41...0x46: digit = source[index] - 0x41 + 10
            case 0x61...0x66: digit = source[index] - 0x61 + 10
            default: return nil
            }
            value = value << 4 | UInt16(digit)
        }
        return value
    }
}
