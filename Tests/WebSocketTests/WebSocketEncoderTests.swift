import Testing

@testable import WebSocket

struct WebSocketEncoderTests {
    @Test(arguments: [0, 1, 7, 8, 9, 125, 126, 1_000, 65_535, 65_536, 100_003])
    func `frames of every length form read back in both roles`(_ size: Int) {
        let payload = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        for mask in [nil, WebSocketMask(0xA1B2_C3D4)] {
            var bytes: [UInt8] = [0xEE]
            WebSocketEncoder.append(.binary, payload, mask: mask, to: &bytes)
            let decoded = Decoded(Array(bytes.dropFirst()), role: mask == nil ? .client : .server)
            #expect(decoded.events == [.message(WebSocketMessage(.binary, payload))])
        }
    }

    @Test func `the masked Hello of RFC 6455 section 5.7 comes out byte for byte`() {
        var bytes: [UInt8] = []
        WebSocketEncoder.append(.text, Array("Hello".utf8), mask: WebSocketMask(0x3D21_FA37), to: &bytes)
        #expect(bytes == [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58])
    }

    @Test func `a close reason is cut at a character so that the frame keeps to 125 bytes`() {
        let close = WebSocketClose(1008, String(repeating: "é", count: 200))
        #expect(close.payload.count == 124)
        #expect(Decoded(Frame.bytes(8, close.payload)).error == nil)
        #expect(WebSocketClose(WebSocketClose.noStatus).payload.isEmpty)
        #expect(WebSocketClose(1006, "never on the wire").payload.isEmpty)
    }
}
