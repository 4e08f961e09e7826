/// The parts of a line of the form `indent bullet marks label marks colon value`.
struct FieldLine {
    let field: DocumentField
    /// Columns of white space before the text; a tab reaches to the next multiple of four.
    let indent: Int
    /// Everything before the value. An edit keeps it.
    let head: Range<Int>
    /// The value without its HTML comments.
    let value: String
    /// HTML comments after the label. They are never read and never changed.
    let comments: [Range<Int>]
    private let colon: Range<Int>
    private let label: Range<Int>

    struct Style {
        var lead: [UInt8]
        var trail: [UInt8]
        static let standard = Style(lead: Array("- **".utf8), trail: Array(":**".utf8))
    }

    /// With `commentContinues`, a comment that is open at the end of this line is closed on a later one.
    init?(_ lines: TextLines, _ index: Int, kind: DocumentKind, commentContinues: Bool) {
        let line = lines[index]
        let bytes = lines.bytes
        var cursor = lines.firstNonBlank(index)
        guard cursor < line.end else { return nil }
        let indent = Self.columns(bytes, line.start..<cursor)
        cursor = Self.skipBullet(bytes, cursor, end: line.end)

        let start = cursor
        guard let colon = Self.colon(bytes, from: start, end: line.end) else { return nil }
        guard let field = DocumentLabel.field(bytes, start..<colon.lowerBound, kind: kind) else { return nil }

        let marks = Marks(bytes, label: start..<colon.lowerBound)
        let headEnd = marks.closing(bytes, from: colon.upperBound, end: line.end)
        self.field = field
        self.indent = indent
        head = line.start..<headEnd
        self.colon = colon
        label = marks.start..<marks.end
        if line.mayHaveComment {
            let rest = Self.withoutComments(bytes, headEnd..<line.end, openAtEnd: commentContinues)
            value = rest.text.map { FieldValue.trim(lines.text($0)) }.filter { !$0.isEmpty }.joined(separator: " ")
            comments = rest.comments
        } else {
            value = FieldValue.trim(lines.text(headEnd..<line.end))
            comments = []
        }
    }

    /// The style of this line's label, for lines that are added next to it. The colon is always ASCII, because the gateway
    /// knows no other.
    func style(_ bytes: [UInt8]) -> Style {
        let trail =
            Array(bytes[label.upperBound..<colon.lowerBound]) + [0x3A] + bytes[colon.upperBound..<head.upperBound]
        return Style(
            lead: Array(bytes[head.lowerBound..<label.lowerBound]),
            trail: trail.filter { $0 != 0x20 && $0 != 0x09 }
        )
    }

    static func columns(_ bytes: [UInt8], _ range: Range<Int>) -> Int {
        var columns = 0
        for offset in range { columns += bytes[offset] == 0x09 ? 4 - columns % 4 : 1 }
        return columns
    }

    /// The offset after a list bullet and its space. `-` needs no space, because the gateway needs none; `*` without one is
    /// emphasis.
    static func skipBullet(_ bytes: [UInt8], _ start: Int, end: Int) -> Int {
        guard start < end, bytes[start] == 0x2D || bytes[start] == 0x2A || bytes[start] == 0x2B else { return start }
        var cursor = start + 1
        while cursor < end, bytes[cursor] == 0x20 || bytes[cursor] == 0x09 { cursor += 1 }
        return cursor > start + 1 || bytes[start] == 0x2D ? cursor : start
    }

    /// The first colon, ASCII or full-width (U+FF1A), within the length of a label. Most lines have none.
    private static func colon(_ bytes: [UInt8], from start: Int, end: Int) -> Range<Int>? {
        var length = 0
        var cursor = start
        while cursor < end {
            switch bytes[cursor] {
            case 0x3A: return cursor..<cursor + 1
            case 0xEF where cursor + 2 < end && bytes[cursor + 1] == 0xBC && bytes[cursor + 2] == 0x9A:
                return cursor..<cursor + 3
            case 0x20, 0x09, 0x2A, 0x5F, 0x60: break
            default:
                length += 1
                if length > DocumentLabel.longestAlias { return nil }
            }
            cursor += 1
        }
        return nil
    }

    private static func withoutComments(
        _ bytes: [UInt8],
        _ range: Range<Int>,
        openAtEnd: Bool
    ) -> (text: [Range<Int>], comments: [Range<Int>]) {
        var text: [Range<Int>] = []
        var comments: [Range<Int>] = []
        var cursor = range.lowerBound
        while let open = HTMLComment.opening(bytes, cursor..<range.upperBound) {
            let close = HTMLComment.closing(bytes, open + 2..<range.upperBound)
            guard close != nil || openAtEnd else { break }
            let end = close ?? range.upperBound
            text.append(cursor..<open)
            comments.append(open..<end)
            cursor = end
        }
        text.append(cursor..<range.upperBound)
        return (text, comments)
    }
}

/// The emphasis marks around a label. The closing ones may stand before or after the colon.
private struct Marks {
    /// The label itself is `start..<end`.
    let start: Int
    let end: Int
    private var open: [UInt8]

    init(_ bytes: [UInt8], label: Range<Int>) {
        var start = label.lowerBound
        var end = label.upperBound
        open = []
        while start < end, Self.isMark(bytes[start]) || Self.isSpace(bytes[start]) {
            if Self.isMark(bytes[start]) { open.append(bytes[start]) }
            start += 1
        }
        while end > start, Self.isMark(bytes[end - 1]) || Self.isSpace(bytes[end - 1]) { end -= 1 }
        self.start = start
        self.end = end
        for byte in bytes[end..<label.upperBound] where byte == open.last { open.removeLast() }
    }

    /// The offset after the marks that follow the colon and close those before the label.
    func closing(_ bytes: [UInt8], from start: Int, end: Int) -> Int {
        var open = open
        var cursor = start
        // `**Name: **Bob`: the marks close after a space, unless they belong to a value with marks of its own.
        if let mark = open.last, cursor < end, Self.isSpace(bytes[cursor]) {
            var ahead = cursor
            while ahead < end, Self.isSpace(bytes[ahead]) { ahead += 1 }
            guard ahead < end, bytes[ahead] == mark, bytes[..<end].last != mark else { return cursor }
            cursor = ahead
        }
        while cursor < end, let mark = open.last, bytes[cursor] == mark {
            open.removeLast()
            cursor += 1
        }
        return cursor
    }

    private static func isMark(_ byte: UInt8) -> Bool { byte == 0x2A || byte == 0x5F || byte == 0x60 }
    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
