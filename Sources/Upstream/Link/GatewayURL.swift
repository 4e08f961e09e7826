import Basics

/// The address of a gateway, checked and normalised, so that tokens stored for it are found again.
package struct GatewayURL: Sendable, Hashable, CustomStringConvertible {
    package enum HostClass: Sendable {
        case loopback
        /// A tailnet address or MagicDNS name: the network already encrypts.
        case tailnet
        case other
    }

    package enum Problem: Error, Equatable, Sendable {
        case malformed(String)
        case unsupportedScheme(String)
        /// A secret in a URL ends up in logs and process lists.
        case carriesCredentials
        case malformedPin
        /// A pin requires TLS; with ws:// nothing would check it.
        case pinWithoutTLS
        case plaintextRefused(host: String)
    }

    /// The gateway's own port. It is also the default for ws:// without a port, because users leave it out.
    static let gatewayPort: UInt16 = 18_789

    let isTLS: Bool
    /// In lower case, IPv6 without brackets.
    package let host: String
    package let port: UInt16
    package let path: String
    /// The SHA-256 of the certificate as 64 hex digits.
    package let pin: String?

    /// - Parameter allowPlaintext: allows unencrypted secrets to a host that is neither loopback nor in the tailnet.
    package init(_ text: String, pin: String? = nil, allowPlaintext: Bool = false) throws(Problem) {
        let (scheme, rest) = Self.scheme(of: text)
        switch scheme {
        case "ws", "http", nil: isTLS = false
        case "wss", "https": isTLS = true
        case .some(let other): throw .unsupportedScheme(other)
        }
        let slash = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
        let authority = rest[..<slash]
        guard !authority.contains("@") else { throw .carriesCredentials }
        let tail = rest[slash...]
        guard !tail.contains("?"), !tail.contains("#") else { throw .carriesCredentials }
        path = tail.isEmpty ? "/" : String(tail)
        guard path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { throw .malformed(text) }
        (host, port) = try Self.hostAndPort(authority, isTLS: isTLS, of: text)
        if let pin {
            guard let normal = Self.normalisedPin(pin) else { throw .malformedPin }
            guard isTLS else { throw .pinWithoutTLS }
            self.pin = normal
        } else {
            self.pin = nil
        }
        if !isTLS, !allowPlaintext, Self.hostClass(of: host) == .other { throw .plaintextRefused(host: host) }
    }

    package var hostClass: HostClass { Self.hostClass(of: host) }

    package var description: String {
        "\(isTLS ? "wss" : "ws")://\(bracketed):\(port)\(path == "/" ? "" : path)"
    }

    /// The `Host` value. The port is left out if it is the scheme's default.
    package var hostField: String {
        port == (isTLS ? 443 : 80) ? bracketed : "\(bracketed):\(port)"
    }

    private var bracketed: String { host.contains(":") ? "[\(host)]" : host }

    /// Normalises the forms in which the gateway shows a pin: prefix, colons and case do not matter.
    static func normalisedPin(_ text: String) -> String? {
        var rest = text.lowercased()[...]
        rest = rest.drop { $0.isWhitespace }
        for prefix in ["sha256", "sha-256"] where rest.hasPrefix(prefix) {
            rest = rest.dropFirst(prefix.count)
            break
        }
        let digits = rest.filter { $0.isASCII && $0.isHexDigit }
        return digits.count == 64 ? String(digits) : nil
    }

    private static func scheme(of text: String) -> (String?, Substring) {
        let trimmed = text.drop { $0.isWhitespace }
        let ended = trimmed.prefix(trimmed.reversed().drop { $0.isWhitespace }.count)
        guard let range = ended.firstRange(of: "://") else { return (nil, ended) }
        return (ended[..<range.lowerBound].lowercased(), ended[range.upperBound...])
    }

    private static func hostAndPort(
        _ authority: Substring,
        isTLS: Bool,
        of text: String
    ) throws(Problem) -> (String, UInt16) {
        var host = authority
        var port = authority[authority.endIndex...]
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { throw .malformed(text) }
            host = authority[authority.index(after: authority.startIndex)..<end]
            port = authority[authority.index(after: end)...]
            guard host.contains(":"), NetworkAddress(host) != nil, port.isEmpty || port.hasPrefix(":") else {
                throw .malformed(text)
            }
        } else if let colon = authority.firstIndex(of: ":") {
            host = authority[..<colon]
            port = authority[colon...]
        }
        let allowed = host.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"),
                UInt8(ascii: ":"):
                true
            default: false
            }
        }
        guard !host.isEmpty, host.utf8.count <= 253, allowed else { throw .malformed(text) }
        let digits = port.dropFirst()
        guard !digits.isEmpty else {
            // wss:// without a port means a reverse proxy such as Tailscale Serve; ws:// means the gateway itself.
            return (host.lowercased(), isTLS ? 443 : gatewayPort)
        }
        guard digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let number = UInt16(digits), number > 0 else {
            throw .malformed(text)
        }
        return (host.lowercased(), number)
    }

    package static func hostClass(of host: String) -> HostClass {
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        if name == "localhost" || name.hasSuffix(".localhost") { return .loopback }
        if let address = NetworkAddress(name) {
            return address.isLoopback ? .loopback : address.isTailnet ? .tailnet : .other
        }
        return name.hasSuffix(".ts.net") ? .tailnet : .other
    }
}
