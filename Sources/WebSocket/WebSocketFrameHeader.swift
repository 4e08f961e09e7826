/// The two to fourteen bytes before a payload, read one at a time because the input may be split anywhere.
struct WebSocketFrameHeader: Sendable {
    private enum Step: Sendable {
        case first
        case second
        /// `over` is the largest value that the shorter form of the length can hold.
        case length(left: Int, over: UInt64)
        case key(left: Int)
        case done
    }

    private(set) var opcode = WebSocketOpcode.continuation
    private(set) var isFinal = false
    private(set) var mask: WebSocketMask?
    private(set) var length: UInt64 = 0
    private var step = Step.first
    private var isMasked = false

    /// True when `byte` completes the header. Rules that need no context are checked at the first byte that breaks
    /// them.
    mutating func take(_ byte: UInt8, role: WebSocketRole) throws(WebSocketError) -> Bool {
        switch step {
        case .first:
            guard byte & 0x70 == 0 else { throw .reservedBits(byte >> 4 & 0x7) }
            guard let opcode = WebSocketOpcode(rawValue: byte & 0x0F) else { throw .reservedOpcode(byte & 0x0F) }
            self.opcode = opcode
            isFinal = byte & 0x80 != 0
            guard isFinal || !opcode.isControl else { throw .controlFrameFragmented }
            step = .second
        case .second:
            isMasked = byte & 0x80 != 0
            switch role {
            case .server where !isMasked: throw .maskRequired
            case .client where isMasked: throw .maskForbidden
            default: break
            }
            let short = byte & 0x7F
            guard short <= WebSocketLimits.controlPayload || !opcode.isControl else { throw .controlFrameTooLong }
            switch short {
            case 126: step = .length(left: 2, over: 125)
            case 127: step = .length(left: 8, over: 0xFFFF)
            default:
                length = UInt64(short)
                step = isMasked ? .key(left: 4) : .done
            }
        case .length(let left, let over):
            // The first of eight length bytes must leave the top bit clear.
            guard left != 8 || byte & 0x80 == 0 else { throw .malformedLength }
            length = length << 8 | UInt64(byte)
            if left > 1 {
                step = .length(left: left - 1, over: over)
            } else {
                guard length > over else { throw .malformedLength }
                step = isMasked ? .key(left: 4) : .done
            }
        case .key(let left):
            let shift = UInt32(4 - left) * 8
            mask = WebSocketMask((mask?.key ?? 0) | UInt32(byte) << shift)
            step = left > 1 ? .key(left: left - 1) : .done
        case .done:
            break
        }
        if case .done = step { return true }
        return false
    }
}
