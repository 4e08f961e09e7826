/// The lines of a text as offsets into its bytes, so that lines that are not edited are written back byte for byte.
struct TextLines {
    struct Line {
        /// The first byte of the line.
        var start: Int
        /// The offset of the line end (LF or CR LF).
        var end: Int
        /// The line has a `<`. Most lines have none and need no search for comments.
        var mayHaveComment: Bool
    }

    private(set) var lines: [Line] = []
    let bytes: [UInt8]
    /// Length of the byte order mark before the first line. It is neither read nor moved.
    let prefix: Int
    private(set) var mayHaveComment = false

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        prefix = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        let span = bytes.span
        var start = prefix
        var lineMayHaveComment = false
        for index in start..<span.count {
            let byte = span[index]
            if byte == 0x3C { lineMayHaveComment = true }
            guard byte == 0x0A else { continue }
            let end = index > start && span[index - 1] == 0x0D ? index - 1 : index
            lines.append(Line(start: start, end: end, mayHaveComment: lineMayHaveComment))
            start = index + 1
            mayHaveComment = mayHaveComment || lineMayHaveComment
            lineMayHaveComment = false
        }
        if start < span.count { lines.append(Line(start: start, end: span.count, mayHaveComment: lineMayHaveComment)) }
        mayHaveComment = mayHaveComment || lineMayHaveComment
    }

    var count: Int { lines.count }

    subscript(index: Int) -> Line { lines[index] }

    /// The offset of the next line.
    func next(_ index: Int) -> Int {
        index + 1 < lines.count ? lines[index + 1].start : bytes.count
    }

    /// The offset at which text is inserted before line `index`, or after the last line for `count`.
    func offset(before index: Int) -> Int {
        if index < lines.count { return lines[index].start }
        return lines.isEmpty ? prefix : bytes.count
    }

    /// The offset of the first byte of the line that is no space or tab, or of its end.
    func firstNonBlank(_ index: Int) -> Int {
        let line = lines[index]
        var offset = line.start
        while offset < line.end, bytes[offset] == 0x20 || bytes[offset] == 0x09 { offset += 1 }
        return offset
    }

    func isBlank(_ index: Int) -> Bool { firstNonBlank(index) == lines[index].end }

    func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    private func hasLineEnd(_ index: Int) -> Bool { lines[index].end < next(index) }

    /// The line end of the file's first line, or LF.
    var lineEnd: [UInt8] {
        guard let first = lines.first, hasLineEnd(0) else { return [0x0A] }
        return Array(bytes[first.end..<next(0)])
    }
}
