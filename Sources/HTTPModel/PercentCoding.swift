import Basics

/// Percent-decoding, which reports the offset of a fault, and encoding for the links Ladle writes.
package enum PercentCoding {
    /// - Parameter offset: the position of `bytes` in the whole text, for error offsets.
    /// - Parameter plusIsBlank: true for queries and forms, where `+` means a blank.
    package static func decode(
        _ bytes: ArraySlice<UInt8>,
        offset: Int,
        plusIsBlank: Bool
    ) throws(RequestTargetError) -> String {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            if byte == 0x25 {
                guard bytes.endIndex - index > 2, let high = Hex.value(of: bytes[index + 1]),
                    let low = Hex.value(of: bytes[index + 2])
                else { throw .badPercentEncoding(offset: offset + index - bytes.startIndex) }
                decoded.append(high << 4 | low)
                index += 3
            } else {
                decoded.append(plusIsBlank && byte == 0x2B ? ASCII.space : byte)
                index += 1
            }
        }
        guard let text = String(validating: decoded, as: UTF8.self) else { throw .notUTF8(offset: offset) }
        return text
    }

    /// Encodes all but unreserved characters (RFC 3986 §2.3). The result fits a path segment and a query value.
    package static func encode(_ text: String) -> String {
        var encoded: [UInt8] = []
        let digits = Array("0123456789ABCDEF".utf8)
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: encoded.append(byte)
            default:
                encoded.append(0x25)
                encoded.append(digits[Int(byte >> 4)])
                encoded.append(digits[Int(byte & 15)])
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}
