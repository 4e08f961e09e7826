/// The reason why a byte stream is not valid WebSocket; each error ends the connection with `closeCode`.
package enum WebSocketError: Error, Equatable, Sendable {
    case reservedBits(UInt8)
    case reservedOpcode(UInt8)
    /// A client sent an unmasked frame, or a server a masked one (RFC 6455 §5.1).
    case maskRequired
    case maskForbidden
    case controlFrameTooLong
    case controlFrameFragmented
    /// A length uses more bytes than it needs, or has its top bit set (RFC 6455 §5.2).
    case malformedLength
    case continuationWithoutStart
    case messageInsideMessage
    case frameTooBig(bytes: UInt64, limit: Int)
    case messageTooBig(limit: Int)
    case tooManyFragments(limit: Int)
    case invalidUTF8
    case closePayloadOfOneByte
    case closeCodeNotAllowed(UInt16)

    package var closeCode: UInt16 {
        switch self {
        case .frameTooBig, .messageTooBig: WebSocketClose.tooBig
        case .tooManyFragments: WebSocketClose.policyViolation
        case .invalidUTF8: WebSocketClose.invalidPayload
        default: WebSocketClose.protocolError
        }
    }
}
