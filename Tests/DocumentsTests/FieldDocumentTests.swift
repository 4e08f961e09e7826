import Testing

@testable import Documents

struct FieldDocumentTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let kind: DocumentKind
        let markdown: String
        let fields: [DocumentField: String]

        init(_ name: String, _ kind: DocumentKind, _ markdown: String, _ fields: [DocumentField: String]) {
            testDescription = name
            self.kind = kind
            self.markdown = markdown
            self.fields = fields
        }

        init(_ name: String, _ markdown: String, _ fields: [DocumentField: String]) {
            self.init(name, .identity, markdown, fields)
        }
    }

    static let forms: [Case] = [
        Case("bold, colon inside", "- **Name:** Ada\n", [.name: "Ada"]),
        Case("bold, colon outside", "* **Name**: Ada\n", [.name: "Ada"]),
        Case("plain with plus bullet", "+ Name: Ada", [.name: "Ada"]),
        Case("bullet without a space, as the gateway takes it", "-Name: Ada\n", [.name: "Ada"]),
        Case("code label", "- `Name`: Ada\n", [.name: "Ada"]),
        Case("bold italic label", "***Name:*** Ada\n", [.name: "Ada"]),
        Case("two kinds of marks", "_**Name:**_ Ada\n", [.name: "Ada"]),
        Case("mark closed after a space", "**Name: ** Ada\n", [.name: "Ada"]),
        Case("value with marks of its own", "**Name:** **Ada**\n", [.name: "Ada"]),
        Case("code value", "- **Avatar:** `a/b.png`\n", [.avatar: "a/b.png"]),
        Case("inner marks stay", "Vibe: *calm* and *kind*\n", [.vibe: "*calm* and *kind*"]),
        Case("marks around marks", "Vibe: **calm *but* kind**\n", [.vibe: "calm *but* kind"]),
        Case("underscores inside words", "Avatar: _my_file_\n", [.avatar: "my_file"]),
        Case("alias and inner blanks", "-  **Signature   Emoji** :  🦊 \n", [.emoji: "🦊"]),
        Case("full-width colon", "- **名字**：小爪\n- 头像：a.png\n", [.name: "小爪", .avatar: "a.png"]),
        Case("indented field", "  - **Name:** Ada\n  - **Vibe:** dry\n", [.name: "Ada", .vibe: "dry"]),
        Case("byte order mark", "\u{FEFF}Name: Ada\n", [.name: "Ada"]),
        Case("CR LF", "Name: Ada\r\nVibe:\r\n  dry\r\n", [.name: "Ada", .vibe: "dry"]),
        Case("last non-empty wins", "Name: A\nName: B\nName:\n", [.name: "B"]),
        Case("hint in italics", "Name: _(whatever you like (really))_\n", [:]),
        Case("hint in bold italics", "Name: ***(whatever)***\n", [:]),
        Case("bold brackets are a value", "Name: **(whatever)**\n", [.name: "(whatever)"]),
        Case("two brackets are a value", "Name: _(a) or (b)_\n", [.name: "(a) or (b)"]),
        Case("plain brackets are a value", "Name: (the one)\n", [.name: "(the one)"]),
        Case("full-width hint", "Name: _（随便）_\n", [:]),
        Case("gateway hint, plain and dashed", "Emoji: your signature — pick one that feels right\n", [:]),
        Case("not set yet", "Name: *Not set  yet*\n", [:]),
        Case("front matter", "---\nname: x\nName: no\n---\nName: yes\n", [.name: "yes"]),
        Case("front matter without an end is a rule", "---\nName: yes\n", [.name: "yes"]),
        Case("fences", "~~~\nName: a\n```\nName: b\n~~~\nVibe: c\n````\n```\nName: d\n````\n", [.vibe: "c"]),
        Case("fence to the end", "Vibe: c\n```\nName: d\n", [.vibe: "c"]),
        Case("code span is no fence", "```x``` \nName: d\n", [.name: "d"]),
        Case("comment over lines", "<!-- a\nName: no\n--> Name: no\nName: yes\n", [.name: "yes"]),
        Case("comment after a value", "Name: Ada <!-- the boss -->\n", [.name: "Ada"]),
        Case("comment before a value", "Name: <!-- c --> Ada\n", [.name: "Ada"]),
        Case(
            "comment that begins after a value",
            "Name: Ada <!-- a\nVibe: no -->\nVibe: yes\n",
            [.name: "Ada", .vibe: "yes"]
        ),
        Case("open comment in text is text", "Name: a <!-- b\nVibe: c\n", [.name: "a <!-- b", .vibe: "c"]),
        Case("comment mark in code", "Use `<!-- to start\nName: a\n<!-- x -->\n", [.name: "a"]),
        Case("value on the next line, tab", "- **Name:**\n\t_Pixel_\n", [.name: "Pixel"]),
        Case("value over lines", "Vibe:\n  calm\n  and kind\n", [.vibe: "calm and kind"]),
        Case("nested known label is a field", "- **Name:**\n  - **Creature:** fox\n", [.creature: "fox"]),
        Case("blank line ends a value", "Name:\n\n  Ada\n", [:]),
        Case("under a heading, as the gateway", "## Who\nName: Ada\n", [.name: "Ada"]),
        Case("prose", "My name: Ada\nThe vibe is: good\nhttp://name:80\n", [:]),
        Case("notes as a list", .profile, "- **Notes:**\n  - a\n  - Name: b\n", [.notes: "a\nName: b"]),
        Case("notes mixed", .profile, "- Notes:\n  a\n  - b\n", [.notes: "a - b"]),
        Case("list with an empty item", .profile, "Notes:\n  - a\n  -\n  - b\n", [.notes: "a\n\nb"]),
        Case("optional", .profile, "- **Pronouns:** _(optional)_\n- Time zone: 可选\n", [:]),
        Case("fields end at sections", .profile, "Name: A\n## More\nName: B\nNickname: C\n", [.name: "A"]),
        Case("context", .profile, "# Background\n\na\n\n## Sub\nb\n\n# Next\nc\n", [.context: "a\n\n## Sub\nb"]),
        Case("context to a rule", .profile, "## **Context:** ##\na\n* * *\nb\n", [.context: "a"]),
        Case("context hint", .profile, "## 背景\n\n_(what matters\nto them)_\n", [:]),
        Case(
            "context with a fence",
            .profile,
            "## Context\n```\n# x\n---\n```\n## Y\n",
            [.context: "```\n# x\n---\n```"]
        ),
        Case(
            "context comments aside",
            .profile,
            "## Context\n<!-- hint\n more -->\n\na\n\n<!-- b -->\n",
            [.context: "a"]
        ),
        Case("level four is no context", .profile, "#### Context\na\n", [:]),
        Case(
            "no fields in a top-level context",
            .profile,
            "Name: A\n# Context\nName: B\n",
            [.name: "A", .context: "Name: B"]
        ),
        Case("context is no identity field", "## Context\na\n", [:]),
    ]

    @Test(arguments: forms)
    func `every form is read`(form: Case) {
        #expect(FieldDocument(kind: form.kind, bytes: Array(form.markdown.utf8)).fields.values == form.fields)
    }

    @Test func `bytes that are no UTF-8 are read as replacement characters`() {
        let document = FieldDocument(
            kind: .identity,
            bytes: Array("Name: A".utf8) + [0xFF, 0x0A] + Array("Vibe: v".utf8)
        )
        #expect(document.fields[.name] == "A\u{FFFD}")
        #expect(document.fields[.vibe] == "v")
    }

    @Test func `directives need their comment, a known status and a bullet`() {
        let text = """
            <!-- observed: 2026-01-02 | status: active -->

            - Always say please.
            <!-- observed: 2026-01-03 | status: superseded -->
            * Never mind.
            <!-- observed: 2026-01-04 | status: wrong -->
            - no
            <!-- observed: YYYY-MM-DD | status: active -->
            - no
            <!-- observed: 2026-01-05 | status: active -->
            prose
            - no
            ```
            <!-- observed: 2026-01-06 | status: active -->
            - no
            ```
            """
        let fields = FieldDocument(kind: .profile, bytes: Array(text.utf8)).fields
        #expect(
            fields.directives == [
                DocumentDirective(observed: "2026-01-02", status: "active", text: "Always say please."),
                DocumentDirective(observed: "2026-01-03", status: "superseded", text: "Never mind."),
            ]
        )
    }
}
