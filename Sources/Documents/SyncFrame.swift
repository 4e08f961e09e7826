/// A chat message that asks an agent to write one of its files: the last resort where the gateway refuses its file calls.
package enum SyncFrame {
    /// The first line of every request. A transcript hides messages that begin with it.
    package static let marker = "[ladle housekeeping: file sync, not part of the conversation]"

    private static let identityMark = "---IDENTITY---"
    private static let profileMark = "---USER---"
    private static let endMark = "---END---"

    /// Asks to replace one file and to answer with its contents.
    package static func writeRequest(_ kind: DocumentKind, markdown: String) -> String {
        let mark = kind == .identity ? identityMark : profileMark
        return """
            \(marker)
            Replace \(kind.fileName) in your workspace by exactly the text between the two lines \(mark) and \(endMark), \
            change nothing else, then read the file and answer with nothing but this same frame around its contents.
            \(mark)
            \(markdown)
            \(endMark)
            """
    }

    /// Whether a message of a transcript is a request.
    package static func isRequest(_ text: String) -> Bool { text.hasPrefix(marker) }

    /// Whether a message of a transcript looks like the answer to a request.
    package static func isReply(_ text: String) -> Bool {
        text.utf8.count < 8 << 20 && (text.contains(identityMark) || text.contains(profileMark))
    }
}
