import HTTPModel
import Testing

struct HeaderFieldsTests {
    static func lookup(_ bytes: [UInt8], _ start: Int, _ length: Int) -> FieldName {
        FieldNameTable.shared.lookup(bytes.span, start: start, length: length)
    }

    @Test(arguments: FieldName.allCases.filter { $0 != .other })
    func `a known name is found in any case and with any bytes after it`(_ name: FieldName) {
        let text = name.canonical
        for spelling in [text, text.lowercased(), text.uppercased()] {
            let alone = Array(spelling.utf8)
            #expect(Self.lookup(alone, 0, alone.count) == name)
            let inLine = Array("xx\(spelling): value of some length\r\n".utf8)
            #expect(Self.lookup(inLine, 2, alone.count) == name)
            #expect(Self.lookup(inLine, 2, alone.count + 1) == .other)
            #expect(Self.lookup(inLine, 1, alone.count) == .other)
        }
    }

    /// A name with one bit changed is another name, unless the bit is the case of a letter.
    @Test(arguments: FieldName.allCases.filter { $0 != .other })
    func `a name that differs by one bit is another name`(_ name: FieldName) {
        let bytes = Array(name.canonical.utf8)
        for index in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[index] ^= 1 << UInt8(bit)
                let sameLetter = ASCII.lowercased(changed[index]) == ASCII.lowercased(bytes[index])
                // A hyphen and CR differ in one bit; CR never stands in a line (see the table).
                if changed[index] < 0x20 { continue }
                let found = Self.lookup(changed, 0, changed.count)
                #expect((found == name) == sameLetter)
            }
        }
    }

    private static let codings: [(String, Bool)] = [
        ("gzip", true), ("br, gzip;q=0.5", true), ("*", true), ("gzip;q=0", false), ("gzip;q=0.0, br", false),
        ("br", false), ("", false), ("*;q=0, gzip", true), ("gzip;q=0, *", false), ("*;q=0.1", true), ("*;q=0", false),
        ("gzip; Q=0.001", true), ("X-GZIP", true), ("gzip;q=2", false), ("gzip;q=0.0001", false), ("gzipx", false),
    ]

    @Test(arguments: codings)
    func `gzip is taken where it has a weight`(_ value: String, _ isTaken: Bool) {
        var fields = HeaderFields()
        fields.append(.acceptEncoding, value)
        #expect(fields.acceptsGzip == isTaken)
    }

    @Test func `fields keep their order and are found by name and by text`() {
        var fields = HeaderFields()
        fields.append(.contentType, "text/plain")
        fields.append("X-Custom", "one")
        fields.append("x-custom", "two")
        fields.append("ETAG", "\"1\"")
        #expect(fields.count == 4)
        #expect(fields.string(for: .contentType) == "text/plain")
        #expect(fields.string(for: "X-CUSTOM") == "one")
        #expect(fields.string(for: .etag) == "\"1\"")
        #expect(fields.name(at: 2) == "x-custom")
        #expect(fields[.host] == nil)
        #expect(fields["x-customs"] == nil)
        #expect(
            String(decoding: fields.bytes, as: UTF8.self)
                == "Content-Type: text/plain\r\nX-Custom: one\r\nx-custom: two\r\nETAG: \"1\"\r\n"
        )
    }

    @Test func `a value of ours cannot break the head`() {
        var fields = HeaderFields()
        fields.append(.location, "/a\r\nSet-Cookie: x\0\u{7f}y\tz")
        #expect(fields.string(for: .location) == "/a  Set-Cookie: x  y\tz")
        fields.append("bad name", "x")
        fields.append("", "x")
        fields.append("bad\r\nname", "x")
        #expect(fields.count == 1)
    }

    private static let received: [(String, String, Bool)] = [
        ("name", "value", true), ("x", "", true), ("a-b_c", "a b", true), ("Name", "v", false), ("", "v", false),
        ("na me", "v", false), (":path", "/", false), ("name", " v", false), ("name", "v\t", false),
        ("name", "a\rb", false), ("name", "a\nb", false), ("name", "a\0b", false), ("n\u{e4}me", "v", false),
    ]

    @Test(arguments: received)
    func `received fields are checked`(_ name: String, _ value: String, _ ok: Bool) {
        var fields = HeaderFields()
        let nameBytes = Array(name.utf8)
        let valueBytes = Array(value.utf8)
        let added = fields.appendReceived(name: nameBytes.span, value: valueBytes.span)
        #expect(added == ok)
        #expect(fields.count == (ok ? 1 : 0))
        #expect(fields.bytes.isEmpty == !ok)
    }

    @Test func `lists join all lines and split at commas outside quotes`() {
        var fields = HeaderFields()
        fields.append(.accept, "a, b")
        fields.append(.accept, " , \"c,\\\"d\" ,")
        let list = fields.list(for: .accept) ?? []
        #expect(ListElements(list[...]).map { String(decoding: $0, as: UTF8.self) } == ["a", "b", "\"c,\\\"d\""])
        #expect(fields.has(.accept, token: "B"))
        #expect(!fields.has(.accept, token: "c"))
        #expect(fields.list(for: .host) == nil)
    }
}
