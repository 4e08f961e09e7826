/// Finds a `FieldName` by its bytes: one hash of the first word and the length, then whole words compared.
///
/// A match proves that every byte is a token byte, so known names need no further check: setting bit 0x20 maps only
/// the two cases of a letter onto a lower-case letter, and only itself (or a control byte, which never stands in a
/// line) onto a digit or a hyphen.
package struct FieldNameTable: Sendable {
    package static let shared = FieldNameTable()

    /// The longest known name, `Access-Control-Request-Private-Network`, is 38 bytes: five words.
    private struct Entry {
        var word0: UInt64 = 0
        var word1: UInt64 = 0
        var word2: UInt64 = 0
        var word3: UInt64 = 0
        var word4: UInt64 = 0
        var length = 0
        var name = FieldName.other
        /// The next entry of the same bucket; 0 ends the chain (entry 0 is `.other`).
        var next: UInt8 = 0
    }

    private static let cases: UInt64 = 0x2020_2020_2020_2020

    private var buckets = [UInt8](repeating: 0, count: 256)
    private var entries: [Entry] = []
    /// `Name: ` in the canonical spelling, by raw value.
    private var prefixes: [[UInt8]] = []

    private init() {
        for name in FieldName.allCases {
            let bytes = Array(name.canonical.utf8)
            prefixes.append(bytes + [ASCII.colon, ASCII.space])
            let padded = bytes + [UInt8](repeating: 0, count: 40 - bytes.count)
            let span = padded.span
            var entry = Entry(length: bytes.count, name: name)
            entry.word0 = Self.word(span, at: 0, remaining: bytes.count)
            entry.word1 = Self.word(span, at: 8, remaining: bytes.count - 8)
            entry.word2 = Self.word(span, at: 16, remaining: bytes.count - 16)
            entry.word3 = Self.word(span, at: 24, remaining: bytes.count - 24)
            entry.word4 = Self.word(span, at: 32, remaining: bytes.count - 32)
            if name != .other {
                let bucket = Self.bucket(entry.word0, bytes.count)
                entry.next = buckets[bucket]
                buckets[bucket] = UInt8(entries.count)
            }
            entries.append(entry)
        }
    }

    /// The known name that the bytes of `range` spell in any case, or `.other`.
    package func lookup(_ bytes: Span<UInt8>, start: Int, length: Int) -> FieldName {
        guard length > 1, length <= 40 else { return .other }
        let first = Self.word(bytes, at: start, remaining: length)
        var index = Int(buckets[Self.bucket(first, length)])
        while index != 0 {
            let entry = entries[index]
            if entry.length == length, entry.word0 == first,
                length <= 8 || Self.word(bytes, at: start &+ 8, remaining: length &- 8) == entry.word1,
                length <= 16 || Self.word(bytes, at: start &+ 16, remaining: length &- 16) == entry.word2,
                length <= 24 || Self.word(bytes, at: start &+ 24, remaining: length &- 24) == entry.word3,
                length <= 32 || Self.word(bytes, at: start &+ 32, remaining: length &- 32) == entry.word4
            {
                return entry.name
            }
            index = Int(entry.next)
        }
        return .other
    }

    func prefix(of name: FieldName) -> [UInt8] { prefixes[Int(name.rawValue)] }

    /// Up to eight bytes from `start` in lower case, zero where the name has ended. Reads past the name while the
    /// span reaches that far, because one masked load is cheaper than a loop.
    @inline(__always)
    private static func word(_ bytes: Span<UInt8>, at start: Int, remaining: Int) -> UInt64 {
        if remaining <= 0 { return 0 }
        if start &+ 8 <= bytes.count {
            let word = loadWord(bytes, at: start) | cases
            return remaining >= 8 ? word : word & ((1 << UInt64(remaining &* 8)) &- 1)
        }
        var word: UInt64 = 0
        for index in 0..<min(remaining, 8) {
            word |= UInt64(bytes[start &+ index] | 0x20) << UInt64(index &* 8)
        }
        return word
    }

    @inline(__always)
    private static func bucket(_ word: UInt64, _ length: Int) -> Int {
        Int(truncatingIfNeeded: ((word &* 0x9E37_79B9_7F4A_7C15) >> 56) ^ UInt64(truncatingIfNeeded: length)) & 255
    }
}
