import Testing

@testable import WebSocket

struct UTF8CheckTests {
    static let valid: [[UInt8]] = [
        [], Array("κόσμε".utf8), Array("a\u{0}b".utf8), [0x7F], [0xC2, 0x80], [0xDF, 0xBF], [0xE0, 0xA0, 0x80],
        [0xED, 0x9F, 0xBF], [0xEE, 0x80, 0x80], [0xEF, 0xBF, 0xBF], [0xF0, 0x90, 0x80, 0x80], [0xF4, 0x8F, 0xBF, 0xBF],
        Array("0123456789abcdef🪶0123456789abcdefä".utf8),
    ]
    static let invalid: [[UInt8]] = [
        [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80],
        [0xED, 0xBF, 0xBF], [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0xF5],
        [0xFF],
        [0xC2, 0x41], [0xE1, 0x80, 0xC0], [0xF1, 0x80, 0x80, 0x41], [0x41, 0x42, 0xFE],
    ]
    static let torn: [[UInt8]] = [[0xC2], [0xE1, 0x80], [0xF1, 0x80, 0x80], [0x41, 0xF0]]

    /// Whether the bytes pass in the given pieces and end between characters; nil when a piece is refused.
    static func complete(_ bytes: [UInt8], cut: Int = 0) -> Bool? {
        var check = UTF8Check()
        guard check.accepts(bytes.span.extracting(0..<cut)) else { return nil }
        guard check.accepts(bytes.span.extracting(cut..<bytes.count)) else { return nil }
        return check.isComplete
    }

    @Test(arguments: valid) func `well-formed text passes at every cut`(_ bytes: [UInt8]) {
        for cut in 0...bytes.count { #expect(Self.complete(bytes, cut: cut) == true) }
    }

    @Test(arguments: invalid) func `malformed text is refused at every cut`(_ bytes: [UInt8]) {
        for cut in 0...bytes.count { #expect(Self.complete(bytes, cut: cut) == nil) }
    }

    @Test(arguments: torn) func `a torn character is not complete`(_ bytes: [UInt8]) {
        #expect(Self.complete(bytes) == false)
        #expect(Decoded(Frame.bytes(1, bytes)).error == .invalidUTF8)
    }

    @Test func `a wrong byte fails before its frame is complete`() {
        var frame = Frame.bytes(1, .init(repeating: 0x41, count: 120) + [0xFF])
        frame[1] = 125
        #expect(Decoded(frame).error == .invalidUTF8)
    }

    @Test func `a character split over two fragments is whole`() {
        let bytes = Frame.bytes(1, [0xF0, 0x9F], fin: false) + Frame.bytes(0, [0xAA, 0xB6])
        #expect(Decoded(bytes).events == [.message(WebSocketMessage(.text, Array("🪶".utf8)))])
    }

    @Test func `every two-byte pair agrees with the standard library`() {
        var differing = 0
        for first in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max {
                let bytes = [first, second]
                let expected = String(validating: bytes, as: UTF8.self) != nil
                if (Self.complete(bytes) == true) != expected { differing += 1 }
            }
        }
        #expect(differing == 0)
    }
}
