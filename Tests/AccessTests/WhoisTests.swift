import Access
import Basics
import TestSupport
import Testing

struct WhoisTests {
    static let question = WhoisQuestion(address: PeerAddress(ip: NetworkAddress(v4: 100, 64, 0, 9), port: 5555))
    static let body = """
        {"Node":{"ID":1,"StableID":"nAbC","Name":"laptop.tail.ts.net.","ComputedName":"laptop","Addresses":["100.64.0.9/32"]},\
        "UserProfile":{"ID":2,"LoginName":"alice@example.com","DisplayName":"Alice","ProfilePicURL":""},\
        "CapMap":{"ladle.local/cap/access":[{"scopes":["read","send"]}],"x":null}}
        """
    static let tagged = """
        {"Node":{"StableID":"nTag","Name":"oven.tail.ts.net.","Tags":["tag:kitchen","tag:b"]},"UserProfile":{"LoginName":"tagged-devices"}}
        """

    static func response(_ status: String = "200 OK", body: String = body, head: String? = nil) -> String {
        let framing = head ?? "Content-Length: \(body.utf8.count)\r\n"
        return "HTTP/1.1 \(status)\r\nContent-Type: application/json\r\n\(framing)\r\n\(body)"
    }

    static func chunked(_ body: String, size: Int) -> String {
        var rest = body.utf8[...]
        var text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        while !rest.isEmpty {
            let piece = rest.prefix(size)
            text += "\(String(piece.count, radix: 16))\r\n\(String(decoding: piece, as: UTF8.self))\r\n"
            rest = rest.dropFirst(size)
        }
        return text + "0\r\n\r\n"
    }

    static func answer(to text: String) -> WhoisAnswer {
        var exchange = WhoisExchange(question)
        return exchange.receive(Array(text.utf8)) ?? exchange.receiveEnd()
    }

    @Test func `the request is the documented one`() {
        let text = String(decoding: Self.question.request, as: UTF8.self)
        #expect(
            text.hasPrefix(
                "GET /localapi/v0/whois?addr=100.64.0.9%3A5555&proto=tcp HTTP/1.1\r\nHost: local-tailscaled.sock\r\n"
            )
        )
        #expect(text.hasSuffix("\r\n\r\n"))
        #expect(!text.lowercased().contains("origin"))
        let v6 = WhoisQuestion(address: PeerAddress(ip: NetworkAddress(high: 0xFD7A_115C_A1E0_0000, low: 1), port: 1))
        #expect(String(decoding: v6.request, as: UTF8.self).contains("addr=%5Bfd7a%3A115c%3Aa1e0%3A%3A1%5D%3A1&"))
        let bare = WhoisQuestion(address: PeerAddress(ip: NetworkAddress(v4: 100, 64, 0, 9), port: 0))
        #expect(String(decoding: bare.request, as: UTF8.self).contains("addr=100.64.0.9&"))
    }

    @Test func `an identity is read whole, cut anywhere, and byte by byte, in every framing`() {
        let forms = [Self.response(), Self.chunked(Self.body, size: 7), Self.response(head: "")]
        for text in forms {
            let bytes = Array(text.utf8)
            var reference: WhoisAnswer?
            for cut in 0...bytes.count {
                var exchange = WhoisExchange(Self.question)
                _ = exchange.receive(bytes[..<cut])
                _ = exchange.receive(bytes[cut...])
                let answer = exchange.receiveEnd()
                if let reference { #expect(answer == reference) } else { reference = answer }
            }
            var slow = WhoisExchange(Self.question)
            for byte in bytes { _ = slow.receive([byte]) }
            #expect(slow.receiveEnd() == reference)
            guard case .known(let identity)? = reference else {
                Issue.record("\(String(describing: reference))")
                continue
            }
            #expect(identity.login == "alice@example.com")
            #expect(identity.nodeName == "laptop")
            #expect(identity.capabilities["ladle.local/cap/access"]?.count == 1)
        }
    }

    @Test func `every cut that loses something fails`() {
        for text in [Self.response(), Self.chunked(Self.body, size: 50)] {
            let bytes = Array(text.utf8)
            // The last three bytes of the chunked form say nothing more.
            for length in 0..<(bytes.count - 3) {
                var exchange = WhoisExchange(Self.question)
                #expect(exchange.receive(bytes[..<length]) == nil)
                guard case .failed = exchange.receiveEnd() else {
                    Issue.record("accepted after \(length) bytes")
                    return
                }
            }
        }
    }

    @Test func `no such peer is an answer of its own`() {
        #expect(Self.answer(to: Self.response("404 Not Found", body: "no match")) == .unknown)
    }

    private static let unusable: [String] = [
        "", "\r\n\r\n", "garbage\r\n\r\n", "HTTP/2 200\r\n\r\n", response("403 Forbidden"), response("500 Oops"),
        response("400 Bad"),
        response(body: "{}"), response(body: "[]"), response(body: "null"), response(body: "{\"Node\":{}}"),
        response(body: "nonsense"),
        response(body: "{\"Node\":{\"StableID\":\"\"},\"UserProfile\":{\"LoginName\":\"alice@example.com\"}}"),
        response(body: "{\"Node\":{\"StableID\":\"n\"}}"),
        response(body: "{\"Node\":{\"StableID\":\"n\"},\"UserProfile\":{\"LoginName\":\"\"}}"),
        response(
            body:
                "{\"Node\":{\"StableID\":\"n\",\"Tags\":\"tag:a\"},\"UserProfile\":{\"LoginName\":\"alice@example.com\"}}"
        ),
        response(
            body: "{\"Node\":{\"StableID\":\"n\",\"Tags\":[1]},\"UserProfile\":{\"LoginName\":\"alice@example.com\"}}"
        ),
        response(head: "Content-Length: -1\r\n"), response(head: "Content-Length: 5x\r\n"),
        response(head: "Content-Length: 5\r\nContent-Length: 5\r\n"), response(head: "Transfer-Encoding: gzip\r\n"),
        response(head: "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"),
        response(head: "Transfer-Encoding: chunked\r\n"),
        response(head: "no colon\r\n"), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nabc\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n",
        "HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 20_000),
        response(head: "", body: String(repeating: " ", count: 600_000)), "HTTP/1.1 101 Switching\r\n\r\n",
        response(body: String(repeating: "[", count: 5000)),
    ]

    @Test(arguments: unusable)
    func `anything else lets no one in`(text: String) {
        guard case .failed = Self.answer(to: text) else {
            Issue.record("accepted: \(text.prefix(80))")
            return
        }
    }

    static func response(head: String, body: String) -> String { response("200 OK", body: body, head: head) }

    @Test func `grants go by login, tag or capability`() throws {
        let policy = TailnetPolicy(
            grants: ["Alice@Example.com=read", "tag:kitchen=send", "cap:x=nodes"].compactMap {
                TailnetPolicy.Grant($0)
            },
            readsCapability: true
        )
        #expect(policy.grants.count == 3)
        guard case .known(let alice) = Self.answer(to: Self.response()),
            case .known(let oven) = Self.answer(to: Self.response(body: Self.tagged))
        else {
            Issue.record("no identity")
            return
        }
        #expect(policy.caller(for: alice)?.scopes == [.read, .send, .nodes])
        #expect(oven.login == nil)
        #expect(policy.caller(for: oven)?.scopes == .send)
        #expect(policy.caller(for: oven)?.name == "oven.tail.ts.net.")
        #expect(TailnetPolicy().caller(for: alice) == nil)
        let devices = TailnetPolicy(grants: [.init(match: .login("tagged-devices"), scopes: .admin)])
        #expect(devices.caller(for: oven) == nil)
    }

    @Test func `a capability with an unknown scope grants nothing`() {
        let identity = TailnetIdentity(
            nodeID: "n",
            nodeName: "x",
            login: "a@b",
            tags: [],
            capabilities: [
                TailnetPolicy.standardCapability: [
                    Array(#"{"scopes":["read","everything"]}"#.utf8), Array("[]".utf8), Array("5".utf8),
                ]
            ]
        )
        #expect(TailnetPolicy(readsCapability: true).caller(for: identity) == nil)
    }

    @Test(arguments: [
        "", "=read", "alice", "alice=", "alice=everything", "tag:=read", "cap:=read", "*=read", "*@example.com=read",
    ])
    func `a grant that admits more than it names is refused`(text: String) {
        #expect(TailnetPolicy.Grant(text) == nil)
    }

    @Test func `the cache is bounded and forgets`() {
        var cache = WhoisCache(capacity: 8)
        for port in UInt16(1)...100 {
            cache.learn(.unknown, to: WhoisQuestion(address: PeerAddress(ip: .loopback4, port: port)), now: .start)
        }
        #expect(cache.count == 8)
        cache.learn(.failed("x"), to: Self.question, now: .after(10_000))
        #expect(cache.count == 1)
        #expect(cache.answer(to: Self.question, now: .after(10_999)) == .failed("x"))
        #expect(cache.answer(to: Self.question, now: .after(11_000)) == nil)
        cache.learn(.unknown, to: Self.question, now: .after(20_000))
        #expect(cache.answer(to: Self.question, now: .after(24_999)) == .unknown)
        #expect(cache.answer(to: Self.question, now: .after(25_000)) == nil)
    }

    @Test func `tailscaled is found by its socket, and other files are not taken for one`() throws {
        let folder = try ScratchDirectory()
        try folder.write("x", to: "plain")
        #expect(Tailscaled.find([folder.file("none"), folder.file("plain")]) == nil)
        let path = folder.file("t.sock")
        let listener = try BlockingSocket.listen(unixPath: path)
        #expect(Tailscaled.find([folder.file("plain"), path]) == Tailscaled(path: path, uid: PeerLookup.ownerUID))
        withExtendedLifetime(listener) {}
    }

    @Test func `over a real socket the daemon's answer arrives and a silent one does not`() throws {
        let folder = try ScratchDirectory()
        let daemon = try FakeTailscaled(
            path: folder.file("t.sock"),
            responses: [
                Self.response(), Self.response("404 Not Found", body: ""), Self.chunked(Self.body, size: 1000), "",
            ]
        )
        func ask() throws -> WhoisAnswer {
            let socket = try BlockingSocket.connect(unixPath: daemon.path)
            try socket.send(Self.question.request)
            var exchange = WhoisExchange(Self.question)
            while true {
                let bytes = try socket.receive()
                if bytes.isEmpty { return exchange.receiveEnd() }
                if let answer = exchange.receive(bytes) { return answer }
            }
        }
        guard case .known(let identity) = try ask() else {
            Issue.record("not known")
            return
        }
        #expect(identity.nodeID == "nAbC")
        #expect(try ask() == .unknown)
        guard case .known = try ask() else {
            Issue.record("not known")
            return
        }
        #expect(try ask() == .failed("the answer is cut short"))
        #expect(daemon.received.count == 4)
    }
}
