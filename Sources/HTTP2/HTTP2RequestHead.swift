/// A request's head as it came: pseudo-fields apart, the others in order.
///
/// The library has checked it against RFC 9113 §8: lower-case names of token bytes, values without control bytes, no
/// connection-specific field, each pseudo-field once and before the others. `authority` is `:authority` or, without one,
/// `host`; where both stand they agree.
package struct HTTP2RequestHead: Equatable, Sendable {
    package var method: [UInt8] = []
    package var scheme: [UInt8] = []
    package var authority: [UInt8] = []
    package var path: [UInt8] = []
    package var fields = HTTP2Fields()
}

/// Field lines in one buffer: a head costs two allocations, whatever its number of lines.
package struct HTTP2Fields: Equatable, Sendable {
    private struct Line: Equatable, Sendable {
        let start: Int
        let nameEnd: Int
        let end: Int
    }

    private var bytes: [UInt8] = []
    private var lines: [Line] = []

    package init() {}

    package var count: Int { lines.count }
    package var isEmpty: Bool { lines.isEmpty }

    package subscript(index: Int) -> (name: ArraySlice<UInt8>, value: ArraySlice<UInt8>) {
        let line = lines[index]
        return (bytes[line.start..<line.nameEnd], bytes[line.nameEnd..<line.end])
    }

    package mutating func append(name: some Collection<UInt8>, value: some Collection<UInt8>) {
        let start = bytes.count
        bytes.append(contentsOf: name)
        let nameEnd = bytes.count
        bytes.append(contentsOf: value)
        lines.append(Line(start: start, nameEnd: nameEnd, end: bytes.count))
    }

    mutating func append(name: Span<UInt8>, value: Span<UInt8>) {
        let start = bytes.count
        bytes.append(copying: name)
        let nameEnd = bytes.count
        bytes.append(copying: value)
        lines.append(Line(start: start, nameEnd: nameEnd, end: bytes.count))
    }

    /// The first value of a name given in lower case.
    package func first(_ name: String) -> ArraySlice<UInt8>? {
        for line in lines where bytes[line.start..<line.nameEnd].elementsEqual(name.utf8) {
            return bytes[line.nameEnd..<line.end]
        }
        return nil
    }

    /// As a response's field block: status first, names in lower case, and without fields that belong to a connection,
    /// which make a message malformed here (RFC 9113 §8.2.2).
    func forResponse(status: Int) -> HTTP2Fields {
        var block = HTTP2Fields()
        block.append(name: ":status".utf8, value: String(status).utf8)
        for index in 0..<count {
            let (name, value) = self[index]
            let lower = name.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
            let isConnectionField = Self.connectionFields.contains { lower.elementsEqual($0.utf8) }
            if !isConnectionField { block.append(name: lower, value: value) }
        }
        return block
    }

    private static let connectionFields = [
        "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade",
    ]

    /// Lends the buffer with each line's offsets: where it starts, where its name ends, where it ends.
    @unsafe func withUnsafeLines<Result>(
        _ body: (UnsafePointer<UInt8>, [(start: Int, nameEnd: Int, end: Int)]) -> Result
    ) -> Result? {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return nil }
            return unsafe body(start, lines.map { ($0.start, $0.nameEnd, $0.end) })
        }
    }
}
