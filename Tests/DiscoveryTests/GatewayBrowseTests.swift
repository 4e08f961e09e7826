import Basics
import JSONBytes
import Testing

@testable import Discovery

struct GatewayBrowseTests {
    static func browse(_ messages: DNSMessage...) throws -> GatewayBrowse {
        var browse = try #require(GatewayBrowse())
        for message in messages { browse.receive(message) }
        return browse
    }

    static func response(_ records: DNSRecord...) -> DNSMessage { DNSMessage(isResponse: true, records: records) }

    static func name(_ text: String) -> DNSName { DNSName(text) ?? DNSName(labels: []) }

    static let type = name("_openclaw-gw._tcp.local")
    static let one = name("one._openclaw-gw._tcp.local")
    static let service = DNSRecord(
        name: one,
        data: .service(priority: 0, weight: 0, port: 18789, target: name("box.local"))
    )

    @Test func `one complete answer is one gateway`() throws {
        let browse = try Self.browse(DNSMessageTests.sample())
        let gateway = try #require(browse.gateways.first)
        #expect(browse.gateways.count == 1)
        #expect(gateway.name == "Küche. 1")
        #expect(gateway.host == "kitchen.local")
        #expect(gateway.addresses.map(\.description) == ["192.0.2.7", "2001:db8::7"])
        #expect(gateway.url == "wss://192.0.2.7:18789")
        #expect(gateway.hints["role"] == "gateway")
        #expect(browse.isComplete)
    }

    @Test func `records missing from an answer are requested, step by step`() throws {
        var browse = try Self.browse()
        #expect(browse.questions == [DNSQuestion(name: Self.type, type: .ptr)])
        browse.receive(Self.response(DNSRecord(name: Self.type, data: .pointer(Self.one))))
        #expect(
            Array(browse.questions.dropFirst()) == [
                DNSQuestion(name: Self.one, type: .srv), DNSQuestion(name: Self.one, type: .txt),
            ]
        )
        #expect(browse.gateways.isEmpty)
        browse.receive(Self.response(Self.service))
        #expect(browse.questions.map(\.type) == [.ptr, .txt, .a, .aaaa])
        #expect(browse.gateways.map(\.url) == ["ws://box.local:18789"])
        browse.receive(
            Self.response(DNSRecord(name: Self.name("BOX.local"), data: .address(NetworkAddress(v4: 192, 0, 2, 1))))
        )
        browse.receive(Self.response(DNSRecord(name: Self.one, data: .text([]))))
        #expect(browse.isComplete)
        #expect(browse.gateways.map(\.url) == ["ws://192.0.2.1:18789"])
    }

    @Test func `the order of records in a message does not matter`() throws {
        let message = try DNSMessageTests.sample()
        var reversed = message
        reversed.records.reverse()
        #expect(try Set(Self.browse(message).gateways.map(\.url)) == Set(Self.browse(reversed).gateways.map(\.url)))
    }

    @Test func `goodbye takes a gateway off the list`() throws {
        let goodbye = Self.response(DNSRecord(name: Self.type, timeToLive: 0, data: .pointer(Self.one)))
        let browse = try Self.browse(
            Self.response(DNSRecord(name: Self.type, data: .pointer(Self.one)), Self.service),
            goodbye
        )
        #expect(browse.gateways.isEmpty)
    }

    @Test func `questions, other services and unasked-for names change nothing`() throws {
        var question = try DNSMessageTests.sample()
        question.isResponse = false
        let foreign = Self.response(
            DNSRecord(name: Self.type, data: .pointer(Self.name("x._http._tcp.local"))),
            DNSRecord(name: Self.name("_http._tcp.local"), data: .pointer(Self.one)),
            DNSRecord(name: Self.type, data: .pointer(Self.type)),
            Self.service
        )
        #expect(try Self.browse(question, foreign).gateways.isEmpty)
        #expect(try Self.browse(question, foreign).questions.count == 1)
    }

    @Test func `a flood of announcements is bounded`() throws {
        var browse = try Self.browse()
        for index in 0..<5000 {
            let name = Self.name("n\(index)._openclaw-gw._tcp.local")
            let host = Self.name("h\(index).local")
            browse.receive(
                Self.response(
                    DNSRecord(name: Self.type, data: .pointer(name)),
                    DNSRecord(name: name, data: .service(priority: 0, weight: 0, port: 1, target: host)),
                    DNSRecord(
                        name: Self.name("same.local"),
                        data: .address(NetworkAddress(high: 1, low: UInt64(index)))
                    ),
                    DNSRecord(name: host, data: .address(NetworkAddress(high: 1, low: UInt64(index)))),
                    DNSRecord(name: name, data: .text((0..<200).map { Array("k\($0)=v".utf8) }))
                )
            )
        }
        #expect(browse.gateways.count == 64)
        #expect(browse.gateways.allSatisfy { $0.hints.count <= 32 && $0.addresses.count <= 16 })
    }

    @Test func `hints are read by the rules of DNS-SD`() throws {
        let text = DNSRecord(
            name: Self.one,
            data: .text([
                Array("displayName=Box = one".utf8), Array("DISPLAYNAME=second".utf8), Array("=nameless".utf8),
                Array("flag".utf8),
                Array("bad\u{7}=x".utf8), Array(("long=" + String(repeating: "x", count: 250)).utf8),
                [0x67, 0x3D, 0xFF],
            ])
        )
        let browse = try Self.browse(
            Self.response(DNSRecord(name: Self.type, data: .pointer(Self.one)), Self.service, text)
        )
        let hints = browse.gateways.first?.hints ?? [:]
        #expect(hints["displayName"] == "Box = one")
        #expect(hints["flag"] == "")
        #expect(Set(hints.keys) == ["displayName", "flag", "long", "g"])
    }

    @Test func `addresses that lead nowhere are left out, link-local ones are the last resort`() throws {
        func addresses(_ texts: String...) throws -> [String] {
            let records = texts.compactMap { NetworkAddress($0) }.map {
                DNSRecord(name: Self.name("box.local"), data: .address($0))
            }
            var browse = try Self.browse(
                Self.response(DNSRecord(name: Self.type, data: .pointer(Self.one)), Self.service)
            )
            browse.receive(DNSMessage(isResponse: true, records: records))
            return browse.gateways.first?.addresses.map(\.description) ?? []
        }
        #expect(
            try addresses("fe80::1", "2001:db8::1", "192.0.2.1", "127.0.0.1", "::1", "0.0.0.0", "192.0.2.1") == [
                "192.0.2.1", "2001:db8::1",
            ]
        )
        #expect(try addresses("fe80::1", "169.254.0.1") == ["169.254.0.1", "fe80::1"])
    }

    @Test func `a table keeps to its width and no name drives the terminal`() {
        let gateway = DiscoveredGateway(
            name: "evil\u{1B}[2J\u{202E}\n" + String(repeating: "x", count: 300),
            host: "h\u{7}.local",
            port: 1,
            addresses: [],
            hints: [:],
            source: .multicast
        )
        let table = DiscoveryReport([gateway]).table(width: 80)
        #expect(table.split(separator: "\n").count == 2)
        #expect(table.split(separator: "\n").allSatisfy { $0.count <= 80 })
        #expect(!table.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || $0 == "\u{202E}" })
        #expect(DiscoveryReport([]).table() == "no gateway announced itself\n")
    }

    @Test func `the JSON form has everything a script needs`() throws {
        let gateways = try Self.browse(DNSMessageTests.sample()).gateways
        var writer = JSONWriter()
        writer.value(DiscoveryReport(gateways))
        let entry = try #require(JSONDocument(parsing: writer.bytes).root["gateways"]?[0])
        #expect(entry["url"]?.string == "wss://192.0.2.7:18789")
        #expect(entry["tls"]?.bool == true)
        #expect(entry["source"]?.string == "mdns")
        #expect(entry["hints"]?["role"]?.string == "gateway")
    }

    static let pin = String(repeating: "ab", count: 32)
    static let other = String(repeating: "cd", count: 32)

    @Test(arguments: [
        pin, pin.uppercased(), "sha256:\(pin)", "SHA-256 \(pin)", " \(pin) ",
        (0..<32).map { _ in "AB" }.joined(separator: ":"),
    ])
    func `a fingerprint has one spelling`(text: String) {
        #expect(CertificateFingerprint(text)?.text == Self.pin)
    }

    @Test(arguments: ["", "ab", pin + "a", "xyz"])
    func `a text that is not a SHA-256 is no fingerprint`(text: String) {
        #expect(CertificateFingerprint(text) == nil)
    }

    @Test func `no announcement replaces a stored fingerprint`() throws {
        let stored = try #require(CertificateFingerprint(Self.pin))
        let announced = try #require(CertificateFingerprint(Self.other))
        #expect(
            FingerprintChoice.choose(stored: stored, announced: announced)
                == .storedDespite(stored, announced: announced)
        )
        #expect(FingerprintChoice.choose(stored: stored, announced: stored) == .stored(stored))
        #expect(FingerprintChoice.choose(stored: stored, announced: nil) == .stored(stored))
        #expect(FingerprintChoice.choose(stored: nil, announced: announced) == .confirm(announced))
        #expect(FingerprintChoice.choose(stored: nil, announced: nil) == .nothing)
    }
}
