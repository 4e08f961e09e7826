package import Basics

/// The addresses that sinks made by callers may use: public ones, and hosts that the owner allows. This keeps API
/// callers from reaching machines that only Ladle can reach.
package struct AddressPolicy: Sendable, Equatable {
    package enum Refusal: String, Error, Sendable {
        /// http:// shows the message to everybody on the path.
        case plaintext
        case loopback
        case unspecified
        case linkLocal = "link_local"
        case `private`
        /// RFC 6598: the tailnet, and carriers' networks.
        case shared
        case multicast
        case reserved
        /// An IPv6 form of an IPv4 address.
        case translated
        /// Ladle itself, or its gateway.
        case ownPort = "own_port"
    }

    private struct Range: Sendable, Equatable {
        let start: [UInt8]
        let bits: Int

        func holds(_ address: NetworkAddress) -> Bool {
            let bytes = address.mappedBytes
            let whole = bits / 8
            guard bytes.prefix(whole) == start.prefix(whole) else { return false }
            let rest = bits % 8
            return rest == 0 || bytes[whole] >> UInt8(8 - rest) == start[whole] >> UInt8(8 - rest)
        }
    }

    private var names: Set<String> = []
    private var ranges: [Range] = []
    private var ownPorts: Set<UInt16>

    /// - Parameters:
    ///   - allowed: names, addresses and ranges such as 192.168.1.0/24.
    ///   - ownPorts: the ports of Ladle and its gateway. They are refused even on allowed hosts, since those may be
    ///     this host.
    package init(allowed: [String] = [], ownPorts: Set<UInt16> = []) throws(FormFault) {
        self.ownPorts = ownPorts
        for text in allowed {
            if let range = Self.range(text) {
                ranges.append(range)
            } else if let url = try? SinkURL("http://\(text)/"), url.port == 80, url.target == "/" {
                names.insert(url.host)
            } else {
                throw FormFault(
                    "notifications.allowHosts",
                    "\(text.prefix(64)) is no name, address or range such as 192.168.1.0/24"
                )
            }
        }
    }

    /// The policy while a gateway is connected at this port, which may be one that was found on this host. The ports after it are those
    /// of its canvas and of its browsers.
    package func refusing(gateway port: UInt16) -> AddressPolicy {
        var copy = self
        copy.ownPorts.formUnion(port...(port == 443 ? port : UInt16(clamping: Int(port) + 4)))
        return copy
    }

    private static func range(_ text: String) -> Range? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let address = NetworkAddress(parts[0]) else { return nil }
        let most = address.isIPv4 ? 32 : 128
        guard parts.count == 2 else { return Range(start: address.mappedBytes, bits: 128) }
        guard let bits = Int(parts[1]), (0...most).contains(bits) else { return nil }
        return Range(start: address.mappedBytes, bits: bits + 128 - most)
    }

    private func allows(name: String) -> Bool { names.contains(name) }
    private func allows(_ address: NetworkAddress) -> Bool { ranges.contains { $0.holds(address) } }

    /// Checked before each send, and when a sink is made as far as possible without a look-up.
    package func refusal(of url: SinkURL) -> Refusal? {
        // Every host may serve port 443; on other ports the service may be ours, under a public address.
        if ownPorts.contains(url.port), url.port != 443 || allows(name: url.host) { return .ownPort }
        if allows(name: url.host) { return nil }
        if let address = NetworkAddress(url.host) {
            if allows(address) { return nil }
            if let refusal = Self.refusal(of: address) { return refusal }
        }
        return url.isTLS || !ranges.isEmpty ? nil : .plaintext
    }

    /// Checks all addresses of a name: a single non-public one refuses the name.
    package func refusal(of url: SinkURL, at addresses: [NetworkAddress]) -> Refusal? {
        if allows(name: url.host) { return nil }
        if ownPorts.contains(url.port), addresses.contains(where: allows) { return .ownPort }
        for address in addresses where !allows(address) {
            if let refusal = Self.refusal(of: address) { return refusal }
            if !url.isTLS { return .plaintext }
        }
        return nil
    }

    /// Nil for a public address.
    package static func refusal(of address: NetworkAddress) -> Refusal? {
        if address.isUnspecified { return .unspecified }
        if address.isLoopback { return .loopback }
        if address.isLinkLocal { return .linkLocal }
        let bytes = address.bytes
        return address.isIPv4 ? refusal(v4: bytes) : refusal(v6: bytes)
    }

    /// The registry of special addresses (RFC 6890).
    private static func refusal(v4 bytes: [UInt8]) -> Refusal? {
        switch (bytes[0], bytes[1], bytes[2]) {
        case (0, _, _): .unspecified
        case (10, _, _), (172, 16...31, _), (192, 168, _): .private
        case (100, 64...127, _): .shared
        case (224...239, _, _): .multicast
        case (240...255, _, _), (192, 0, 0), (192, 0, 2), (192, 88, 99), (198, 18...19, _), (198, 51, 100),
            (203, 0, 113):
            .reserved
        default: nil
        }
    }

    private static func refusal(v6 bytes: [UInt8]) -> Refusal? {
        // IPv4-compatible, NAT64 (RFC 6052, RFC 8215), 6to4, Teredo.
        if bytes.prefix(12).allSatisfy({ $0 == 0 }) { return .translated }
        if bytes.starts(with: [0x00, 0x64, 0xFF, 0x9B]) || bytes.starts(with: [0x20, 0x02]) { return .translated }
        if bytes.starts(with: [0x20, 0x01, 0, 0]) { return .translated }
        // The rest of 2001::/23: protocols and identifiers, not hosts (RFC 2928, RFC 7343).
        if bytes.starts(with: [0x20, 0x01]), bytes[2] & 0xFE == 0 { return .reserved }
        if bytes[0] == 0xFF { return .multicast }
        // Unique local addresses, including the tailnet's and the metadata service of EC2.
        if bytes[0] & 0xFE == 0xFC { return .private }
        // Site-local addresses, which are deprecated.
        if bytes[0] == 0xFE, bytes[1] & 0xC0 == 0xC0 { return .private }
        // Documentation, benchmarks, discard.
        if bytes.starts(with: [0x20, 0x01, 0x0D, 0xB8]) || bytes.starts(with: [0x3F, 0xFF]) { return .reserved }
        if bytes.starts(with: [0x01, 0]) { return .reserved }
        // All other assigned addresses are in 2000::/3.
        return bytes[0] & 0xE0 == 0x20 ? nil : .reserved
    }
}
