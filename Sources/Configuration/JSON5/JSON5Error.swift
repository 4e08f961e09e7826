/// The reason why a JSON5 text was refused, with line and column.
package struct JSON5Error: Error, Equatable, Sendable {
    package enum Reason: Equatable, Sendable {
        case tooLarge(limit: Int)
        case tooDeep(limit: Int)
        case notUTF8
        case endOfText
        case unexpected(String)
        case textBehindValue
        case unclosedComment
        case unclosedString
        case lineBreakInString
        case badEscape
        case loneSurrogate
        case badNumber
        case numberOutOfRange
        case notFinite(String)
        case badKey
        case missingColon
        case missingComma
        case duplicateKey(String)
    }

    package let reason: Reason
    package let position: TextPosition

    package init(_ reason: Reason, at position: TextPosition) {
        self.reason = reason
        self.position = position
    }

    package var message: String {
        switch reason {
        case .tooLarge(let limit): "the text is longer than \(limit) bytes"
        case .tooDeep(let limit): "more than \(limit) levels of nesting"
        case .notUTF8: "not UTF-8"
        case .endOfText: "the text ends too early"
        case .unexpected(let character): "unexpected \(character)"
        case .textBehindValue: "text behind the end of the value"
        case .unclosedComment: "the comment is not closed"
        case .unclosedString: "the string is not closed"
        case .lineBreakInString: "a line break in a string needs a backslash before it"
        case .badEscape: "unknown escape in a string"
        case .loneSurrogate: "half of a surrogate pair"
        case .badNumber: "this is no number"
        case .numberOutOfRange: "the number is too large"
        case .notFinite(let word): "\(word) is not accepted: write a finite number"
        case .badKey: "a key must be a name or a string"
        case .missingColon: "a colon is missing behind the key"
        case .missingComma: "a comma is missing"
        case .duplicateKey(let key): "the key \"\(key)\" stands twice"
        }
    }
}

/// Line and column, both from 1, the column in characters (Unicode scalars).
package struct TextPosition: Equatable, Sendable, CustomStringConvertible {
    package let line: Int
    package let column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    init(of offset: Int, in bytes: [UInt8]) {
        var line = 1
        var column = 1
        for index in 0..<min(offset, bytes.count) {
            let byte = bytes[index]
            if byte == 0x0A || (byte == 0x0D && !(index + 1 < bytes.count && bytes[index + 1] == 0x0A)) {
                line += 1
                column = 1
            } else if byte & 0xC0 != 0x80, byte != 0x0D {
                column += 1
            }
        }
        self.init(line: line, column: column)
    }

    package var description: String { "\(line):\(column)" }
}
