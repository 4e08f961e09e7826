/// The number of terminal columns that a text takes. Wide scripts and pictures take two; good enough for tables.
package enum DisplayWidth {
    package static func of(_ text: String) -> Int {
        text.reduce(0) { $0 + of($1) }
    }

    /// The columns of a text with colours.
    package static func ofStyled(_ text: String) -> Int {
        let parts = text.split(separator: "\u{1B}", omittingEmptySubsequences: false)
        return of(String(parts[0])) + parts.dropFirst().reduce(0) { $0 + of(String($1.drop { $0 != "m" }.dropFirst())) }
    }

    package static func of(_ character: Character) -> Int {
        guard let first = character.unicodeScalars.first else { return 0 }
        if first.isASCII {
            return first.value < 0x20 || first.value == 0x7F ? 0 : character.unicodeScalars.contains("\u{FE0F}") ? 2 : 1
        }
        switch first.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: break
        }
        if first.properties.isEmojiPresentation || character.unicodeScalars.contains("\u{FE0F}") { return 2 }
        switch first.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
            0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }

    /// The text cut to so many columns, with an ellipsis where something is missing.
    package static func fitted(_ text: String, _ width: Int) -> String {
        guard of(text) > width else { return text }
        guard width > 1 else { return width == 1 ? "…" : "" }
        var result = ""
        var used = 0
        for character in text {
            let columns = of(character)
            if used + columns > width - 1 { break }
            result.append(character)
            used += columns
        }
        return result + "…"
    }

    package static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - of(text)))
    }
}
