import Testing

@testable import WebSocket

/// The fuzz checks over mutated frames, so that every build runs them a little; findings of the fuzzer become cases here.
struct WebSocketFuzzReplayTests {
    static let seeds: [[UInt8]] = [
        [8] + Frame.text("hel", fin: false) + Frame.bytes(9, [1]) + Frame.more("lo", fin: true) + Frame.close(1000),
        [9] + Frame.bytes(1, Array("{\"a\":\"🪶\"}".utf8), masked: true) + Frame.bytes(8, [3, 232], masked: true),
    ]

    @Test func `mutated frames never break a rule`() {
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        for round in 0..<2_000 {
            var bytes = Self.seeds[round % Self.seeds.count]
            for _ in 0...next(4) { bytes[next(bytes.count)] = UInt8(next(256)) }
            #expect(WebSocketCheck.problem(with: bytes) == nil)
        }
    }

    @Test func `mutated heads never break a rule`() {
        let seed = Array("\u{20}GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n".utf8)
        for place in seed.indices {
            for byte in [0, 10, 13, 32, 58, 128, 255] as [UInt8] {
                var bytes = seed
                bytes[place] = byte
                #expect(WebSocketHandshakeCheck.problem(with: bytes) == nil)
            }
        }
    }
}
