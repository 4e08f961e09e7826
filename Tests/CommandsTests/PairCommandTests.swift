import Testing

@testable import Commands

struct PairCommandTests {
    private static func made(_ link: String, _ reach: String) -> RecordedIO.Reply {
        .json(
            201,
            #"{"id":"i1","state":"waiting","name":"phone","scopes":["read","send"],"createdAt":"2026-03-04T12:00:00.000Z","expiresAt":"2026-03-04T12:05:00.000Z","secret":"K7QX-B2FM","link":"\#(link)","reach":"\#(reach)","urls":[]}"#
        )
    }

    private static func state(_ state: String) -> RecordedIO.Reply {
        .json(
            200,
            #"{"id":"i1","state":"\#(state)","name":"phone","usedFrom":"100.64.0.9","tokenId":"t1"}"#
        )
    }

    private static let link = "ladle://100.64.0.7:18780/?tls=0&secret=K7QXB2FM"

    @Test func `a picture, a link and a code are shown, and the device is waited for`() throws {
        let io = RecordedIO()
        io.replies = [
            Self.made(Self.link, "tailnet"), Self.state("waiting"), Self.state("waiting"), Self.state("used"),
        ]
        #expect(io.run("pair") == .ok)
        #expect(io.requests[0].hasPrefix("POST /v1/pairing/invitations "))
        #expect(io.requests[0].hasSuffix(#"{"name":"phone"}"#))
        #expect(io.requests[1].hasPrefix("GET /v1/pairing/invitations/i1 "))
        #expect(io.slept == [1000, 1000])
        let lines = io.output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let code = try #require(QRCode(Array(Self.link.utf8)))
        #expect(Array(lines[..<((code.size + 9) / 2)]) == QRPicture.lines(of: code, on: .dark))
        #expect(io.output.contains("Link  \(Self.link)\nCode  K7QX-B2FM\n"))
        #expect(io.output.contains("phone is paired, from 100.64.0.9. To take it back: ladle token revoke t1"))
        #expect(io.errors.contains("phone, scopes read,send, until 13:05"))
    }

    @Test func `the host's grant is sent as it was named`() throws {
        let io = RecordedIO()
        io.replies = [Self.made(Self.link, "tailnet")]
        #expect(
            io.run(
                "pair",
                "--name",
                "tablet",
                "--scopes",
                "read, approvals",
                "--session",
                "main",
                "--paths",
                "/v1/glance, /v1/events",
                "--expires",
                "30d",
                "--no-wait",
                "--background",
                "light"
            ) == .ok
        )
        #expect(
            io.requests[0].hasSuffix(
                #"{"name":"tablet","scopes":["read","approvals"],"sessions":["main"],"paths":["/v1/glance","/v1/events"],"expiresInSeconds":2592000}"#
            )
        )
        #expect(io.requests.count == 1 && io.output.hasPrefix("    "))
        #expect(RecordedIO().run("pair", "--background", "blue") == .usage)
    }

    @Test func `where only this host listens, the line that mends it stands in the picture's place`() throws {
        let io = RecordedIO()
        io.replies = [Self.made("ladle://127.0.0.1:18780/?tls=0&secret=K7QXB2FM", "host")]
        #expect(io.run("pair", "--no-wait") == .ok)
        #expect(io.errors.contains("→ ladle serve --listen 127.0.0.1:18780 --listen tailnet"))
        #expect(io.output.hasPrefix("Link  ladle://127.0.0.1") && !io.output.contains("█"))
    }

    @Test func `nobody came is an end of its own`() throws {
        let io = RecordedIO()
        io.replies = [Self.made(Self.link, "tailnet"), Self.state("expired")]
        #expect(io.run("pair") == .temporary)
        #expect(io.errors.contains("no device came within five minutes"))
    }

    @Test func `a link makes a context, and the second address is tried when the first is silent`() throws {
        let io = RecordedIO()
        let link = "ladle://100.64.0.7:18780/?tls=0&secret=K7QX&also=192.168.1.7:18780"
        io.replies = [.fails(.timeOut), .json(201, #"{"id":"t1","token":"ldl_x"}"#)]
        #expect(io.run("context", "add", "home", link) == .ok)
        #expect(io.paths == ["http://100.64.0.7:18780", "http://192.168.1.7:18780"])
        #expect(io.requests[0].hasSuffix(#"{"secret":"K7QX"}"#))
        #expect(io.output.contains("Paired. Commands now talk to http://192.168.1.7:18780 (home)."))
        #expect(io.files.values.contains { String(decoding: $0, as: UTF8.self).contains("ldl_x") })
        let over = RecordedIO()
        over.replies = [
            .json(410, #"{"code":"PAIRING_OVER","title":"Invitation over","hint":"on the host: ladle pair"}"#)
        ]
        #expect(over.run("context", "add", "home", link) != .ok)
        #expect(over.files.isEmpty && over.errors.contains("ladle pair"))
        #expect(RecordedIO().run("context", "add", "home", link, "--pin", String(repeating: "a", count: 64)) == .usage)
    }

    @Test func `links are read strictly, and parameters of later versions left out`() throws {
        let pin = String(repeating: "A", count: 43)
        let whole = try #require(
            PairingLink(
                "ladle://[fd7a::1]:18780/?tls=1&pin=\(pin)&secret=S&also=%5Bfd7a::2%5D:1&also=h.ts.net:443&new=1"
            )
        )
        #expect(
            whole.addresses.map(\.description) == [
                "https://[fd7a::1]:18780", "https://[fd7a::2]:1", "https://h.ts.net",
            ]
        )
        #expect(whole.pin == [UInt8](repeating: 0, count: 32) && whole.secret == "S")
        for wrong in [
            "", "ladle://", "http://h:1/?tls=0&secret=S", "ladle://h:1/", "ladle://h:1/?secret=S", "ladle://h:1/?tls=0",
            "ladle://h:1/?tls=2&secret=S", "ladle://h:1/?tls=0&secret=", "ladle://h:1/?tls=0&pin=\(pin)&secret=S",
            "ladle://h:1/?tls=1&pin=AAAA&secret=S", "ladle://h:99999/?tls=0&secret=S", "ladle:///?tls=0&secret=S",
            "ladle://u@h:1/?tls=0&secret=S", "ladle://h:1/x?tls=0&secret=S", "ladle://h:1/?tls=0&secret=%GG",
            "ladle://h:1/?tls=0&secret=S&also=x/y", "ladle://h:1/?tls=0&secret=" + String(repeating: "S", count: 4096),
        ] {
            #expect(PairingLink(wrong) == nil, "\(wrong.prefix(60))")
        }
    }
}
