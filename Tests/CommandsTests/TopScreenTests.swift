import JSONBytes
import ReadableText
import Testing

@testable import Commands

/// The lines of `ladle top`, at several sizes, and with texts that want to control the terminal.
struct TopScreenTests {
    private static let now: Int64 = 1_772_625_600_000
    private static let sizes = [(60, 24), (100, 30), (160, 50), (60, 8), (40, 6)]

    private static func lines(_ control: TopControl, _ columns: Int, _ rows: Int, coloured: Bool = false) -> [String] {
        var control = control
        control.time = ReadableTime(now: now)
        control.resize(columns: columns, rows: rows)
        return TopScreen(control, place: "home:18780", now: now, style: TextStyle(isColoured: coloured)).lines
    }

    private static func load(_ control: inout TopControl, _ list: TopModel.List, _ text: String) throws {
        control.model.load(list, try JSONDocument(parsing: Array(text.utf8)).root)
    }

    private static func full() throws -> TopControl {
        var control = try TopModelTests.control(
            TopModelTests.hello(),
            TopModelTests.started("r1"),
            TopModelTests.step("r1", "s1", "done", "Read weather.txt"),
            TopModelTests.step("r1", "s2", "running", "Writing"),
            TopModelTests.approval(),
            TopModelTests.question,
            TopModelTests.entry("unconfirmed")
        )
        try load(
            &control,
            .sessions,
            #"{"sessions":[{"key":"agent:main:main","title":"Kitchen","titleFrom":"label"},{"key":"agent:main:work","state":"idle","titleFrom":"key","updatedAt":"2026-03-04T10:00:00.000Z"}]}"#
        )
        try load(
            &control,
            .usage,
            #"{"providers":[{"name":"Demo","windows":[{"name":"5h","usedPercent":42},{"name":"Week","usedPercent":63.5}]}],"today":{"tokens":383928,"costUsd":0.38}}"#
        )
        try load(&control, .cost, #"{"days":[{"tokens":0},{"tokens":10},{"tokens":5}]}"#)
        return control
    }

    @Test func `everything is on the screen`() throws {
        var control = try Self.full()
        _ = control.press(.home, at: 0)
        let shown = Self.lines(control, 100, 30).joined(separator: "\n")
        for text in [
            "ladle top online home:18780 · gateway 1.2", "1 run · 2 to decide · outbox 1 (1 in trouble)",
            "Demo 5h ████░░░░░░ 42%", "Demo Week ██████░░░░ 63.5%", "tokens  ▁█▅ 3 days  today 383k, $0.38",
            "▸ allow?  agent:main:main", "rm -rf /", "answer?", "Which?", "● agent:main:main", "Kitchen", "runs 12 s",
            "✓ Read weather.txt", "• Writing", "○ agent:main:work", "idle 10:00", "unconfirmed", "a allow",
        ] { #expect(shown.contains(text), "\(text) is not in\n\(shown)") }
    }

    @Test func `each line fits, and there are as many as rows`() throws {
        for (columns, rows) in Self.sizes {
            for coloured in [false, true] {
                let lines = Self.lines(try Self.full(), columns, rows, coloured: coloured)
                #expect(lines.count == rows)
                for line in lines where columns >= 60 {
                    #expect(DisplayWidth.ofStyled(line) <= columns, "\(columns): \(line)")
                }
            }
        }
    }

    @Test func `states are whole at 60 columns`() throws {
        let lines = Self.lines(try Self.full(), 60, 30)
        #expect(lines.contains { $0.contains(" unconfirmed ") })
        #expect(lines[0].contains("online"))
    }

    @Test func `the chosen row is on the screen, however low it is`() throws {
        var control = try Self.full()
        _ = control.press(.end, at: 0)
        for (columns, rows) in Self.sizes {
            #expect(Self.lines(control, columns, rows).contains { $0.hasPrefix("▸ e1") }, "\(columns)x\(rows)")
        }
    }

    @Test func `no text of the server controls the terminal`() throws {
        let evil = #"\u001b[2J\u009b31m\u202eevil\u2066\u0007\r\n\u0000"#
        var control = try TopModelTests.control(
            TopModelTests.hello(evil).replacing("1.2", with: evil),
            TopModelTests.started("r1", evil),
            TopModelTests.step("r1", "s1", "running", evil),
            TopModelTests.approval("pending", evil),
            TopModelTests.question.replacing("Which?", with: evil).replacing("green", with: evil),
            TopModelTests.entry("queued").replacing("hi", with: evil).replacing("e1", with: evil),
            #"{"type":"link","link":{"state":"\#(evil)","detail":"\#(evil)","hint":"\#(evil)"}}"#
        )
        try Self.load(
            &control,
            .sessions,
            #"{"sessions":[{"key":"\#(evil)","title":"\#(evil)","state":"\#(evil)","preview":"\#(evil)","updatedAt":"\#(evil)"}]}"#
        )
        try Self.load(
            &control,
            .usage,
            #"{"providers":[{"name":"\#(evil)","windows":[{"name":"\#(evil)","usedPercent":1e300}]}],"today":{"tokens":-1}}"#
        )
        control.show("\u{1B}[2J\u{202E}evil", ofRun: "r1")
        var screens = [Self.lines(control, 60, 40), Self.lines(control, 160, 40)]
        for _ in 0..<6 {
            _ = control.press(.enter, at: 0)
            screens.append(Self.lines(control, 80, 40))
            _ = control.press(.letter("x"), at: 0)
            screens.append(Self.lines(control, 80, 40))
            _ = control.press(.letter("2"), at: 0)
            _ = control.press(.letter("2"), at: 0)
            screens.append(Self.lines(control, 80, 40))
            _ = control.press(.letter("n"), at: 0)
            _ = control.press(.letter("q"), at: 0)
            _ = control.press(.down, at: 0)
        }
        let scalars = screens.joined().joined().unicodeScalars
        #expect(scalars.contains("e") && screens.joined().joined().contains("evil"))
        #expect(!scalars.contains { $0.properties.generalCategory == .control })
        #expect(!scalars.contains { (0x202A...0x202E).contains($0.value) || (0x2066...0x2069).contains($0.value) })
    }

    @Test func `details are wrapped and scrolled, and nothing of them is cut`() throws {
        let words = (0..<300).map { "word\($0)" }
        var control = try TopModelTests.control(TopModelTests.approval("pending", words.joined(separator: " ")))
        control.resize(columns: 60, rows: 12)
        _ = control.press(.enter, at: 0)
        var seen = ""
        for _ in 0..<60 {
            seen += Self.lines(control, 60, 12).joined(separator: "\n") + "\n"
            _ = control.press(.pageDown, at: 0)
        }
        let missing = words.filter { !seen.contains($0) }
        #expect(missing.isEmpty, "\(missing)")
        #expect(seen.split(separator: "\n").allSatisfy { DisplayWidth.of(String($0)) <= 60 })
    }

    @Test func `a server that is away is told`() throws {
        var control = try Self.full()
        control.model.disconnect()
        #expect(Self.lines(control, 60, 24)[0].contains("Ladle is away; coming back."))
    }

    @Test func `numbers are drawn`() {
        #expect(Sparkline.text([0, 1, 50, 100]) == "▁▂▅█")
        #expect(Sparkline.text([0, 0]) == "▁▁" && Sparkline.text([]).isEmpty)
        #expect(Sparkline.text([-5, .max]) == "▁█")
        #expect(Sparkline.bar(50, width: 4) == "██░░" && Sparkline.bar(.nan, width: 2) == "░░")
        #expect(Sparkline.bar(1e300, width: 2) == "██" && Sparkline.bar(-1, width: 2) == "░░")
        #expect([999, 1000, 1_250_000, .max].map(Sparkline.amount) == ["999", "1k", "1.2M", "9223372036G"])
    }

    @Test func `a long word is broken, a line at its blanks`() {
        #expect(TopText.wrapped("one two three", width: 8) == ["one two", "three"])
        #expect(TopText.wrapped("abcdefghij", width: 4) == ["abcd", "efgh", "ij"])
        #expect(TopText.wrapped("a\n\nb", width: 8) == ["a", "", "b"])
        #expect(TopText.wrapped("日本語日本語", width: 6) == ["日本語", "日本語"])
    }
}
