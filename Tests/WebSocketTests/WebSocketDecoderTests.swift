import Testing

@testable import WebSocket

/// The groups follow the well-known public WebSocket conformance suite: framing, pings, reserved bits, opcodes,
/// fragmentation, UTF-8, close handling, limits.
struct WebSocketDecoderTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var bytes: [UInt8]
        var events: [WebSocketEvent] = []
        var error: WebSocketError?
        var testDescription: String { name }
    }

    static func message(_ text: String) -> WebSocketEvent { .message(WebSocketMessage(.text, Array(text.utf8))) }
    static func binary(_ bytes: [UInt8]) -> WebSocketEvent { .message(WebSocketMessage(.binary, bytes)) }

    static let framing: [Case] = [0, 1, 125, 126, 127, 128, 65_535, 65_536, 65_537].flatMap { size in
        let payload = [UInt8](repeating: UInt8(ascii: "*"), count: size)
        return [
            Case(
                name: "text of \(size)",
                bytes: Frame.bytes(1, payload),
                events: [.message(WebSocketMessage(.text, payload))]
            ),
            Case(name: "binary of \(size)", bytes: Frame.bytes(2, payload), events: [binary(payload)]),
        ]
    }

    static let control: [Case] = [
        Case(name: "empty ping", bytes: Frame.bytes(9, []), events: [.ping([])]),
        Case(
            name: "ping of 125",
            bytes: Frame.bytes(9, .init(repeating: 0xFE, count: 125)),
            events: [.ping(.init(repeating: 0xFE, count: 125))]
        ),
        Case(name: "ping of 126", bytes: Frame.bytes(9, .init(repeating: 0, count: 126)), error: .controlFrameTooLong),
        Case(name: "unsolicited pong", bytes: Frame.bytes(10, [1]), events: [.pong([1])]),
        Case(name: "ten pings", bytes: (0..<10).flatMap { Frame.bytes(9, [$0]) }, events: (0..<10).map { .ping([$0]) }),
        Case(name: "fragmented ping", bytes: Frame.bytes(9, [], fin: false), error: .controlFrameFragmented),
        Case(
            name: "ping between fragments",
            bytes: Frame.text("frag", fin: false) + Frame.bytes(9, [7]) + Frame.more("ment", fin: true),
            events: [.ping([7]), message("fragment")]
        ),
    ]

    static let reserved: [Case] =
        (1...7).map { bits in
            Case(name: "reserved bits \(bits)", bytes: Frame.bytes(1, [], rsv: bits), error: .reservedBits(bits))
        }
        + [3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map { code in
            Case(
                name: "opcode \(code)",
                bytes: Frame.text("a") + Frame.bytes(code, []),
                events: [message("a")],
                error: .reservedOpcode(code)
            )
        }

    static let fragments: [Case] = [
        Case(name: "two", bytes: Frame.text("a", fin: false) + Frame.more("b", fin: true), events: [message("ab")]),
        Case(
            name: "empty ones",
            bytes: Frame.text("", fin: false) + Frame.more("", fin: false) + Frame.more("", fin: true),
            events: [message("")]
        ),
        Case(name: "continuation first", bytes: Frame.more("a", fin: true), error: .continuationWithoutStart),
        Case(name: "open continuation first", bytes: Frame.more("a", fin: false), error: .continuationWithoutStart),
        Case(
            name: "after the end",
            bytes: Frame.text("a") + Frame.more("b", fin: true),
            events: [message("a")],
            error: .continuationWithoutStart
        ),
        Case(
            name: "text inside text",
            bytes: Frame.text("a", fin: false) + Frame.text("b"),
            error: .messageInsideMessage
        ),
        Case(
            name: "binary inside text",
            bytes: Frame.text("a", fin: false) + Frame.bytes(2, []),
            error: .messageInsideMessage
        ),
    ]

    static let closing: [Case] =
        [
            Case(name: "no status", bytes: Frame.bytes(8, []), events: [.close(WebSocketClose(1005))]),
            Case(name: "one byte", bytes: Frame.bytes(8, [3]), error: .closePayloadOfOneByte),
            Case(
                name: "with reason",
                bytes: Frame.close(1012, Array("service restart".utf8)),
                events: [.close(WebSocketClose(1012, "service restart"))]
            ),
            Case(
                name: "reason of 123",
                bytes: Frame.close(1000, .init(repeating: 0x2A, count: 123)),
                events: [.close(WebSocketClose(1000, String(repeating: "*", count: 123)))]
            ),
            Case(
                name: "reason of 124",
                bytes: Frame.close(1000, .init(repeating: 0x2A, count: 124)),
                error: .controlFrameTooLong
            ),
            Case(name: "reason not UTF-8", bytes: Frame.close(1000, [0xCE, 0xBA, 0xE1, 0xBD]), error: .invalidUTF8),
        ]
        + [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 3000, 3999, 4000, 4999].map { code in
            Case(name: "code \(code)", bytes: Frame.close(code), events: [.close(WebSocketClose(code))])
        }
        + [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535].map { code in
            Case(name: "code \(code)", bytes: Frame.close(code), error: .closeCodeNotAllowed(code))
        }

    static let lengths: [Case] = [
        Case(
            name: "two bytes for 5",
            bytes: Frame.bytes(2, .init(repeating: 0, count: 5), lengthBytes: 2),
            error: .malformedLength
        ),
        Case(
            name: "eight bytes for 200",
            bytes: Frame.bytes(2, .init(repeating: 0, count: 200), lengthBytes: 8),
            error: .malformedLength
        ),
        Case(name: "top bit set", bytes: [0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], error: .malformedLength),
        Case(
            name: "beyond the limit",
            bytes: [0x82, 127, 0x7F, 255, 255, 255, 255, 255, 255, 255],
            error: .frameTooBig(bytes: UInt64(Int64.max), limit: 1 << 20)
        ),
        Case(name: "a server's frame masked", bytes: Frame.bytes(1, [1], masked: true), error: .maskForbidden),
    ]

    @Test(arguments: framing + control + reserved + fragments + closing + lengths)
    func `each case decodes the same whole, byte by byte and at every cut`(_ test: Case) {
        let whole = Decoded(test.bytes)
        #expect(whole.events == test.events)
        #expect(whole.error == test.error)
        if test.bytes.count < 4_096 {
            #expect(Decoded(test.bytes, cuts: Array(0..<test.bytes.count)) == whole)
            for cut in 0..<test.bytes.count where test.bytes.count < 300 {
                #expect(Decoded(test.bytes, cuts: [cut]) == whole)
            }
        } else {
            #expect(Decoded(test.bytes, cuts: [1, 2, 3, 10, 4_095]) == whole)
        }
    }

    @Test func `a server unmasks what clients send, wherever it is torn`() {
        let payload = (0..<300).map { UInt8(truncatingIfNeeded: $0) }
        let bytes = Frame.bytes(2, payload, masked: true) + Frame.bytes(9, [1, 2, 3], masked: true)
        for cut in 0...bytes.count {
            let decoded = Decoded(bytes, role: .server, cuts: [cut])
            #expect(decoded.events == [Self.binary(payload), .ping([1, 2, 3])])
        }
        #expect(Decoded(Frame.text("a"), role: .server).error == .maskRequired)
    }

    @Test func `limits count the whole message and every fragment`() {
        let limits = WebSocketLimits(frameBytes: 8, messageBytes: 10, fragments: 4)
        #expect(Decoded(Frame.text("123456789"), limits: limits).error == .frameTooBig(bytes: 9, limit: 8))
        let joined = Frame.text("12345", fin: false) + Frame.more("67890", fin: true)
        #expect(Decoded(joined, limits: limits).events == [Self.message("1234567890")])
        let over = Frame.text("12345", fin: false) + Frame.more("678901", fin: true)
        #expect(Decoded(over, limits: limits).error == .messageTooBig(limit: 10))
        let many = Frame.text("", fin: false) + (0..<5).flatMap { _ in Frame.more("", fin: false) }
        #expect(Decoded(many, limits: limits).error == .tooManyFragments(limit: 4))
    }

    @Test func `limits raised after the hello hold from the next frame on`() throws {
        var decoder = WebSocketDecoder(role: .client, limits: WebSocketLimits(messageBytes: 4))
        var events: [WebSocketEvent] = []
        try decoder.receive(Frame.text("1234").span, into: &events)
        decoder.limits = WebSocketLimits(messageBytes: 100)
        try decoder.receive(Frame.text("123456").span, into: &events)
        #expect(events == [Self.message("1234"), Self.message("123456")])
    }

    @Test func `after an error nothing more is read`() {
        var decoder = WebSocketDecoder(role: .client, limits: WebSocketLimits(messageBytes: 100))
        var events: [WebSocketEvent] = []
        #expect(throws: WebSocketError.reservedOpcode(3)) { try decoder.receive([0x83, 0].span, into: &events) }
        #expect(throws: WebSocketError.reservedOpcode(3)) { try decoder.receive(Frame.text("a").span, into: &events) }
        #expect(events.isEmpty)
    }
}
