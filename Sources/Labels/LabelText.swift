import Basics

/// The pieces that labels are made of: last path parts, hosts, quoted text. Everything that leaves here is masked.
package enum LabelText {
    /// Longest quoted piece, in characters.
    static let quoteLimit = 40
    /// Longest label without its dots, in characters.
    static let labelLimit = 80

    /// The last part of a path; nil where it is not known or empty.
    static func name(of word: ShellWord) -> String? {
        word.isOpaque ? nil : name(ofPath: word.text)
    }

    package static func name(ofPath path: String) -> String? {
        var rest = path[...]
        while rest.count > 1, rest.last == "/" { rest = rest.dropLast() }
        if rest == "/" { return "/" }
        let last = rest.split(separator: "/").last.map(String.init) ?? ""
        switch last {
        case "", "-": return nil
        case ".": return "this folder"
        case "..": return "parent folder"
        case "~": return "home folder"
        default: return SecretMask.name(collapsed(last))
        }
    }

    /// `F`, `F and N more`; nil when no name is known. Unknown names are left out and not counted.
    static func list(_ names: [String]) -> String? {
        guard let first = names.first else { return nil }
        return names.count == 1 ? first : "\(first) and \(names.count - 1) more"
    }

    static func list(of words: [ShellWord]) -> String? {
        list(words.compactMap { name(of: $0) })
    }

    /// Host of the first http(s) address in the text, without user info and port.
    static func host(in text: String) -> String? {
        for scheme in ["https://", "http://"] {
            if let range = text.lowercased().rangeOfText(scheme) {
                let lowered = text.lowercased()
                return host(ofAuthority: lowered[range.upperBound...])
            }
        }
        return nil
    }

    /// Reads up to the end of the authority part.
    static func host(ofAuthority text: Substring) -> String? {
        let ends: Set<Character> = ["/", "?", "#", "\"", "'", " ", "\n", "\t", "\\", ">", ")", "|", ";"]
        var authority = text.prefix { !ends.contains($0) }
        if let at = authority.lastIndex(of: "@") { authority = authority[authority.index(after: at)...] }
        if authority.first == "[", let close = authority.firstIndex(of: "]") {
            return String(authority[...close])
        }
        if let colon = authority.firstIndex(of: ":") { authority = authority[..<colon] }
        guard !authority.isEmpty, authority.utf8.allSatisfy(isHostByte) else { return nil }
        return SecretMask.name(String(authority))
    }

    /// A host as it stands alone in an argument: `user@host:path`, `host`, `ssh://host`.
    static func host(ofTarget word: ShellWord) -> String? {
        guard !word.isOpaque else { return nil }
        var text = word.text.lowercased()[...]
        if let scheme = text.rangeOfText("://") { text = text[scheme.upperBound...] }
        return host(ofAuthority: text)
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte.isASCIIDigit || byte >= 0x80 || byte == UInt8(ascii: ".")
            || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: "_")
    }

    /// `"text"` on one line, masked, cut.
    static func quoted(_ text: String) -> String {
        "\"" + SecretMask.quoted(collapsed(text)).cut(to: quoteLimit) + "\""
    }

    /// One line: blanks and control characters become single spaces.
    package static func collapsed(_ text: some StringProtocol) -> String {
        var result = ""
        var pending = false
        for scalar in text.unicodeScalars {
            if scalar.properties.isWhitespace || scalar.value < 0x20 || scalar.value == 0x7F
                || (0x80..<0xA0).contains(scalar.value) || isHidden(scalar)
            {
                pending = true
                continue
            }
            if pending, !result.isEmpty { result.append(" ") }
            pending = false
            result.unicodeScalars.append(scalar)
        }
        return result
    }

    /// Characters that turn the direction of the text around or cannot be seen: they would let a label lie.
    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x200B, 0x200E, 0x200F, 0x202A...0x202E, 0x2060...0x2069, 0xFEFF: true
        default: false
        }
    }

    static func limited(_ label: String) -> String { label.cut(to: labelLimit) }
}
