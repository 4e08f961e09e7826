import Gateway
import JSONBytes
import Ledger
import Testing

struct WordsTests {
    private func row(_ text: String) throws -> TranscriptRow {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("role", "user")
            writer.member("content", text)
        }
        return try #require(TranscriptRow(JSONDocument(parsing: writer.bytes).root))
    }

    /// The ten forms of recording two-lines.v2026.3.1: what was sent, and the row of it.
    @Test(arguments: [
        ("note 0", "note 0"),
        ("note 1 first line\nand the second line", "note 1 first line and the second line"),
        ("note 2 a\u{a0}hard blank", "note 2 a hard blank"),
        ("note 3 first line\r\nand the second line", "note 3 first line and the second line"),
        ("note 4  and  two blanks", "note 4 and two blanks"),
        ("note 5 and\ta tab", "note 5 and a tab"),
        ("note 6 cafe\u{301}", "note 6 caf\u{e9}"),
        ("note 7 first\n\n\nlast", "note 7 first last"),
        ("note 8 the end\n", "note 8 the end"),
        ("  note 9 leading", "note 9 leading"),
    ])
    func `a row of 2026.3.1 shows the message, whatever the gateway made of its blanks and accents`(
        sent: String,
        shown: String
    ) throws {
        #expect(Words(try row(shown)).show(Words(sent)))
        #expect(Words(sent) == Words(shown) && Words(sent).hashValue == Words(shown).hashValue)
    }

    @Test(arguments: [
        "[Fri 2026-11-20 14:09 UTC] what now", "wh\u{7}at now\u{1b}",
        "System: [2026-11-20 14:08:55 UTC] Exec finished (code 0)\nsunny 21C\n\n[Fri 2026-11-20 14:09 UTC] what now",
    ])
    func `neither an envelope nor control characters belong to the words`(shown: String) throws {
        #expect(Words(try row(shown)).show(Words("what now")))
    }

    /// The same answers as Unicode's own tables give.
    @Test func `every character is a letter, a blank or left out`() {
        for value in UInt32(0)...0x2FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let isBlank = "\n\r\t\u{feff}".unicodeScalars.contains(scalar)
            let isControl = !isBlank && scalar.properties.generalCategory == .control
            let form = Words("a\(scalar)b").text
            let wanted = isControl ? "ab" : isBlank || scalar.properties.isWhitespace ? "a b" : "a\(scalar)b"
            if form != wanted { Issue.record("U+\(String(value, radix: 16)): \(form)") }
            if Words.areIn("\(scalar)") == Words("\(scalar)").isEmpty { Issue.record("U+\(String(value, radix: 16))") }
        }
    }

    @Test func `letters count, and nothing is shown by a row without words`() throws {
        #expect(!Words(try row("What now")).show(Words("what now")))
        #expect(!Words(try row("")).show(Words("")))
        #expect(!Words(try row("what nowhere")).show(Words("what now")))
    }

    @Test func `what a gateway writes in place of words shows a message without any`() throws {
        let picture = try row("[Fri 2026-11-20 14:09 UTC] [User sent media without caption]")
        #expect(Words(picture).show(Words(" ")) && Words(picture).mayShow(Words("")))
        #expect(!Words(picture).show(Words("what now")))
        #expect(!Words(try row("[User sent media]")).mayShow(Words("")))
    }

    @Test(arguments: ["ab ", "👩‍👩‍👧"])
    func `a cut row shows a message that begins like it`(word: String) throws {
        let message = String(repeating: word, count: 20_000)
        let shown = String(message.prefix(4_000))
        #expect(Words(try row(shown + "\n...(truncated)...")).show(Words(message)))
        #expect(!Words(try row(shown + "x\n...(truncated)...")).show(Words("x" + message)))
        #expect(!Words(try row(shown)).show(Words(message)))
        #expect(Words(try row(shown + "…")).mayShow(Words(message)), "an unknown mark")
        #expect(Words(try row("[chat.history omitted: message too large]")).mayShow(Words(message)))
    }

    @Test func `long messages that differ at their ends are two`() {
        let long = String(repeating: "the same rules again. ", count: 2_000)
        #expect(Words(long + "What is new?") != Words(long + "What is old?"))
        #expect(Words(long + "What is new?") == Words(long + "What is new?"))
    }

    /// Recording equal-words-doubt.v2026.3.1, part 4.
    @Test func `a row that ends with a message is not that message's`() throws {
        #expect(!Words(try row("I come at eight, is that ok")).mayShow(Words("ok")))
    }

    @Test func `a prompt quotes a message whatever stands between its words`() {
        #expect(Words("and then: first line and the second").quote(Words("first line\nand")))
        #expect(!Words("first").quote(Words("first line")))
        #expect(!Words("first").quote(Words("")))
        #expect(Words("first line").quote(Words("first line, cut later"), first: 8))
    }

    @Test func `a busy gateway joins several messages into one row`() throws {
        let text = "[Queued messages while agent was busy]\n\n---\nQueued #1\na\u{a0}b\n\n---\nQueued #2\nc"
        #expect(Words.messages(of: try row(text)) == [Words("a b"), Words("c")])
    }
}
