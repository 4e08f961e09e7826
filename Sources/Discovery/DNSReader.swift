/// Reads the parts of a DNS message; returns nil at the first malformed part.
struct DNSReader {
    private let bytes: [UInt8]
    private(set) var position = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func uint8() -> UInt8? {
        guard position < bytes.count else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func uint16() -> UInt16? {
        guard let high = uint8(), let low = uint8() else { return nil }
        return UInt16(high) << 8 | UInt16(low)
    }

    mutating func uint32() -> UInt32? {
        guard let high = uint16(), let low = uint16() else { return nil }
        return UInt32(high) << 16 | UInt32(low)
    }

    /// The position after `length` more bytes; nil when the message is shorter.
    func end(of length: Int) -> Int? {
        position + length <= bytes.count ? position + length : nil
    }

    mutating func take(until end: Int) -> ArraySlice<UInt8>? {
        guard end >= position, end <= bytes.count else { return nil }
        defer { position = end }
        return bytes[position..<end]
    }

    /// Reads a name (RFC 1035 §4.1.4). A pointer must lead to a place before all bytes read so far of this name, so
    /// reading ends after a bounded number of steps. The length of the name is bounded as well.
    mutating func name() -> DNSName? {
        var labels: [[UInt8]] = []
        var length = 1
        var cursor = position
        var after: Int?
        var lowest = position
        while cursor < bytes.count {
            let head = bytes[cursor]
            switch head >> 6 {
            case 0:
                let end = cursor + 1 + Int(head)
                if head == 0 {
                    position = after ?? end
                    return DNSName(labels: labels)
                }
                length += 1 + Int(head)
                guard end <= bytes.count, length <= DNSName.longestName else { return nil }
                labels.append(Array(bytes[cursor + 1..<end]))
                cursor = end
            case 3:
                guard cursor + 1 < bytes.count else { return nil }
                let target = Int(head & 0x3F) << 8 | Int(bytes[cursor + 1])
                guard target < lowest else { return nil }
                after = after ?? cursor + 2
                lowest = target
                cursor = target
            default:
                return nil
            }
        }
        return nil
    }
}
