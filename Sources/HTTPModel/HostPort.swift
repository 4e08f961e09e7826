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

    /// Nil when the bytes are no host and port.
    package init?(parsing bytes: ArraySlice<UInt8>) {
        guard !bytes.isEmpty, bytes.count <= 261 else { return nil }
        let end: Int
        if bytes[bytes.startIndex] == 0x5B {
            guard let bracket = bytes.firstIndex(of: 0x5D) else { return nil }
            let literal = bytes[bytes.startIndex + 1..<bracket]
            guard Self.isIPv6Literal(literal) else { return nil }
            host = MediaType.lowercase(literal)
            isIPv6 = true
            end = bracket + 1
        } else {
            end = bytes.firstIndex(of: ASCII.colon) ?? bytes.endIndex
            let name = bytes[bytes.startIndex..<end]
            guard !name.isEmpty, name.allSatisfy(Self.isNameByte) else { return nil }
            host = MediaType.lowercase(name)
            isIPv6 = false
        }
        if end == bytes.endIndex { return }
        guard bytes[end] == ASCII.colon, let port = Self.port(bytes[(end + 1)...]) else { return nil }
        self.port = port
    }

    /// As it stands in `Host`.
    package var text: String {
        let name = isIPv6 ? "[\(host)]" : host
        return port.map { "\(name):\($0)" } ?? name
    }

    /// Letters, digits, hyphen, dot, underscore: what registered names and IPv4 addresses are made of.
    private static func isNameByte(_ byte: UInt8) -> Bool {
        ASCII.isDigit(byte) || (byte | 0x20) &- 0x61 < 26 || byte == 0x2D || byte == 0x2E || byte == 0x5F
    }

    private static func isIPv6Literal(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard bytes.count >= 2, bytes.count <= 45, bytes.contains(ASCII.colon) else { return false }
        return bytes.allSatisfy { ASCII.hexValue($0) != nil || $0 == ASCII.colon || $0 == 0x2E }
    }

    /// An empty port after the colon is in the grammar but means nothing; it is refused.
    private static func port(_ digits: ArraySlice<UInt8>) -> UInt16? {
        guard (1...5).contains(digits.count), digits.allSatisfy(ASCII.isDigit) else { return nil }
        return UInt16(String(decoding: digits, as: UTF8.self))
    }
}
