import Basics

/// The value of `Host` or `:authority`: a host and perhaps a port (RFC 9110 §7.2). User information, empty hosts and
/// percent-encoding are refused, because no host of Ladle's is written with them.
package enum HostPort {
    /// A DNS name has at most 253 bytes; the port adds six.
    private static let maxBytes = 259

    package static func isValid(_ bytes: Span<UInt8>) -> Bool {
        guard bytes.count > 0, bytes.count <= maxBytes else { return false }
        let isLiteral = bytes[0] == 0x5B
        let start = isLiteral ? 1 : 0
        var end = start
        var index: Int
        if isLiteral {
            var colons = 0
            while end < bytes.count, bytes[end] != 0x5D {
                let byte = bytes[end]
                guard byte == ASCII.colon || byte == 0x2E || Hex.value(of: byte) != nil else { return false }
                if byte == ASCII.colon { colons += 1 }
                end += 1
            }
            // The longest literal is eight groups with the last two as an IPv4 address: 45 bytes.
            guard end < bytes.count, colons >= 2, end - start <= 45 else { return false }
            index = end + 1
        } else {
            while end < bytes.count, isNameByte(bytes[end]) { end &+= 1 }
            guard end > 0 else { return false }
            index = end
        }
        if index == bytes.count { return true }
        // The grammar allows an empty port after the colon, but it means nothing, so it is refused.
        guard bytes[index] == ASCII.colon, (1...5).contains(bytes.count - index - 1) else { return false }
        var port = 0
        for position in (index + 1)..<bytes.count {
            guard ASCII.isDigit(bytes[position]) else { return false }
            port = port * 10 + Int(bytes[position] - 0x30)
        }
        return port <= 65_535
    }

    /// Whether the byte is a letter, digit, hyphen, dot or underscore, as in registered names and IPv4 addresses.
    @inline(__always)
    private static func isNameByte(_ byte: UInt8) -> Bool {
        let mask: UInt64 = byte < 0x40 ? 0x03FF_6000_0000_0000 : 0x07FF_FFFE_87FF_FFFE
        return byte < 0x80 && (mask &>> UInt64(byte)) & 1 == 1
    }
}
