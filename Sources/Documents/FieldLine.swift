/// One line of the form `indent bullet marks label marks colon value`, taken apart.
struct FieldLine {
    let field: DocumentField
    /// Columns of white space in front, a tab counting to the next multiple of four.
    let indent: Int
    /// Everything up to the value: what an edit keeps in front of the new value.
    let head: Range<Int>
    /// The pieces of the value, without HTML comments.
    let value: String
    /// HTML comments behind the label: never read and never changed.
    let comments: [Range<Int>]
    private let colon: Range<Int>
    private let ink: Range<Int>

    struct Style {
        var lead: [UInt8]
        var trail: [UInt8]
        static let standard = Style(lead: Array("- **".utf8), trail: Array(":**".utf8))
    }

    /// `commentGoesOn` says that a comment left open at the end of this line is closed on a later one.
    init?(_ lines: TextLines, _ index: Int, kind: DocumentKind, commentGoesOn: Bool) {
        let line = lines[index]
        let bytes = lines.bytes
        var cursor = lines.firstInk(index)
        guard cursor < line.end else { return nil }
        let indent = Self.columns(bytes, line.start..<cursor)
        cursor = Self.skipBullet(bytes, cursor, end: line.end)

        let labelStart = cursor
        guard let colon = Self.colon(bytes, from: labelStart, end: line.end) else { return nil }
        guard let field = DocumentLabel.field(bytes, labelStart..<colon.lowerBound, kind: kind) else { return nil }

        let marks = Marks(bytes, label: labelStart..<colon.lowerBound)
        let headEnd = marks.closing(bytes, from: colon.upperBound, end: line.end)
        self.field = field
        self.indent = indent
        head = line.start..<headEnd
        self.colon = colon
        ink = marks.inkStart..<marks.inkEnd
        if line.hasAngle {
            let rest = Self.withoutComments(bytes, headEnd..<line.end, openAtEnd: commentGoesOn)
            value = rest.text.map { FieldValue.trim(lines.text($0)) }.filter { !$0.isEmpty }.joined(separator: " ")
            comments = rest.comments
        } else {
            value = FieldValue.trim(lines.text(headEnd..<line.end))
            comments = []
        }
    }

    /// How this line writes its label, for lines that are added beside it. Always with an ASCII colon: the gateway
    /// sees no other.
    func style(_ bytes: [UInt8]) -> Style {
        let trail = Array(bytes[ink.upperBound..<colon.lowerBound]) + [0x3A] + bytes[colon.upperBound..<head.upperBound]
        return Style(
            lead: Array(bytes[head.lowerBound..<ink.lowerBound]),
            trail: trail.filter { $0 != 0x20 && $0 != 0x09 }
        )
    }

    static func columns(_ bytes: [UInt8], _ range: Range<Int>) -> Int {
        var columns = 0
        for offset in range { columns += bytes[offset] == 0x09 ? 4 - columns % 4 : 1 }
        return columns
    }

    /// Behind a list bullet and its space. `-` alone will do, because the gateway takes it so; `*` without a space is
    /// emphasis.
    static func skipBullet(_ bytes: [UInt8], _ start: Int, end: Int) -> Int {
        guard start < end, bytes[start] == 0x2D || bytes[start] == 0x2A || bytes[start] == 0x2B else { return start }
        var cursor = start + 1
        while cursor < end, bytes[cursor] == 0x20 || bytes[cursor] == 0x09 { cursor += 1 }
        return cursor > start + 1 || bytes[start] == 0x2D ? cursor : start
    }

    /// The first colon, ASCII or full-width (U+FF1A), near enough to end a label. Nearly every line ends here.
    private static func colon(_ bytes: [UInt8], from start: Int, end: Int) -> Range<Int>? {
        var ink = 0
        var cursor = start
        while cursor < end {
            switch bytes[cursor] {
            case 0x3A: return cursor..<cursor + 1
            case 0xEF where cursor + 2 < end && bytes[cursor + 1] == 0xBC && bytes[cursor + 2] == 0x9A:
                return cursor..<cursor + 3
            case 0x20, 0x09, 0x2A, 0x5F, 0x60: break
            default:
                ink += 1
                if ink > DocumentLabel.longestAlias { return nil }
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

/// The emphasis marks around a label, of which the closing ones may stand before or behind the colon.
private struct Marks {
    /// The first and behind the last byte of the label itself.
    let inkStart: Int
    let inkEnd: Int
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
        inkStart = start
        inkEnd = end
        for byte in bytes[end..<label.upperBound] where byte == open.last { open.removeLast() }
    }

    /// Behind the marks after the colon that close what was opened before the label.
    func closing(_ bytes: [UInt8], from start: Int, end: Int) -> Int {
        var open = open
        var cursor = start
        // `**Name: **Bob`: the marks close behind a space, unless they belong to a value with marks of its own.
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
