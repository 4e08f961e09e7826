import Testing

@testable import WebSocket

struct HandshakeTests {
    static let nonce = Array("the sample nonce".utf8)
    static let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

    static func client() -> ClientHandshake {
        ClientHandshake(host: "127.0.0.1:18789", userAgent: "ladle/1", nonce: nonce)
    }

    static func read(_ bytes: [UInt8]) throws -> ServerHandshake? {
        try ServerHandshake.Reader().receive(bytes.span)?.handshake
    }

    static func answer(_ lines: [String] = [], accept: String = accept) -> [UInt8] {
        let head = ["HTTP/1.1 101 Switching Protocols", "upgrade: WebSocket", "Connection: keep-alive, Upgrade"]
        return Array((head + ["Sec-WebSocket-Accept: \(accept)"] + lines + ["", ""]).joined(separator: "\r\n").utf8)
    }

    @Test func `the digest of the published vectors`() {
        #expect(SHA1.digest(of: []).map { $0 }.hex == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
        #expect(SHA1.digest(of: Array("abc".utf8)).hex == "a9993e364706816aba3e25717850c26c9cd0d89d")
        let long = Array("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8)
        #expect(SHA1.digest(of: long).hex == "84983e441c3bd26ebaae4aa1f95129e5e54670f1")
        let key = "dGhlIHNhbXBsZSBub25jZQ=="
        #expect(HandshakeKey.accept(for: key) == Self.accept)
    }

    @Test func `the request names everything a server needs and no origin`() throws {
        let request = Self.client().request
        let text = String(decoding: request, as: UTF8.self)
        #expect(text.hasPrefix("GET / HTTP/1.1\r\nHost: 127.0.0.1:18789\r\n"))
        #expect(!text.lowercased().contains("origin"))
        let server = try #require(try Self.read(request))
        #expect(server.target == "/" && server.host == "127.0.0.1:18789" && server.origin == nil)
        var client = Self.client()
        let response = server.response
        let used = try client.receive(response.span)
        #expect(used == response.count)
    }

    @Test func `an answer is taken at every cut and leaves the frames behind it`() throws {
        let head = Self.answer()
        let bytes = head + Frame.text("hi")
        for cut in 0...head.count {
            var client = Self.client()
            let first = try client.receive(bytes.span.extracting(0..<cut))
            if let first {
                #expect(first == head.count)
            } else {
                let second = try client.receive(bytes.span.extracting(cut..<bytes.count))
                #expect(second == head.count - cut)
            }
        }
    }

    struct Answer: Sendable, CustomTestStringConvertible {
        var name: String
        var bytes: [UInt8]
        var error: HandshakeError
        var testDescription: String { name }

        init(_ name: String, _ bytes: [UInt8], _ error: HandshakeError) {
            self.name = name
            self.bytes = bytes
            self.error = error
        }
    }

    static let refused: [Answer] = [
        Answer("status", Array("HTTP/1.1 401 Unauthorized\r\n\r\n".utf8), .refused(status: 401, retryAfter: nil)),
        Answer(
            "retry",
            Array("HTTP/1.1 503 Busy\r\nRetry-After: 7\r\n\r\n".utf8),
            .refused(status: 503, retryAfter: 7)
        ),
        Answer("version", Array("HTTP/1.0 101 ok\r\n\r\n".utf8), .malformedHead),
        Answer("not HTTP", Array("SSH-2.0-OpenSSH_9.2\r\n\r\n".utf8), .malformedHead),
        Answer("no upgrade", Array("HTTP/1.1 101 x\r\nConnection: upgrade\r\n\r\n".utf8), .notAnUpgrade),
        Answer("wrong accept", answer(accept: "AAAA"), .wrongAccept),
        Answer("two accepts", answer(["Sec-WebSocket-Accept: \(accept)"]), .wrongAccept),
        Answer(
            "extension",
            answer(["Sec-WebSocket-Extensions: permessage-deflate"]),
            .notOffered("sec-websocket-extensions")
        ),
        Answer("protocol", answer(["Sec-WebSocket-Protocol: x"]), .notOffered("sec-websocket-protocol")),
        Answer("folding", answer([" more"]), .malformedHead),
        Answer("bare LF", Array("HTTP/1.1 101 x\nUpgrade: websocket\r\n\r\n".utf8), .malformedHead),
        Answer("NUL", answer(["X: a\u{0}b"]), .malformedHead),
        Answer("endless", .init(repeating: 0x41, count: 20_000), .headTooLong(limit: 16_384)),
    ]

    @Test(arguments: refused)
    func `an answer that is no upgrade is an error`(_ test: Answer) {
        var client = Self.client()
        #expect(throws: test.error, "\(test.name)") { _ = try client.receive(test.bytes.span) }
    }

    @Test func `a subprotocol is offered, and the server has to agree`() throws {
        func client() -> ClientHandshake {
            ClientHandshake(host: "h", path: "/mqtt", subprotocol: "mqtt", userAgent: "u", nonce: Self.nonce)
        }
        #expect(String(decoding: client().request, as: UTF8.self).contains("\r\nSec-WebSocket-Protocol: mqtt\r\n"))
        var agreed = client()
        let answer = Self.answer(["Sec-WebSocket-Protocol: mqtt"])
        #expect(try agreed.receive(answer.span) == answer.count)
        for other in [[], ["Sec-WebSocket-Protocol: stomp"]] {
            var refused = client()
            let answer = Self.answer(other)
            #expect(throws: HandshakeError.notSpoken("mqtt")) { _ = try refused.receive(answer.span) }
        }
    }

    static let requests: [(String, HandshakeError)] = [
        ("POST / HTTP/1.1\r\nHost: a", .methodNotAllowed("POST")),
        ("GET / HTTP/1.1", .missingHost),
        ("GET / HTTP/1.1\r\nHost: a", .notAnUpgrade),
        ("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade", .unsupportedVersion(nil)),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 8",
            .unsupportedVersion("8")
        ),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                + "Sec-WebSocket-Key: c2hvcnQ=",
            .missingKey
        ),
    ]

    @Test(arguments: requests)
    func `a request that cannot be upgraded is refused with a status`(_ text: String, _ error: HandshakeError) throws {
        #expect(throws: error) { try Self.read(Array((text + "\r\n\r\n").utf8)) }
        #expect(String(decoding: ServerHandshake.refusal(error), as: UTF8.self).hasPrefix("HTTP/1.1 \(error.status) "))
    }

    @Test func `an interim answer before the upgrade is passed over`() throws {
        var client = Self.client()
        let bytes = Array("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".utf8) + Self.answer()
        #expect(try client.receive(bytes.span) == bytes.count)
    }

    @Test func `a character that could end a header line never reaches the request`() {
        let client = ClientHandshake(host: "a\r\nX: y", path: "/\r\n\r\n", userAgent: "u\n", nonce: Self.nonce)
        #expect(String(decoding: client.request, as: UTF8.self).components(of: "\r\n").count == 9)
    }
}

extension [UInt8] {
    fileprivate var hex: String {
        map { byte in
            let text = String(byte, radix: 16)
            return text.count == 1 ? "0" + text : text
        }.joined()
    }
}

extension String {
    fileprivate func components(of separator: Character) -> [Substring] {
        split(separator: separator, omittingEmptySubsequences: false)
    }
}
