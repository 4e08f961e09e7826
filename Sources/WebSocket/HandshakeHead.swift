/// Start line and fields of an opening handshake, read from pieces.
///
/// Deliberately narrower than a general HTTP parser: no folding, no body, CRLF only, small limits.
package struct HandshakeHead: Sendable, Equatable {
    /// A handshake needs well under 1 KiB; a proxy's cookies must fit as well.
    package static let maxBytes = 16_384
    package static let maxFields = 100

    package var startLine: String
    /// Names in lower case, values trimmed, in order.
    package var fields: [(name: String, value: String)]

    package static func == (a: HandshakeHead, b: HandshakeHead) -> Bool {
        a.startLine == b.startLine && a.fields.elementsEqual(b.fields) { $0 == $1 }
    }

    /// The one value of a field; nil when it is absent or sent twice, as no handshake field may be repeated.
    package func only(_ name: String) -> String? {
        let values = fields.filter { $0.name == name }
        return values.count == 1 ? values[0].value : nil
    }

    package func has(_ name: String) -> Bool {
        fields.contains { $0.name == name }
    }

    /// Whether a comma list, also spread over several fields, holds `token` in any case.
    package func lists(_ token: String, in name: String) -> Bool {
        fields.contains { field in
            field.name == name
                && field.value.split(separator: ",").contains {
                    $0.drop { $0 == " " || $0 == "\t" }.lowercased().trimmedEnd() == token
                }
        }
    }

    /// Collects bytes until the empty line. What follows it belongs to the frames.
    package struct Reader: Sendable {
        private var bytes: [UInt8] = []
        private var matched = 0

        package init() {}

        /// The head once it is complete, and how many of `piece` it used; nil while more is needed.
        package mutating func receive(
            _ piece: Span<UInt8>
        ) throws(HandshakeError) -> (head: HandshakeHead, used: Int)? {
            for index in piece.indices {
                let byte = piece[index]
                bytes.append(byte)
                guard bytes.count <= HandshakeHead.maxBytes else { throw .headTooLong(limit: HandshakeHead.maxBytes) }
                matched = Self.advance(matched, byte)
                if matched == 4 { return (try HandshakeHead(bytes.dropLast(4)), index + 1) }
            }
            return nil
        }

        /// How much of CR LF CR LF the bytes now end with.
        private static func advance(_ matched: Int, _ byte: UInt8) -> Int {
            switch (matched, byte) {
            case (0, 0x0D), (2, 0x0D): matched + 1
            case (1, 0x0A), (3, 0x0A): matched + 1
            case (_, 0x0D): 1
            default: 0
            }
        }
    }

    init(_ bytes: ArraySlice<UInt8>) throws(HandshakeError) {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .malformedHead }
        // Character-wise splitting would keep CR LF together; scalars do not.
        var lines: [String] = [""]
        var afterReturn = false
        for scalar in text.unicodeScalars {
            switch (scalar, afterReturn) {
            case ("\r", false): afterReturn = true
            case ("\n", true):
                lines.append("")
                afterReturn = false
            case ("\r", true), ("\n", false), (_, true): throw .malformedHead
            case (let scalar, _) where scalar.value < 0x20 && scalar != "\t": throw .malformedHead
            case (let scalar, _) where scalar.value == 0x7F: throw .malformedHead
            default: lines[lines.count - 1].unicodeScalars.append(scalar)
            }
        }
        guard !afterReturn, lines.count <= Self.maxFields + 1 else { throw .malformedHead }
        startLine = lines[0]
        fields = []
        for line in lines.dropFirst() {
            guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) else { throw .malformedHead }
            let name = line[..<colon]
            guard !name.isEmpty, name.utf8.allSatisfy(Self.isToken) else { throw .malformedHead }
            let value = line[line.utf8.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            fields.append((name.lowercased(), String(value).trimmedEnd()))
        }
    }

    /// RFC 9110 §5.6.2.
    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}

extension String {
    fileprivate func trimmedEnd() -> String {
        var text = self[...]
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return String(text)
    }
}
