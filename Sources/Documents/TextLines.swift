/// The lines of a text as offsets: nothing is copied, so that what is not edited can be written back byte for byte.
struct TextLines {
    struct Line {
        /// The first byte of the line.
        var start: Int
        /// Behind the last byte that is not its line end (LF or CR LF).
        var end: Int
        /// Whether there is a `<` in it: most lines need not be searched for comments.
        var hasAngle: Bool
    }

    private(set) var lines: [Line] = []
    let bytes: [UInt8]
    /// Bytes in front of the first line: a byte order mark, which is neither read nor moved.
    let prefix: Int
    private(set) var hasAngle = false

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        prefix = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        let span = bytes.span
        var start = prefix
        var lineHasAngle = false
        for index in start..<span.count {
            let byte = span[index]
            if byte == 0x3C { lineHasAngle = true }
            guard byte == 0x0A else { continue }
            let end = index > start && span[index - 1] == 0x0D ? index - 1 : index
            lines.append(Line(start: start, end: end, hasAngle: lineHasAngle))
            start = index + 1
            hasAngle = hasAngle || lineHasAngle
            lineHasAngle = false
        }
        if start < span.count { lines.append(Line(start: start, end: span.count, hasAngle: lineHasAngle)) }
        hasAngle = hasAngle || lineHasAngle
    }

    var count: Int { lines.count }

    subscript(index: Int) -> Line { lines[index] }

    /// Where the line's end mark stops, that is where the next line starts.
    func next(_ index: Int) -> Int {
        index + 1 < lines.count ? lines[index + 1].start : bytes.count
    }

    /// The offset at which text goes that is to stand before line `index`; behind the last line for `count`.
    func offset(before index: Int) -> Int {
        if index < lines.count { return lines[index].start }
        return lines.isEmpty ? prefix : bytes.count
    }

    /// The first byte of the line that is no space or tab, or its end.
    func firstInk(_ index: Int) -> Int {
        let line = lines[index]
        var offset = line.start
        while offset < line.end, bytes[offset] == 0x20 || bytes[offset] == 0x09 { offset += 1 }
        return offset
    }

    func isBlank(_ index: Int) -> Bool { firstInk(index) == lines[index].end }

    func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    func hasLineEnd(_ index: Int) -> Bool { lines[index].end < next(index) }

    /// The file's own line end: that of its first line that has one.
    var lineEnd: [UInt8] {
        guard let first = lines.first, hasLineEnd(0) else { return [0x0A] }
        return Array(bytes[first.end..<next(0)])
    }
}
