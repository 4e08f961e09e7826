import Testing

@testable import Documents

/// Random edits of random files made of typical lines.
struct FieldDocumentPropertyTests {
    struct Dice {
        var state: UInt64
        mutating func roll(_ sides: Int) -> Int {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int(state % UInt64(max(1, sides)))
        }
        mutating func pick<T>(_ values: [T]) -> T { values[roll(values.count)] }
    }

    /// Enough for each pair of pieces to meet; raise it by hand for a longer search.
    static let rounds = 3_000

    static let pieces = [
        "- **Name:** Ada", "Name: Bo", "- **Name:**", "  Pixel", "\t_x_", "- Vibe: dry", "**Emoji**: 🦊",
        "* Theme : calm",
        "- **Notes:**", "  - one", "  - Name: two", "Time zone: UTC", "What to call them: A",
        "- Pronouns: _(optional)_",
        "# Title", "## Section", "### Sub", "## Context", "# Background", "---", "***", "```", "~~~", "```md",
        "<!-- a -->",
        "<!-- open", "close -->", "text <!-- mid", "Name: x <!-- c -->", "", "", "prose: with colon", "\u{FEFF}",
        "名字：爪",
        "<!-- observed: 2026-01-01 | status: active -->", "- Always.", "  ```", "    - **Creature:** deep",
        "- Avatar: `a`",
    ]
    static let values = [
        "", "Q", "two words", "**b**", "x: y", "a\nb", "a\n\n- b", "*a* and *b*", "名", "# h", "-", "-->", "`",
    ]

    static func file(_ dice: inout Dice) -> [UInt8] {
        let end = dice.pick(["\n", "\n", "\r\n"])
        var text = dice.roll(8) == 0 ? "---" + end + "a: b" + end + "---" + end : ""
        for _ in 0..<dice.roll(14) { text += dice.pick(pieces) + end }
        if dice.roll(4) == 0 { text += dice.pick(pieces) }
        return Array(text.utf8)
    }

    @Test(arguments: [DocumentKind.identity, .profile])
    func `an edit changes the asked fields and no other line`(kind: DocumentKind) throws {
        var dice = Dice(state: 0x9E37_79B9_7F4A_7C15)
        var refused = 0
        for _ in 0..<Self.rounds {
            let bytes = Self.file(&dice)
            let document = FieldDocument(kind: kind, bytes: bytes)
            var changes: [DocumentField: String] = [:]
            for _ in 0...dice.roll(3) { changes[dice.pick(kind.fields)] = dice.pick(Self.values) }
            let edited: [UInt8]
            do {
                edited = try document.edited(changes)
            } catch {
                refused += 1
                continue
            }
            let after = FieldDocument(kind: kind, bytes: edited)
            let again = try after.edited(changes)
            #expect(again == edited)
            for field in kind.fields where changes[field] == nil {
                #expect(after.fields[field] == document.fields[field])
            }
            #expect(after.fields.directives == document.fields.directives)
            #expect(
                Self.keptLines(document, edited, changed: Set(changes.keys)),
                "\(String(decoding: bytes, as: UTF8.self))"
            )
        }
        #expect(refused * 3 < Self.rounds, "most edits of ordinary files must go through")
    }

    /// Whether every line that belongs to no changed field is still there, in order.
    static func keptLines(_ document: FieldDocument, _ edited: [UInt8], changed: Set<DocumentField>) -> Bool {
        let scan = DocumentScan(document.bytes, kind: document.kind)
        var mayGo = Set<Int>()
        for occurrence in scan.occurrences where changed.contains(occurrence.form.field) {
            mayGo.formUnion(occurrence.line..<occurrence.after)
        }
        if changed.contains(.context), let section = scan.context { mayGo.formUnion(section.content) }
        let result = edited.split(separator: 0x0A, omittingEmptySubsequences: true)[...]
        var rest = result
        for index in 0..<scan.lines.count where !mayGo.contains(index) && !scan.lines.isBlank(index) {
            let line = scan.lines.bytes[scan.lines[index].start..<scan.lines[index].end]
            while let first = rest.first, !first.suffix(line.count + 1).starts(with: line), !first.starts(with: line) {
                rest.removeFirst()
            }
            guard rest.popFirst() != nil else { return false }
        }
        return true
    }

    @Test func `random bytes never trap`() {
        var dice = Dice(state: 42)
        let alphabet: [UInt8] =
            Array("\n\r\t -*_`~#<>!:()Nameotsvibc|".utf8) + [0xEF, 0xBB, 0xBF, 0xBC, 0x9A, 0xFF, 0x00]
        for round in 0..<Self.rounds {
            let bytes = (0..<dice.roll(60)).map { _ in dice.pick(alphabet) }
            let kind: DocumentKind = round.isMultiple(of: 2) ? .identity : .profile
            let document = FieldDocument(kind: kind, bytes: bytes)
            _ = try? document.edited([.name: "x", kind == .identity ? .emoji : .context: "y"])
        }
    }

    @Test func `a large file of anything is read in linear time`() throws {
        let patterns = [
            "\n", "Name: a\n", "<!--\n", "x <!--\n", "```\n", "- **Notes:**\n", "  - a\n", "#", "*", "**_`",
            "> <!-- -->", "- **Name:** a\n  - b\n",
        ]
        for pattern in patterns {
            let bytes = Array(String(repeating: pattern, count: (128 << 10) / pattern.utf8.count).utf8)
            for kind in DocumentKind.allCases {
                let duration = ContinuousClock().measure {
                    _ = try? FieldDocument(kind: kind, bytes: bytes).edited([.name: "z"])
                }
                #expect(duration < .seconds(8), "\(pattern.debugDescription) took \(duration)")
            }
        }
    }
}
