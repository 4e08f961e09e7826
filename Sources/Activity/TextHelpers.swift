/// String helpers that Foundation would otherwise bring.
extension StringProtocol {
    func trimmingBlanks() -> String {
        guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace })
        else {
            return ""
        }
        return String(self[first...last])
    }

    func containsText(_ needle: String) -> Bool { firstRange(of: needle) != nil }

    func firstRange(of needle: String, from start: Index? = nil) -> Range<Index>? {
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

    func replacingText(_ needle: String, with replacement: String) -> String {
        var result = ""
        var rest = self[...]
        while let range = rest.firstRange(of: needle) {
            result += rest[..<range.lowerBound]
            result += replacement
            rest = rest[range.upperBound...]
        }
        return result + rest
    }

    /// At most `limit` characters; a cut ends in an ellipsis that counts.
    func cut(to limit: Int) -> String {
        guard let end = index(startIndex, offsetBy: limit, limitedBy: endIndex), end < endIndex else {
            return String(self)
        }
        return String(self[..<index(before: end)]) + "…"
    }

    /// At most `limit` bytes, cut between characters.
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
    var isASCIIDigit: Bool { self >= 0x30 && self <= 0x39 }
    var isASCIILetter: Bool { (self | 0x20) >= 0x61 && (self | 0x20) <= 0x7A }
}

extension [UInt8] {
    /// Compares in blocks without an exit inside, which the compiler turns into wide instructions.
    func hasBytes(_ prefix: [UInt8]) -> Bool {
        guard count >= prefix.count else { return false }
        let left = span
        let right = prefix.span
        var place = 0
        while place + 64 <= right.count {
            var difference: UInt8 = 0
            for offset in place..<place + 64 { difference |= left[offset] ^ right[offset] }
            if difference != 0 { return false }
            place += 64
        }
        while place < right.count {
            if left[place] != right[place] { return false }
            place += 1
        }
        return true
    }
}
