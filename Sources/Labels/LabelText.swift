import Basics

/// The pieces of a label: file names, hosts, quoted text. All of them are masked.
package enum LabelText {
    /// Longest quoted piece, in characters.
    private static let quoteLimit = 40

    /// The last part of a path; nil if there is none.
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

    /// `F` or `F and N more`; nil for no names.
    static func list(_ names: [String]) -> String? {
        guard let first = names.first else { return nil }
        return names.count == 1 ? first : "\(first) and \(names.count - 1) more"
    }

    /// Host of the first http(s) address in the text, without user info and port.
    static func host(in text: String) -> String? {
        let lowered = text.lowercased()
        let scheme = lowered.rangeOfText("https://") ?? lowered.rangeOfText("http://")
        return scheme.flatMap { host(ofAuthority: lowered[$0.upperBound...]) }
    }

    /// The host of `user@host:port/…`.
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

    private static func isHostByte(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte.isASCIIDigit || byte >= 0x80 || byte == "." || byte == "-" || byte == "_"
    }

    /// `"text"` on one line, masked, cut.
    static func quoted(_ text: String) -> String {
        "\"" + SecretMask.quoted(collapsed(text)).cut(to: quoteLimit) + "\""
    }

    /// The text on one line: blanks, control and hidden characters become single spaces.
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

    /// Invisible characters and those that reverse the text's direction could make a label lie.
    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x200B, 0x200E, 0x200F, 0x202A...0x202E, 0x2060...0x2069, 0xFEFF: true
        default: false
        }
    }
}
