import HTTPModel

/// A response's head as field lines: status first, names in lower case, and without the fields that belong to a
/// connection, which make a message malformed here (RFC 9113 §8.2.2).
struct ResponseBlock {
    struct Line {
        let start: Int
        let nameEnd: Int
        let end: Int
    }

    private var bytes: [UInt8] = []
    private var lines: [Line] = []

    init(_ head: ResponseHead) {
        let fields = head.fields
        bytes.reserveCapacity(fields.bytes.count + 16)
        lines.reserveCapacity(fields.count + 1)
        append(":status".utf8, "\(head.status.code)".utf8)
        for (index, slot) in fields.slots.enumerated() {
            switch slot.name {
            case .connection, .keepAlive, .proxyConnection, .transferEncoding, .upgrade: continue
            default: append(fields.nameBytes(at: index), fields.value(at: index))
            }
        }
    }

    private mutating func append(_ name: some Collection<UInt8>, _ value: some Collection<UInt8>) {
        let start = bytes.count
        for byte in name { bytes.append(ASCII.lowercased(byte)) }
        let nameEnd = bytes.count
        bytes.append(contentsOf: value)
        lines.append(Line(start: start, nameEnd: nameEnd, end: bytes.count))
    }

    /// Lends the bytes and the lines in them; there is always the status.
    @unsafe func withUnsafeLines(_ body: (UnsafePointer<UInt8>, [Line]) -> Void) {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            if let start = buffer.baseAddress { unsafe body(start, lines) }
        }
    }
}
