import HTTPModel

/// Scans the lines of a message head. It examines every byte once, eight at a time. The result never depends on how the
/// input was split.
///
/// Lines end with CR LF only: RFC 9112 §2.2 allows a bare LF, but request smuggling relies on it. A control byte is
/// refused at once; all other checks of a line wait until the line is complete.
struct HeadScanner {
    /// The start of the current line.
    private(set) var lineStart = 0
    /// The bytes of the current line before this position have been examined.
    private var position = 0
    /// The first colon of the current field line; 0 when none was found, which is safe because the start line comes
    /// first.
    private var colon = 0
    /// The start of the field block.
    private var blockStart = 0

    /// Finds the end of the start line (the position of its CR); nil when bytes are missing.
    mutating func startLine(_ bytes: Span<UInt8>, limit: Int) throws(HTTP1ParseError) -> Int? {
        let window = lineStart &+ limit &+ 2
        return try lineEnd(bytes, window: window, tooLong: .requestLineTooLong(limit: limit))
    }

    /// Moves past the start line, or past an empty line before it.
    mutating func advance(pastLineEnd end: Int) {
        lineStart = end &+ 2
        position = lineStart
        blockStart = lineStart
        colon = 0
    }

    /// Reads field lines up to the empty one. Returns the offset after the empty line, or nil when bytes are missing.
    mutating func fields(
        _ bytes: Span<UInt8>,
        into fields: inout HeaderFields,
        limits: HTTP1Limits,
        table: FieldNameTable
    ) throws(HTTP1ParseError) -> Int? {
        let window = blockStart &+ limits.fieldBlock
        while true {
            if colon == 0 { try findColon(bytes, end: min(bytes.count, window)) }
            guard let end = try lineEnd(bytes, window: window, tooLong: .headTooLarge(limit: limits.fieldBlock)) else {
                return nil
            }
            if end == lineStart { return end &+ 2 }
            if colon == 0 { throw bytes[lineStart] == ASCII.space ? .foldedLine : .missingColon }
            guard fields.count < limits.fieldCount else { throw .tooManyFields(limit: limits.fieldCount) }
            let nameLength = colon &- lineStart
            let name = table.lookup(bytes, start: lineStart, length: nameLength)
            if name == .other { try checkName(bytes) }
            var start = colon &+ 1
            var stop = end
            while start < stop, bytes[start] == ASCII.space || bytes[start] == ASCII.tab { start &+= 1 }
            while stop > start, bytes[stop &- 1] == ASCII.space || bytes[stop &- 1] == ASCII.tab { stop &-= 1 }
            fields.addSlot(
                HeaderFields.Slot(
                    name: name,
                    nameStart: lineStart,
                    nameLength: nameLength,
                    valueStart: start,
                    valueLength: stop &- start
                )
            )
            lineStart = end &+ 2
            position = lineStart
            colon = 0
        }
    }

    private func checkName(_ bytes: Span<UInt8>) throws(HTTP1ParseError) {
        if bytes[lineStart] == ASCII.space { throw .foldedLine }
        if colon == lineStart { throw .badFieldName }
        for index in lineStart..<colon where !ASCII.isToken(bytes[index]) { throw .badFieldName }
    }

    /// Stops at the colon, or before the control byte that `lineEnd` will check. A tab before the colon is always wrong
    /// and is refused here, because `lineEnd` accepts tabs.
    @inline(__always)
    private mutating func findColon(_ bytes: Span<UInt8>, end: Int) throws(HTTP1ParseError) {
        let index = Self.firstControl(bytes, from: position, to: end, orColon: true)
        position = index
        guard index < end else { return }
        switch bytes[index] {
        case ASCII.colon:
            colon = index
            position = index &+ 1
        case ASCII.tab:
            throw index == lineStart ? .foldedLine : .badFieldName
        default:
            return
        }
    }

    /// Finds the CR that ends the line; nil when it has not arrived yet.
    /// - Parameter window: the line end must lie wholly before this offset.
    @inline(__always)
    private mutating func lineEnd(
        _ bytes: Span<UInt8>,
        window: Int,
        tooLong: HTTP1ParseError
    ) throws(HTTP1ParseError) -> Int? {
        let end = min(bytes.count, window)
        while true {
            position = Self.firstControl(bytes, from: position, to: end, orColon: false)
            guard position < end else {
                if end == window { throw tooLong }
                return nil
            }
            switch bytes[position] {
            case ASCII.tab:
                position &+= 1
            case ASCII.cr:
                guard position &+ 1 < end else {
                    if end == window { throw tooLong }
                    return nil
                }
                guard bytes[position &+ 1] == ASCII.lf else { throw .bareCR }
                return position
            case ASCII.lf:
                throw .bareLF
            case let byte:
                throw .controlByte(byte)
            }
        }
    }

    /// Whether `text` stands in `bytes` at `offset`.
    static func isEqual(_ text: Span<UInt8>, to bytes: Span<UInt8>, at offset: Int) -> Bool {
        guard bytes.count &- offset >= text.count else { return false }
        var index = 0
        while text.count &- index >= 8 {
            guard loadWord(text, at: index) == loadWord(bytes, at: offset &+ index) else { return false }
            index &+= 8
        }
        while index < text.count {
            guard text[index] == bytes[offset &+ index] else { return false }
            index &+= 1
        }
        return true
    }

    /// The position of the first byte below 0x20 or equal to 0x7F (or of a colon), else `end`.
    ///
    /// A marked byte in a word is only a hint: borrows and carries move upwards, so no match can lie before the lowest
    /// mark, but the marked byte itself still has to be checked (0x7E after 0xFF is marked, for example).
    @inline(__always)
    private static func firstControl(_ bytes: Span<UInt8>, from start: Int, to end: Int, orColon: Bool) -> Int {
        var index = start
        while end &- index >= 8 {
            let word = loadWord(bytes, at: index)
            var marks = (word &- 0x2020_2020_2020_2020) | (word &+ 0x0101_0101_0101_0101)
            if orColon { marks |= (word ^ 0x3A3A_3A3A_3A3A_3A3A) &- 0x0101_0101_0101_0101 }
            marks &= ~word & 0x8080_8080_8080_8080
            if marks == 0 {
                index &+= 8
                continue
            }
            index &+= marks.trailingZeroBitCount &>> 3
            let byte = bytes[index]
            if byte < 0x20 || byte == 0x7F || (orColon && byte == ASCII.colon) { return index }
            index &+= 1
        }
        while index < end {
            let byte = bytes[index]
            if byte < 0x20 || byte == 0x7F || (orColon && byte == ASCII.colon) { return index }
            index &+= 1
        }
        return end
    }
}
