import Basics
import JSONBytes
import Observability
import Service
import Testing

/// For any names, a glance is small, valid JSON and harmless.
struct GlanceEncoderTests {
    private static let start = Timestamp(milliseconds: 1_795_000_000_000)
    /// Difficult input for cutting, escaping and measuring text: long characters, controls of C0 and C1, direction
    /// marks, quotes, markup.
    private static let pieces = [
        "a", "é", "中", "🦊", "👩‍👩‍👧‍👦", "e\u{301}\u{302}\u{303}", "\u{0}", "\u{1B}[2J", "\u{7F}", "\u{85}", "\u{9B}",
        "\u{202E}", "\u{2066}", "\u{61C}",
        "\u{2028}", "\"", "\\", "<b>", "&", "\n", "\t", " ", "\u{FEFF}",
        "x" + String(repeating: "\u{300}", count: 300),
    ]

    private struct Random: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ (state >> 33)
        }
    }

    private static func text(_ random: inout Random) -> String {
        let kind = pieces.randomElement(using: &random) ?? ""
        let count = [0, 1, 39, 40, 41, 80, 400].randomElement(using: &random) ?? 0
        let isMixed = Bool.random(using: &random)
        return (0..<count).map { _ in isMixed ? pieces.randomElement(using: &random) ?? "" : kind }.joined()
    }

    private static func glance(_ random: inout Random) -> Glance {
        func number() -> Int { [0, 1, 7, 1_000_000, .max].randomElement(using: &random) ?? 0 }
        func count() -> Int { [0, 1, 7, 100_000].randomElement(using: &random) ?? 0 }
        let link = LinkState.allCases.randomElement(using: &random) ?? .online
        var glance = Glance(link: link, headline: text(&random), active: count())
        glance.approvals = Bool.random(using: &random) ? count() : nil
        glance.questions = Bool.random(using: &random) ? count() : nil
        let end = Timestamp(milliseconds: Int64(truncatingIfNeeded: random.next()))
        glance.next = Glance.Next(.approval, id: text(&random), title: text(&random), expiresAt: end)
        for _ in 0..<Int.random(in: 0...5, using: &random) {
            glance.top.append(.init(session: text(&random), title: text(&random), label: text(&random), since: end))
            glance.usage.append(.init(id: text(&random), window: text(&random), used: count(), resetsAt: end))
        }
        glance.outbox = Glance.Outbox(pending: count(), failed: count(), unconfirmed: count())
        glance.today = Glance.Today(costUSD: 123_456.789, tokens: Int64(number()))
        glance.agent = Glance.Agent(name: text(&random), emoji: text(&random))
        glance.unread = count()
        return glance
    }

    /// Whether the text is one line without controls and direction marks. DEL is harmless within JSON.
    private static func isHarmless(_ text: String, isJSON: Bool) -> Bool {
        for scalar in text.dropLast().unicodeScalars {
            if scalar.value == 0x7F, isJSON { continue }
            if scalar.properties.generalCategory == .control { return false }
            if (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value) { return false }
            if scalar.value == 0x61C { return false }
        }
        return true
    }

    private static func encode(_ glance: Glance, _ form: GlanceForm = GlanceForm()) throws -> (JSONValue, Int) {
        let bytes = GlanceEncoder.encode(glance, as: form, at: start).bytes
        return (try JSONDocument(parsing: bytes).root, bytes.count)
    }

    @Test func `random names in all forms stay small, whole and escaped`() throws {
        var random = Random(state: 24)
        for _ in 0..<400 {
            let glance = Self.glance(&random)
            let fields = Set(GlanceForm.Field.allCases.filter { _ in Bool.random(using: &random) })
            let isPrivate = Bool.random(using: &random)
            for form in [
                GlanceForm(), GlanceForm(fields: fields, isPrivate: isPrivate), GlanceForm(.line),
                GlanceForm(.waybar, isPrivate: isPrivate),
            ] {
                let bytes = GlanceEncoder.encode(glance, as: form, at: Self.start).bytes
                #expect(bytes.count <= GlanceEncoder.mostBytes)
                let text = try #require(String(validating: bytes, as: UTF8.self))
                #expect(text.hasSuffix("\n"))
                #expect(Self.isHarmless(text, isJSON: form.kind != .line), "\(text.debugDescription)")
                if form.kind != .line { #expect(throws: Never.self) { try JSONDocument(parsing: bytes) } }
            }
        }
    }

    @Test func `the longest of everything still has what needs a person`() throws {
        for piece in Self.pieces {
            let long = String(repeating: piece, count: 500)
            // An id of the greatest length.
            let id = String(repeating: "i", count: 128)
            var glance = Glance(link: .waitingForApproval, headline: long, active: .max)
            (glance.approvals, glance.questions, glance.unread) = (.max, .max, .max)
            glance.outbox = Glance.Outbox(pending: .max, failed: .max / 2, unconfirmed: 1)
            glance.next = Glance.Next(.question, id: id, title: long, expiresAt: Self.start)
            glance.top = Array(repeating: .init(session: id, title: long, label: long, since: Self.start), count: 3)
            let usage = Glance.Usage(
                id: String(repeating: "i", count: 64),
                window: long,
                used: 10_000,
                resetsAt: Self.start
            )
            glance.usage = Array(repeating: usage, count: 3)
            glance.today = Glance.Today(costUSD: 0.1 + 0.2, tokens: .max)
            glance.agent = Glance.Agent(name: long, emoji: long)
            let (json, size) = try Self.encode(glance)
            #expect(size <= GlanceEncoder.mostBytes)
            #expect(json["attention"]?["next"]?["id"]?.string == id)
            #expect(json["top"]?.count ?? 0 >= 2)
            #expect(json["rev"]?.string?.utf8.count == 16)
        }
    }

    /// The encoding of a glance that is so many bytes too long.
    private func left(_ change: (inout Glance) -> Void) throws -> JSONValue {
        var glance = Glance(link: .online, headline: "h", active: 3)
        let id = String(repeating: "s", count: 128)
        glance.top = (0..<3).map { .init(session: id, title: "\($0)", label: "l", since: Self.start) }
        glance.usage = (0..<3).map { .init(id: id, window: "w\($0)", used: 1, resetsAt: Self.start) }
        glance.agent = .init(name: "Scout", emoji: "🦊")
        glance.today = .init(costUSD: 1, tokens: 2)
        change(&glance)
        let (json, size) = try Self.encode(glance)
        #expect(size <= GlanceEncoder.mostBytes)
        return json
    }

    @Test func `the less important goes first, step by step`() throws {
        // The remaining parts depend on the bytes: more and longer texts, in the order in which parts are dropped.
        var states: [String] = []
        for length in 0...320 {
            let json = try left { glance in
                let title = String(repeating: "x", count: min(length, 40))
                let wide = String(repeating: "\u{202E}", count: max(0, length - 40) / 4)
                for place in glance.top.indices {
                    glance.top[place].title = title
                    glance.top[place].label = wide
                }
                glance.headline = wide + title
                glance.next = .init(
                    .approval,
                    id: String(repeating: "i", count: min(length, 128)),
                    title: wide,
                    expiresAt: Self.start
                )
                for place in glance.usage.indices { glance.usage[place].window = wide }
                glance.agent?.name = wide
            }
            func has(_ name: String) -> Bool { json[name] != nil }
            let (tops, usages) = (json["top"]?.count ?? 0, json["usage"]?.count ?? 0)
            let state = "\(tops) \(usages) \(has("agent")) \(has("today"))"
            if states.last != state { states.append(state) }
            #expect(has("attention") && has("headline"))
        }
        let order = [
            "3 3 true true", "2 3 true true", "2 2 true true", "2 2 false true", "2 2 false false",
        ]
        #expect(states == order)
    }

    @Test func `titles are cut between characters, and keys never`() throws {
        var glance = Glance(link: .online, headline: "h", active: 1)
        let family = "👩‍👩‍👧‍👦"
        glance.top = [
            .init(
                session: String(repeating: "k", count: 129),
                title: String(repeating: "é", count: 50),
                label: "l",
                since: Self.start
            ),
            .init(
                session: String(repeating: "k", count: 128),
                title: String(repeating: family, count: 50),
                label: "l",
                since: Self.start
            ),
        ]
        let json = try Self.encode(glance).0
        let first = try #require(json["top"]?[0]?["title"]?.string)
        #expect(first == String(repeating: "é", count: 39) + "…")
        #expect(json["top"]?[0]?["session"] == nil)
        let second = try #require(json["top"]?[1]?["title"]?.string)
        #expect(second.hasSuffix("…") && second.dropLast().allSatisfy { String($0) == family })
        #expect(json["top"]?[1]?["session"]?.string?.count == 128)
    }

    @Test func `the version changes with what is shown, and with nothing else`() {
        var glance = Glance(link: .online, headline: "Reading...", active: 1)
        glance.top = [.init(session: "s", title: "Kitchen", label: "Reading...", since: Self.start)]
        func rev(_ form: GlanceForm, after ms: Int64 = 0) -> String {
            GlanceEncoder.encode(glance, as: form, at: Self.start.adding(milliseconds: ms)).rev
        }
        let whole = GlanceForm()
        let state = GlanceForm(fields: [.state, .active, .at, .rev])
        let hidden = GlanceForm(isPrivate: true)
        let before = [rev(whole), rev(state), rev(hidden), rev(GlanceForm(.line))]
        #expect(rev(whole, after: 5_000) == before[0])
        glance.headline = "Writing..."
        glance.top[0].title = "Garden"
        #expect(rev(whole) != before[0])
        #expect([rev(state), rev(hidden), rev(GlanceForm(.line))] == Array(before.dropFirst()))
        glance.active = 2
        let after = [rev(whole), rev(state), rev(hidden), rev(GlanceForm(.line))]
        for (old, new) in zip(before, after) { #expect(old != new) }
    }

    @Test func `private leaves out headline, titles and labels`() throws {
        var glance = Glance(link: .online, headline: "secret", active: 1)
        glance.top = [.init(session: "s", title: "secret", label: "secret", since: Self.start)]
        glance.next = .init(.approval, id: "i", title: "secret")
        glance.approvals = 1
        for kind in [GlanceForm.Kind.json, .line, .waybar] {
            let bytes = GlanceEncoder.encode(glance, as: GlanceForm(kind, isPrivate: true), at: Self.start).bytes
            #expect(!String(decoding: bytes, as: UTF8.self).contains("secret"))
        }
    }

    @Test func `one line tells what a person wants to know`() {
        var glance = Glance(link: .online, headline: "", active: 0)
        func line() -> String {
            String(decoding: GlanceEncoder.encode(glance, as: GlanceForm(.line), at: Self.start).bytes, as: UTF8.self)
        }
        #expect(line() == "○ idle\n")
        glance.active = 2
        #expect(line() == "● 2 active\n")
        glance.approvals = 1
        glance.usage = [.init(id: "a", window: "5h", used: 42)]
        #expect(line() == "● 2 active · 1 approval · 42% 5h\n")
        glance.approvals = 3
        glance.outbox = .init(pending: 4, failed: 1, unconfirmed: 1)
        glance.unread = 3
        #expect(line() == "● 2 active · 3 approvals · 1 failed · 1 unconfirmed · 42% 5h · 3 unread\n")
        glance = Glance(link: .refused, headline: "", active: 0)
        glance.outbox = .init(pending: 4, failed: 0, unconfirmed: 0)
        #expect(line() == "○ offline · 4 queued\n")
    }

    @Test func `a status bar reads no markup out of titles`() throws {
        var glance = Glance(link: .online, headline: "<b>&", active: 1)
        glance.top = [
            .init(session: "s", title: "<span size='99'>", label: "a\u{1B}[2J\u{202E}b\nc", since: Self.start)
        ]
        let bar = try Self.encode(glance, GlanceForm(.waybar)).0
        #expect(bar["text"]?.string == "● 1 active")
        #expect(bar["tooltip"]?.string == "● 1 active\n&lt;b&gt;&amp;\n&lt;span size='99'&gt;: a[2Jb c")
        #expect(bar["class"]?.string == "working")
    }
}
