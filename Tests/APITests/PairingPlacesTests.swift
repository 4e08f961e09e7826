import Access
import Basics
import EventLoops
import Testing

@testable import API

struct PairingPlacesTests {
    private static func ip(_ text: String, _ port: UInt16 = 18_780) throws -> SocketAddress {
        try #require(SocketAddress(host: text, port: port))
    }

    private static let now = Timestamp(milliseconds: 1_800_000_000_000)
    private static let period = CertificatePeriod(notBefore: now, notAfter: now.adding(milliseconds: 1))
    private static let own = ShownCertificate(
        source: .own,
        names: ["h"],
        sha256: [UInt8](repeating: 0xFB, count: 32),
        isSelfSigned: true,
        period: period
    )
    private static let vouched = ShownCertificate(
        source: .files,
        names: ["other.example", "h.tail1.ts.net"],
        sha256: [UInt8](repeating: 1, count: 32),
        isSelfSigned: false,
        period: period
    )
    private static let tailnet = ShownCertificate(
        source: .tailnet,
        names: ["h.tail1.ts.net"],
        sha256: [UInt8](repeating: 2, count: 32),
        isSelfSigned: false,
        period: period
    )
    private static let pin = "-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_s"

    private static func places(
        _ listening: [String],
        _ certificates: ShownCertificate...,
        interfaces: [String] = [],
        names: [String] = ["h", "h.tail1.ts.net"],
        now: Timestamp = now
    ) throws -> PairingPlaces {
        PairingPlaces(
            listening: try listening.map { try ip($0) } + [.unix(path: "/run/x")],
            interfaces: interfaces.compactMap { NetworkAddress($0) },
            tailnetNames: names,
            now: now,
            certificates: { _ in certificates }
        )
    }

    @Test func `the tailnet comes first, then the network, and this host only where there is nothing else`() throws {
        let all = try Self.places(["127.0.0.1", "192.168.1.7", "100.64.0.7", "fd7a:115c:a1e0::7"])
        #expect(all.reach == .tailnet)
        #expect(all.urls == ["http://100.64.0.7:18780", "http://192.168.1.7:18780"])
        #expect(all.link(secret: "S") == "ladle://100.64.0.7:18780/?tls=0&secret=S&also=192.168.1.7:18780")
        let host = try Self.places(["127.0.0.1", "::1"])
        #expect(host.reach == .host && host.link(secret: "S") == "ladle://127.0.0.1:18780/?tls=0&secret=S")
        let none = try Self.places([])
        #expect(none.reach == .nowhere && none.link(secret: "S") == nil && none.urls.isEmpty)
    }

    @Test func `a listener on all addresses is reached by each that others see`() throws {
        let every = try Self.places(
            ["0.0.0.0"],
            Self.own,
            interfaces: ["fe80::1", "169.254.1.1", "2001:db8::7", "192.168.1.7"]
        )
        #expect(every.urls == ["https://192.168.1.7:18780"])
        #expect(every.link(secret: "S") == "ladle://192.168.1.7:18780/?tls=1&pin=\(Self.pin)&secret=S")
        let six = try Self.places(["::"], interfaces: ["fe80::1", "2001:db8::7", "192.168.1.7", "fd7a:115c:a1e0::7"])
        #expect(
            six.link(secret: "S")
                == "ladle://[fd7a:115c:a1e0::7]:18780/?tls=0&secret=S&also=%5B2001:db8::7%5D:18780"
        )
    }

    @Test func `a certificate of an authority is known by its name and not by its pin, for it is renewed`() throws {
        let named = try Self.places(["100.64.0.7"], Self.vouched)
        #expect(named.link(secret: "S") == "ladle://h.tail1.ts.net:18780/?tls=1&secret=S")
    }

    @Test func `in the tailnet the certificate of its name comes before the one that is pinned elsewhere`() throws {
        let both = try Self.places(["192.168.1.7", "100.64.0.7"], Self.own, Self.tailnet)
        #expect(both.urls == ["https://h.tail1.ts.net:18780", "https://192.168.1.7:18780"])
        // The address in the network needs the pin.
        #expect(both.link(secret: "S") == "ladle://h.tail1.ts.net:18780/?tls=1&secret=S")
        let pinned = "ladle://100.64.0.7:18780/?tls=1&pin=\(Self.pin)&secret=S"
        #expect(try Self.places(["100.64.0.7"], Self.own).link(secret: "S") == pinned)
        let later = Self.now.adding(milliseconds: 1)
        #expect(try Self.places(["100.64.0.7"], Self.own, Self.tailnet, now: later).link(secret: "S") == pinned)
        // The host has another name by now.
        #expect(try Self.places(["100.64.0.7"], Self.own, Self.tailnet, names: ["g"]).link(secret: "S") == pinned)
        // tailscaled is silent.
        #expect(
            try Self.places(["100.64.0.7"], Self.own, Self.tailnet, names: []).urls == ["https://h.tail1.ts.net:18780"]
        )
        #expect(try Self.places(["100.64.0.7"], Self.own, Self.vouched, names: []).link(secret: "S") == pinned)
    }

    @Test func `one pin counts for all addresses of a link`() throws {
        let (tailnet, lan) = (try Self.ip("100.64.0.7"), try Self.ip("192.168.1.7"))
        let mixed = PairingPlaces(listening: [lan, tailnet], interfaces: [], tailnetNames: [], now: Self.now) {
            $0 == lan ? [Self.own] : []
        }
        #expect(mixed.urls == ["http://100.64.0.7:18780", "https://192.168.1.7:18780"])
        #expect(mixed.link(secret: "S") == "ladle://100.64.0.7:18780/?tls=0&secret=S")
    }
}
