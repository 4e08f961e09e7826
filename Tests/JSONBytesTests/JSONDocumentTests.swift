import JSONBytes
import Testing

struct JSONDocumentTests {
    @Test func `values are read as they were written`() throws {
        let root = try JSONDocument(
            parsing:
                #" {"a":[1,-2.5e1,true,false,null,"x\n\u00e9\ud83d\ude00"],"b":{"c":{}},"big":9223372036854775807} "#
        ).root
        let list = try #require(root["a"])
        #expect(list.count == 6)
        #expect(list[0]?.int == 1)
        #expect(list[1]?.int == -25)
        #expect(list[2]?.bool == true)
        #expect(list[3]?.bool == false)
        #expect(list[4]?.isNull == true)
        #expect(list[5]?.string == "x\né😀")
        #expect(root["b"]?["c"]?.count == 0)
        #expect(root["big"]?.int == .max)
        #expect(root["missing"] == nil)
        #expect(root.members.map(\.key) == ["a", "b", "big"])
        #expect(root["b"].map { String(decoding: $0.raw, as: UTF8.self) } == #"{"c":{}}"#)
    }

    private static let malformed: [(String, Int, JSONError.Reason)] = [
        ("", 0, JSONError.Reason.unexpectedEnd), ("{", 1, .unexpectedEnd), ("[1,]", 3, .unexpectedByte),
        (#"{"a":1,}"#, 7, .unexpectedByte), (#"{"a" 1}"#, 5, .unexpectedByte), ("01", 1, .invalidNumber),
        ("-", 1, .invalidNumber), ("1.", 2, .invalidNumber), ("1e", 2, .invalidNumber), ("+1", 0, .unexpectedByte),
        ("tru", 3, .unexpectedEnd), ("nulx", 3, .unexpectedByte), ("1 2", 2, .trailingBytes),
        (#""\x""#, 1, .invalidEscape), (#""\u12g4""#, 1, .invalidEscape), ("\"a\u{1}\"", 2, .controlCharacter),
        (#"{"a":1,"a":2}"#, 7, .duplicateKey), (#"{"a":1,"\u0061":2}"#, 7, .duplicateKey), ("[[1]", 4, .unexpectedEnd),
        ("\"abc", 4, .unexpectedEnd), ("{1:2}", 1, .unexpectedByte), ("[1 2]", 3, .unexpectedByte),
        ("]", 0, .unexpectedByte),
        (#""\u12"#, 5, .unexpectedEnd),
    ]

    @Test(arguments: malformed) func `malformed text is refused where it breaks`(
        text: String,
        offset: Int,
        reason: JSONError.Reason
    ) {
        #expect(throws: JSONError(offset: offset, reason: reason)) { try JSONDocument(parsing: text) }
    }

    @Test func `a name that stands twice among many is found, and many names are none`() throws {
        for count in [15, 16, 17, 18, 64, 1000] {
            let names = (1...count).map { $0.isMultiple(of: 3) ? #""\u006B\#($0)":0"# : "\"k\($0)\":0" }
            let body = names.joined(separator: ",")
            #expect(try JSONDocument(parsing: "{\(body)}").root.count == count)
            for again in [#""k1""#, #""\u006b1""#, #""k3""#, #""\u006b3""#, "\"k\(count)\""] {
                #expect(throws: JSONError(offset: body.utf8.count + 2, reason: .duplicateKey), "\(again), \(count)") {
                    try JSONDocument(parsing: "{\(body),\(again):0}")
                }
            }
        }
    }

    @Test(
        arguments: [
            [0xC0, 0x80], [0xC2], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF0, 0x80, 0x80, 0x80],
            [0xF4, 0x90, 0x80, 0x80],
            [0xF5, 0x80, 0x80, 0x80], [0x80], [0xFF], [0xE2, 0x28, 0xA1],
        ] as [[UInt8]]
    ) func `bytes that are not UTF-8 are refused`(bytes: [UInt8]) {
        #expect(throws: JSONError(offset: 1, reason: .invalidUTF8)) {
            try JSONDocument(parsing: [0x22] + bytes + [0x22])
        }
    }

    @Test func `nesting ends at the limit and not before`() throws {
        func nested(_ depth: Int) -> [UInt8] {
            Array(String(repeating: "[", count: depth).utf8) + Array(String(repeating: "]", count: depth).utf8)
        }
        _ = try JSONDocument(parsing: nested(32))
        #expect(throws: JSONError(offset: 32, reason: .tooDeep)) { try JSONDocument(parsing: nested(33)) }
        #expect(throws: JSONError.self) { try JSONDocument(parsing: [UInt8](repeating: 0x5B, count: 10_000_000)) }
    }

    @Test func `many keys are checked as well as few`() throws {
        let keys = (0..<500).map { #""key\#($0)":\#($0)"# }.joined(separator: ",")
        let root = try JSONDocument(parsing: "{\(keys)}").root
        #expect(root["key499"]?.int == 499)
        #expect(root.count == 500)
        #expect(throws: JSONError.self) { try JSONDocument(parsing: #"{\#(keys),"key250":1}"#) }
    }

    @Test func `a lone surrogate becomes the replacement character`() throws {
        #expect(try JSONDocument(parsing: #""\ud800x""#).root.string == "\u{FFFD}x")
        #expect(try JSONDocument(parsing: #""\udc00\ud83d""#).root.string == "\u{FFFD}\u{FFFD}")
    }

    @Test(arguments: [
        (#""\ud800""#, "body"), (#"{"text":"a\ud83d"}"#, "text"), (#"{"text":"\udc00\ud83d"}"#, "text"),
        (#"{"text":"\ud83d\u0041"}"#, "text"), (#"{"text":"\ud83d\\udc00"}"#, "text"),
        (#"{"a":"\n","list":[{"x":1},{"b":["","\uD800\uD800\uDC00"]}]}"#, "list[1].b[1]"),
        (#"{"a":{"\udfff":1}}"#, "a"), (#"{"\udfff":1}"#, "body"),
    ])
    func `half of a surrogate pair is found, and where it stands`(text: String, place: String) throws {
        #expect(try JSONDocument(parsing: text).placeOfHalfPair == place)
    }

    @Test(arguments: [#"{"a":"\ud83d\ude00x","b":"\uFFFD\\ud800","c":[]}"#, #""\ud7ff\ue000""#, "[]", "1"])
    func `whole pairs and text about halves are no halves`(text: String) throws {
        #expect(try JSONDocument(parsing: text).placeOfHalfPair == nil)
    }

    @Test func `whole numbers beyond the range have no integer`() throws {
        let list = try JSONDocument(parsing: "[9223372036854775808,-9223372036854775808,1.5,1e400,0,-0]").root
        #expect(list[0]?.int == nil)
        #expect(list[1]?.int == .min)
        #expect(list[2]?.int == nil)
        #expect(list[3]?.double == nil)
        #expect(list[4]?.int == 0)
        #expect(list[5]?.int == 0)
    }

    @Test func `every cut and every changed byte of a text is read or refused without a trap`() {
        let text = Array(#"{"a":[1,2.5e-3,"\u00e9\n",{"b":null}],"c":"é😀"}"#.utf8)
        for cut in 0...text.count { _ = try? JSONDocument(parsing: Array(text[..<cut])) }
        for place in text.indices {
            for byte in UInt8.min...UInt8.max {
                var changed = text
                changed[place] = byte
                if let document = try? JSONDocument(parsing: changed) {
                    var writer = JSONWriter()
                    document.root.write(to: &writer)
                    #expect((try? JSONDocument(parsing: writer.bytes)) != nil)
                }
            }
        }
    }
}
