package import Basics

/// Names one connection for the life of the process; never reused.
package struct ConnectionID: Hashable, Sendable, Comparable {
    package let number: UInt64

    package init(_ number: UInt64) { self.number = number }

    package static func < (left: ConnectionID, right: ConnectionID) -> Bool { left.number < right.number }
}

/// Both clocks at one moment: the wall for what is written into frames, the monotonic one for deadlines.
package struct GatewayInstant: Sendable {
    package var wall: Timestamp
    /// CLOCK_MONOTONIC in nanoseconds.
    package var monotonic: UInt64

    package init(wall: Timestamp, monotonic: UInt64) {
        self.wall = wall
        self.monotonic = monotonic
    }
}

/// What the upgrade request tells about the other side.
package struct GatewayPeer: Sendable {
    package var isLoopback: Bool
    package var host: String
    package var origin: String?
    package var isForwarded: Bool

    package init(isLoopback: Bool = true, host: String = "127.0.0.1", origin: String? = nil, isForwarded: Bool = false)
    {
        self.isLoopback = isLoopback
        self.host = host
        self.origin = origin
        self.isForwarded = isForwarded
    }
}

/// What the edge has to do, in order.
package enum GatewayAction: Sendable, Equatable {
    /// One text message.
    case send(ConnectionID, [UInt8])
    /// Bytes put on the stream as they are, outside of any WebSocket frame.
    case sendRaw(ConnectionID, [UInt8])
    /// A close frame, then the end of the connection.
    case close(ConnectionID, code: UInt16, reason: String)
    /// The connection ends without a close frame.
    case drop(ConnectionID)
    /// One JSON line for the record file: a chat.send was accepted.
    case record([UInt8])
}

/// What the model cannot do itself; the edge hands in real ones, tests what they like.
package struct GatewayPrimitives {
    /// Ed25519: raw public key, message, signature.
    package var verify: ([UInt8], [UInt8], [UInt8]) -> Bool
    package var sha256: ([UInt8]) -> [UInt8]
    package var randomBytes: (Int) -> [UInt8]

    package init(
        verify: @escaping ([UInt8], [UInt8], [UInt8]) -> Bool,
        sha256: @escaping ([UInt8]) -> [UInt8],
        randomBytes: @escaping (Int) -> [UInt8]
    ) {
        self.verify = verify
        self.sha256 = sha256
        self.randomBytes = randomBytes
    }

    /// A version 4 UUID, the form the gateway gives its own ids.
    func uuid() -> String {
        var bytes = randomBytes(16)
        guard bytes.count == 16 else { return "00000000-0000-4000-8000-000000000000" }
        bytes[6] = bytes[6] & 0x0f | 0x40
        bytes[8] = bytes[8] & 0x3f | 0x80
        let text = Array(Hex.encode(bytes))
        let groups = [text[0..<8], text[8..<12], text[12..<16], text[16..<20], text[20..<32]]
        return groups.map { String($0) }.joined(separator: "-")
    }

    func shortID() -> String { Hex.encode(randomBytes(4)) }
}
