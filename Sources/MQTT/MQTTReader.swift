/// Reads the fields of one whole packet body (MQTT 5 §1.5).
struct MQTTReader {
    private let bytes: [UInt8]
    private var position: Int
    private let end: Int

    init(_ bytes: [UInt8]) { self.init(bytes, 0, bytes.count) }

    private init(_ bytes: [UInt8], _ position: Int, _ end: Int) {
        self.bytes = bytes
        self.position = position
        self.end = end
    }

    var isAtEnd: Bool { position == end }

    mutating func byte() throws(MQTTError) -> UInt8 {
        guard position < end else { throw .truncated }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func two() throws(MQTTError) -> UInt16 { UInt16(try byte()) << 8 | UInt16(try byte()) }

    mutating func four() throws(MQTTError) -> UInt32 { UInt32(try two()) << 16 | UInt32(try two()) }

    /// At most 268,435,455.
    mutating func variable() throws(MQTTError) -> Int {
        var length = MQTTLength()
        while true {
            if let value = try length.take(try byte()) { return value }
        }
    }

    /// The bytes up to the end.
    mutating func rest() -> [UInt8] {
        defer { position = end }
        return Array(bytes[position..<end])
    }

    /// A reader of the next `size` bytes, which are skipped here.
    mutating func part(_ size: Int) throws(MQTTError) -> MQTTReader {
        guard size <= end - position else { throw .truncated }
        defer { position += size }
        return MQTTReader(bytes, position, position + size)
    }

    mutating func binary() throws(MQTTError) -> [UInt8] {
        var part = try part(Int(try two()))
        return part.rest()
    }

    mutating func text() throws(MQTTError) -> String {
        let bytes = try binary()
        guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else { throw .invalidText }
        return text
    }

    mutating func identifier() throws(MQTTError) -> UInt16 {
        let identifier = try two()
        guard identifier != 0 else { throw .zeroIdentifier }
        return identifier
    }

    func finish() throws(MQTTError) {
        guard isAtEnd else { throw .bytesBehindPacket }
    }
}

/// A variable byte integer: seven bits a byte, the lowest first, in one to four bytes (§1.5.5).
struct MQTTLength: Sendable {
    static let maximum = 268_435_455

    private var value = 0
    private var shift = 0

    /// The value when `byte` is its last one.
    mutating func take(_ byte: UInt8) throws(MQTTError) -> Int? {
        guard shift < 28 else { throw .malformedLength }
        value |= Int(byte & 0x7F) << shift
        shift += 7
        if byte & 0x80 != 0 {
            guard shift < 28 else { throw .malformedLength }
            return nil
        }
        guard byte != 0 || shift == 7 else { throw .malformedLength }
        return value
    }

    /// How many bytes a value takes.
    static func width(_ value: Int) -> Int {
        switch value {
        case ..<0x80: 1
        case ..<0x4000: 2
        case ..<0x20_0000: 3
        default: 4
        }
    }
}
