/// Text helpers without Foundation. Texts are compared byte by byte, which is fast and needs no tables.
extension StringProtocol {
    @inlinable
    package func trimmingBlanks() -> String {
        guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace })
        else {
            return ""
        }
        return String(self[first...last])
    }

    /// Whether both are the same bytes. `==` also takes two spellings of a letter for one, which a file or a gateway keeps apart.
    package func isSameText(as other: some StringProtocol) -> Bool { utf8.elementsEqual(other.utf8) }

    /// The start of a name that a client sent, for a message. One `Character` may have any number of scalars.
    package var shortened: String { String(String.UnicodeScalarView(unicodeScalars.prefix(64))) }

    @inlinable
    package func containsText(_ needle: String) -> Bool { rangeOfText(needle) != nil }

    @inlinable
    package func rangeOfText(_ needle: String, from start: Index? = nil) -> Range<Index>? {
        guard !needle.isEmpty else { return nil }
        let wanted = Array(needle.utf8)
        var position = start ?? startIndex
        let bytes = utf8
        while position < endIndex {
            var here = position
            var matched = 0
            while matched < wanted.count, here < endIndex, bytes[here] == wanted[matched] {
                here = bytes.index(after: here)
                matched += 1
            }
            if matched == wanted.count { return position..<here }
            position = bytes.index(after: position)
        }
        return nil
    }

    @inlinable
    package func replacingText(_ needle: String, with replacement: String) -> String {
        var result = ""
        var rest = self[...]
        while let range = rest.rangeOfText(needle) {
            result += rest[..<range.lowerBound]
            result += replacement
            rest = rest[range.upperBound...]
        }
        return result + rest
    }

    /// At most `limit` characters. A cut text ends in an ellipsis, which counts.
    @inlinable
    package func cut(to limit: Int) -> String {
        guard let end = index(startIndex, offsetBy: limit, limitedBy: endIndex), end < endIndex else {
            return String(self)
        }
        return String(self[..<index(before: end)]) + "…"
    }

    /// At most `limit` bytes, cut between characters.
    @inlinable
    package func cut(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return String(self) }
        var kept = ""
        var size = 0
        for character in self {
            size += character.utf8.count
            guard size <= limit else { break }
            kept.append(character)
        }
        return kept
    }
}

extension UInt8 {
    @inlinable
    package var isASCIIDigit: Bool { self >= 0x30 && self <= 0x39 }
    @inlinable
    package var isASCIILetter: Bool { (self | 0x20) >= 0x61 && (self | 0x20) <= 0x7A }
}
