/// The position at which a text stops being acceptable JSON, and the reason.
package struct JSONError: Error, Equatable, Sendable {
    package enum Reason: String, Sendable {
        case unexpectedEnd = "the text ends too early"
        case unexpectedByte = "a byte that cannot stand here"
        case invalidNumber = "a malformed number"
        case invalidEscape = "a malformed escape in a string"
        case controlCharacter = "a control character in a string"
        case invalidUTF8 = "bytes that are not UTF-8"
        case duplicateKey = "a key that the object already has"
        case tooDeep = "nesting beyond the limit"
        case tooLarge = "a text beyond the size limit"
        case trailingBytes = "bytes after the end of the value"
    }

    /// The position in bytes, counted from 0.
    package let offset: Int
    package let reason: Reason

    package init(offset: Int, reason: Reason) {
        self.offset = offset
        self.reason = reason
    }
}

extension JSONError: CustomStringConvertible {
    package var description: String { "\(reason.rawValue) at byte \(offset)" }
}

/// The limits within which the parser accepts a text.
package struct JSONLimits: Sendable {
    /// The most arrays and objects open at once.
    package var depth: Int
    package var bytes: Int

    package init(depth: Int, bytes: Int) {
        self.depth = depth
        self.bytes = bytes
    }

    /// For clients' requests: deeper bodies have no use in this API and are the classic attack on a parser's stack.
    package static let standard = JSONLimits(depth: 32, bytes: 64 << 20)
    /// For frames of the gateway: tool arguments and plug-in payloads nest deeper than requests.
    package static let gateway = JSONLimits(depth: 64, bytes: 64 << 20)
}
