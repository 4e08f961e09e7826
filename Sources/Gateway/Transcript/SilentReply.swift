/// Replies that mean "say nothing". They are never shown, nor is a text that may still become one.
package enum SilentReply {
    private static let tokens = ["NO_REPLY", "NOREPLY", "HEARTBEAT_OK"].map { Array($0.utf8) }

    /// Whether the whole text is such a token.
    package static func matches(_ text: ArraySlice<UInt8>) -> Bool {
        guard let words = trimmed(text) else { return false }
        return tokens.contains { $0 == words }
    }

    /// Whether the text is such a token, or the beginning of one.
    package static func mayBecome(_ text: ArraySlice<UInt8>) -> Bool {
        guard text.count <= 64, let words = trimmed(text) else { return false }
        return tokens.contains { $0.starts(with: words) }
    }

    private static func trimmed(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard text.count <= 256 else { return nil }
        var words: [UInt8] = []
        for byte in text { words.append(byte >= 0x61 && byte <= 0x7A ? byte - 0x20 : byte) }
        func isBlank(_ byte: UInt8) -> Bool { byte <= 0x20 || byte == UInt8(ascii: "*") || byte == UInt8(ascii: "`") }
        while let last = words.last, isBlank(last) { words.removeLast() }
        let start = words.firstIndex { !isBlank($0) } ?? words.endIndex
        return start == words.endIndex ? nil : Array(words[start...])
    }
}
