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
        appendStatus(head.status.code)
        for slot in fields.slots {
            switch slot.name {
            case .connection, .keepAlive, .proxyConnection, .transferEncoding, .upgrade: continue
            default: append(fields.bytes, name: slot.nameRange, value: slot.valueRange)
            }
        }
    }

    private mutating func appendStatus(_ code: UInt16) {
        bytes += Self.status
        for divisor in [100, 10, 1] as [UInt16] { bytes.append(0x30 + UInt8(code / divisor % 10)) }
        lines.append(Line(start: 0, nameEnd: Self.status.count, end: bytes.count))
    }

    private mutating func append(_ source: [UInt8], name: Range<Int>, value: Range<Int>) {
        let start = bytes.count
        for index in name { bytes.append(ASCII.lowercased(source[index])) }
        let nameEnd = bytes.count
        bytes += source[value]
        lines.append(Line(start: start, nameEnd: nameEnd, end: bytes.count))
    }

    /// Lends the bytes and the lines in them; there is always the status.
    @unsafe func withUnsafeLines(_ body: (UnsafePointer<UInt8>, [Line]) -> Void) {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            if let start = buffer.baseAddress { unsafe body(start, lines) }
        }
    }

    private static let status = Array(":status".utf8)
}
