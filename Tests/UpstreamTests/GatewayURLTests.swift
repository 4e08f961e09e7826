import Gateway
import Observability
import Testing

@testable import Upstream

struct GatewayURLTests {
    static let good: [(String, String, GatewayURL.HostClass)] = [
        ("ws://127.0.0.1:18789", "ws://127.0.0.1:18789", .loopback),
        ("127.0.0.1", "ws://127.0.0.1:18789", .loopback),
        (" LOCALHOST:9 ", "ws://localhost:9", .loopback),
        ("http://localhost/", "ws://localhost:18789", .loopback),
        ("ws://[::1]:7/gw", "ws://[::1]:7/gw", .loopback),
        ("ws://[::ffff:127.0.0.1]", "ws://[::ffff:127.0.0.1]:18789", .loopback),
        ("ws://127.9.9.9", "ws://127.9.9.9:18789", .loopback),
        ("ws://100.64.0.1", "ws://100.64.0.1:18789", .tailnet),
        ("ws://100.127.255.255", "ws://100.127.255.255:18789", .tailnet),
        ("ws://[fd7a:115c:a1e0::1]", "ws://[fd7a:115c:a1e0::1]:18789", .tailnet),
        ("ws://studio.tail1234.ts.net.", "ws://studio.tail1234.ts.net.:18789", .tailnet),
        ("wss://studio.tail1234.ts.net", "wss://studio.tail1234.ts.net:443", .tailnet),
        ("https://gateway.example.org:8443/x", "wss://gateway.example.org:8443/x", .other),
    ]

    @Test(arguments: good)
    func `a URL is read into one spelling`(_ text: String, _ normal: String, _ hostClass: GatewayURL.HostClass) throws {
        let url = try GatewayURL(text)
        #expect(url.description == normal && url.hostClass == hostClass)
        #expect(try GatewayURL(normal) == url)
    }

    static let bad: [(String, GatewayURL.Problem)] = [
        ("", .malformed("")), ("ws://", .malformed("ws://")), ("ws://a b", .malformed("ws://a b")),
        ("ftp://127.0.0.1", .unsupportedScheme("ftp")), ("ws://user:pw@127.0.0.1", .carriesCredentials),
        ("ws://127.0.0.1/?token=x", .carriesCredentials), ("ws://127.0.0.1#t", .carriesCredentials),
        ("ws://127.0.0.1:0", .malformed("ws://127.0.0.1:0")),
        ("ws://127.0.0.1:70000", .malformed("ws://127.0.0.1:70000")),
        ("ws://127.0.0.1:1x", .malformed("ws://127.0.0.1:1x")), ("ws://[::1", .malformed("ws://[::1")),
        ("ws://[::1]x", .malformed("ws://[::1]x")), ("ws://::1", .malformed("ws://::1")),
        ("ws://127.0.0.1/\r\nX: y", .malformed("ws://127.0.0.1/\r\nX: y")),
        ("ws://192.168.1.5", .plaintextRefused(host: "192.168.1.5")),
        ("ws://gateway.example.org", .plaintextRefused(host: "gateway.example.org")),
        ("ws://127.0.0.1.example.org", .plaintextRefused(host: "127.0.0.1.example.org")),
        ("ws://100.128.0.1", .plaintextRefused(host: "100.128.0.1")),
        ("ws://evil-ts.net", .plaintextRefused(host: "evil-ts.net")),
    ]

    @Test(arguments: bad)
    func `a URL that cannot work says why`(_ text: String, _ problem: GatewayURL.Problem) {
        #expect(throws: problem) { try GatewayURL(text) }
        let rejection = Rejection(problem)
        #expect(rejection.state == .refused && !rejection.detail.isEmpty)
    }

    @Test func `plaintext elsewhere only when told`() throws {
        #expect(try GatewayURL("ws://192.168.1.5", allowPlaintext: true).host == "192.168.1.5")
    }

    @Test func `pins are read in every form the gateway shows`() throws {
        let hex = String(repeating: "0f", count: 32)
        let colons = Array(repeating: "0F", count: 32).joined(separator: ":")
        for text in [hex, "sha256:" + hex, " SHA-256 " + colons + " ", "SHA256=" + hex] {
            #expect(try GatewayURL("wss://gw.example.org", pin: text).pin == hex)
        }
        #expect(throws: GatewayURL.Problem.malformedPin) { try GatewayURL("wss://gw.example.org", pin: "abc") }
        #expect(throws: GatewayURL.Problem.pinWithoutTLS) { try GatewayURL("ws://127.0.0.1", pin: hex) }
    }

    @Test func `the Host field leaves out the scheme's own port`() throws {
        #expect(try GatewayURL("wss://gw.example.org").hostField == "gw.example.org")
        #expect(try GatewayURL("ws://[::1]:18789").hostField == "[::1]:18789")
    }
}
