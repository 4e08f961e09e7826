/// RFC 4648 base 64 in both alphabets. Decoding is strict: one alphabet, no blanks, zero bits at the end.
package enum Base64 {
    package enum Alphabet: Sendable {
        /// `+` and `/`, padded.
        case standard
        /// `-` and `_`, without padding.
        case url
    }

    package static func encode(_ bytes: some Collection<UInt8>, as alphabet: Alphabet = .standard) -> String {
        let bytes = Array(bytes)
        return encode(bytes.span, as: alphabet)
    }

    // The generic functions only copy: generic code is not specialised for callers in other targets, and costs a
    // hundred times as much per byte.
    private static func encode(_ bytes: Span<UInt8>, as alphabet: Alphabet) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var buffer: UInt32 = 0
        var bits: UInt32 = 0
        for place in bytes.indices {
            buffer = buffer << 8 | UInt32(bytes[place])
            bits += 8
            while bits >= 6 {
                bits -= 6
                text.append(character(UInt8(buffer >> bits & 63), alphabet))
            }
            buffer &= (1 << bits) - 1
        }
        if bits > 0 { text.append(character(UInt8(buffer << (6 - bits) & 63), alphabet)) }
        if alphabet == .standard {
            while text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Padding is optional in the standard alphabet and forbidden in the URL alphabet.
    package static func decode(_ text: some Collection<UInt8>, as alphabet: Alphabet = .standard) -> [UInt8]? {
        let text = Array(text)
        return decode(text.span, as: alphabet)
    }

    package static func decode(_ text: some StringProtocol, as alphabet: Alphabet = .standard) -> [UInt8]? {
        decode(Array(text.utf8), as: alphabet)
    }

    package static func decode(_ text: Span<UInt8>, as alphabet: Alphabet = .standard) -> [UInt8]? {
        guard let digits = digits(of: text, alphabet) else { return nil }
        let table = alphabet == .url ? urlValues : standardValues
        let values = table.span
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits / 4 * 3 + 2)
        var buffer: UInt32 = 0
        var bits: UInt32 = 0
        for place in 0..<digits {
            buffer = buffer << 6 | UInt32(values[Int(text[place])])
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> bits))
            }
        }
        return bytes
    }

    /// The number of bytes that the text encodes; nil if it is not valid base 64.
    package static func decodedCount(_ text: Span<UInt8>, as alphabet: Alphabet = .standard) -> Int? {
        digits(of: text, alphabet).map { $0 * 3 / 4 }
    }

    /// The number of characters before the padding, after a check of the whole text.
    private static func digits(of text: Span<UInt8>, _ alphabet: Alphabet) -> Int? {
        var count = text.count
        if alphabet == .standard {
            while count > 0, text.count - count < 2, text[count - 1] == UInt8(ascii: "=") { count -= 1 }
            guard count == text.count || text.count % 4 == 0 else { return nil }
        }
        let table = alphabet == .url ? urlValues : standardValues
        let values = table.span
        var seen: UInt8 = 0
        for place in 0..<count { seen |= values[Int(text[place])] }
        guard seen < 64, count % 4 != 1 else { return nil }
        // The last character's bits beyond whole bytes must be zero.
        let unused: UInt8 = count % 4 == 2 ? 0b1111 : count % 4 == 3 ? 0b11 : 0
        guard count == 0 || values[Int(text[count - 1])] & unused == 0 else { return nil }
        return count
    }

    private static func character(_ value: UInt8, _ alphabet: Alphabet) -> UInt8 {
        switch value {
        case 0..<26: UInt8(ascii: "A") + value
        case 26..<52: UInt8(ascii: "a") + value - 26
        case 52..<62: UInt8(ascii: "0") + value - 52
        case 62: alphabet == .url ? UInt8(ascii: "-") : UInt8(ascii: "+")
        default: alphabet == .url ? UInt8(ascii: "_") : UInt8(ascii: "/")
        }
    }

    /// The value of each byte as a character; 255 for bytes outside the alphabet.
    private static let standardValues = values(.standard)
    private static let urlValues = values(.url)

    private static func values(_ alphabet: Alphabet) -> [UInt8] {
        var values = [UInt8](repeating: 255, count: 256)
        for value in 0..<UInt8(64) { values[Int(character(value, alphabet))] = value }
        return values
    }
}
