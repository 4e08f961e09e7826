/// The labels of fields. They are compared in lower case, without emphasis marks and with single spaces.
enum DocumentLabel {
    static let identity: [String: DocumentField] = [
        "name": .name, "agent name": .name, "bot name": .name, "名字": .name, "名称": .name,
        "creature": .creature, "species": .creature, "being": .creature, "生物": .creature, "生物类型": .creature,
        "vibe": .vibe, "personality": .vibe, "氛围": .vibe, "气质": .vibe, "风格": .vibe,
        "theme": .theme, "主题": .theme,
        "emoji": .emoji, "signature emoji": .emoji, "表情符号": .emoji,
        "avatar": .avatar, "头像": .avatar,
    ]

    static let profile: [String: DocumentField] = [
        "name": .name, "full name": .name, "姓名": .name,
        "what to call them": .callName, "what to call you": .callName, "preferred name": .callName,
        "preferred address": .callName, "call name": .callName, "nickname": .callName, "goes by": .callName,
        "称呼": .callName, "称呼方式": .callName, "首选称呼": .callName,
        "pronouns": .pronouns, "代词": .pronouns,
        "timezone": .timezone, "time zone": .timezone, "时区": .timezone,
        "notes": .notes, "备注": .notes,
    ]

    static let contextHeadings: Set<String> = ["context", "background", "背景"]

    /// More bytes than the longest alias has, without marks and blanks. A longer text is prose.
    static let longestAlias = 24

    /// The field that a short part of a line names.
    static func field(_ bytes: [UInt8], _ range: Range<Int>, kind: DocumentKind) -> DocumentField? {
        var label: [UInt8] = []
        label.reserveCapacity(range.count)
        var isASCII = true
        for offset in range {
            let byte = bytes[offset]
            switch byte {
            case 0x2A, 0x5F, 0x60: continue
            case 0x20, 0x09: if label.isEmpty || label.last == 0x20 { continue }
            default: if byte >= 0x80 { isASCII = false }
            }
            label.append(byte == 0x09 ? 0x20 : byte | ((0x41...0x5A).contains(byte) ? 0x20 : 0))
        }
        if label.last == 0x20 { label.removeLast() }
        guard isASCII else { return kind.field(forLabel: normalized(String(decoding: label, as: UTF8.self))) }
        let known = kind == .identity ? plainIdentity : plainProfile
        guard label.count < known.count else { return nil }
        return known[label.count].first { $0.label == label }?.field
    }

    /// The ASCII labels by length. Most lines with a colon match none; this finds out without making a string.
    private static let plainIdentity = byLength(identity)
    private static let plainProfile = byLength(profile)

    private static func byLength(_ labels: [String: DocumentField]) -> [[(label: [UInt8], field: DocumentField)]] {
        var table = [[(label: [UInt8], field: DocumentField)]](repeating: [], count: longestAlias + 1)
        for (label, field) in labels where label.utf8.count <= longestAlias {
            table[label.utf8.count].append((Array(label.utf8), field))
        }
        return table
    }

    static func normalized(_ label: String) -> String {
        FieldValue.collapsed(label.filter { !FieldValue.isMark($0) }).lowercased()
    }
}
