/// A chat message that asks an agent to write one of its files: the last resort if the gateway refuses its file calls.
package enum SyncFrame {
    private static let identityMark = "---IDENTITY---"
    private static let profileMark = "---USER---"
    private static let endMark = "---END---"

    /// Asks to replace one file and to answer with its contents.
    /// - Parameter firstLine: the mark by which transcripts hide the request.
    package static func writeRequest(_ kind: DocumentKind, markdown: String, firstLine: String) -> String {
        let mark = kind == .identity ? identityMark : profileMark
        return """
            \(firstLine)
            Replace \(kind.fileName) in your workspace by exactly the text between the two lines \(mark) and \(endMark), \
            change nothing else, then read the file and answer with nothing but this same frame around its contents.
            \(mark)
            \(markdown)
            \(endMark)
            """
    }
}
