/// Text from elsewhere must not steer the terminal.
package enum Printable {
    /// One line: line ends and tabs become blanks, other control characters go.
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

    /// An argument of a command line that is to be typed.
    package static func argument(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            (0x30...0x3A).contains(byte) || (0x40...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
        }
        if isPlain, !text.isEmpty { return text }
        return "'" + line(text).split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }

    /// Several lines.
    package static func text(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line(String($0)) }.joined(separator: "\n")
    }

    private static func isBreak(_ scalar: Unicode.Scalar) -> Bool {
        (0x09...0x0D).contains(scalar.value) || [0x85, 0x2028, 0x2029].contains(scalar.value)
    }

    /// Marks that reorder what follows.
    private static func isDirection(_ scalar: Unicode.Scalar) -> Bool {
        (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
    }
}
