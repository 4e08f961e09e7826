/// Checks whether bytes that arrive in pieces are UTF-8, and reports the first wrong byte at once.
///
/// Follows the table of well-formed byte sequences in the Unicode standard (table 3-7): no overlong forms, no
/// surrogates, no code point above U+10FFFF.
package struct UTF8Check: Sendable {
    /// Continuation bytes still due; the two bounds below limit the next one.
    private var due = 0
    private var lowest: UInt8 = 0x80
    private var highest: UInt8 = 0xBF

    package init() {}

    /// True between characters; a message that ends elsewhere is cut.
    package var isComplete: Bool { due == 0 }

    /// False as soon as a byte cannot belong to any UTF-8 text.
    package mutating func accepts(_ bytes: Span<UInt8>) -> Bool {
        var index = 0
        while index < bytes.count {
            if due == 0 {
                index = Self.endOfASCII(bytes, from: index)
                guard index < bytes.count else { return true }
            }
            guard accepts(bytes[index]) else { return false }
            index &+= 1
        }
        return true
    }

    private mutating func accepts(_ byte: UInt8) -> Bool {
        if due > 0 {
            guard byte >= lowest, byte <= highest else { return false }
            due -= 1
            lowest = 0x80
            highest = 0xBF
            return true
        }
        switch byte {
        case 0x00...0x7F: return true
        case 0xC2...0xDF: due = 1
        case 0xE0: (due, lowest) = (2, 0xA0)
        case 0xED: (due, highest) = (2, 0x9F)
        case 0xE1...0xEF: due = 2
        case 0xF0: (due, lowest) = (3, 0x90)
        case 0xF4: (due, highest) = (3, 0x8F)
        case 0xF1...0xF3: due = 3
        default: return false
        }
        return true
    }

    /// Checks sixteen bytes a step: chat text is mostly ASCII, and the fixed-size inner loop becomes one vector
    /// instruction.
    private static func endOfASCII(_ bytes: Span<UInt8>, from start: Int) -> Int {
        var index = start
        while index &+ 16 <= bytes.count {
            let block = bytes.extracting(index..<(index &+ 16))
            var high: UInt8 = 0
            for offset in 0..<16 { high |= block[offset] }
            if high >= 0x80 { break }
            index &+= 16
        }
        while index < bytes.count, bytes[index] < 0x80 { index &+= 1 }
        return index
    }
}
