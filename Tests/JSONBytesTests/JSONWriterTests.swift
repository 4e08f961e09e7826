import Basics
import JSONBytes
import Testing

struct JSONWriterTests {
    private func text(_ body: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        body(&writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test func `members and elements are separated, absent members left out`() {
        let result = text { writer in
            writer.object { object in
                object.member("a", 1)
                object.member("b", nil as String?)
                object.array("c") { list in
                    list.int(1)
                    list.object { $0.member("x", true) }
                    list.array { _ in }
                    list.null()
                }
                object.member("d", 1.5)
                object.member("at", Timestamp(milliseconds: 0))
                object.array("names", of: ["p", "q"])
            }
        }
        #expect(
            result
                == #"{"a":1,"c":[1,{"x":true},[],null],"d":1.5,"at":"1970-01-01T00:00:00.000Z","names":["p","q"]}"#
        )
    }

    @Test func `characters that could break a line are escaped`() {
        #expect(
            text { $0.string("a\"\\\n\r\t\u{0}\u{1F}\u{85}\u{2028}\u{2029}é😀\u{7F}/ÂÃ") }
                == "\"a\\\"\\\\\\n\\r\\t\\u0000\\u001f\\u0085\\u2028\\u2029é😀\u{7F}/ÂÃ\""
        )
    }

    @Test func `numbers keep their value`() {
        #expect(
            text {
                $0.array {
                    $0.int(Int64.min); $0.int(UInt64.max); $0.double(0.1); $0.double(3); $0.double(.nan)
                }
            }
                == "[-9223372036854775808,18446744073709551615,0.1,3,null]"
        )
    }

    @Test func `a value read is written again on one line`() throws {
        let value = try JSONDocument(parsing: "{ \"a\" : [ 1.50 ,\n \"\u{2028}\" ] }").root
        #expect(text { value.write(to: &$0) } == #"{"a":[1.50,"\u2028"]}"#)
    }

    @Test func `controls of C1 and marks of direction are escaped, and nothing beside them`() {
        let hidden = [0x80...0x9F, 0x061C...0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069].joined()
        for value in Set(hidden) {
            let scalar = Unicode.Scalar(UInt32(value)).map { String($0) } ?? ""
            let digits = String(value, radix: 16)
            let written = text { $0.string("a" + scalar + "b") }
            #expect(written == #""a\u\#(String(repeating: "0", count: 4 - digits.count) + digits)b""#)
        }
        for plain in ["\u{A0}¿é", "\u{200D}\u{2010}\u{2027}\u{202F}", "\u{2065}\u{206A}", "\u{061B}\u{061D}سلام", "€✓"]
        {
            #expect(text { $0.string(plain) } == "\"" + plain + "\"")
        }
    }
}
