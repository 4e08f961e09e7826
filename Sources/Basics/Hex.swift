/// Base 16, written in lower case and read in either.
@usableFromInline
package enum Hex {
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        for byte in bytes { append(byte, to: &text) }
        return String(decoding: text, as: UTF8.self)
    }

    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        var high: UInt8?
        for character in text.utf8 {
            guard let digit = value(of: character) else { return nil }
            if let first = high {
                bytes.append(first << 4 | digit)
                high = nil
            } else {
                high = digit
            }
        }
        return high == nil ? bytes : nil
    }

    package static func append(_ byte: UInt8, to text: inout [UInt8]) {
        text.append(digit(byte >> 4))
        text.append(digit(byte & 15))
    }

    /// The value of a hexadecimal digit, or nil.
    @inlinable
    package static func value(of character: UInt8) -> UInt8? {
        if character &- 0x30 < 10 { return character &- 0x30 }
        let letter = (character | 0x20) &- 0x61
        return letter < 6 ? letter &+ 10 : nil
    }

    /// Decodes percent-encoding. Malformed sequences stay as they are.
    package static func percentDecoded(_ bytes: ArraySlice<UInt8>, plusIsBlank: Bool = false) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            index += 1
            if byte == 0x25, bytes.endIndex - index >= 2, let high = value(of: bytes[index]),
                let low = value(of: bytes[index + 1])
            {
                result.append(high << 4 | low)
                index += 2
            } else {
                result.append(plusIsBlank && byte == 0x2B ? 0x20 : byte)
            }
        }
        return result
    }

    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x61 + value - 10 }
}
