/// The value of `Idempotency-Key`: a structured-field string (RFC 8941 §3.3.3), or the same key without quotes, as most
/// clients send it. Both spellings give the same key.
package struct IdempotencyKey: Sendable, Hashable {
    package let value: String

    package static let maxBytes = 255

    package init(parsing bytes: ArraySlice<UInt8>) throws(HeaderValueError) {
        let bytes = bytes.trimmingBlanks
        guard !bytes.isEmpty else { throw HeaderValueError(.idempotencyKey, .empty) }
        let key: [UInt8]
        if bytes.first == 0x22 {
            key = try Self.unquoted(bytes)
        } else {
            // Visible ASCII, except the bytes that would make the value a list or another structured type.
            guard bytes.allSatisfy({ $0 > ASCII.space && $0 < 0x7F && $0 != 0x22 && $0 != 0x2C && $0 != 0x3B }) else {
                throw HeaderValueError(.idempotencyKey)
            }
            key = Array(bytes)
        }
        guard !key.isEmpty else { throw HeaderValueError(.idempotencyKey, .empty) }
        guard key.count <= Self.maxBytes else {
            throw HeaderValueError(.idempotencyKey, .tooLong(limit: Self.maxBytes))
        }
        value = String(decoding: key, as: UTF8.self)
    }

    /// Decodes a structured-field string: printable ASCII in quotes, in which only `\"` and `\\` are escaped.
    private static func unquoted(_ bytes: ArraySlice<UInt8>) throws(HeaderValueError) -> [UInt8] {
        var text: [UInt8] = []
        var index = bytes.startIndex + 1
        while index < bytes.endIndex {
            let byte = bytes[index]
            index += 1
            switch byte {
            case 0x22:
                guard index == bytes.endIndex else { throw HeaderValueError(.idempotencyKey) }
                return text
            case 0x5C:
                guard index < bytes.endIndex, bytes[index] == 0x22 || bytes[index] == 0x5C else {
                    throw HeaderValueError(.idempotencyKey)
                }
                text.append(bytes[index])
                index += 1
            case 0x20...0x7E:
                text.append(byte)
            default:
                throw HeaderValueError(.idempotencyKey)
            }
        }
        throw HeaderValueError(.idempotencyKey)
    }
}
