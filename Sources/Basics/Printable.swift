/// Makes foreign text safe to print, so that it cannot control the terminal.
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
        let isPlain = text.utf8.allSatisfy { byte in
            (0x30...0x3A).contains(byte) || (0x40...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
        }
        if isPlain, !text.isEmpty { return text }
        return "'" + line(text).split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
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

    /// Writes each character that would not show as itself as `\\u{HEX}`: controls, line ends, marks of direction, invisible ones,
    /// and spaces that are no blank. The text stays whole, and on one line.
    package static func escaped(_ text: String) -> String {
        var view = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if isShownAsItself(scalar) {
                view.append(scalar)
            } else {
                view.append(contentsOf: "\\u{\(String(scalar.value, radix: 16, uppercase: true))}".unicodeScalars)
            }
        }
        return String(view)
    }

    private static func isShownAsItself(_ scalar: Unicode.Scalar) -> Bool {
        if (0x20...0x7E).contains(scalar.value) { return true }
        if scalar.properties.isDefaultIgnorableCodePoint { return false }
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
