import Basics

/// The address of a sink. Strict: forms that programs interpret differently are refused, such as numbers that are not a
/// dotted quad, user names and escapes in the host.
package struct SinkURL: Sendable, Hashable {
    package enum Fault: Error, Equatable, Sendable {
        case malformed
        case scheme
        case userinfo
        case fragment
        case host
        case port
        case tooLong

        package var detail: String {
            switch self {
            case .malformed: "`url` is no address such as https://example.org/path."
            case .scheme: "`url` begins with https:// or http://."
            case .userinfo: "`url` has no user name or password; use `token`."
            case .fragment: "`url` has no part behind #."
            case .host: "`url` names its host by a DNS name, a dotted quad, or an IPv6 address in brackets."
            case .port: "`url` has a port from 1 to 65535."
            case .tooLong: "`url` has at most \(NotificationLimits.urlBytes) bytes."
            }
        }
    }

    package let isTLS: Bool
    /// In lower case, IPv6 without brackets.
    package let host: String
    package let port: UInt16
    /// The path with the query; at least a slash.
    package let target: String

    package init(_ text: String) throws(Fault) {
        let bytes = Array(text.utf8)
        guard bytes.count <= NotificationLimits.urlBytes else { throw .tooLong }
        guard bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }) else { throw .malformed }
        guard let scheme = text.firstRange(of: "://") else { throw .malformed }
        switch text[..<scheme.lowerBound].lowercased() {
        case "https": isTLS = true
        case "http": isTLS = false
        default: throw .scheme
        }
        let rest = text[scheme.upperBound...]
        guard !rest.contains("#") else { throw .fragment }
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        var authority = rest[..<end]
        guard !authority.contains("@") else { throw .userinfo }
        let tail = rest[end...]
        target = tail.hasPrefix("/") ? String(tail) : "/" + tail
        var number: Substring?
        if authority.hasPrefix("[") {
            guard let close = authority.firstIndex(of: "]") else { throw .host }
            let after = authority[authority.index(after: close)...]
            let literal = authority[authority.index(after: authority.startIndex)..<close]
            guard literal.contains(":"), let address = NetworkAddress(literal) else { throw .host }
            guard after.isEmpty || after.hasPrefix(":") else { throw .host }
            if !after.isEmpty { number = after.dropFirst() }
            host = address.description
        } else {
            if let colon = authority.firstIndex(of: ":") {
                number = authority[authority.index(after: colon)...]
                authority = authority[..<colon]
            }
            host = authority.lowercased()
            guard Self.isHost(host) else { throw .host }
        }
        guard let number else {
            port = isTLS ? 443 : 80
            return
        }
        guard number.utf8.count <= 5, number.utf8.allSatisfy(\.isASCIIDigit), let value = UInt16(number), value > 0
        else {
            throw .port
        }
        port = value
    }

    /// Whether the host is a DNS name or a strict dotted quad. inet_aton would read a name whose last part is a number
    /// as an address.
    private static func isHost(_ host: String) -> Bool {
        guard (1...253).contains(host.utf8.count) else { return false }
        if NetworkAddress(host) != nil { return true }
        var labels = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        // A host name may end in a dot.
        if labels.count > 1, labels.last?.isEmpty ?? false { labels.removeLast() }
        guard let last = labels.last, !last.allSatisfy(\.isASCIIDigit), !last.starts(with: "0x".utf8) else {
            return false
        }
        return labels.allSatisfy { label in
            (1...63).contains(label.count) && label.first != UInt8(ascii: "-") && label.last != UInt8(ascii: "-")
                && label.allSatisfy { byte in
                    byte.isASCIILetter || byte.isASCIIDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
                }
        }
    }

    private var hostText: String { host.contains(":") ? "[\(host)]" : host }

    /// The value of `Host`.
    package var hostField: String { port == (isTLS ? 443 : 80) ? hostText : "\(hostText):\(port)" }
    /// Scheme, host and port, without the path, which may be a secret.
    package var origin: String { "\(isTLS ? "https" : "http")://\(hostField)" }
    package var text: String { origin + target }

    /// Another resource on the same server.
    func at(_ target: String) -> SinkURL { SinkURL(isTLS: isTLS, host: host, port: port, target: target) }

    private init(isTLS: Bool, host: String, port: UInt16, target: String) {
        self.isTLS = isTLS
        self.host = host
        self.port = port
        self.target = target
    }
}
