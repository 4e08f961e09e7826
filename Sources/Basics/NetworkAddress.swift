/// An IPv4 or IPv6 address as a value. A v4-mapped IPv6 address (RFC 4291 §2.5.5.2) *is* the IPv4 address, so that a
/// caller has the same key on an IPv4 and an IPv6 listener.
package struct NetworkAddress: Hashable, Sendable {
    private let high: UInt64
    private let low: UInt64

    private static let mapped: UInt64 = 0xFFFF

    package static let loopback4 = NetworkAddress(v4: 127, 0, 0, 1)
    package static let loopback6 = NetworkAddress(high: 0, low: 1)

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    package init(v4 a: UInt8, _ b: UInt8, _ c: UInt8, _ d: UInt8) {
        high = 0
        low = Self.mapped << 32 | UInt64(a) << 24 | UInt64(b) << 16 | UInt64(c) << 8 | UInt64(d)
    }

    /// Takes four or sixteen bytes in network order.
    package init?(bytes: some Collection<UInt8>) {
        switch bytes.count {
        case 4:
            self.init(high: 0, low: bytes.reduce(Self.mapped) { $0 << 8 | UInt64($1) })
        case 16:
            self.init(
                high: bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) },
                low: bytes.dropFirst(8).reduce(0) { $0 << 8 | UInt64($1) }
            )
        default: return nil
        }
    }

    package var isIPv4: Bool { high == 0 && low >> 32 == Self.mapped }

    package var isLoopback: Bool { isIPv4 ? low >> 24 & 0xFF == 127 : high == 0 && low == 1 }

    package var isUnspecified: Bool { isIPv4 ? UInt32(truncatingIfNeeded: low) == 0 : high == 0 && low == 0 }

    package var isLinkLocal: Bool {
        isIPv4 ? low >> 16 & 0xFFFF == 0xA9FE : high >> 54 == 0xFE80 >> 6
    }

    /// A private network of RFC 1918 or RFC 4193.
    package var isPrivate: Bool {
        guard isIPv4 else { return high >> 57 == 0xFC >> 1 }
        let bytes = UInt32(truncatingIfNeeded: low)
        return bytes >> 24 == 10 || bytes >> 20 == 0xAC1 || bytes >> 16 == 0xC0A8
    }

    /// True in Tailscale's address ranges, 100.64.0.0/10 and fd7a:115c:a1e0::/48. A filter, never proof: the first
    /// range is ordinary carrier NAT space (RFC 6598).
    package var isTailnet: Bool {
        isIPv4 ? (low >> 22 & 0x3FF) == (100 << 2 | 1) : high >> 16 == 0xFD7A_115C_A1E0
    }

    /// The range of one subscriber, for limits per address: the address itself for IPv4, the first 64 bits for IPv6.
    package var network: NetworkAddress { isIPv4 ? self : NetworkAddress(high: high, low: 0) }

    /// Sixteen bytes, IPv4 as v4-mapped.
    package var mappedBytes: [UInt8] {
        (0..<16).map { index in
            let half = index < 8 ? high : low
            return UInt8(truncatingIfNeeded: half >> UInt64(56 - 8 * (index % 8)))
        }
    }

    /// Four or sixteen bytes.
    package var bytes: [UInt8] { isIPv4 ? Array(mappedBytes.suffix(4)) : mappedBytes }
}

extension NetworkAddress: CustomStringConvertible {
    /// Dotted quad, or RFC 5952: lower case, no leading zeros, the first longest run of two or more zero groups as
    /// `::`.
    package var description: String {
        if isIPv4 {
            return "\(low >> 24 & 255).\(low >> 16 & 255).\(low >> 8 & 255).\(low & 255)"
        }
        let groups = (0..<8).map { group($0) }
        var run = 0..<0
        var index = 0
        while index < 8 {
            var end = index
            while end < 8, groups[end] == 0 { end += 1 }
            if end - index > max(run.count, 1) { run = index..<end }
            index = max(end, index + 1)
        }
        func joined(_ part: ArraySlice<UInt64>) -> String {
            part.map { String($0, radix: 16) }.joined(separator: ":")
        }
        return run.isEmpty
            ? joined(groups[...]) : joined(groups[..<run.lowerBound]) + "::" + joined(groups[run.upperBound...])
    }

    private func group(_ index: Int) -> UInt64 {
        let half = index < 4 ? high : low
        return half >> UInt64(48 - 16 * (index % 4)) & 0xFFFF
    }

    /// The form used in a URL or a Host field, before the port.
    package var hostText: String { isIPv4 ? description : "[\(description)]" }
}

extension NetworkAddress {
    /// Strict: dotted quads without leading zeros, IPv6 without a zone. Refuses anything that inet_aton would guess at.
    package init?(_ text: some StringProtocol) {
        let bytes = Array(text.utf8)
        guard bytes.count <= 45 else { return nil }
        if let quad = Self.quad(bytes[...]) {
            self.init(high: 0, low: Self.mapped << 32 | UInt64(quad))
            return
        }
        guard bytes.contains(UInt8(ascii: ":")), let groups = Self.groups(bytes) else { return nil }
        self.init(
            high: groups[..<4].reduce(0) { $0 << 16 | UInt64($1) },
            low: groups[4...].reduce(0) { $0 << 16 | UInt64($1) }
        )
    }

    private static func quad(_ bytes: ArraySlice<UInt8>) -> UInt32? {
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var value: UInt32 = 0
        for part in parts {
            guard (1...3).contains(part.count), part.count == 1 || part.first != UInt8(ascii: "0") else { return nil }
            var number: UInt32 = 0
            for byte in part {
                guard byte >= 0x30, byte <= 0x39 else { return nil }
                number = number * 10 + UInt32(byte - 0x30)
            }
            guard number <= 255 else { return nil }
            value = value << 8 | number
        }
        return value
    }

    /// Eight groups; `::` stands for one or more zero groups and may come once.
    private static func groups(_ bytes: [UInt8]) -> [UInt16]? {
        let colon = UInt8(ascii: ":")
        var front: [UInt16] = []
        var back: [UInt16]?
        var index = 0
        if bytes.starts(with: [colon, colon]) {
            back = []
            index = 2
        }
        while index < bytes.count {
            let end = bytes[index...].firstIndex(of: colon) ?? bytes.count
            let part = bytes[index..<end]
            var found: [UInt16] = []
            if end == bytes.count, let quad = quad(part) {
                found = [UInt16(quad >> 16), UInt16(truncatingIfNeeded: quad)]
            } else {
                guard (1...4).contains(part.count) else { return nil }
                var value: UInt16 = 0
                for byte in part {
                    guard let digit = Hex.value(of: byte) else { return nil }
                    value = value << 4 | UInt16(digit)
                }
                found = [value]
            }
            if back == nil { front += found } else { back?.append(contentsOf: found) }
            if end == bytes.count { break }
            index = end + 1
            // A single colon at the end is not an address.
            guard index < bytes.count else { return nil }
            if bytes[index] == colon {
                guard back == nil else { return nil }
                back = []
                index += 1
            }
        }
        guard let tail = back else { return front.count == 8 ? front : nil }
        let missing = 8 - front.count - tail.count
        return missing >= 1 ? front + Array(repeating: 0, count: missing) + tail : nil
    }
}
