import Basics

/// One pass over a file that finds its fields, its context section, and the code fences and comments that hold no fields.
struct DocumentScan {
    /// A line with a known label, and the lines below it that hold the value if the line itself has none.
    struct Occurrence {
        let form: FieldLine
        let line: Int
        /// The first line after the value.
        let after: Int
        let value: String
    }

    /// The free text under a Context heading, without blank lines and comments at its start and end.
    struct ContextSection {
        let heading: Int
        let level: Int
        var content: Range<Int>
        var end: Int
    }

    enum LineState: UInt8 {
        case text, fenceStart, fenceInside, commentStart, commentInside
        /// Inside a comment that started after text on an earlier line and belongs to that text.
        case textCommentInside
    }

    let lines: TextLines
    let kind: DocumentKind
    private(set) var states: [LineState]
    private(set) var occurrences: [Occurrence] = []
    private(set) var context: ContextSection?
    private(set) var directives: [DocumentDirective] = []
    /// The first heading of level one above the sections.
    private(set) var title: Int?
    /// The first line after the front matter.
    private(set) var bodyStart = 0

    private let lastCommentEnd: Int
    private var fence: CodeFence?
    private var insideComment = false
    private var commentBeganInText = false
    /// Whether a line may be a field. In the identity every line may, as the gateway reads it; in the profile only lines
    /// above the sections, whose lists have labels of their own.
    private var fieldsAllowed = true
    private var pendingDirective: (observed: String, status: String)?

    init(_ bytes: [UInt8], kind: DocumentKind) {
        lines = TextLines(bytes)
        self.kind = kind
        states = Array(repeating: .text, count: lines.count)
        lastCommentEnd = lines.mayHaveComment ? HTMLComment.lastClosing(bytes) : 0
        bodyStart = Self.frontMatterEnd(lines)
        var index = bodyStart
        while index < lines.count { index = read(index) }
        closeContext(at: lines.count)
    }

    /// Reads a line and returns the next one to read.
    private mutating func read(_ index: Int) -> Int {
        if let open = fence {
            states[index] = .fenceInside
            if open.isClosed(by: lines, index) { fence = nil }
            return index + 1
        }
        let line = lines[index]
        if insideComment {
            states[index] = commentBeganInText ? .textCommentInside : .commentInside
            if HTMLComment.closing(lines.bytes, line.start..<line.end) != nil { insideComment = false }
            return index + 1
        }
        let first = lines.firstNonBlank(index)
        if first == line.end { return index + 1 }
        if first + 4 <= line.end, HTMLComment.starts(lines.bytes, at: first) {
            readComment(index, first: first)
            return index + 1
        }
        let directive = pendingDirective
        pendingDirective = nil
        if let opened = CodeFence(lines, index) {
            states[index] = .fenceStart
            fence = opened
            return index + 1
        }
        if let directive { readDirective(index, first: first, directive) }
        insideComment = opensComment(index)
        commentBeganInText = insideComment
        if let heading = MarkdownBlock.heading(lines, index) {
            readHeading(index, heading)
        } else if context != nil, MarkdownBlock.isRule(lines, index) {
            closeContext(at: index)
        } else if fieldsAllowed,
            let form = FieldLine(lines, index, kind: kind, commentContinues: insideComment)
        {
            return readField(index, form)
        }
        return index + 1
    }

    private mutating func readComment(_ index: Int, first: Int) {
        states[index] = .commentStart
        let line = lines[index]
        guard HTMLComment.closing(lines.bytes, first + 2..<line.end) != nil else {
            insideComment = true
            commentBeganInText = false
            return
        }
        let mayBeMarker = line.end - first <= 200 && lines.bytes[first..<line.end].contains(0x7C)
        pendingDirective = mayBeMarker ? DocumentDirective.marker(FieldValue.trim(lines.text(first..<line.end))) : nil
    }

    private mutating func readDirective(_ index: Int, first: Int, _ marker: (observed: String, status: String)) {
        let end = lines[index].end
        let text = FieldLine.skipBullet(lines.bytes, first, end: end)
        guard text > first + 1, text < end else { return }
        directives.append(
            DocumentDirective(
                observed: marker.observed,
                status: marker.status,
                text: FieldValue.trim(lines.text(text..<end))
            )
        )
    }

    private mutating func readHeading(_ index: Int, _ heading: (level: Int, text: String)) {
        if let context, heading.level <= context.level { closeContext(at: index) }
        let isContext =
            kind == .profile && context == nil && heading.level <= 3 && MarkdownBlock.isContextTitle(heading.text)
        if isContext {
            context = ContextSection(heading: index, level: heading.level, content: 0..<0, end: -1)
        } else if heading.level == 1, title == nil, fieldsAllowed {
            title = index
        }
        if kind == .profile, isContext || heading.level >= 2 { fieldsAllowed = false }
    }

    /// Ends the context section, if one is open, and finds its content.
    private mutating func closeContext(at end: Int) {
        guard var section = context, section.end < 0 else { return }
        var first = section.heading + 1
        var last = end
        while first < end, lines.isBlank(first) || isComment(first) { first += 1 }
        while last > first, lines.isBlank(last - 1) || isComment(last - 1) { last -= 1 }
        section.content = first..<max(first, last)
        section.end = end
        context = section
    }

    private mutating func readField(_ index: Int, _ form: FieldLine) -> Int {
        var after = index + 1
        var value = FieldValue.read(form.value)
        if form.value.isEmpty, !insideComment {
            while after < lines.count, continues(form, after) { after += 1 }
            if after > index + 1 { value = FieldValue.read(continuation(index + 1..<after)) }
        }
        occurrences.append(Occurrence(form: form, line: index, after: after, value: value))
        return after
    }

    /// Whether the line belongs to the value of an empty label above it.
    func continues(_ form: FieldLine, _ index: Int) -> Bool {
        guard index < lines.count else { return false }
        let line = lines[index]
        let first = lines.firstNonBlank(index)
        guard first < line.end, FieldLine.columns(lines.bytes, line.start..<first) >= form.indent + 2 else {
            return false
        }
        guard CodeFence(lines, index) == nil,
            !line.mayHaveComment || HTMLComment.opening(lines.bytes, first..<line.end) == nil
        else { return false }
        // The gateway reads a nested known label as a field; only a value of several lines may contain one.
        return form.field.takesLines || FieldLine(lines, index, kind: kind, commentContinues: false) == nil
    }

    private func continuation(_ range: Range<Int>) -> String {
        var items: [String] = []
        var texts: [String] = []
        for index in range {
            let first = lines.firstNonBlank(index)
            let end = lines[index].end
            let text = FieldLine.skipBullet(lines.bytes, first, end: end)
            let isBullet = text > first && (text > first + 1 || text == end)
            if isBullet { items.append(FieldValue.trim(lines.text(text..<end))) }
            texts.append(FieldValue.trim(lines.text(first..<end)))
        }
        return items.count == texts.count ? items.joined(separator: "\n") : texts.joined(separator: " ")
    }

    /// Whether a comment begins inside the line and ends on a later one. Inside a code span `<!--` is text.
    private func opensComment(_ index: Int) -> Bool {
        let line = lines[index]
        guard line.mayHaveComment else { return false }
        var cursor = line.start
        while let open = HTMLComment.opening(lines.bytes, cursor..<line.end) {
            if let close = HTMLComment.closing(lines.bytes, open + 2..<line.end) {
                cursor = close
                continue
            }
            let ticks = lines.bytes[line.start..<open].count { $0 == 0x60 }
            return ticks.isMultiple(of: 2) && lastCommentEnd > line.end
        }
        return false
    }

    private func isComment(_ index: Int) -> Bool {
        states[index] == .commentStart || states[index] == .commentInside
    }

    /// Whether the line is inside a code fence or a comment that began above it.
    func isInsideBlock(_ index: Int) -> Bool {
        switch states[index] {
        case .fenceInside, .commentInside, .textCommentInside: true
        case .text, .fenceStart, .commentStart: false
        }
    }

    /// Whether a field begins on the line. The occurrences are in the order of the lines.
    func isOccurrence(_ index: Int) -> Bool {
        let place = occurrences.partitioningIndex { $0.line >= index }
        return place < occurrences.count && occurrences[place].line == index
    }

    private static func frontMatterEnd(_ lines: TextLines) -> Int {
        guard lines.count > 1, isFrontMatterMark(lines, 0) else { return 0 }
        for index in 1..<lines.count where isFrontMatterMark(lines, index) { return index + 1 }
        return 0
    }

    private static func isFrontMatterMark(_ lines: TextLines, _ index: Int) -> Bool {
        let line = lines[index]
        var end = line.end
        while end > line.start, lines.bytes[end - 1] == 0x20 || lines.bytes[end - 1] == 0x09 { end -= 1 }
        return end - line.start == 3 && lines.bytes[line.start..<end].allSatisfy { $0 == 0x2D }
    }
}
