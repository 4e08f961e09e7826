/// RFC 4648 base 64 in both alphabets. Decoding is strict: one alphabet, no blanks, zero bits at the end.
package enum Base64 {
    package enum Alphabet: Sendable {
        /// `+` and `/`, padded.
        case standard
        /// `-` and `_`, without padding.
        case url
    }

    package static func encode(_ bytes: some Collection<UInt8>, as alphabet: Alphabet = .standard) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var buffer: UInt32 = 0
        var bits: UInt32 = 0
        for byte in bytes {
            buffer = buffer << 8 | UInt32(byte)
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

    /// Standard input may leave its padding out; URL input must not have any.
    package static func decode(_ text: some Collection<UInt8>, as alphabet: Alphabet = .standard) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3 + 2)
        var buffer: UInt32 = 0
        var bits: UInt32 = 0
        var digits = 0
        var padding = 0
        for character in text {
            if character == UInt8(ascii: "="), alphabet == .standard {
                padding += 1
                continue
            }
            guard padding == 0, let digit = value(of: character, alphabet) else { return nil }
            digits += 1
            buffer = buffer << 6 | UInt32(digit)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> bits))
                buffer &= (1 << bits) - 1
            }
        }
        guard digits % 4 != 1, buffer == 0 else { return nil }
        guard padding == 0 || (padding <= 2 && (digits + padding) % 4 == 0) else { return nil }
        return bytes
    }

    package static func decode(_ text: some StringProtocol, as alphabet: Alphabet = .standard) -> [UInt8]? {
        decode(Array(text.utf8), as: alphabet)
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

    private static func value(of character: UInt8, _ alphabet: Alphabet) -> UInt8? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+") where alphabet == .standard: 62
        case UInt8(ascii: "/") where alphabet == .standard: 63
        case UInt8(ascii: "-") where alphabet == .url: 62
        case UInt8(ascii: "_") where alphabet == .url: 63
        default: nil
        }
    }
}
