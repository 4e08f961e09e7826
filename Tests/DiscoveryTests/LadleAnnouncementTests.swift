import Basics
import Testing

@testable import Discovery

struct LadleAnnouncementTests {
    private static func made(_ host: String, fingerprint: [UInt8]? = nil) -> LadleAnnouncement {
        LadleAnnouncement(
            host: host,
            port: 18_780,
            isEncrypted: fingerprint != nil,
            fingerprint: fingerprint,
            id: "0123456789abcdef",
            version: "0.1.7"
        )
    }

    @Test func `the records say how to connect, and nothing about people`() {
        let plain = Self.made("kitchen.example.org")
        #expect(
            plain.arguments(of: .avahi(path: "/bin/publish")) == [
                "/bin/publish", "--", "kitchen", "_ladle._tcp", "18780", "txtvers=1", "api=v1", "path=/v1", "tls=0",
                "auth=pair,token", "id=0123456789abcdef", "ver=0.1",
            ]
        )
        let own = Self.made("kitchen", fingerprint: [UInt8](repeating: 0xFB, count: 32))
        #expect(own.hints.contains("tls=1") && own.hints.contains("fp=-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_s"))
        #expect(own.hints.reduce(0) { $0 + $1.utf8.count + 1 } <= 200)
        #expect(
            own.arguments(of: .dnssd(path: "/usr/bin/dns-sd")).prefix(6) == [
                "/usr/bin/dns-sd", "-R", "kitchen", "_ladle._tcp", "local", "18780",
            ]
        )
    }

    @Test func `a host's name is one label of at most 63 bytes`() {
        #expect(Self.made("").name == "ladle")
        #expect(Self.made(".x").name == "ladle")
        #expect(Self.made("a\u{1b}[2Jb").name == "a")
        #expect(Self.made(String(repeating: "é", count: 80)).name == String(repeating: "é", count: 31))
    }

    @Test func `a publisher that keeps ending is started ever more seldom, and one that was steady at once`() {
        var pauses = AnnouncementPauses()
        #expect((0..<10).map { _ in pauses.pause(afterRunning: 10) }.reduce(0, +) == 811_000)
        #expect(pauses.pause(afterRunning: 10) == 300_000)
        #expect(pauses.pause(afterRunning: 60_000) == 1000)
        #expect(pauses.pause(afterRunning: 10) == 2000)
    }

    @Test func `another Ladle is found by its records`() throws {
        var browse = try #require(GatewayBrowse(for: .ladle))
        let type = try #require(DNSName("_ladle._tcp.local"))
        let name = try #require(DNSName("kitchen._ladle._tcp.local"))
        let host = try #require(DNSName("kitchen.local"))
        #expect(browse.questions == [DNSQuestion(name: type, type: .ptr)])
        let hints = Self.made("kitchen", fingerprint: [UInt8](repeating: 7, count: 32)).hints
        browse.receive(
            DNSMessage(
                isResponse: true,
                records: [
                    DNSRecord(name: type, timeToLive: 120, data: .pointer(name)),
                    DNSRecord(
                        name: name,
                        timeToLive: 120,
                        data: .service(priority: 0, weight: 0, port: 18_780, target: host)
                    ),
                    DNSRecord(name: name, timeToLive: 120, data: .text(hints.map { Array($0.utf8) })),
                    DNSRecord(
                        name: host,
                        timeToLive: 120,
                        data: .address(try #require(NetworkAddress("192.168.1.7")))
                    ),
                ]
            )
        )
        let found = try #require(browse.gateways.first)
        #expect(found.url == "https://192.168.1.7:18780" && found.saidFingerprint == String(repeating: "07", count: 32))
        #expect(DiscoveryReport([], of: .ladle).table() == "no Ladle announced itself\n")
    }
}
