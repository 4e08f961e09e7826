import JSONBytes

/// The frame in which an agent is asked, by chat, for its two files or to write one: the way of last resort where the
/// gateway's file calls are closed to us.
package enum SyncFrame {
    /// The first line of every request, by which it is recognised in a transcript and hidden.
    package static let marker = "[ladle housekeeping: file sync, not part of the conversation]"

    private static let identityMark = "---IDENTITY---"
    private static let profileMark = "---USER---"
    private static let endMark = "---END---"

    /// The files an answer brought; nil for one that it did not bring or left empty.
    package struct Reply: Sendable, Equatable {
        package var identity: String?
        package var profile: String?

        package init(identity: String?, profile: String?) {
            self.identity = identity
            self.profile = profile
        }
    }

    package enum Reading: Sendable {
        /// Parts in any order, one may be missing, a fence around a part is removed.
        case tolerant
        /// Both parts in their order, as the phone clients read it.
        case bothParts
    }

    /// Asks for both files.
    package static func readRequest() -> String {
        """
        \(marker)
        Read \(DocumentKind.identity.fileName) and \(DocumentKind.profile.fileName) in your workspace and answer with \
        nothing but their exact contents in this frame, without code fences or remarks:
        \(identityMark)
        <contents of \(DocumentKind.identity.fileName)>
        \(profileMark)
        <contents of \(DocumentKind.profile.fileName)>
        \(endMark)
        """
    }

    /// Asks to replace one file and to answer with it, so that the write can be checked.
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

    /// Whether a message of a transcript is one of the requests above.
    package static func isRequest(_ text: String) -> Bool { text.hasPrefix(marker) }

    /// Whether a message of a transcript looks like the answer to one.
    package static func isReply(_ text: String) -> Bool {
        text.utf8.count < 8 << 20 && (text.contains(identityMark) || text.contains(profileMark))
    }

    package static func parse(_ text: String, as reading: Reading = .tolerant) -> Reply? {
        framed(text, reading) ?? json(text, reading)
    }

    private static func framed(_ text: String, _ reading: Reading) -> Reply? {
        let identity = text.firstRange(of: identityMark)
        let profile = text.firstRange(of: profileMark)
        if reading == .bothParts {
            guard let identity, let profile, identity.upperBound <= profile.lowerBound else { return nil }
        }
        guard identity != nil || profile != nil else { return nil }
        return Reply(
            identity: identity.flatMap { part(text, behind: $0.upperBound, reading) },
            profile: profile.flatMap { part(text, behind: $0.upperBound, reading) }
        )
    }

    /// The text up to the next mark of any kind.
    private static func part(_ text: String, behind start: String.Index, _ reading: Reading) -> String? {
        let rest = text[start...]
        let ends = [identityMark, profileMark, endMark].compactMap { rest.firstRange(of: $0)?.lowerBound }
        let content = FieldValue.trim(String(rest[..<(ends.min() ?? rest.endIndex)]))
        let bare = reading == .tolerant ? withoutFence(content) : content
        return bare.isEmpty ? nil : bare
    }

    private static func withoutFence(_ text: String) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let first = lines.first, first.hasPrefix("```"), !first.dropFirst(3).contains("`"),
            let last = lines.last, FieldValue.trim(String(last)) == "```", lines.count >= 2
        else { return text }
        return lines.dropFirst().dropLast().joined(separator: "\n")
    }

    private static func json(_ text: String, _ reading: Reading) -> Reply? {
        let bare = text.split(separator: "\n", omittingEmptySubsequences: false)
            .filter { !FieldValue.trim(String($0)).hasPrefix("```") }
            .joined(separator: "\n")
        guard let document = try? JSONDocument(parsing: bare) else { return nil }
        let identity = document.root["identity"]?.string.map(FieldValue.trim)
        let profile = document.root["user"]?.string.map(FieldValue.trim)
        guard identity != nil || profile != nil, reading == .tolerant || (identity != nil && profile != nil) else {
            return nil
        }
        return Reply(
            identity: identity.flatMap { $0.isEmpty ? nil : $0 },
            profile: profile.flatMap { $0.isEmpty ? nil : $0 }
        )
    }
}
