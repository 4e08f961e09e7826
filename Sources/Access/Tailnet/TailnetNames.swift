import HTTPModel
import JSONBytes

/// The names that the tailnet's own DNS (MagicDNS) gives this host.
package enum TailnetNames {
    package static let request = TailscaledExchange.request("status?peers=false")
    /// A name in DNS (RFC 1035 §3.1), written out.
    private static let longest = 253

    /// The full name and the first label of it; nil where the answer does not say.
    package static func read(_ answer: TailscaledExchange.Answer) -> [String]? {
        guard case .complete(.ok, let body) = answer,
            let root = try? JSONDocument(parsing: body, limits: .gateway).root,
            root["Self"]?["DNSName"]?.string != nil
        else { return nil }
        guard let name = name(root), let first = name.split(separator: ".").first else { return [] }
        return first.utf8.count == name.utf8.count ? [name] : [name, String(first)]
    }

    /// The full name; nil where there is none that a host can have.
    static func name(_ root: JSONValue) -> String? {
        guard let text = root["Self"]?["DNSName"]?.string else { return nil }
        let name = (text.hasSuffix(".") ? String(text.dropLast()) : text).lowercased()
        let isName =
            name.utf8.count <= longest && name.utf8.allSatisfy(isInNames)
            && name.utf8.contains { $0 != UInt8(ascii: ".") }
        return isName ? name : nil
    }

    private static func isInNames(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: ".")
    }
}
