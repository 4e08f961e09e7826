/// Reads values in their written form: emphasis around them is removed, and template hints count as empty.
enum FieldValue {
    /// The hints of the gateway's templates, in the form of `comparable`.
    private static let placeholders: Set<String> = [
        "pick something you like",
        "ai? robot? familiar? ghost in the machine? something weirder?",
        "how do you come across? sharp? warm? chaotic? calm?",
        "your signature - pick one that feels right",
        "workspace-relative path, http(s) url, or data uri",
        "not set yet",
        "optional",
        "可选",
    ]
    /// Values outside these lengths cannot be hints and skip the comparison.
    private static let longestPlaceholder = 160
    private static let shortestPlaceholder = 6

    static func isMark(_ character: Character) -> Bool {
        character == "*" || character == "_" || character == "`"
    }

    /// The value that `text` means; empty for a hint.
    static func read(_ text: String) -> String {
        let trimmed = trim(text)
        guard let first = trimmed.utf8.first else { return "" }
        if trimmed.utf8.count < shortestPlaceholder, first != 0x2A, first != 0x5F, first != 0x60 { return trimmed }
        return isPlaceholder(trimmed) ? "" : unwrapped(trimmed)
    }

    /// A new value as it is written: line feeds alone end its lines, and it has no ASCII white space at its ends.
    static func written(_ text: String) -> String {
        let isBlank: (Unicode.Scalar) -> Bool = { $0 == " " || $0 == "\t" || $0 == "\n" }
        let scalars = text.unicodeScalars.filter { $0 != "\r" }
        guard let first = scalars.firstIndex(where: { !isBlank($0) }),
            let last = scalars.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return String(scalars[first...last])
    }

    static func isPlaceholder(_ value: String) -> Bool {
        if isBracketedItalic(value) { return true }
        let count = value.utf8.count
        guard count >= shortestPlaceholder, count <= longestPlaceholder else { return false }
        return placeholders.contains(comparable(value))
    }

    /// White space and control characters joined to single spaces, none at the ends.
    static func collapsed(_ text: String) -> String {
        var result = ""
        var pendingSpace = false
        for scalar in text.unicodeScalars {
            if isBlank(scalar) {
                pendingSpace = !result.isEmpty
                continue
            }
            if pendingSpace { result.append(" ") }
            pendingSpace = false
            result.unicodeScalars.append(scalar)
        }
        return result
    }

    static func trim(_ text: String) -> String {
        let utf8 = text.utf8
        if let first = utf8.first, let last = utf8.last, (0x21...0x7E).contains(first), (0x21...0x7E).contains(last) {
            return text
        }
        let scalars = text.unicodeScalars
        guard let first = scalars.firstIndex(where: { !isBlank($0) }),
            let last = scalars.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return String(scalars[first...last])
    }

    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value <= 0x20 || scalar.value == 0x7F }
        return scalar.properties.isWhitespace || scalar.properties.generalCategory == .control
    }

    /// Removes all pairs of marks that surround the whole value.
    private static func unwrapped(_ value: String) -> String {
        var scalars = ArraySlice(value.unicodeScalars)
        var changed = true
        while changed {
            changed = false
            if let inner = withoutOuterPair(scalars) {
                scalars = inner
                changed = true
            }
        }
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return trim(String(view))
    }

    /// The inside of `*x*`, `**x**`, `_x_` or `` `x` ``; nil if the first mark closes before the end, as in `*a* and
    /// *b*`.
    private static func withoutOuterPair(_ scalars: ArraySlice<Unicode.Scalar>) -> ArraySlice<Unicode.Scalar>? {
        guard let mark = scalars.first, mark == "*" || mark == "_" || mark == "`", scalars.last == mark else {
            return nil
        }
        let opening = scalars.prefix { $0 == mark }.count
        let closing = scalars.reversed().prefix { $0 == mark }.count
        let width = min(opening, closing)
        guard scalars.count > width * 2 else { return nil }
        let inner = scalars.dropFirst(width).dropLast(width)
        guard let head = inner.first, let tail = inner.last, !isBlank(head), !isBlank(tail) else { return nil }
        return closesInside(inner, mark: mark) ? nil : inner
    }

    /// Whether a run of the mark inside `inner` closes the mark before `inner` (flanking rules of CommonMark 6.2).
    private static func closesInside(_ inner: ArraySlice<Unicode.Scalar>, mark: Unicode.Scalar) -> Bool {
        var depth = 0
        var index = inner.startIndex
        while index < inner.endIndex {
            guard inner[index] == mark else {
                index += 1
                continue
            }
            if mark == "`" { return true }
            let start = index
            while index < inner.endIndex, inner[index] == mark { index += 1 }
            let before = start > inner.startIndex ? inner[start - 1] : " "
            let after = index < inner.endIndex ? inner[index] : " "
            let insideWord = isWord(before) && isWord(after)
            if mark == "_" && insideWord { continue }
            if !isBlank(before) && (isBlank(after) || !isWord(after) || insideWord) {
                if depth == 0 { return true }
                depth -= 1
            } else if !isBlank(after) {
                depth += 1
            }
        }
        return false
    }

    private static func isWord(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic || scalar.properties.numericType != nil
    }

    /// Italic or bold-italic round brackets around the whole value: a hint of the templates to fill in.
    private static func isBracketedItalic(_ value: String) -> Bool {
        let scalars = ArraySlice(value.unicodeScalars)
        let isEmphasis: (Unicode.Scalar) -> Bool = { $0 == "*" || $0 == "_" }
        let opening = scalars.prefix(while: isEmphasis)
        let closing = scalars.reversed().prefix(while: isEmphasis)
        guard opening.count == 1 || opening.count == 3, Array(opening) == Array(closing),
            scalars.count > opening.count * 2
        else { return false }
        return isOneBracket(scalars.dropFirst(opening.count).dropLast(closing.count))
    }

    private static func isOneBracket(_ scalars: ArraySlice<Unicode.Scalar>) -> Bool {
        guard let first = scalars.first, first == "(" || first == "（" else { return false }
        var depth = 0
        for (offset, scalar) in scalars.enumerated() {
            if scalar == "(" || scalar == "（" { depth += 1 }
            if scalar == ")" || scalar == "）" { depth -= 1 }
            if depth == 0 { return offset == scalars.count - 1 }
        }
        return false
    }

    private static func comparable(_ value: String) -> String {
        var text = trimmedOfMarks(value)
        if let first = text.first, let last = text.last, "(（".contains(first), ")）".contains(last), text.count > 1 {
            text = trimmedOfMarks(String(text.dropFirst().dropLast()))
        }
        let unified = String(
            text.map { "\u{2010}\u{2011}\u{2012}\u{2013}\u{2014}\u{2015}\u{2212}".contains($0) ? "-" : $0 }
        )
        return collapsed(unified).lowercased()
    }

    private static func trimmedOfMarks(_ text: String) -> String {
        let isOuter: (Character) -> Bool = { isMark($0) || $0.isWhitespace }
        let head = text.drop(while: isOuter)
        return String(head.reversed().drop(while: isOuter).reversed())
    }
}
