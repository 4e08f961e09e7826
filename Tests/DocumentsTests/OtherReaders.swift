/// The gateway's reader of these files, rebuilt from its published behaviour. Files that Ladle writes must mean the same to
/// it.
enum GatewayReader {
    private static let hints: Set<String> = [
        "pick something you like", "ai? robot? familiar? ghost in the machine? something weirder?",
        "how do you come across? sharp? warm? chaotic? calm?", "your signature - pick one that feels right",
        "workspace-relative path, http(s) url, or data uri", "not set yet",
    ]

    static func fields(_ markdown: String) -> [String: String] {
        var fields: [String: String] = [:]
        for line in markdown.split(whereSeparator: \.isNewline) {
            var text = trim(String(line), " \t")
            if text.hasPrefix("-") { text.removeFirst() }
            guard let colon = text.firstIndex(of: ":") else { continue }
            let label = trim(text[..<colon].filter { !"*_`".contains($0) }, " \t").lowercased()
            let value = trim(String(text[text.index(after: colon)...]), "*_` \t")
            guard ["name", "emoji", "creature", "vibe", "theme", "avatar"].contains(label), !value.isEmpty else {
                continue
            }
            var plain = trim(value, "()*_ ").lowercased()
            plain = String(plain.map { "–—".contains($0) ? "-" : $0 })
            if value.hasPrefix("("), value.hasSuffix(")"),
                hints.contains(trim(String(value.dropFirst().dropLast()), "*_ ").lowercased())
            {
                continue
            }
            if hints.contains(plain) || hints.contains(value.lowercased()) { continue }
            fields[label] = value
        }
        return fields
    }

    static func trim(_ text: String, _ set: String) -> String {
        let head = text.drop { set.contains($0) }
        return String(head.reversed().drop { set.contains($0) }.reversed())
    }
}

/// The phone client of spring 2026: bold labels with the colon inside, the last line wins, hints are values.
enum PhoneReader {
    static let identity = [
        "Name": "name", "Creature": "creature", "Vibe": "vibe", "Emoji": "emoji", "Avatar": "avatar",
    ]
    static let profile = [
        "Name": "name", "What to call them": "callName", "Pronouns": "pronouns", "Timezone": "timezone",
        "Notes": "notes",
    ]

    static func fields(_ markdown: String, labels: [String: String], context: Bool) -> [String: String] {
        var fields: [String: String] = [:]
        var section: [String]?
        for line in markdown.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            let text = GatewayReader.trim(String(line), " \t\r")
            if section != nil {
                section?.append(String(line))
                continue
            }
            if context, text.hasPrefix("## Context") || text.hasPrefix("# Context") {
                section = []
                continue
            }
            for (label, name) in labels {
                for form in ["- **\(label):**", "* **\(label):**", "**\(label):**"] where text.hasPrefix(form) {
                    fields[name] = GatewayReader.trim(String(text.dropFirst(form.count)), " \t")
                }
            }
        }
        if let section { fields["context"] = GatewayReader.trim(section.joined(separator: "\n"), " \t\n") }
        return fields.filter { !$0.value.isEmpty }
    }
}
