/// Makes text from outside safe to print, so that it cannot control the terminal.
package enum Printable {
    /// Reduces the text to one line: line ends and tabs become blanks, other control characters are removed.
    package static func line(_ text: String) -> String {
        var view = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if isBreak(scalar) {
                view.append(" ")
            } else if scalar.properties.generalCategory != .control, !isDirection(scalar) {
                view.append(scalar)
            }
        }
        return String(view)
    }

    /// Quotes an argument for a command line that a user will type.
    package static func argument(_ text: String) -> String {
        if isWord(text) { return text }
        return "'" + line(text).split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }

    /// Whether every shell reads the text as itself and no command reads it as an option: letters, digits and `/:@._-`
    /// of ASCII, not beginning with a dash.
    package static func isWord(_ text: String) -> Bool {
        guard let first = text.utf8.first, first != UInt8(ascii: "-") else { return false }
        return text.utf8.allSatisfy { byte in
            (0x2F...0x3A).contains(byte) || (0x40...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
        }
    }

    /// Makes several lines safe and keeps the line ends.
    package static func text(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line(String($0)) }.joined(separator: "\n")
    }

    /// Makes a document safe: it keeps its line ends and tabs.
    package static func document(_ text: String) -> String {
        var view = String.UnicodeScalarView()
        for scalar in text.unicodeScalars
        where scalar == "\n" || scalar == "\t"
            || (scalar.properties.generalCategory != .control && !isDirection(scalar))
        {
            view.append(scalar)
        }
        return String(view)
    }

    /// Writes each character that would not show as itself as `\\u{HEX}`: controls, line ends, direction marks,
    /// invisible characters, unusual spaces, and combining marks except the usual accents of a letter. The text stays
    /// on one line. It ends before the first character that would make it longer than `limit` bytes.
    package static func escaped(_ text: String, limit: Int = .max) -> (text: String, isWhole: Bool) {
        var view = String.UnicodeScalarView()
        var size = 0
        // The number of marks on the last letter; nil after anything else.
        var marks: Int?
        for scalar in text.unicodeScalars {
            let isMark = isCombining(scalar)
            let isShown = isMark ? isAccent(scalar, behind: marks) : isShownAsItself(scalar)
            let spelt = isShown ? "" : "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            size += isShown ? UTF8.width(scalar) : spelt.utf8.count
            guard size <= limit else { return (String(view), false) }
            if isShown { view.append(scalar) } else { view.append(contentsOf: spelt.unicodeScalars) }
            if isMark {
                marks = isShown ? marks.map { $0 + 1 } : nil
            } else {
                marks = isShown && scalar.properties.isAlphabetic ? 0 : nil
            }
        }
        return (String(view), true)
    }

    /// Whether the character is seen as itself on a screen, alone or on a letter.
    package static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        isCombining(scalar) ? isAccent(scalar, behind: 0) : isShownAsItself(scalar)
    }

    private static let mostAccents = 2

    private static func isCombining(_ scalar: Unicode.Scalar) -> Bool {
        guard scalar.value >= 0x300 else { return false }
        return switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: true
        default: false
        }
    }

    /// Whether a mark is an accent. Strokes and frames hide the letter, and so do many marks on one.
    private static func isAccent(_ scalar: Unicode.Scalar, behind marks: Int?) -> Bool {
        guard let marks, marks < mostAccents, !scalar.properties.isDefaultIgnorableCodePoint else { return false }
        return scalar.properties.generalCategory != .enclosingMark
            && scalar.properties.canonicalCombiningClass != .overlay
    }

    /// Letters and symbols that are drawn blank.
    private static let blanks: Set<UInt32> = [0x2800, 0x1D159, 0x13441, 0x13442]

    private static func isShownAsItself(_ scalar: Unicode.Scalar) -> Bool {
        if (0x20...0x7E).contains(scalar.value) { return true }
        if scalar.properties.isDefaultIgnorableCodePoint || blanks.contains(scalar.value) { return false }
        return switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator, .privateUse, .surrogate,
            .unassigned:
            false
        default: true
        }
    }

    private static func isBreak(_ scalar: Unicode.Scalar) -> Bool {
        (0x09...0x0D).contains(scalar.value) || [0x85, 0x2028, 0x2029].contains(scalar.value)
    }

    /// Marks that change the direction of the text after them.
    private static func isDirection(_ scalar: Unicode.Scalar) -> Bool {
        (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
            || [0x200E, 0x200F, 0x061C].contains(scalar.value)
    }
}
