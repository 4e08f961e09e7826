import Basics

/// One word of a command with its quotes resolved.
struct ShellWord: Sendable, Equatable {
    var text: String
    /// Holds an expansion (`$X`, `$(…)`, back-ticks, `<(…)`): the real text is not known. The expansion stays in `text`.
    var isOpaque = false
    var isQuoted = false

    /// What xargs and `find -exec` put in.
    static let unknown = ShellWord(text: "{}", isOpaque: true)

    /// `NAME=value` before a command.
    var isAssignment: Bool {
        guard let equals = text.firstIndex(of: "="), equals > text.startIndex else { return false }
        var name = text[..<equals]
        if name.last == "+" { name = name.dropLast() }
        guard let first = name.utf8.first, first.isASCIILetter || first == UInt8(ascii: "_") else { return false }
        return name.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || $0 == UInt8(ascii: "_") }
    }

    var isOption: Bool { text.utf8.count > 1 && text.hasPrefix("-") }
}

/// A command between pipes.
struct ShellPart: Sendable, Equatable {
    var words: [ShellWord] = []
    /// Where standard output goes, where it is a file.
    var output: ShellOutput?
    /// Bodies of the here-documents that feed it.
    var documents: [String] = []

    var isEmpty: Bool { words.isEmpty && output == nil && documents.isEmpty }
}

struct ShellOutput: Sendable, Equatable {
    var target: ShellWord
    var appends: Bool
}

/// Commands joined by pipes; stages stand between `&&`, `||`, `;`, `&` and new lines.
struct ShellStage: Sendable, Equatable {
    var parts: [ShellPart] = []
}
