package import HTTPModel

/// A response's head as field lines: status first, names in lower case. Connection fields are left out, because they
/// make an HTTP/2 message malformed (RFC 9113 §8.2.2). The block is refilled only for a head that differs from the last
/// one, so repeated answers allocate nothing.
struct ResponseBlock {
    struct Line {
        var start: Int
        var nameEnd: Int
        var end: Int
    }

    fileprivate var bytes: [UInt8] = []
    fileprivate var lines: [Line] = []
    /// The value of Content-Length, empty when not stated. It is stored apart, because most answers differ in it alone.
    private var length: [UInt8] = []

    /// The input of the stored lines; the lines are reused for the next head with the same input.
    private var status: UInt16 = 0
    private var fields = HeaderFields()
    private var common: HTTP2CommonFields?

    /// - Parameter length: the body's length, where it should be stated.
    mutating func fill(_ head: ResponseHead, length: Int? = nil, common: HTTP2CommonFields? = nil) {
        self.length.removeAll(keepingCapacity: true)
        if let length { appendDecimal(length) }
        if isSame(head, common) { return }
        bytes.removeAll(keepingCapacity: true)
        lines.removeAll(keepingCapacity: true)
        appendStatus(head.status.code)
        append(head.fields)
        if let common { append(common) }
        status = head.status.code
        fields = head.fields
        self.common = common
    }

    private mutating func appendDecimal(_ number: Int) {
        var divisor = 1
        while number / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            length.append(0x30 + UInt8(truncatingIfNeeded: number / divisor % 10))
            divisor /= 10
        }
    }

    /// Whether status, fields and common fields are the same as in the last head.
    private func isSame(_ head: ResponseHead, _ common: HTTP2CommonFields?) -> Bool {
        guard head.status.code == status, head.fields.isWireFormat, fields.isWireFormat else { return false }
        guard head.fields.bytes.span.isSame(as: fields.bytes.span) else { return false }
        guard let common, let last = self.common else { return common == nil && self.common == nil }
        return common.bytes.span.isSame(as: last.bytes.span)
    }

    fileprivate mutating func append(_ fields: HeaderFields) {
        for slot in fields.slots {
            switch slot.name {
            case .connection, .keepAlive, .proxyConnection, .transferEncoding, .upgrade: continue
            default: append(fields.bytes, name: slot.nameRange, value: slot.valueRange)
            }
        }
    }

    private mutating func append(_ other: HTTP2CommonFields) {
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

    /// Lends the bytes, the lines within them, and the value of Content-Length. The status line always exists.
    @unsafe func withUnsafeLines(_ body: (UnsafePointer<UInt8>, [Line], UnsafeBufferPointer<UInt8>) -> Void) {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return }
            unsafe length.withUnsafeBufferPointer { unsafe body(start, lines, $0) }
        }
    }

    private static let status = Array(":status".utf8)
}

/// Fields that many answers share, encoded once.
package struct HTTP2CommonFields: Sendable {
    fileprivate let bytes: [UInt8]
    fileprivate let lines: [ResponseBlock.Line]

    package init(_ fields: HeaderFields) {
        var block = ResponseBlock()
        block.append(fields)
        bytes = block.bytes
        lines = block.lines
    }
}
