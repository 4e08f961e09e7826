import Basics
import HTTPModel

/// An `http` or `https` URL of a Ladle: `https://ladle.example`, `http://100.64.0.7:18780`, `https://example.net/ladle`.
package struct WebAddress: Equatable, Sendable {
    package let isEncrypted: Bool
    /// A name or an address, without the brackets of IPv6.
    package let host: String
    package let port: UInt16
    /// The path without a trailing slash; empty for none.
    package let path: String

    /// Nil for any other text, such as a URL with a user, a query or a fragment.
    package init?(_ text: String) {
        guard let colon = text.firstRange(of: "://") else { return nil }
        switch text[..<colon.lowerBound].lowercased() {
        case "http": isEncrypted = false
        case "https": isEncrypted = true
        default: return nil
        }
        let rest = text[colon.upperBound...]
        let authority = rest.prefix { $0 != "/" }
        guard HostPort.isValid(Array(authority.utf8).span) else { return nil }
        // The last colon outside the brackets of IPv6.
        let end = authority.firstIndex(of: "]") ?? authority.startIndex
        let mark = authority[end...].lastIndex(of: ":")
        host = authority[..<(mark ?? authority.endIndex)].filter { $0 != "[" && $0 != "]" }
        if let mark {
            guard let number = UInt16(authority[authority.index(after: mark)...]), number > 0 else { return nil }
            port = number
        } else {
            port = isEncrypted ? 443 : 80
        }
        var path = String(rest[authority.endIndex...])
        while path.hasSuffix("/") { path.removeLast() }
        guard path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x3F && $0 != 0x23 }) else { return nil }
        self.path = path
    }

    /// Whether the whole network on the way may read what is sent: in cleartext to a host that is not this one, of the tailnet or of a
    /// private network. A name tells by its form.
    private var isReadByAll: Bool {
        if isEncrypted { return false }
        if let address = NetworkAddress(host) {
            return !(address.isLoopback || address.isTailnet || address.isLinkLocal || address.isPrivate)
        }
        let name = host.lowercased()
        return name.contains(".") && !Self.privateEndings.contains { name.hasSuffix($0) }
    }

    /// The warning for a person who sends a token there; nil if the way there is private.
    var tokenWarning: String? {
        isReadByAll
            ? "The token goes to \(authority) unencrypted: everybody on the way can read it. Use https://, or the tailnet."
            : nil
    }

    private static let privateEndings = [".local", ".lan", ".home", ".home.arpa", ".internal", ".localhost", ".ts.net"]

    /// Host and port, without the scheme's default port.
    var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isEncrypted ? 443 : 80) ? name : "\(name):\(port)"
    }
}

extension WebAddress: CustomStringConvertible {
    package var description: String { "\(isEncrypted ? "https" : "http")://\(authority)\(path)" }
}
