import Basics

/// Makes an agent's texts safe to show to the person who decides: no character can hide or move another.
enum ShownText {
    /// Characters are spelt out if they could hide others. The spelt-out text may be twice as long, so that memory has a limit.
    static func of(_ text: String, bytes: Int) -> (text: String, isWhole: Bool) {
        let start = start(of: text, bytes: bytes)
        let (shown, isWhole) = Printable.escaped(start, limit: 2 * bytes)
        return (shown, isWhole && start.utf8.count == text.utf8.count)
    }

    /// The name of a client.
    static func name(_ text: String) -> String { line(of(text, bytes: ApprovalLimits.nameBytes).text) }

    static func line(_ text: String) -> String {
        let scalars = text.unicodeScalars
        guard scalars.count > ApprovalLimits.titleCharacters else { return text }
        return String(String.UnicodeScalarView(scalars.prefix(ApprovalLimits.titleCharacters - 1))) + "…"
    }

    /// Cuts between scalars, not characters: one character can have any number of scalars.
    private static func start(of text: String, bytes: Int) -> String {
        guard text.utf8.count > bytes else { return text }
        var view = String.UnicodeScalarView()
        var size = 0
        for scalar in text.unicodeScalars {
            size += UTF8.width(scalar)
            guard size <= bytes else { break }
            view.append(scalar)
        }
        return String(view)
    }
}
