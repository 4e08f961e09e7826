import Testing

@testable import Documents

/// At least forty cases for each rule of the parser, in its order. Each file is built from parts, so its fields are known
/// without reading it.
struct RuleVectorTests {
    struct Vector: Sendable {
        var kind = DocumentKind.identity
        let file: String
        let fields: [DocumentField: String]
    }

    private func check(_ vectors: [Vector], _ at: SourceLocation = #_sourceLocation) {
        #expect(vectors.count >= 40, sourceLocation: at)
        for vector in vectors {
            let read = FieldDocument(kind: vector.kind, bytes: Array(vector.file.utf8)).fields.values
            #expect(read == vector.fields, "\(vector.file.debugDescription)", sourceLocation: at)
        }
    }

    static let ends = ["\n", "\r\n"]

    private static func lines(_ lines: [String], _ end: String, isClosed: Bool = true) -> String {
        lines.joined(separator: end) + (isClosed ? end : "")
    }

    // MARK: 1, code fences and comments

    static let opaque: [[String]] = [
        ["```", "Name: no", "```"], ["~~~", "Name: no", "~~~"], ["````", "```", "Name: no", "````"],
        ["```md", "- **Name:** no", "```"], ["   ```", "Name: no", "   ```"], ["<!-- Name: no -->"],
        ["<!--", "Name: no", "-->"], ["<!-- a", "", "Name: no", "b -->"], ["~~~ yaml", "Name: no", "```", "~~~~"],
        ["```", "<!--", "Name: no", "```"], ["<!--", "```", "Name: no", "-->"],
    ]

    @Test func `fences and comments hold no field and are never changed`() throws {
        var vectors: [Vector] = []
        for block in Self.opaque {
            for end in Self.ends {
                for isClosed in [true, false] {
                    let file = Self.lines(block + ["- **Vibe:** dry"], end, isClosed: isClosed)
                    vectors.append(Vector(file: file, fields: [.vibe: "dry"]))
                    let edited = try FieldDocument(kind: .identity, bytes: Array(file.utf8)).edited([.vibe: "wet"])
                    let expected = Self.lines(block + ["- **Vibe:** wet"], end, isClosed: isClosed)
                    #expect(String(decoding: edited, as: UTF8.self) == expected)
                }
            }
        }
        for end in Self.ends {
            let matter = ["---", "name: no", "Name: no", "---"]
            vectors.append(Vector(file: Self.lines(matter + ["Vibe: dry"], end), fields: [.vibe: "dry"]))
        }
        check(vectors)
    }

    // MARK: 2, field lines

    @Test func `a field line has any indent, bullet, marks and colon`() {
        var vectors: [Vector] = []
        for lead in ["", "- ", "* ", "+ ", "  - ", "-  "] {
            for (open, close) in [
                ("", ""), ("**", "**"), ("*", "*"), ("_", "_"), ("__", "__"), ("`", "`"), ("***", "***"),
            ] {
                for colon in [":", "："] {
                    for space in ["", " ", "  "] where !(space.isEmpty && close.isEmpty && colon == "：") {
                        vectors.append(
                            Vector(
                                file: "\(lead)\(open)Name\(colon)\(close)\(space)Ada Lovelace\n",
                                fields: [.name: "Ada Lovelace"]
                            )
                        )
                        vectors.append(
                            Vector(
                                file: "\(lead)\(open)Name\(close)\(colon)\(space)Ada Lovelace\n",
                                fields: [.name: "Ada Lovelace"]
                            )
                        )
                    }
                }
            }
        }
        check(vectors)
    }

    // MARK: 3, aliases

    static let aliases: [(DocumentKind, DocumentField, [String])] = [
        (.identity, .name, ["name", "agent name", "bot name", "名字", "名称"]),
        (.identity, .creature, ["creature", "species", "being", "生物", "生物类型"]),
        (.identity, .vibe, ["vibe", "personality", "氛围", "气质", "风格"]), (.identity, .theme, ["theme", "主题"]),
        (.identity, .emoji, ["emoji", "signature emoji", "表情符号"]), (.identity, .avatar, ["avatar", "头像"]),
        (.profile, .name, ["name", "full name", "姓名"]),
        (
            .profile, .callName,
            [
                "what to call them", "what to call you", "preferred name", "preferred address", "call name", "nickname",
                "goes by", "称呼", "称呼方式", "首选称呼",
            ]
        ), (.profile, .pronouns, ["pronouns", "代词"]), (.profile, .timezone, ["timezone", "time zone", "时区"]),
        (.profile, .notes, ["notes", "备注"]),
    ]

    @Test func `every alias is known in any case and with any blanks inside`() {
        var vectors: [Vector] = []
        for (kind, field, names) in Self.aliases {
            for name in names {
                let title = name.split(separator: " ").map { $0.prefix(1).uppercased() + $0.dropFirst() }
                for label in [name, name.uppercased(), title.joined(separator: "   ")] {
                    vectors.append(Vector(kind: kind, file: "- **\(label):** x y\n", fields: [field: "x y"]))
                }
            }
        }
        for label in ["names", "nam", "my name", "name of", "vibes", "emojis", "note", "timezones", "pronoun"] {
            for kind in DocumentKind.allCases {
                vectors.append(Vector(kind: kind, file: "- **\(label):** x\n", fields: [:]))
            }
        }
        check(vectors)
    }

    // MARK: 4, zones

    @Test func `identity fields stand anywhere, user fields before the first section`() {
        var vectors: [Vector] = []
        for end in Self.ends {
            for level in 1...6 {
                for (kind, counts) in [(DocumentKind.identity, true), (.profile, level == 1)] {
                    let heading = String(repeating: "#", count: level) + " Part"
                    let after = Self.lines(["Name: A", heading, "", "Name: B"], end)
                    vectors.append(Vector(kind: kind, file: after, fields: [.name: counts ? "B" : "A"]))
                    let rule = Self.lines(["---", "Name: A", "", "* * *", heading, "text"], end)
                    vectors.append(Vector(kind: kind, file: rule, fields: [.name: "A"]))
                }
            }
        }
        check(vectors)
    }

    // MARK: 5, values below their label

    @Test func `an empty value goes on in indented lines`() {
        var vectors: [Vector] = []
        for end in Self.ends {
            for indent in ["  ", "\t", "    ", "   "] {
                for count in 1...3 {
                    let words = (0..<count).map { "word \($0)" }
                    let plain = Self.lines(["- **Vibe:**"] + words.map { indent + $0 } + ["", "text"], end)
                    vectors.append(Vector(file: plain, fields: [.vibe: words.joined(separator: " ")]))
                    for bullet in ["- ", "* ", "+ "] {
                        let list = Self.lines(["- **Notes:**"] + words.map { indent + bullet + $0 }, end)
                        vectors.append(
                            Vector(kind: .profile, file: list, fields: [.notes: words.joined(separator: "\n")])
                        )
                    }
                }
            }
            for stray in ["text", " text", "", "# T"] {
                vectors.append(Vector(file: Self.lines(["- **Vibe:**", stray, "  not it"], end), fields: [:]))
            }
        }
        check(vectors)
    }

    // MARK: 6, placeholders

    @Test func `hints are empty and brackets alone are not`() {
        let known = [
            "pick something you like", "AI? robot? familiar? ghost in the machine? something weirder?",
            "how do you come across? sharp? warm? chaotic? calm?", "your signature - pick one that feels right",
            "your signature — pick one that feels right", "your signature – pick one that feels right",
            "workspace-relative path, http(s) URL, or data URI", "not set yet", "optional", "可选",
        ]
        var vectors: [Vector] = []
        for text in known {
            for form in [text, "_(\(text))_", "*(\(text))*", "(\(text))", "_\(text)_", text.uppercased()] {
                vectors.append(Vector(file: "- **Vibe:** \(form)\n", fields: [:]))
            }
        }
        for (open, close) in [("_(", ")_"), ("*(", ")*"), ("***(", ")***"), ("_（", "）_"), ("*（", "）*")] {
            vectors.append(Vector(file: "- **Vibe:** \(open)any words at all\(close)\n", fields: [:]))
            vectors.append(Vector(file: "- **Vibe:**\n  \(open)any words at all\(close)\n", fields: [:]))
        }
        for value in ["(real)", "a (real) one", "real", "(a) or (b)", "optional extras", "not set yet, really"] {
            vectors.append(Vector(file: "- **Vibe:** \(value)\n", fields: [.vibe: value]))
        }
        check(vectors)
    }

    // MARK: 7, marks around values

    @Test func `marks around a value go, marks inside stay`() {
        var vectors: [Vector] = []
        for value in ["calm", "two words", "a*b", "snake_case_name", "x `y` z", "*a* and *b*", "名字", "a: b", "#1"] {
            for (open, close) in [("", ""), ("*", "*"), ("_", "_"), ("**", "**"), ("`", "`"), ("**_", "_**")] {
                // A value that contains the mark itself is read differently.
                guard open.isEmpty || !value.contains(where: { open.contains($0) }) else { continue }
                vectors.append(Vector(file: "- **Vibe:** \(open)\(value)\(close)\n", fields: [.vibe: value]))
            }
        }
        check(vectors)
    }

    // MARK: 8, several lines of one label

    @Test func `the last value that is not empty counts`() {
        var vectors: [Vector] = []
        let parts = ["Name: A", "- **Name:** B", "* Name:", "- **Name:** _(hint)_"]
        let values = ["A", "B", nil, nil]
        for first in 0..<4 {
            for second in 0..<4 {
                for third in 0..<4 {
                    let last = [first, second, third].compactMap { values[$0] }.last
                    let file = [first, second, third].map { parts[$0] }.joined(separator: "\ntext\n") + "\n"
                    vectors.append(Vector(file: file, fields: last.map { [.name: $0] } ?? [:]))
                }
            }
        }
        check(vectors)
    }

    // MARK: 9, context

    @Test func `context is a section up to the next heading of its level, or a rule`() {
        var vectors: [Vector] = []
        for level in 1...3 {
            let marks = String(repeating: "#", count: level)
            for name in ["Context", "CONTEXT", "Background", "背景"] {
                for end in Self.ends {
                    let deeper = "#" + marks + " Sub"
                    for close in [[marks + " Next", "no"], ["# Next", "no"], ["---", "no"], ["***", "no"], []] {
                        let file = Self.lines(
                            ["Name: A", "", "\(marks) \(name)", "", "one", deeper, "two", ""] + close,
                            end
                        )
                        vectors.append(
                            Vector(kind: .profile, file: file, fields: [.name: "A", .context: "one\n\(deeper)\ntwo"])
                        )
                    }
                }
            }
        }
        check(vectors)
    }

    // MARK: 10, directives

    @Test func `directives are a comment and the next bullet`() {
        var count = 0
        for end in Self.ends {
            for status in ["active", "superseded"] {
                for gap in [[], [""]] {
                    for bullet in ["- ", "* "] {
                        for word in ["Always", "Never", "Prefer"] {
                            let comment = "<!-- observed: 2026-09-04 | status: \(status) -->"
                            let lines = ["# T", "", "## Directives", comment] + gap + ["\(bullet)\(word) be brief."]
                            let template = ["<!-- observed: YYYY-MM-DD | status: active -->", "- Prefer an example."]
                            let fenced = ["```", comment, "- Always hide.", "```"]
                            let file = Self.lines(lines + template + fenced, end)
                            let read = FieldDocument(kind: .profile, bytes: Array(file.utf8)).fields.directives
                            #expect(read.map(\.text) == ["\(word) be brief."], "\(file)")
                            #expect(read.map(\.status) == [status] && read.map(\.observed) == ["2026-09-04"])
                            count += 1
                        }
                    }
                }
            }
        }
        #expect(count >= 40)
    }

    // MARK: edits

    @Test func `an edit rewrites the label's line in its own form and nothing else`() throws {
        let forms = [
            ("- **", ":**"), ("* **", ":**"), ("**", "**:"), ("", ":"), ("+ ", ":"), ("  - _", "_:"), ("- `", "`:"),
        ]
        let around = [
            ([], []), (["# T", ""], ["", "text: more"]), (["---", "a: b", "---"], ["```", "Name: no", "```"]),
            (["intro", ""], ["- **Unknown:** kept", "---", "closing"]),
        ]
        var count = 0
        for (open, close) in forms {
            for (before, after) in around {
                for end in Self.ends {
                    for old in ["", " old value", " _(hint)_"] {
                        for value in ["new", "名字: a"] {
                            let file = Self.lines(before + ["\(open)Name\(close)\(old)"] + after, end)
                            let wanted = Self.lines(before + ["\(open)Name\(close) \(value)"] + after, end)
                            let document = FieldDocument(kind: .identity, bytes: Array(file.utf8))
                            let edited = try document.edited([.name: value])
                            #expect(String(decoding: edited, as: UTF8.self) == wanted)
                            #expect(try FieldDocument(kind: .identity, bytes: edited).edited([.name: value]) == edited)
                            // And back again: clearing keeps the label.
                            let cleared = try FieldDocument(kind: .identity, bytes: edited).edited([.name: ""])
                            let empty = Self.lines(before + ["\(open)Name\(close)"] + after, end)
                            #expect(String(decoding: cleared, as: UTF8.self) == empty)
                            count += 1
                        }
                    }
                }
            }
        }
        #expect(count >= 40)
    }

    @Test func `a field that is missing is put behind the nearest earlier one`() throws {
        let order = DocumentKind.identity.fields
        var count = 0
        for missing in 1..<order.count {
            for bullet in ["- ", "* ", ""] {
                for end in Self.ends {
                    for tail in [["", "closing"], ["- **Other:** kept"], []] {
                        func line(_ index: Int) -> String { "\(bullet)**\(order[index].label):** v\(index)" }
                        let present = order.indices.filter { $0 != missing }.map(line)
                        let all = order.indices.map(line)
                        let file = Self.lines(["# T", ""] + present + tail, end)
                        let edited = try FieldDocument(kind: .identity, bytes: Array(file.utf8))
                            .edited([order[missing]: "v\(missing)"])
                        #expect(String(decoding: edited, as: UTF8.self) == Self.lines(["# T", ""] + all + tail, end))
                        count += 1
                    }
                }
            }
        }
        #expect(count >= 40)
    }

    /// A debug build takes far longer than a release; the bound only rules out quadratic time.
    @Test func `one line of a large file is changed in linear time`() throws {
        let line = "Some prose with a colon: and more words, as such files have them.\n"
        let file = Array(("- **Name:** A\n" + String(repeating: line, count: (1 << 20) / line.utf8.count)).utf8)
        let began = ContinuousClock.now
        let edited = try FieldDocument(kind: .identity, bytes: file).edited([.name: "B"])
        let took = ContinuousClock.now - began
        #expect(edited.count == file.count)
        #expect(took < .seconds(5))
    }
}
