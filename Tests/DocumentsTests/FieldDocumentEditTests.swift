import Testing

@testable import Documents

struct FieldDocumentEditTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let kind: DocumentKind
        let before: String
        let changes: [DocumentField: String]
        let after: String

        init(
            _ name: String,
            _ kind: DocumentKind,
            _ before: String,
            _ changes: [DocumentField: String],
            _ after: String
        ) {
            testDescription = name
            self.kind = kind
            self.before = before
            self.changes = changes
            self.after = after
        }

        init(_ name: String, _ before: String, _ changes: [DocumentField: String], _ after: String) {
            self.init(name, .identity, before, changes, after)
        }
    }

    static let edits: [Case] = [
        Case("own marks and colon are kept", "* _Name_ : a\n", [.name: "b"], "* _Name_ : b\n"),
        Case("full-width colon", "- **名字：**a\nx\n", [.name: "b"], "- **名字：** b\nx\n"),
        Case("the same letters in other bytes", "Name: Andr\u{E9}\n", [.name: "Andre\u{301}"], "Name: Andre\u{301}\n"),
        Case("no final line end", "Name: a", [.name: "b", .vibe: "c"], "Name: b\nVibe: c"),
        Case("byte order mark", "\u{FEFF}Vibe: a\n", [.name: "b"], "\u{FEFF}Name: b\nVibe: a\n"),
        Case("clearing keeps the label", "- **Name:** a\n- **Vibe:** b\n", [.name: ""], "- **Name:**\n- **Vibe:** b\n"),
        Case("clearing a hint changes nothing", "Name: _(hint)_\n", [.name: ""], "Name: _(hint)_\n"),
        Case("comment after the value stays", "Name: a <!-- c -->\n", [.name: "b"], "Name: b <!-- c -->\n"),
        Case(
            "before the first field",
            "intro\n\n* Vibe: v\nrest\n",
            [.name: "n"],
            "intro\n\n* Name: n\n* Vibe: v\nrest\n"
        ),
        Case(
            "a comment after a second value of the field stays",
            "- Name: a\n- Name: b <!-- why -->\n- Vibe: v\n",
            [.name: "c"],
            "- Name: c\n<!-- why -->\n- Vibe: v\n"
        ),
        Case(
            "a comment after a second value that continues below stays",
            "- Name: a\n- Name: b <!-- x\ny -->\nrest\n",
            [.name: "c"],
            "- Name: c\n<!-- x\ny -->\nrest\n"
        ),
        Case(
            "a field among the children is no child",
            "- **Name:** a\n  - a child\n  - **Emoji:** e\n  - of the emoji\n",
            [.creature: "c"],
            "- **Name:** a\n  - a child\n- **Creature:** c\n  - **Emoji:** e\n  - of the emoji\n"
        ),
        Case(
            "after the children of the neighbour",
            "- **Name:** a\n  - a child\n- **Vibe:** v\n",
            [.creature: "c"],
            "- **Name:** a\n  - a child\n- **Creature:** c\n- **Vibe:** v\n"
        ),
        Case(
            "several new ones in order",
            "- Name: a\n",
            [.emoji: "🦊", .vibe: "v"],
            "- Name: a\n- Vibe: v\n- Emoji: 🦊\n"
        ),
        Case("under a title without blank line", "# T\ntext\n", [.name: "a"], "# T\n\n- **Name:** a\n\ntext\n"),
        Case("under a title at the end", "# T", [.name: "a"], "# T\n\n- **Name:** a"),
        Case("at the top", "text\n", [.name: "a"], "- **Name:** a\n\ntext\n"),
        Case(
            "after front matter",
            "---\nx: y\n---\ntext\n",
            [.name: "a"],
            "---\nx: y\n---\n\n- **Name:** a\n\ntext\n"
        ),
        Case("blank file in CR LF", "\r\n", [.name: "a"], "# IDENTITY.md - Who Am I?\r\n\r\n- **Name:** a\r\n"),
        Case("values are trimmed, and as they were inside", "Name: a\n", [.name: "  b  *c*\n"], "Name: b  *c*\n"),
        Case("blanks alone clear", "Name: a\n", [.name: " \t"], "Name:\n"),
        Case(
            "duplicates and their continuation lines go",
            "Name: a\nx\nName:\n  b\ny\n",
            [.name: "c"],
            "Name: c\nx\ny\n"
        ),
        Case(
            "title before sections only",
            .profile,
            "## Directives\nx\n",
            [.name: "a"],
            "- **Name:** a\n\n## Directives\nx\n"
        ),
        Case(
            "notes become a list",
            .profile,
            "- **Notes:** a\n",
            [.notes: "b\n\nc"],
            "- **Notes:**\n  - b\n  -\n  - c\n"
        ),
        Case("a list becomes a line", .profile, "* Notes:\n  - a\n  - b\nx\n", [.notes: "c"], "* Notes: c\nx\n"),
        Case(
            "children are kept out of a cleared value",
            .profile,
            "- Notes: a\n  - child\n",
            [.notes: ""],
            "- Notes:\n\n  - child\n"
        ),
        Case(
            "a new profile",
            .profile,
            "",
            [.context: "x\ny", .callName: "A"],
            "# USER.md - About Your Human\n\n- **What to call them:** A\n\n## Context\n\nx\ny\n"
        ),
        Case("context at the end", .profile, "Name: a", [.context: "x"], "Name: a\n\n## Context\n\nx"),
        Case(
            "context into an empty section",
            .profile,
            "## Context\n# Next\n",
            [.context: "x"],
            "## Context\n\nx\n\n# Next\n"
        ),
        Case("context cleared", .profile, "## Context\n\nx\n\ny\n\n## Z\n", [.context: ""], "## Context\n\n## Z\n"),
        Case("context in CR LF", .profile, "## Context\r\nx\r\n", [.context: "a\nb"], "## Context\r\na\r\nb\r\n"),
        Case(
            "comments of the context stay",
            .profile,
            "## Context\n<!-- hint -->\nx\n<!-- end -->\n",
            [.context: "y"],
            "## Context\n<!-- hint -->\ny\n<!-- end -->\n"
        ),
        Case(
            "a heading below the context's level",
            .profile,
            "## Context\nx\n",
            [.context: "### a\nb"],
            "## Context\n### a\nb\n"
        ),
    ]

    @Test(arguments: edits)
    func `every edit keeps the rest`(edit: Case) throws {
        let document = FieldDocument(kind: edit.kind, bytes: Array(edit.before.utf8))
        let edited = try document.edited(edit.changes)
        #expect(edited == Array(edit.after.utf8), "\(String(decoding: edited, as: UTF8.self))")
        #expect(try FieldDocument(kind: edit.kind, bytes: edited).edited(edit.changes) == edited)
    }

    @Test(arguments: edits)
    func `an edit to what is there gives the same bytes`(edit: Case) throws {
        let bytes = Array(edit.after.utf8)
        let document = FieldDocument(kind: edit.kind, bytes: bytes)
        #expect(try document.edited(document.fields.values) == bytes)
        #expect(try document.edited([:]) == bytes)
    }

    @Test func `an edited file means the same to the gateway and to phones`() throws {
        let changes: [DocumentField: String] = [
            .name: "Wren", .creature: "bird", .vibe: "dry", .emoji: "🪶", .avatar: "a/w.png",
        ]
        let expected = changes.reduce(into: [:]) { $0[$1.key.rawValue] = $1.value }
        for before in ["", "# Title\n\ntext\n", "- **Name:**\n  _(pick something you like)_\n- **Emoji:** x\n"] {
            let bytes = try FieldDocument(kind: .identity, bytes: Array(before.utf8)).edited(changes)
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(GatewayReader.fields(text) == expected)
            #expect(PhoneReader.fields(text, labels: PhoneReader.identity, context: false) == expected)
        }
    }

    static let refusals: [(DocumentKind, String, [DocumentField: String], FieldError)] = [
        (.identity, "", [.name: "Pick something you like"], .placeholder(.name)),
        (.profile, "", [.pronouns: "(optional)"], .placeholder(.pronouns)),
        (.identity, "", [.name: "a <!-- b -->"], .unrepresentable(.name)),
        (.identity, "Name: b\n", [.name: "**b**"], .unrepresentable(.name)),
        (.identity, "", [.vibe: "`x`"], .unrepresentable(.vibe)),
        (.identity, "", [.vibe: "_x_"], .unrepresentable(.vibe)),
        (.identity, "Name: a\n", [.name: "\u{A0}"], .unrepresentable(.name)),
        (.identity, "", [.name: "a\u{3000}"], .unrepresentable(.name)),
        (.profile, "", [.notes: "a\n  b"], .unrepresentable(.notes)),
        (.profile, "", [.context: "\u{A0}"], .unrepresentable(.context)),
        (.identity, "", [.emoji: String(repeating: "🦊", count: 65)], .tooLong(.emoji, length: 65, limit: 64)),
        (.identity, "", [.pronouns: "x"], .unknownField("pronouns", nearest: nil)),
        (.profile, "## Context\n\nx\n\n## Next\n", [.context: "a\n# b"], .unrepresentable(.context)),
        (.profile, "## Context\n\nx\n", [.context: "a\n---\nb"], .unrepresentable(.context)),
        (.profile, "## Context\n\nx\n\n## Next\n", [.context: "```\na"], .unrepresentable(.context)),
        (.profile, "```\nopen", [.context: "a"], .unrepresentable(.context)),
    ]

    @Test(arguments: refusals)
    func `a value that would read differently is refused`(
        kind: DocumentKind,
        before: String,
        changes: [DocumentField: String],
        error: FieldError
    ) {
        #expect(throws: error) { try FieldDocument(kind: kind, bytes: Array(before.utf8)).edited(changes) }
    }

    @Test func `a file over the limit is refused`() {
        let big = [UInt8](repeating: 0x61, count: FieldDocument.maximumBytes)
        #expect(throws: FieldError.fileTooLarge(bytes: big.count + 15, limit: FieldDocument.maximumBytes)) {
            try FieldDocument(kind: .identity, bytes: big).edited([.name: "a"])
        }
    }
}
