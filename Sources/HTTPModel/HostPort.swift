/// The value of `Host` or `:authority`: a host and perhaps a port (RFC 9110 §7.2). User information, empty hosts and
/// percent-encoding are refused: no host of ours is written with them.
package struct HostPort: Sendable, Hashable {
    /// Lower case; an IPv6 literal stands here without its brackets.
    package var host: String
    package var port: UInt16?
    package var isIPv6: Bool

    package init(host: String, port: UInt16?, isIPv6: Bool) {
        self.host = host
        self.port = port
        self.isIPv6 = isIPv6
    }

    /// A DNS name has at most 253 bytes; the port adds six.
    package static let maxBytes = 259

    /// Nil when the bytes are no host and port.
    package init?(parsing bytes: ArraySlice<UInt8>) {
        guard let parts = Self.parts(of: bytes.span) else { return nil }
        let name = bytes.dropFirst(parts.hostStart).prefix(parts.hostEnd - parts.hostStart)
        self.init(host: MediaType.lowercase(name), port: parts.port, isIPv6: parts.hostStart == 1)
    }

    /// The check alone, without making strings.
    package static func isValid(_ bytes: Span<UInt8>) -> Bool { parts(of: bytes) != nil }

    private static func parts(of bytes: Span<UInt8>) -> (hostStart: Int, hostEnd: Int, port: UInt16?)? {
        guard bytes.count > 0, bytes.count <= maxBytes else { return nil }
        let isLiteral = bytes[0] == 0x5B
        let start = isLiteral ? 1 : 0
        var end = start
        var index: Int
        if isLiteral {
            var colons = 0
            while end < bytes.count, bytes[end] != 0x5D {
                let byte = bytes[end]
                if byte == ASCII.colon { colons += 1 } else if ASCII.hexValue(byte) == nil, byte != 0x2E { return nil }
                end += 1
            }
            // The longest literal is eight groups, the last two as an IPv4 address: 45 bytes.
            guard end < bytes.count, colons >= 2, end - start <= 45 else { return nil }
            index = end + 1
        } else {
            while end < bytes.count, isNameByte(bytes[end]) { end &+= 1 }
            guard end > 0 else { return nil }
            index = end
        }
        if index == bytes.count { return (start, end, nil) }
        // An empty port after the colon is in the grammar but means nothing; it is refused.
        guard bytes[index] == ASCII.colon, (1...5).contains(bytes.count - index - 1) else { return nil }
        var port = 0
        for position in (index + 1)..<bytes.count {
            guard ASCII.isDigit(bytes[position]) else { return nil }
            port = port * 10 + Int(bytes[position] - 0x30)
        }
        guard port <= 65_535 else { return nil }
        return (start, end, UInt16(port))
    }

    /// As it stands in `Host`.
    package var text: String {
        let name = isIPv6 ? "[\(host)]" : host
        return port.map { "\(name):\($0)" } ?? name
    }

    /// Letters, digits, hyphen, dot, underscore: what registered names and IPv4 addresses are made of.
    @inline(__always)
    private static func isNameByte(_ byte: UInt8) -> Bool {
        let mask: UInt64 = byte < 0x40 ? 0x03FF_6000_0000_0000 : 0x07FF_FFFE_87FF_FFFE
        return byte < 0x80 && (mask &>> UInt64(byte)) & 1 == 1
    }
}
