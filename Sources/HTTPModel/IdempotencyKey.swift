/// An `Idempotency-Key`: a structured-field string (RFC 8941 §3.3.3), or bare, as most clients send it.
/// Quoted and bare spellings of one key are the same key.
package struct IdempotencyKey: Sendable, Hashable {
    package let value: String

    package static let maxBytes = 255

    package init(parsing bytes: ArraySlice<UInt8>) throws(HeaderValueError) {
        let bytes = bytes.trimmingBlanks
        guard !bytes.isEmpty else { throw HeaderValueError(.idempotencyKey, .empty) }
        let key: [UInt8]
        if bytes.first == 0x22 {
            key = try StructuredString.parse(bytes, field: .idempotencyKey)
        } else {
            // Visible ASCII without the bytes that would make it a list or another structured type.
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
}

/// The string type of structured fields: printable ASCII in quotes, only `\"` and `\\` escaped.
package enum StructuredString {
    package static func parse(_ bytes: ArraySlice<UInt8>, field: FieldName) throws(HeaderValueError) -> [UInt8] {
        var text: [UInt8] = []
        var index = bytes.startIndex + 1
        guard bytes.first == 0x22 else { throw HeaderValueError(field) }
        while index < bytes.endIndex {
            let byte = bytes[index]
            index += 1
            switch byte {
            case 0x22:
                guard index == bytes.endIndex else { throw HeaderValueError(field) }
                return text
            case 0x5C:
                guard index < bytes.endIndex, bytes[index] == 0x22 || bytes[index] == 0x5C else {
                    throw HeaderValueError(field)
                }
                text.append(bytes[index])
                index += 1
            case 0x20...0x7E:
                text.append(byte)
            default:
                throw HeaderValueError(field)
            }
        }
        throw HeaderValueError(field)
    }

    /// Writes a string value; characters the type cannot hold become `?`.
    package static func format(_ text: String) -> String {
        var bytes: [UInt8] = [0x22]
        for scalar in text.unicodeScalars {
            let byte = scalar.value >= 0x20 && scalar.value < 0x7F ? UInt8(scalar.value) : 0x3F
            if byte == 0x22 || byte == 0x5C { bytes.append(0x5C) }
            bytes.append(byte)
        }
        bytes.append(0x22)
        return String(decoding: bytes, as: UTF8.self)
    }
}
