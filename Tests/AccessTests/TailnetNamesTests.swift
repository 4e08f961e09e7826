import Access
import Testing

struct TailnetNamesTests {
    private static func read(_ body: String, status: String = "200 OK") -> [String]? {
        var exchange = TailscaledExchange()
        let text = "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        return TailnetNames.read(exchange.receive(Array(text.utf8)) ?? exchange.receiveEnd())
    }

    @Test func `the request is for this host alone`() {
        let text = String(decoding: TailnetNames.request, as: UTF8.self)
        #expect(text.hasPrefix("GET /localapi/v0/status?peers=false HTTP/1.1\r\nHost: local-tailscaled.sock\r\n"))
    }

    @Test func `a host has its full name and the short one`() {
        #expect(Self.read(#"{"Self":{"DNSName":"Box.tail1.ts.net."},"Peer":null}"#) == ["box.tail1.ts.net", "box"])
        #expect(Self.read(#"{"Self":{"DNSName":"box"}}"#) == ["box"])
    }

    @Test func `a host that is logged out has no name`() {
        #expect(Self.read(#"{"Self":{"DNSName":""}}"#) == [])
        #expect(Self.read(#"{"Self":{"DNSName":"."}}"#) == [])
        #expect(Self.read(#"{"Self":{"DNSName":"a b:80"}}"#) == [])
    }

    @Test(arguments: ["", "{}", "null", "[]", #"{"Self":{"DNSName":7}}"#, #"{"Self":null}"#])
    func `an answer that does not say leaves the names as they were`(body: String) {
        #expect(Self.read(body) == nil)
        #expect(Self.read(#"{"Self":{"DNSName":"box."}}"#, status: "500 Oh") == nil)
    }
}
