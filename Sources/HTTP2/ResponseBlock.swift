package import HTTPModel

/// A response's head as field lines: status first, names in lower case, and without the fields that belong to a
/// connection, which make a message malformed here (RFC 9113 §8.2.2). Filled again for each head, so that answering
/// allocates nothing.
struct ResponseBlock {
    struct Line {
        var start: Int
        var nameEnd: Int
        var end: Int
    }

    fileprivate var bytes: [UInt8] = []
    fileprivate var lines: [Line] = []

    /// - Parameter length: the body's, where it is said.
    mutating func fill(_ head: ResponseHead, length: Int? = nil, common: HTTP2CommonFields? = nil) {
        bytes.removeAll(keepingCapacity: true)
        lines.removeAll(keepingCapacity: true)
        appendStatus(head.status.code)
        append(head.fields)
        if let length {
            let start = bytes.count
            bytes += Self.contentLength
            let nameEnd = bytes.count
            bytes += String(length).utf8
            lines.append(Line(start: start, nameEnd: nameEnd, end: bytes.count))
        }
        if let common { append(common.block) }
    }

    fileprivate mutating func append(_ fields: HeaderFields) {
        for slot in fields.slots {
            switch slot.name {
            case .connection, .keepAlive, .proxyConnection, .transferEncoding, .upgrade: continue
            default: append(fields.bytes, name: slot.nameRange, value: slot.valueRange)
            }
        }
    }

    private mutating func append(_ other: ResponseBlock) {
        let shift = bytes.count
        bytes += other.bytes
        for line in other.lines {
            lines.append(Line(start: line.start + shift, nameEnd: line.nameEnd + shift, end: line.end + shift))
        }
    }

    private mutating func appendStatus(_ code: UInt16) {
        bytes += Self.status
        for divisor in [100, 10, 1] as [UInt16] { bytes.append(0x30 + UInt8(code / divisor % 10)) }
        lines.append(Line(start: 0, nameEnd: Self.status.count, end: bytes.count))
    }

    private mutating func append(_ source: [UInt8], name: Range<Int>, value: Range<Int>) {
        let start = bytes.count
        bytes += source[name]
        let nameEnd = bytes.count
        var span = bytes.mutableSpan
        for index in start..<nameEnd { span[index] = ASCII.lowercased(span[index]) }
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
    private static let contentLength = Array("content-length".utf8)
}

/// Fields that stand in many answers, made ready once.
package struct HTTP2CommonFields: Sendable {
    fileprivate let block: ResponseBlock

    package init(_ fields: HeaderFields) {
        var block = ResponseBlock()
        block.append(fields)
        self.block = block
    }
}
