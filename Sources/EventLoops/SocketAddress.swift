import Basics
import CSystem
import Dispatch

/// Where a socket is bound or connected to.
package enum SocketAddress: Sendable, Hashable {
    case ip(IPAddress, port: UInt16)
    /// Empty for the unnamed end of a connection.
    case unix(path: String)

    /// A numeric address; names go through `Resolver`.
    package init?(host: String, port: UInt16) {
        guard let address = IPAddress(host) else { return nil }
        self = .ip(address, port: port)
    }

    package var port: UInt16? {
        if case .ip(_, let port) = self { port } else { nil }
    }

    package var isLoopback: Bool {
        switch self {
        case .ip(let address, _): address.isLoopback
        case .unix: true
        }
    }

    init(raw: cs_address) {
        switch Int(raw.family) {
        case Int(CS_FAMILY_IPV4), Int(CS_FAMILY_IPV6):
            self = .ip(IPAddress(raw: raw), port: raw.port)
        default:
            self = .unix(path: "")
        }
    }

    var raw: cs_address {
        guard case .ip(let address, let port) = self else { return cs_address() }
        var raw = address.raw
        raw.port = port
        return raw
    }
}

extension SocketAddress: CustomStringConvertible {
    package var description: String {
        switch self {
        case .ip(let address, let port): address.isIPv6 ? "[\(address)]:\(port)" : "\(address):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }
}

/// An IPv4 or IPv6 address. IPv4 mapped into IPv6 is kept as it came; `unmapped` undoes it.
package struct IPAddress: Sendable, Hashable {
    /// 4 or 16 bytes in network order.
    package let bytes: [UInt8]
    let scope: UInt32

    package init(bytes: [UInt8]) {
        self.bytes = bytes.count == 16 ? bytes : Array((bytes + [0, 0, 0, 0]).prefix(4))
        scope = 0
    }

    package init?(_ text: String) {
        guard !text.isEmpty, !text.utf8.contains(0) else { return nil }
        var raw = cs_address()
        guard unsafe cs_resolve(text, 0, true, &raw, 1) == 1 else { return nil }
        self.init(raw: raw)
    }

    package var isIPv6: Bool { bytes.count == 16 }

    package var unmapped: IPAddress {
        let prefix: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        return isIPv6 && bytes.starts(with: prefix) ? IPAddress(bytes: Array(bytes[12...])) : self
    }

    package var isLoopback: Bool {
        let plain = unmapped.bytes
        return plain.count == 4 ? plain[0] == 127 : plain.dropLast().allSatisfy { $0 == 0 } && plain[15] == 1
    }

    package var isAny: Bool { unmapped.bytes.allSatisfy { $0 == 0 } }

    /// 100.64.0.0/10 and fd7a:115c:a1e0::/48: where tailnet addresses lie. A filter, never proof.
    package var isTailnet: Bool {
        let plain = unmapped.bytes
        if plain.count == 4 { return plain[0] == 100 && plain[1] & 0xC0 == 64 }
        return plain.starts(with: [0xFD, 0x7A, 0x11, 0x5C, 0xA1, 0xE0])
    }

    init(raw: cs_address) {
        let all = unsafe withUnsafeBytes(of: raw.bytes) { unsafe Array($0) }
        bytes = Int(raw.family) == Int(CS_FAMILY_IPV4) ? Array(all[..<4]) : all
        scope = raw.scope
    }

    var raw: cs_address {
        var raw = cs_address()
        raw.family = UInt8(isIPv6 ? CS_FAMILY_IPV6 : CS_FAMILY_IPV4)
        raw.scope = scope
        let bytes = bytes
        unsafe withUnsafeMutableBytes(of: &raw.bytes) { target in
            for (place, byte) in bytes.enumerated() { unsafe target[place] = byte }
        }
        return raw
    }
}

extension IPAddress: CustomStringConvertible {
    /// RFC 5952 for IPv6: lower case, no leading zeros, the longest run of zero groups as `::`.
    package var description: String {
        guard isIPv6 else { return bytes.map { String($0) }.joined(separator: ".") }
        let groups = (0..<8).map { UInt16(bytes[2 * $0]) << 8 | UInt16(bytes[2 * $0 + 1]) }
        var best = 0..<0
        var start = 0
        while start < 8 {
            var end = start
            while end < 8, groups[end] == 0 { end += 1 }
            if end - start > max(best.count, 1) { best = start..<end }
            start = max(end, start + 1)
        }
        func text(_ slice: ArraySlice<UInt16>) -> String { slice.map { String($0, radix: 16) }.joined(separator: ":") }
        if best.isEmpty { return text(groups[...]) }
        return text(groups[..<best.lowerBound]) + "::" + text(groups[best.upperBound...])
    }
}

/// Name look-ups, which block, on Dispatch's shared threads; the answer comes back by `post`.
package enum Resolver {
    private static let most = 16

    package static func resolve(
        host: String,
        port: UInt16,
        for loop: EventLoop,
        _ completion: @escaping @Sendable ([SocketAddress], isolated EventLoop) -> Void
    ) {
        DispatchQueue.global().async {
            let found = lookUp(host: host, port: port)
            loop.post { completion(found, $0) }
        }
    }

    /// Blocks. Empty when the name is unknown.
    package static func lookUp(host: String, port: UInt16) -> [SocketAddress] {
        guard !host.isEmpty, !host.utf8.contains(0) else { return [] }
        var raw = [cs_address](repeating: cs_address(), count: most)
        let count = unsafe raw.withUnsafeMutableBufferPointer { buffer in
            unsafe cs_resolve(host, port, false, buffer.baseAddress, Int32(most))
        }
        return raw.prefix(max(Int(count), 0)).map { SocketAddress(raw: $0) }
    }
}
