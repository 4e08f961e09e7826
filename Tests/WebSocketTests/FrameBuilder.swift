@testable import WebSocket

/// Writes frames as a peer might, including ones our encoder refuses to make.
enum Frame {
    static let key: UInt32 = 0x3D21_FA37

    static func bytes(
        _ opcode: UInt8,
        _ payload: [UInt8],
        fin: Bool = true,
        rsv: UInt8 = 0,
        masked: Bool = false,
        lengthBytes: Int? = nil
    ) -> [UInt8] {
        var frame: [UInt8] = [(fin ? 0x80 : 0) | rsv << 4 | opcode]
        let maskBit: UInt8 = masked ? 0x80 : 0
        switch lengthBytes ?? (payload.count < 126 ? 0 : payload.count < 65_536 ? 2 : 8) {
        case 0: frame.append(maskBit | UInt8(payload.count))
        case 2: frame += [maskBit | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        default:
            frame.append(maskBit | 127)
            frame += (0..<8).reversed().map { UInt8(truncatingIfNeeded: payload.count >> (8 * $0)) }
        }
        guard masked else { return frame + payload }
        let mask = (0..<4).map { UInt8(truncatingIfNeeded: key >> (8 * $0)) }
        return frame + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
    }

    static func text(_ text: String, fin: Bool = true) -> [UInt8] { bytes(1, Array(text.utf8), fin: fin) }
    static func more(_ text: String, fin: Bool) -> [UInt8] { bytes(0, Array(text.utf8), fin: fin) }
    static func close(_ code: UInt16, _ reason: [UInt8] = []) -> [UInt8] {
        bytes(8, [UInt8(code >> 8), UInt8(code & 0xFF)] + reason)
    }
}

/// The result of decoding a byte string, in whatever pieces it arrived.
struct Decoded: Equatable {
    var events: [WebSocketEvent] = []
    var error: WebSocketError?

    init(
        _ bytes: [UInt8],
        role: WebSocketRole = .client,
        limits: WebSocketLimits = WebSocketLimits(messageBytes: 1 << 20),
        cuts: [Int] = []
    ) {
        var decoder = WebSocketDecoder(role: role, limits: limits)
        var start = 0
        do throws(WebSocketError) {
            for end in cuts + [bytes.count] {
                try decoder.receive(bytes.span.extracting(start..<end), into: &events)
                start = end
            }
        } catch {
            self.error = error
        }
    }
}
