import Basics
import HTTPModel

/// A link of `ladle pair`: `ladle://HOST:PORT/?tls=1&pin=…&secret=…&also=HOST:PORT`.
struct PairingLink: Equatable {
    static let scheme = "ladle://"
    /// More addresses than a host has.
    private static let mostAddresses = 8

    /// The addresses to try, in this order.
    let addresses: [WebAddress]
    /// SHA-256 of the certificate; nil if an authority signed it.
    let pin: [UInt8]?
    let secret: String

    /// Nil for any other text. Parameters of later versions are ignored.
    init?(_ text: String) {
        guard text.utf8.count <= 2048, text.lowercased().hasPrefix(Self.scheme) else { return nil }
        let rest = text.dropFirst(Self.scheme.count)
        guard let mark = rest.firstIndex(of: "?") else { return nil }
        var host = String(rest[..<mark])
        if host.hasSuffix("/") { host.removeLast() }
        var hosts = [host]
        var (isEncrypted, pin, secret): (Bool?, [UInt8]?, String?)
        for item in rest[rest.index(after: mark)...].split(separator: "&") {
            guard let equals = item.firstIndex(of: "="),
                let value = Self.value(item[item.index(after: equals)...])
            else { return nil }
            switch item[..<equals] {
            case "tls" where value == "0" || value == "1": isEncrypted = value == "1"
            case "tls": return nil
            case "pin":
                guard let bytes = Base64.decode(value, as: .url), bytes.count == 32 else { return nil }
                pin = bytes
            case "secret": secret = value
            case "also": hosts.append(value)
            default: break
            }
        }
        guard let isEncrypted, let secret, !secret.isEmpty, isEncrypted || pin == nil else { return nil }
        addresses = hosts.prefix(Self.mostAddresses).compactMap { host in
            WebAddress("\(isEncrypted ? "https" : "http")://\(host)").flatMap { $0.path.isEmpty ? $0 : nil }
        }
        guard addresses.count == min(hosts.count, Self.mostAddresses) else { return nil }
        self.pin = pin
        self.secret = secret
    }

    private static func value(_ text: Substring) -> String? {
        try? PercentCoding.decode(Array(text.utf8)[...], offset: 0, plusIsBlank: false)
    }
}
