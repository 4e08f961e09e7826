/// Writes frames. Clients pass a mask; servers pass nil (RFC 6455 §5.1).
package enum WebSocketEncoder {
    package static func append(
        _ opcode: WebSocketOpcode,
        _ payload: Span<UInt8>,
        isFinal: Bool = true,
        mask: WebSocketMask?,
        to output: inout [UInt8]
    ) {
        output.append((isFinal ? 0x80 : 0) | opcode.rawValue)
        let maskBit: UInt8 = mask == nil ? 0 : 0x80
        switch payload.count {
        case 0...125:
            output.append(maskBit | UInt8(payload.count))
        case 126...0xFFFF:
            output.append(maskBit | 126)
            appendBigEndian(UInt64(payload.count), bytes: 2, to: &output)
        default:
            output.append(maskBit | 127)
            appendBigEndian(UInt64(payload.count), bytes: 8, to: &output)
        }
        if let mask {
            for shift in 0..<4 { output.append(UInt8(truncatingIfNeeded: mask.key >> (8 * UInt32(shift)))) }
        }
        (mask ?? WebSocketMask(0)).append(payload, to: &output)
    }

    package static func append(
        _ opcode: WebSocketOpcode,
        _ payload: [UInt8],
        isFinal: Bool = true,
        mask: WebSocketMask?,
        to output: inout [UInt8]
    ) {
        append(opcode, payload.span, isFinal: isFinal, mask: mask, to: &output)
    }

    private static func appendBigEndian(_ value: UInt64, bytes: Int, to output: inout [UInt8]) {
        for index in stride(from: bytes - 1, through: 0, by: -1) {
            output.append(UInt8(truncatingIfNeeded: value >> (8 * UInt64(index))))
        }
    }
}
