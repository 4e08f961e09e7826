/// A header value that does not follow its grammar.
package struct HeaderValueError: Error, Equatable, Sendable {
    package enum Reason: Sendable, Equatable {
        case empty
        case syntax
        case tooLong(limit: Int)
    }

    package var field: FieldName
    package var reason: Reason

    package init(_ field: FieldName, _ reason: Reason = .syntax) {
        self.field = field
        self.reason = reason
    }

    package var description: String {
        switch reason {
        case .empty: "The \(field.canonical) header is empty."
        case .syntax: "The \(field.canonical) header does not follow its syntax."
        case .tooLong(let limit): "The \(field.canonical) header has a value longer than \(limit) bytes."
        }
    }
}

/// A cursor over a header value for the small grammars of RFC 9110 §5.6.
struct ValueScanner {
    let bytes: ArraySlice<UInt8>
    var index: Int

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        index = bytes.startIndex
    }

    var isAtEnd: Bool { index == bytes.endIndex }
    var peek: UInt8? { index < bytes.endIndex ? bytes[index] : nil }

    mutating func skipBlanks() {
        while index < bytes.endIndex, bytes[index] == ASCII.space || bytes[index] == ASCII.tab { index += 1 }
    }

    mutating func take(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        index += 1
        return true
    }

    /// Reads one or more token bytes.
    mutating func token() -> ArraySlice<UInt8>? {
        let start = index
        while index < bytes.endIndex, ASCII.isToken(bytes[index]) { index += 1 }
        return index > start ? bytes[start..<index] : nil
    }

    /// Reads a quoted string and resolves its backslashes; nil when it does not end or holds a control byte.
    mutating func quotedString() -> [UInt8]? {
        guard take(0x22) else { return nil }
        var text: [UInt8] = []
        while index < bytes.endIndex {
            let byte = bytes[index]
            index += 1
            if byte == 0x22 { return text }
            if byte == 0x5C {
                guard let escaped = peek, ASCII.isFieldValue(escaped) else { return nil }
                text.append(escaped)
                index += 1
            } else {
                guard ASCII.isFieldValue(byte) else { return nil }
                text.append(byte)
            }
        }
        return nil
    }

    mutating func tokenOrQuotedString() -> [UInt8]? {
        if peek == 0x22 { return quotedString() }
        return token().map(Array.init)
    }
}
