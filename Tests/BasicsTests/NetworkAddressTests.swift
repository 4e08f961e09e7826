import Basics
import Testing

struct NetworkAddressTests {
    private static let spellings: [(String, String)] = [
        ("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("::", "::"), ("::ffff:10.0.0.1", "10.0.0.1"),
        ("FE80:0:0:0:1:0:0:1", "fe80::1:0:0:1"), ("2001:db8::1:0:0:1", "2001:db8::1:0:0:1"),
        ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"), ("1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"),
        ("64:ff9b::192.0.2.33", "64:ff9b::c000:221"),
        ("1::", "1::"), ("::ffff:7f00:1", "127.0.0.1"), ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
    ]

    @Test(arguments: spellings)
    func `an address is read and written in its canonical form`(text: String, canonical: String) throws {
        let address = try #require(NetworkAddress(text))
        #expect(address.description == canonical)
        #expect(NetworkAddress(address.description) == address)
        #expect(NetworkAddress(bytes: address.bytes) == address)
        #expect(NetworkAddress(bytes: address.mappedBytes) == address)
    }

    @Test(arguments: [
        "", ":", ":::", "1", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1.2.3.4 ", "0x7f.1", "1::2::3",
        "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9", "12345::", "g::", "::1%lo", "[::1]", "1:2:3:4:5:6:7:8::", "::1:", ":1::", "1.2.3.4::",
        "1:", "2130706433",
    ])
    func `text that only resembles an address is refused`(text: String) {
        #expect(NetworkAddress(text) == nil)
    }

    @Test func `loopback, link-local and tailnet ranges end where they should`() {
        func check(_ text: String) -> [Bool] {
            NetworkAddress(text).map { [$0.isLoopback, $0.isLinkLocal, $0.isTailnet] } ?? []
        }
        #expect(check("127.255.255.255") == [true, false, false])
        #expect(check("128.0.0.1") == [false, false, false])
        #expect(check("::1") == [true, false, false])
        #expect(check("::2") == [false, false, false])
        #expect(check("169.254.1.1") == [false, true, false])
        #expect(check("fe80::1") == [false, true, false])
        #expect(check("febf::1") == [false, true, false])
        #expect(check("fec0::1") == [false, false, false])
        #expect(check("100.64.0.0") == [false, false, true])
        #expect(check("100.127.255.255") == [false, false, true])
        #expect(check("100.63.255.255") == [false, false, false])
        #expect(check("100.128.0.0") == [false, false, false])
        #expect(check("fd7a:115c:a1e0::1") == [false, false, true])
        #expect(check("fd7a:115c:a1e1::1") == [false, false, false])
        #expect(check("::100.64.0.1") == [false, false, false])
    }
}
