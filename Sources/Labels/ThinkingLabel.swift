import Basics

/// The one line that names a thought.
package enum ThinkingLabel {
    /// Longest thought shown whole, in characters.
    private static let limit = 80

    /// The first line with words, without Markdown and final punctuation; nil if there is none.
    package static func text(of thinking: String) -> String? {
        var fence: Substring?
        for raw in thinking.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            let line = raw.trimmingBlanks()
            if let open = fence {
                if line.hasPrefix(open) { fence = nil }
                continue
            }
            if line.hasPrefix("```") || line.hasPrefix("~~~") {
                fence = line.prefix(3)
                continue
            }
            if line.isEmpty || isRule(line) { continue }
            let words = LabelText.collapsed(withoutEmphasis(withoutLinks(withoutPrefix(line))))
            let cleaned = withoutEnd(words)
            if !cleaned.isEmpty { return SecretMask.name(cleaned) }
        }
        return nil
    }

    package static func running(_ text: String) -> String { shortened(text) ?? text + "..." }

    /// The completed form: past tense if the first word is a verb.
    package static func done(_ text: String) -> String { shortened(text) ?? PastTense.ofThought(text) }

    /// A long text cut at the last blank before the limit, with an ellipsis; nil if the text is short enough.
    private static func shortened(_ text: String) -> String? {
        guard let end = text.index(text.startIndex, offsetBy: limit, limitedBy: text.endIndex), end < text.endIndex
        else {
            return nil
        }
        let head = text[..<end]
        let cut = head.lastIndex(of: " ") ?? end
        return withoutEnd(String(head[..<cut])) + "…"
    }

    private static func isRule(_ line: String) -> Bool {
        let marks = line.filter { $0 != " " }
        guard marks.count >= 3, let first = marks.first, "-*_=".contains(first) else { return false }
        return marks.allSatisfy { $0 == first }
    }

    /// Drops heading marks, quote marks, and a bullet or a number.
    private static func withoutPrefix(_ line: String) -> String {
        var rest = line[...]
        rest = rest.drop { $0 == "#" }
        if rest.count < line.count, rest.first.map({ $0 != " " }) ?? false { rest = line[...] }
        rest = rest.drop { $0 == " " }
        while rest.first == ">" { rest = rest.dropFirst().drop { $0 == " " } }
        if let first = rest.first, "-*+•".contains(first), rest.dropFirst().first == " " {
            return rest.dropFirst(2).trimmingBlanks()
        }
        let digits = rest.prefix { $0.isASCII && $0.isNumber }
        let behind = rest.dropFirst(digits.count)
        if (1...3).contains(digits.count), let sign = behind.first, sign == "." || sign == ")",
            behind.dropFirst().first == " "
        {
            return behind.dropFirst(2).trimmingBlanks()
        }
        return rest.trimmingBlanks()
    }

    /// `[text](url)` becomes `text`.
    private static func withoutLinks(_ line: String) -> String {
        var result = ""
        var rest = line[...]
        while let open = rest.firstIndex(of: "[") {
            result += rest[..<open]
            let inside = rest[rest.index(after: open)...]
            guard let close = inside.firstIndex(of: "]"), inside[inside.index(after: close)...].first == "(",
                let end = inside[close...].firstIndex(of: ")")
            else {
                result.append("[")
                rest = inside
                continue
            }
            result += inside[..<close]
            rest = inside[inside.index(after: end)...]
        }
        return result + rest
    }

    /// Drops `**`, `__` and back-ticks, and single `*` and `_` at word borders, so that `foo_bar` stays.
    private static func withoutEmphasis(_ line: String) -> String {
        let characters = Array(line.replacingText("**", with: "").replacingText("__", with: "").filter { $0 != "`" })
        func isWord(_ place: Int) -> Bool {
            characters.indices.contains(place) && (characters[place].isLetter || characters[place].isNumber)
        }
        var result = ""
        for (place, character) in characters.enumerated() {
            let isMark = character == "*" || character == "_"
            let isInside = isWord(place - 1) && isWord(place + 1)
            let touchesWord = isWord(place - 1) || isWord(place + 1)
            if isMark, !isInside, touchesWord || characters.count == 1 { continue }
            result.append(character)
        }
        return result
    }

    private static func withoutEnd(_ text: String) -> String {
        var rest = text[...]
        while let last = rest.last, ".…。:：,;、，；*_ ".contains(last) { rest = rest.dropLast() }
        return String(rest)
    }
}
