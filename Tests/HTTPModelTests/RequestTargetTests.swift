import HTTPModel
import Testing

struct RequestTargetTests {
    @Test func `a target comes apart into path, segments and query`() throws {
        let head = try RequestHead(
            method: .get,
            target: "/v1/sessions/agent%3Amain%3Amain/?a=1&b=x%20y+z&c&=d&&e=%C3%A4"
        )
        #expect(String(decoding: head.path, as: UTF8.self) == "/v1/sessions/agent%3Amain%3Amain/")
        let query = try head.queryItems()
        #expect(query.items.map(\.name) == ["a", "b", "c", "", "e"])
        #expect(query["b"] == "x y z")
        #expect(query["c"] == "")
        #expect(query.items[2].hasEqualsSign == false)
        #expect(query["e"] == "ä")
        #expect(query["z"] == nil)
        #expect(query.repeatedName == nil)
        #expect(head.target.hasPrefix("/v1/"))
    }

    @Test func `no query, an empty query, and only a query mark in the query`() throws {
        #expect(try RequestHead(method: .get, target: "/").query == nil)
        #expect(try RequestHead(method: .get, target: "/?").query == [])
        #expect(try RequestHead(method: .get, target: "/a?b?c").query.map(Array.init) == Array("b?c".utf8))
        #expect(try RequestHead(method: .options, target: "*").path == [0x2A])
    }

    private static let badTargets: [(String, RequestTargetError)] = [
        ("", RequestTargetError.notOriginForm), ("a", .notOriginForm), ("*", .notOriginForm),
        ("/a#b", .forbiddenByte(0x23, offset: 2)), ("/ ", .forbiddenByte(0x20, offset: 1)),
        ("/a\\b", .forbiddenByte(0x5C, offset: 2)), ("/<", .forbiddenByte(0x3C, offset: 1)),
        ("/0123456789\"", .forbiddenByte(0x22, offset: 11)), ("/abcdefgh\u{7f}", .forbiddenByte(0x7F, offset: 9)),
    ]

    @Test(arguments: badTargets)
    func `a target that is none is refused`(_ target: String, _ error: RequestTargetError) {
        #expect(throws: error) { try RequestHead(method: .get, target: target) }
    }

    /// The word-wise look must agree with the byte-wise rule for every byte at every place.
    @Test func `every byte is judged alike at every place of a target`() {
        var wrong: [String] = []
        for length in [1, 7, 8, 9, 15, 16, 17] {
            for place in 0..<length {
                for byte in UInt8.min...UInt8.max {
                    var target = [UInt8](repeating: 0x61, count: length)
                    target[0] = 0x2F
                    target[place] = byte
                    let allowed = RequestTarget.allows(byte) && target[0] == 0x2F
                    let head = try? RequestHead(method: .get, target: target.span, version: .http11)
                    if (head != nil) != allowed { wrong.append("\(byte) at \(place) of \(length)") }
                    if byte == 0x3F, place > 0, head?.path.count != place { wrong.append("path ends at \(place)") }
                }
            }
        }
        #expect(wrong == [])
    }

    @Test(arguments: [
        ("/?a=%4", RequestTargetError.badPercentEncoding(offset: 4)), ("/x?a=1&b%=2", .badPercentEncoding(offset: 8)),
        ("/?a=%C3%28", .notUTF8(offset: 4)),
    ])
    func `a query that cannot be decoded is refused with its offset`(_ target: String, _ error: RequestTargetError)
        throws
    {
        let head = try RequestHead(method: .get, target: target)
        #expect(throws: error) { try head.queryItems() }
    }

    @Test func `a query has a bounded number of items`() throws {
        let most = String(repeating: "a=1&", count: QueryItems.maxItems)
        #expect(try QueryItems(parsing: Array(most.utf8)[...]).items.count == QueryItems.maxItems)
        #expect(throws: RequestTargetError.tooManyQueryItems(limit: QueryItems.maxItems)) {
            try QueryItems(parsing: Array((most + "b").utf8)[...])
        }
        #expect(try QueryItems(parsing: Array("a=1&b=2&a=3".utf8)[...]).repeatedName == "a")
    }

    @Test func `encoding and decoding are inverse`() throws {
        let text = "agent:main:main/ä ?&=+%\u{0}\u{1F600}"
        let encoded = PercentCoding.encode(text)
        #expect(encoded.utf8.allSatisfy { RequestTarget.allows($0) })
        #expect(try PercentCoding.decode(Array(encoded.utf8)[...], offset: 0, plusIsBlank: false) == text)
        #expect(try PercentCoding.decode(Array(encoded.utf8)[...], offset: 0, plusIsBlank: true) == text)
    }
}
