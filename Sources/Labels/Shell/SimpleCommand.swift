import Basics

/// One command with its redirections, as the shell's grammar calls it (POSIX 2.9.1).
struct SimpleCommand: Sendable, Equatable {
    var words: [ShellWord] = []
    /// The file that standard output is redirected to.
    var output: Output?
    /// The bodies of here-documents that the command reads.
    var documents: [String] = []
    /// The command reads the output of the one before it.
    var isPiped = false

    var isEmpty: Bool { words.isEmpty && output == nil && documents.isEmpty }

    struct Output: Sendable, Equatable {
        var target: ShellWord
        var appends: Bool
    }
}

/// One word of a command with its quotes resolved.
struct ShellWord: Sendable, Equatable {
    var text: String
    /// The word contains an expansion (`$X`, `$(…)`, back-ticks, `<(…)`), so the real text is not known; `text` shows it.
    var isOpaque = false
    var isQuoted = false

    /// Stands for the words that xargs and `find -exec` insert.
    static let unknown = ShellWord(text: "{}", isOpaque: true)

    /// `NAME=value` before a command.
    var isAssignment: Bool {
        guard let equals = text.firstIndex(of: "="), equals > text.startIndex else { return false }
        var name = text[..<equals]
        if name.last == "+" { name = name.dropLast() }
        guard let first = name.utf8.first, first.isASCIILetter || first == "_" else { return false }
        return name.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || $0 == "_" }
    }

    var isOption: Bool { text.utf8.count > 1 && text.hasPrefix("-") }

    /// The last part of the path, masked; nil if the text is not known.
    var name: String? { isOpaque ? nil : LabelText.name(ofPath: text) }

    /// The host that the word names: `user@host:path`, `host`, `ssh://host`.
    var host: String? {
        guard !isOpaque else { return nil }
        var text = text.lowercased()[...]
        if let scheme = text.rangeOfText("://") { text = text[scheme.upperBound...] }
        return LabelText.host(ofAuthority: text)
    }
}

extension Collection<ShellWord> {
    /// `F` or `F and N more` from the known names; nil if there are none.
    var listed: String? { LabelText.list(compactMap(\.name)) }
}
