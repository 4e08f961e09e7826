import Basics
import Testing

@testable import Discovery

struct DNSMessageTests {
    static let instance = DNSName(labels: [Array("Küche. 1".utf8)] + (DNSName("_openclaw-gw._tcp.local")?.labels ?? []))

    static func sample() throws -> DNSMessage {
        let type = try #require(DNSName("_openclaw-gw._tcp.local"))
        let host = try #require(DNSName("kitchen.local"))
        return DNSMessage(
            id: 7,
            isResponse: true,
            questions: [DNSQuestion(name: type, type: .ptr)],
            records: [
                DNSRecord(name: type, data: .pointer(instance)),
                DNSRecord(name: instance, data: .service(priority: 0, weight: 0, port: 18789, target: host)),
                DNSRecord(name: instance, data: .text([Array("role=gateway".utf8), Array("gatewayTls=1".utf8), []])),
                DNSRecord(name: host, data: .address(NetworkAddress(v4: 192, 0, 2, 7))),
                DNSRecord(name: host, data: .address(NetworkAddress(high: 0x2001_0DB8_0000_0000, low: 7))),
                DNSRecord(name: host, data: .other(type: 47)),
            ]
        )
    }

    @Test func `a message is read as it was written`() throws {
        let message = try Self.sample()
        #expect(try DNSMessage(parsing: message.bytes) == message)
    }

    @Test func `compressed names are followed, and case does not matter`() throws {
        var bytes: [UInt8] = [0, 1, 0x84, 0, 0, 0, 0, 2, 0, 0, 0, 0]
        // At 12: _openclaw-gw._tcp.local
        for label in ["_openclaw-gw", "_tcp", "local"] { bytes += [UInt8(label.utf8.count)] + Array(label.utf8) }
        bytes += [0, 0, 12, 0, 1, 0, 0, 0, 120, 0, 4, 1, UInt8(ascii: "a"), 0xC0, 12]
        bytes += [
            1, UInt8(ascii: "A"), 0xC0, 12, 0, 33, 0x80, 1, 0, 0, 0, 120, 0, 10, 0, 0, 0, 0, 0x49, 0x65, 1,
            UInt8(ascii: "h"), 0xC0, 30,
        ]
        let message = try DNSMessage(parsing: bytes)
        let a = try #require(DNSName("a._openclaw-gw._tcp.local"))
        #expect(message.records[0].data == .pointer(a))
        #expect(message.records[1].name == a)
        #expect(
            message.records[1].data
                == .service(priority: 0, weight: 0, port: 18789, target: try #require(DNSName("h.local")))
        )
    }

    @Test func `every cut is refused and no byte change traps`() throws {
        let bytes = try Self.sample().bytes
        for length in 0..<bytes.count {
            #expect(throws: DNSMessage.ParseError.self) { try DNSMessage(parsing: Array(bytes[..<length])) }
        }
        for index in bytes.indices {
            for value in [UInt8(0), 1, 0x3F, 0x40, 0x80, 0xC0, 0xFF, bytes[index] &+ 1, bytes[index] ^ 0x20] {
                var changed = bytes
                changed[index] = value
                guard let message = try? DNSMessage(parsing: changed) else { continue }
                var browse = try #require(GatewayBrowse())
                browse.receive(message)
                _ = browse.gateways
                _ = browse.questions
            }
        }
    }

    @Test func `random messages never trap`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            var bytes = (0..<Int.random(in: 0..<80)).map { _ in UInt8.random(in: 0...255, using: &generator) }
            if bytes.count > 12 { bytes.replaceSubrange(2..<12, with: [0x84, 0, 0, 1, 0, 2, 0, 0, 0, 1]) }
            _ = try? DNSMessage(parsing: bytes)
        }
    }

    @Test(
        arguments: [
            // A pointer to itself, forward, past the end, and two that point at each other.
            [0xC0, 12], [0xC0, 14, 0, 0], [0xFF, 0xFF], [1, 0x61, 0xC0, 12], [0xC0], [0x40, 0], [0x80, 0], [63, 1],
            [5, 0x61],
        ] as [[UInt8]]
    )
    func `names that loop or lead outside are refused`(name: [UInt8]) {
        let bytes: [UInt8] = [0, 0, 0x84, 0, 0, 1, 0, 0, 0, 0, 0, 0] + name + [0, 12, 0, 1]
        #expect(throws: DNSMessage.ParseError.self) { try DNSMessage(parsing: bytes) }
    }

    @Test func `a name may have 255 bytes and no more`() {
        func message(_ labels: Int, _ last: Int) -> [UInt8] {
            var bytes: [UInt8] = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
            for _ in 0..<labels { bytes += [63] + [UInt8](repeating: 0x61, count: 63) }
            return bytes + [UInt8(last)] + [UInt8](repeating: 0x61, count: last) + [0, 0, 12, 0, 1]
        }
        #expect((try? DNSMessage(parsing: message(3, 61))) != nil)
        #expect((try? DNSMessage(parsing: message(3, 62))) == nil)
        #expect(DNSName(String(repeating: "a", count: 64)) == nil)
        #expect(DNSName("a..b") == nil)
        #expect(DNSName("") == nil)
        #expect(DNSName("a.b.")?.text == "a.b")
    }

    @Test func `claims of thousands of records are refused before they are read`() {
        let bytes: [UInt8] = [0, 0, 0x84, 0, 0, 0, 0xFF, 0xFF, 0, 0, 0, 0]
        #expect(throws: DNSMessage.ParseError.tooManyRecords) { try DNSMessage(parsing: bytes) }
    }
}
