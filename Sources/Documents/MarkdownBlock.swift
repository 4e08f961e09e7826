/// The few block forms of Markdown that decide whether a line may be read as a field (CommonMark 4.1, 4.2, 4.5).
enum MarkdownBlock {
    /// The level and the text of an ATX heading.
    static func heading(_ lines: TextLines, _ index: Int) -> (level: Int, text: String)? {
        let line = lines[index]
        var cursor = lines.firstNonBlank(index)
        guard cursor - line.start <= 3, cursor < line.end, lines.bytes[cursor] == 0x23 else { return nil }
        let start = cursor
        while cursor < line.end, lines.bytes[cursor] == 0x23 { cursor += 1 }
        let level = cursor - start
        guard level <= 6, cursor == line.end || lines.bytes[cursor] == 0x20 || lines.bytes[cursor] == 0x09 else {
            return nil
        }
        // The text is compared with a few short words only, so the rest of a long heading does not matter.
        let text = lines.text(cursor..<min(line.end, cursor + 200))
        return (level, text)
    }

    /// `Context`, `**Background:**`, `背景 ##`, with any decoration.
    static func isContextTitle(_ text: String) -> Bool {
        var label = DocumentLabel.normalized(text)
        while let last = label.last, last == "#" || last == ":" || last == "：" || last == " " { label.removeLast() }
        return DocumentLabel.contextHeadings.contains(label)
    }

    static func isRule(_ lines: TextLines, _ index: Int) -> Bool {
        let line = lines[index]
        let start = lines.firstNonBlank(index)
        guard start - line.start <= 3, start < line.end else { return false }
        let mark = lines.bytes[start]
        guard mark == 0x2D || mark == 0x2A || mark == 0x5F else { return false }
        var marks = 0
        for offset in start..<line.end {
            let byte = lines.bytes[offset]
            if byte == mark { marks += 1 } else if byte != 0x20 && byte != 0x09 { return false }
        }
        return marks >= 3
    }
}

/// An open code fence. Lines inside it hold no fields until a fence of the same kind closes it.
struct CodeFence {
    let mark: UInt8
    let width: Int

    /// Indented fences count too: they stand inside list items.
    init?(_ lines: TextLines, _ index: Int) {
        let end = lines[index].end
        let start = lines.firstNonBlank(index)
        guard start < end, lines.bytes[start] == 0x60 || lines.bytes[start] == 0x7E else { return nil }
        mark = lines.bytes[start]
        var cursor = start
        while cursor < end, lines.bytes[cursor] == mark { cursor += 1 }
        width = cursor - start
        guard width >= 3 else { return nil }
        // ```inline``` on one line is a code span, not a fence.
        if mark == 0x60, lines.bytes[cursor..<end].contains(0x60) { return nil }
    }

    func isClosed(by lines: TextLines, _ index: Int) -> Bool {
        let end = lines[index].end
        var cursor = lines.firstNonBlank(index)
        let start = cursor
        while cursor < end, lines.bytes[cursor] == mark { cursor += 1 }
        guard cursor - start >= width else { return false }
        return lines.bytes[cursor..<end].allSatisfy { $0 == 0x20 || $0 == 0x09 }
    }
}

/// `<!--` and `-->`.
enum HTMLComment {
    /// The offset of the next opening mark.
    static func opening(_ bytes: [UInt8], _ range: Range<Int>) -> Int? {
        var cursor = range.lowerBound
        while cursor + 4 <= range.upperBound {
            if bytes[cursor] == 0x3C, starts(bytes, at: cursor) { return cursor }
            cursor += 1
        }
        return nil
    }

    static func starts(_ bytes: [UInt8], at offset: Int) -> Bool {
        offset + 4 <= bytes.count && bytes[offset] == 0x3C && bytes[offset + 1] == 0x21 && bytes[offset + 2] == 0x2D
            && bytes[offset + 3] == 0x2D
    }

    /// The offset after the next closing mark.
    static func closing(_ bytes: [UInt8], _ range: Range<Int>) -> Int? {
        guard range.lowerBound + 3 <= range.upperBound else { return nil }
        var cursor = range.lowerBound
        while cursor + 3 <= range.upperBound {
            if bytes[cursor] == 0x2D, bytes[cursor + 1] == 0x2D, bytes[cursor + 2] == 0x3E { return cursor + 3 }
            cursor += 1
        }
        return nil
    }

    /// The offset after the last closing mark of the file. An opening mark after it, inside a line, is plain text.
    static func lastClosing(_ bytes: [UInt8]) -> Int {
        var cursor = bytes.count
        while cursor >= 3 {
            if bytes[cursor - 1] == 0x3E, bytes[cursor - 2] == 0x2D, bytes[cursor - 3] == 0x2D { return cursor }
            cursor -= 1
        }
        return 0
    }
}
