/// The frame types of RFC 6455 §5.2; every other value is reserved and fails the connection.
package enum WebSocketOpcode: UInt8, Sendable {
    case continuation = 0x0
    case text = 0x1
    case binary = 0x2
    case close = 0x8
    case ping = 0x9
    case pong = 0xA

    package var isControl: Bool { rawValue & 0x8 != 0 }
}
