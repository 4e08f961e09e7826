import Basics
import Testing

@testable import Notifications

/// The addresses that a sink may have.
struct SinkAddressTests {
    @Test(arguments: [
        ("https://Example.org", "https://example.org/", "example.org"),
        ("http://example.org:8080/a/b?c=d", "http://example.org:8080/a/b?c=d", "example.org:8080"),
        ("https://example.org:443?x", "https://example.org/?x", "example.org"),
        ("https://[2001:DB8::1]:9/", "https://[2001:db8::1]:9/", "[2001:db8::1]:9"),
        ("https://192.0.2.7/hook", "https://192.0.2.7/hook", "192.0.2.7"),
        ("https://home_assistant.local./x", "https://home_assistant.local./x", "home_assistant.local."),
    ])
    func `an address is read`(_ text: String, _ normal: String, _ host: String) throws {
        let url = try SinkURL(text)
        #expect(url.text == normal && url.hostField == host)
    }

    @Test(arguments: [
        ("example.org", SinkURL.Fault.malformed), ("ftp://example.org", .scheme), ("https://", .host),
        ("http://user@host/", .userinfo), ("http://u:p@host/", .userinfo), ("https://host/#part", .fragment),
        ("http://0x7f.1/", .host), ("http://127.1/", .host), ("http://2130706433/", .host),
        ("http://0177.0.0.1/", .host),
        ("http://0x7f000001/", .host), ("http://127.0.0.1.:80/", .host), ("http://1.2.3.0x4/", .host),
        ("https://host:0/", .port), ("https://host:65536/", .port), ("https://host:/", .port),
        ("https://host:+8/", .port),
        ("https://ho st/", .malformed), ("https://host\\@evil/", .malformed), ("https://%31/", .host),
        ("https://[::1", .host), ("https://[fe80::1%25eth0]/", .host), ("https://-host/", .host),
        ("https://a..b/", .host), ("https://höst/", .malformed), ("https://xn--a.0x7f/", .host),
        ("https://1.2.3.4.5/", .host), ("https://0/", .host), ("https://[::ffff:127.0.0.1]x/", .host),
        ("https://[127.0.0.1]/", .host), ("https://host:80:80/", .port), ("https://a/\r\nX: y", .malformed),
        ("unix:///run/x.sock", .scheme), ("file:///etc/passwd", .scheme), ("gopher://h/", .scheme),
        ("https:/h/", .malformed), ("https://ⓛocalhost/", .malformed), ("https://a@b@c/", .userinfo),
    ])
    func `an ambiguous address is refused`(_ text: String, _ fault: SinkURL.Fault) {
        #expect(throws: fault) { try SinkURL(text) }
    }

    @Test(arguments: [
        ("127.0.0.1", AddressPolicy.Refusal.loopback), ("::1", .loopback), ("0.0.0.0", .unspecified),
        ("0.1.2.3", .unspecified), ("::", .unspecified), ("10.1.2.3", .private), ("172.16.0.1", .private),
        ("172.31.255.255", .private), ("192.168.178.1", .private), ("169.254.169.254", .linkLocal),
        ("fe80::1", .linkLocal), ("100.64.0.1", .shared), ("100.127.255.255", .shared), ("224.0.0.251", .multicast),
        ("255.255.255.255", .reserved), ("192.0.0.192", .reserved), ("198.18.0.1", .reserved),
        ("fd00:ec2::254", .private), ("fd7a:115c:a1e0::1", .private), ("fc00::1", .private), ("fec0::1", .private),
        ("ff02::1", .multicast), ("::ffff:169.254.169.254", .linkLocal), ("::ffff:127.0.0.1", .loopback),
        ("::127.0.0.1", .translated), ("64:ff9b::a9fe:a9fe", .translated), ("64:ff9b:1::1", .translated),
        ("2002:7f00:1::", .translated), ("2001::1", .translated), ("2001:db8::1", .reserved), ("4000::1", .reserved),
        // Translated without a prefix (RFC 2765), ORCHID, 6bone, discard, source routes.
        ("::ffff:0:127.0.0.1", .reserved), ("2001:20::1", .reserved), ("2001:10::1", .reserved),
        ("100::1", .reserved), ("5f00::1", .reserved), ("64:ff9b::127.0.0.1", .translated),
        ("2002:a9fe:a9fe::1", .translated), ("::ffff:10.0.0.1", .private), ("fdff::1", .private),
    ])
    func `an address that only Ladle can reach is refused`(_ text: String, _ refusal: AddressPolicy.Refusal) throws {
        let address = try #require(NetworkAddress(text))
        #expect(AddressPolicy.refusal(of: address) == refusal)
        let url = try SinkURL("https://hooks.example.org/")
        let good = try #require(NetworkAddress("93.184.216.34"))
        #expect(try AddressPolicy().refusal(of: url, at: [good, address]) == refusal)
    }

    @Test(arguments: ["93.184.216.34", "100.63.255.255", "100.128.0.1", "172.32.0.1", "2606:2800:220:1::1"])
    func `a public address is admitted`(_ text: String) throws {
        let address = try #require(NetworkAddress(text))
        #expect(AddressPolicy.refusal(of: address) == nil)
    }

    @Test func `the owner allows hosts and ranges`() throws {
        let policy = try AddressPolicy(allowed: ["homeassistant.local", "192.168.1.0/24", "fd00::/8", "10.0.0.1"])
        func refusal(_ text: String, _ address: String) throws -> AddressPolicy.Refusal? {
            let url = try SinkURL(text)
            let address = try #require(NetworkAddress(address))
            return policy.refusal(of: url) ?? policy.refusal(of: url, at: [address])
        }
        #expect(try refusal("http://homeassistant.local:8123/x", "127.0.0.1") == nil)
        #expect(try refusal("http://192.168.1.9/", "192.168.1.9") == nil)
        #expect(try refusal("http://192.168.2.9/", "192.168.2.9") == .private)
        #expect(try refusal("http://box.lan/", "192.168.1.77") == nil)
        #expect(try refusal("http://box.lan/", "192.168.2.77") == .private)
        #expect(try refusal("http://box.lan/", "93.184.216.34") == .plaintext)
        #expect(try refusal("https://box.lan/", "fd12::1") == nil)
        #expect(try refusal("https://10.0.0.1/", "10.0.0.1") == nil)
        #expect(try refusal("https://10.0.0.2/", "10.0.0.2") == .private)
        // A host that the owner allows may be this one, so Ladle's and its gateway's ports are refused.
        let own = try AddressPolicy(allowed: ["host.lan", "192.168.1.0/24"], ownPorts: [18_780, 18_789, 443])
        for text in [
            "http://host.lan:18780/v1/messages", "http://192.168.1.5:18789/", "https://example.org:18780/",
            "https://host.lan/",
        ] {
            #expect(try own.refusal(of: SinkURL(text)) == .ownPort)
        }
        let inside = try #require(NetworkAddress("192.168.1.5"))
        let outside = try #require(NetworkAddress("93.184.216.34"))
        let public443 = try SinkURL("https://example.org/")
        #expect(own.refusal(of: public443) == nil && own.refusal(of: public443, at: [outside]) == nil)
        #expect(own.refusal(of: public443, at: [outside, inside]) == .ownPort)
        #expect(try own.refusal(of: SinkURL("http://host.lan:8123/")) == nil)
        // A gateway that was found on this host or in the network, and its canvas.
        let found = try AddressPolicy(allowed: ["192.168.1.0/24", "host.lan"]).refusing(gateway: 19_001)
        for text in ["http://host.lan:19001/", "http://192.168.1.5:19005/", "https://alias.lan:19003/"] {
            #expect(try found.refusal(of: SinkURL(text)) == .ownPort)
        }
        #expect(try found.refusal(of: SinkURL("http://192.168.1.5:19006/")) == nil)
        #expect(try found.refusing(gateway: .max).refusal(of: SinkURL("http://host.lan:65535/")) == .ownPort)
        let behind = try AddressPolicy(allowed: ["192.168.1.0/24"]).refusing(gateway: 443)
        #expect(
            behind.refusal(of: public443, at: [outside]) == nil
                && behind.refusal(of: public443, at: [inside]) == .ownPort
        )
        let closed = try AddressPolicy()
        #expect(try closed.refusal(of: SinkURL("http://example.org/")) == .plaintext)
        #expect(try closed.refusal(of: SinkURL("https://[::1]/")) == .loopback)
        #expect(throws: FormFault.self) { try AddressPolicy(allowed: ["http://x"]) }
        #expect(throws: FormFault.self) { try AddressPolicy(allowed: ["192.168.1.0/33"]) }
    }
}
