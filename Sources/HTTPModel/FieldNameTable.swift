/// Finds a `FieldName` by its bytes: hashes the first word and the length, then compares whole words.
///
/// A match proves that every byte is a token byte, so known names need no further check: setting bit 0x20 maps only the
/// two cases of a letter onto a lower-case letter. Onto a digit or a hyphen it maps only that byte itself, or a control
/// byte, which a line never contains.
///
/// A class, so that passing the table on costs nothing.
package final class FieldNameTable: Sendable {
    package static let shared = FieldNameTable()

    /// The first word nearly always decides; the rest of a longer name is compared with `tails`.
    private struct Entry {
        var word: UInt64
        var length: UInt8
        var name: FieldName
        /// The index of the next entry in the same bucket; 0 ends the chain (entry 0 is `.other`).
        var next: UInt8
    }

    private static let cases: UInt64 = 0x2020_2020_2020_2020

    private let buckets: [UInt8]
    private let entries: [Entry]
    /// Four more words for each entry: the longest name, `Access-Control-Request-Private-Network`, has 38 bytes.
    private let tails: [UInt64]
    /// `Name: ` in the canonical spelling, indexed by raw value.
    private let prefixes: [[UInt8]]

    private init() {
        var buckets = [UInt8](repeating: 0, count: 256)
        var entries: [Entry] = []
        var tails: [UInt64] = []
        var prefixes: [[UInt8]] = []
        for name in FieldName.allCases {
            let bytes = Array(name.canonical.utf8)
            prefixes.append(bytes + [ASCII.colon, ASCII.space])
            let padded = bytes + [UInt8](repeating: 0, count: 40 - bytes.count)
            let span = padded.span
            let word = Self.word(span, at: 0, remaining: bytes.count)
            var entry = Entry(word: word, length: UInt8(bytes.count), name: name, next: 0)
            for part in 1...4 { tails.append(Self.word(span, at: part * 8, remaining: bytes.count - part * 8)) }
            if name != .other {
                let bucket = Self.bucket(word, bytes.count)
                entry.next = buckets[bucket]
                buckets[bucket] = UInt8(entries.count)
            }
            entries.append(entry)
        }
        self.buckets = buckets
        self.entries = entries
        self.tails = tails
        self.prefixes = prefixes
    }

    /// The known name that these bytes spell in any case, or `.other`.
    package func lookup(_ bytes: Span<UInt8>, start: Int, length: Int) -> FieldName {
        guard length > 1, length <= 40 else { return .other }
        let first = Self.word(bytes, at: start, remaining: length)
        var index = Int(buckets[Self.bucket(first, length)])
        while index != 0 {
            let entry = entries[index]
            if entry.word == first, Int(entry.length) == length,
                length <= 8 || hasTail(index, bytes, start: start, length: length)
            {
                return entry.name
            }
            index = Int(entry.next)
        }
        return .other
    }

    private func hasTail(_ entry: Int, _ bytes: Span<UInt8>, start: Int, length: Int) -> Bool {
        var offset = 8
        var tail = entry &* 4
        while offset < length {
            if Self.word(bytes, at: start &+ offset, remaining: length &- offset) != tails[tail] { return false }
            offset &+= 8
            tail &+= 1
        }
        return true
    }

    func prefix(of name: FieldName) -> [UInt8] { prefixes[Int(name.rawValue)] }

    /// Up to eight bytes from `start` in lower case, with zeros after the end of the name. The load may read past the
    /// name within the span, because one masked load is cheaper than a loop.
    @inline(__always)
    private static func word(_ bytes: Span<UInt8>, at start: Int, remaining: Int) -> UInt64 {
        if remaining <= 0 { return 0 }
        if bytes.count &- start >= 8 {
            let word = loadWord(bytes, at: start) | cases
            return remaining >= 8 ? word : word & ((1 << UInt64(remaining &* 8)) &- 1)
        }
        return shortWord(bytes, at: start, remaining: min(remaining, 8))
    }

    @inline(never)
    private static func shortWord(_ bytes: Span<UInt8>, at start: Int, remaining: Int) -> UInt64 {
        var word: UInt64 = 0
        for index in 0..<remaining { word |= UInt64(bytes[start &+ index] | 0x20) << UInt64(index &* 8) }
        return word
    }

    @inline(__always)
    private static func bucket(_ word: UInt64, _ length: Int) -> Int {
        Int(truncatingIfNeeded: ((word &* 0x9E37_79B9_7F4A_7C15) >> 56) ^ UInt64(truncatingIfNeeded: length)) & 255
    }
}
