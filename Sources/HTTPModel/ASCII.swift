/// Byte classes of HTTP's grammar, and access to a span in eight-byte words for the scanners.
///
/// Other targets use these functions in per-byte loops, hence `@inlinable`. The compiler inlines members of a `package`
/// type across targets only when the type itself is `@usableFromInline` (Swift 6.3).
@usableFromInline
package enum ASCII {
    @inlinable package static var tab: UInt8 { 0x09 }
    @inlinable package static var lf: UInt8 { 0x0A }
    @inlinable package static var cr: UInt8 { 0x0D }
    @inlinable package static var space: UInt8 { 0x20 }
    @inlinable package static var colon: UInt8 { 0x3A }

    /// One bit for each token byte below 0x40 (RFC 9110 §5.6.2): `! # $ % & ' * + - .` and digits.
    @inlinable static var lowTokens: UInt64 { 0x03FF_6CFA_0000_0000 }
    /// The same for 0x40 to 0x7F: letters and `^ _ ` | ~`.
    @inlinable static var highTokens: UInt64 { 0x57FF_FFFF_C7FF_FFFE }

    @inlinable
    package static func isToken(_ byte: UInt8) -> Bool {
        guard byte < 0x80 else { return false }
        let mask = byte < 0x40 ? lowTokens : highTokens
        return (mask &>> UInt64(byte)) & 1 == 1
    }

    @inlinable
    package static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

    @inlinable
    package static func lowercased(_ byte: UInt8) -> UInt8 {
        byte &- 0x41 < 26 ? byte | 0x20 : byte
    }

    /// Whether a field value may hold the byte (RFC 9110 §5.5): visible bytes, blank, tab, and obs-text from 0x80 on.
    @inlinable
    package static func isFieldValue(_ byte: UInt8) -> Bool {
        byte >= 0x20 ? byte != 0x7F : byte == tab
    }

    /// Whether two byte sequences are equal when the case of ASCII letters is ignored.
    package static func equalIgnoringCase(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
        left.elementsEqual(right) { lowercased($0) == lowercased($1) }
    }
}

/// Eight bytes of the span as a little-endian word. The compiler emits one load for it.
@inlinable
@inline(__always)
package func loadWord(_ bytes: Span<UInt8>, at offset: Int) -> UInt64 {
    let part = bytes.extracting(offset..<offset &+ 8)
    return UInt64(part[0]) | UInt64(part[1]) << 8 | UInt64(part[2]) << 16 | UInt64(part[3]) << 24
        | UInt64(part[4]) << 32 | UInt64(part[5]) << 40 | UInt64(part[6]) << 48 | UInt64(part[7]) << 56
}

extension [UInt8] {
    /// Appends a copy of the span's bytes.
    package mutating func append(copying bytes: Span<UInt8>) {
        append(addingCapacity: bytes.count) { (output: inout OutputSpan<UInt8>) in
            for index in bytes.indices { output.append(bytes[index]) }
        }
    }
}
