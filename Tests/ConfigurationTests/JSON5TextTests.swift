import JSONBytes
import Testing

@testable import Configuration

struct JSON5TextTests {
    static let accepted: [(String, String)] = [
        ("{}", "{}"),
        ("// c\n{ /* d */ }// e", "{}"),
        ("{a: 1, 'b': 2, \"c\": 3,}", #"{"a":1,"b":2,"c":3}"#),
        ("{$_ü1: null, \\u0061b: true}", #"{"$_ü1":null,"ab":true}"#),
        ("[1,]", "[1]"),
        ("[ ]", "[]"),
        ("[0xFF, -0x10, +5, .5, 5., -.5e1, 1E3, 0, -0]", "[255,-16,5,0.5,5,-0.5e1,1e3,0,-0]"),
        ("0xFFFFFFFFFFFFFFFF", "18446744073709551615"),
        ("'a\"b'", #""a\"b""#),
        (#""it's""#, #""it's""#),
        ("'one \\\ntwo \\\r\nthree'", #""one two three""#),
        (#"'\x41\u00e4\ud83e\udd8a\0\v\q\''"#, "\"Aä🦊\\u0000\\u000bq'\""),
        ("\u{FEFF}\u{A0}\u{2028}true\u{3000}", "true"),
        ("'\u{2028}'", #""\u2028""#),
        ("{while: [[]], class: {}}", #"{"while":[[]],"class":{}}"#),
    ]

    @Test(arguments: accepted)
    func `every form becomes its JSON`(text: String, json: String) throws {
        #expect(String(decoding: try JSON5Text(parsing: text).json, as: UTF8.self) == json)
    }

    static let refused: [(String, JSON5Error.Reason, Int, Int)] = [
        ("", .endOfText, 1, 1),
        ("  \n /* x", .unclosedComment, 2, 2),
        ("{a: 1\n b: 2}", .missingComma, 2, 2),
        ("{a 1}", .missingColon, 1, 4),
        ("{a: 1,, b: 2}", .badKey, 1, 7),
        ("[1,,2]", .unexpected("\",\""), 1, 4),
        ("[1 2]", .missingComma, 1, 4),
        ("{a:1, 'a':2}", .duplicateKey("a"), 1, 7),
        ("{1: 2}", .badKey, 1, 2),
        ("{a:", .endOfText, 1, 4),
        ("[", .endOfText, 1, 2),
        ("{} {}", .textBehindValue, 1, 4),
        ("'a\nb'", .lineBreakInString, 1, 3),
        ("'abc", .unclosedString, 1, 1),
        ("'\\1'", .badEscape, 1, 2),
        ("'\\01'", .badEscape, 1, 2),
        ("'\\x4'", .badEscape, 1, 2),
        ("'\\ud800x'", .loneSurrogate, 1, 2),
        ("-Infinity", .notFinite("Infinity"), 1, 1),
        ("\n NaN", .notFinite("NaN"), 2, 2),
        ("010", .badNumber, 1, 1),
        ("0x", .badNumber, 1, 1),
        (".", .badNumber, 1, 1),
        ("+", .badNumber, 1, 1),
        ("1e", .badNumber, 1, 1),
        ("1.2.3", .badNumber, 1, 1),
        ("5px", .badNumber, 1, 1),
        ("1e999", .numberOutOfRange, 1, 1),
        ("0x1FFFFFFFFFFFFFFFF", .numberOutOfRange, 1, 1),
        ("{a: hello}", .unexpected("\"hello\"; a text needs quotes"), 1, 5),
        ("[é#]", .unexpected("\"é\"; a text needs quotes"), 1, 2),
        ("/", .unexpected("\"/\""), 1, 1),
        ("\u{1}", .unexpected("U+1"), 1, 1),
    ]

    @Test(arguments: refused)
    func `every mistake is named with its place`(text: String, reason: JSON5Error.Reason, line: Int, column: Int) {
        #expect(throws: JSON5Error(reason, at: TextPosition(line: line, column: column))) {
            try JSON5Text(parsing: text)
        }
    }

    @Test func `limits hold`() {
        #expect(throws: Never.self) {
            try JSON5Text(parsing: String(repeating: "[", count: 32) + String(repeating: "]", count: 32))
        }
        for text in [String(repeating: "[", count: 33), String(repeating: "{a:", count: 100_000)] {
            #expect { try JSON5Text(parsing: text) } throws: { ($0 as? JSON5Error)?.reason == .tooDeep(limit: 32) }
        }
        #expect { try JSON5Text(parsing: [UInt8](repeating: 0x20, count: (1 << 20) + 1)) } throws: {
            ($0 as? JSON5Error)?.reason == .tooLarge(limit: 1 << 20)
        }
        for bytes: [UInt8] in [
            [0xC0, 0x80], [0x22, 0xFF, 0x22], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xE2, 0x82],
        ] {
            #expect { try JSON5Text(parsing: bytes) } throws: { ($0 as? JSON5Error)?.reason == .notUTF8 }
        }
    }

    @Test func `every cut of a text is refused or read, and a value knows its line`() throws {
        let text = Array("{\n  // c\n  a: { b: [1,\n    'x'] },\r\n  c: 0x1F, }".utf8)
        for end in 0..<text.count - 1 {
            #expect(throws: JSON5Error.self) { try JSON5Text(parsing: Array(text[..<end])) }
        }
        let parsed = try JSON5Text(parsing: text)
        let list = try #require(parsed.root["a"]?["b"])
        #expect(parsed.position(of: list) == TextPosition(line: 3, column: 11))
        #expect(parsed.position(of: try #require(list[1])) == TextPosition(line: 4, column: 5))
        #expect(parsed.position(of: try #require(parsed.root["c"])) == TextPosition(line: 5, column: 6))
    }
}
