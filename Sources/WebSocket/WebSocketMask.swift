/// The four-byte exclusive-or key of RFC 6455 §5.3. Its bytes are held in wire order: the first in the low eight bits.
package struct WebSocketMask: Sendable, Equatable {
    package var key: UInt32

    package init(_ key: UInt32) {
        self.key = key
    }

    /// The key for payload bytes from `offset` on, for payloads that arrive in pieces.
    package func advanced(by offset: Int) -> WebSocketMask {
        let bits = UInt32(truncatingIfNeeded: offset & 3) &* 8
        return bits == 0 ? self : WebSocketMask(key >> bits | key << (32 &- bits))
    }

    /// Appends `bytes` to `output`, masked or unmasked: eight at a time, the rest one by one.
    package func append(_ bytes: Span<UInt8>, to output: inout [UInt8]) {
        let start = output.count
        output.append(addingCapacity: bytes.count) { (room: inout OutputSpan<UInt8>) in
            room.append(repeating: 0, count: bytes.count)
        }
        var target = output.mutableSpan
        let wide = UInt64(key) | UInt64(key) << 32
        var index = 0
        while index &+ 8 <= bytes.count {
            let block = bytes.extracting(index..<(index &+ 8))
            var word: UInt64 = 0
            for offset in 0..<8 { word |= UInt64(block[offset]) << UInt64(8 &* offset) }
            word ^= wide
            for offset in 0..<8 {
                target[start &+ index &+ offset] = UInt8(truncatingIfNeeded: word >> UInt64(8 &* offset))
            }
            index &+= 8
        }
        while index < bytes.count {
            target[start &+ index] = bytes[index] ^ UInt8(truncatingIfNeeded: key >> (8 &* UInt32(index & 3)))
            index &+= 1
        }
    }
}
