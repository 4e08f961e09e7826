/// Turns bytes, split anywhere, into whole packets.
///
/// A declared length above `limit` fails at the header. The decoder holds at most one packet and never reserves memory
/// for a declared size before the bytes arrive. After an error it accepts no more input.
package struct MQTTDecoder: Sendable {
    /// The side that receives.
    package enum Role: Sendable {
        case client
        case server
    }

    package let role: Role
    /// The largest packet, header included.
    package let limit: Int
    /// A server learns it from CONNECT.
    package private(set) var version: MQTTVersion

    private enum Step: Sendable {
        case first
        case length(first: UInt8, MQTTLength)
        case body(first: UInt8, size: Int)
    }

    private var step = Step.first
    private var body: [UInt8] = []
    private var failure: MQTTError?

    package init(role: Role, version: MQTTVersion, limit: Int) {
        self.role = role
        self.version = version
        self.limit = max(limit, 2)
    }

    /// Whether a packet has begun and is not complete.
    package var isInsidePacket: Bool {
        if case .first = step { false } else { true }
    }

    /// The bytes that wait for the rest of their packet.
    package var heldBytes: Int { body.count }

    /// Appends the packets that `bytes` complete to `packets`; if it throws, `packets` still holds the earlier ones.
    package mutating func receive(_ bytes: Span<UInt8>, into packets: inout [MQTTPacket]) throws(MQTTError) {
        if let failure { throw failure }
        do throws(MQTTError) {
            var index = 0
            while index < bytes.count {
                switch step {
                case .first:
                    try begin(bytes[index])
                    index += 1
                case .length(let first, var length):
                    let size = try length.take(bytes[index])
                    index += 1
                    guard let size else {
                        step = .length(first: first, length)
                        continue
                    }
                    let total = 1 + MQTTLength.width(size) + size
                    guard total <= limit else { throw .packetTooLarge(bytes: total, limit: limit) }
                    step = .body(first: first, size: size)
                    if size == 0 { try end(first, &packets) }
                case .body(let first, let size):
                    let taken = min(size - body.count, bytes.count - index)
                    append(bytes.extracting(index..<(index + taken)))
                    index += taken
                    if body.count == size { try end(first, &packets) }
                }
            }
        } catch {
            failure = error
            body = []
            throw error
        }
    }

    private mutating func append(_ bytes: Span<UInt8>) {
        for index in bytes.indices { body.append(bytes[index]) }
    }

    /// The first byte alone shows a peer that speaks something else, such as TLS or HTTP.
    private mutating func begin(_ first: UInt8) throws(MQTTError) {
        let type = first >> 4
        let flags = first & 0x0F
        let isExpected =
            switch type {
            case 3, 4: true
            case 1, 8, 10, 12: role == .server
            case 2, 9, 11, 13: role == .client
            // A broker of 3.1.1 has no DISCONNECT.
            case 14: role == .server || version == .v5
            default: false
            }
        guard isExpected else { throw .unexpectedPacket(type: type) }
        switch type {
        case 3:
            switch flags >> 1 & 3 {
            case 0: guard flags & 8 == 0 else { throw .invalidQoS }
            case 1: break
            case 2: throw .qosTwo
            default: throw .invalidQoS
            }
        case 8, 10: guard flags == 2 else { throw .wrongFlags(type: type, flags: flags) }
        default: guard flags == 0 else { throw .wrongFlags(type: type, flags: flags) }
        }
        step = .length(first: first, MQTTLength())
    }

    private mutating func end(_ first: UInt8, _ packets: inout [MQTTPacket]) throws(MQTTError) {
        var reader = MQTTReader(body)
        let packet = try reader.packet(first, version)
        try reader.finish()
        body = []
        step = .first
        if case .connect(let connect) = packet { version = connect.version }
        packets.append(packet)
    }
}
