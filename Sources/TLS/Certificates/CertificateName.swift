import COpenSSL

/// A name in a certificate: a DNS name in lower case, whose first label may be `*`, or the 4 or 16 bytes of an address.
package enum CertificateName: Hashable, Sendable {
    case dns(String)
    case address([UInt8])

    /// Reads an IP literal or a DNS name; nil for text that a certificate cannot contain.
    package init?(_ text: String) {
        if let bytes = Self.addressBytes(text) {
            self = .address(bytes)
            return
        }
        let name = text.lowercased()
        // RFC 1035 §2.3.4: 253 characters, labels of 1 to 63.
        guard !name.isEmpty, name.utf8.count <= 253 else { return nil }
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        for (index, label) in labels.enumerated() {
            if index == 0, label == "*", labels.count > 2 { continue }
            guard (1...63).contains(label.utf8.count), label.utf8.allSatisfy(Self.isLabelByte) else { return nil }
        }
        self = .dns(name)
    }

    /// Whether this name covers `host` (RFC 6125 §6.4: a wildcard covers exactly one label).
    package func matches(_ host: String) -> Bool {
        guard case .dns(let pattern) = self else { return CertificateName(host) == self }
        let host = host.lowercased()
        guard pattern.hasPrefix("*.") else { return pattern == host }
        guard let dot = host.firstIndex(of: "."), dot != host.startIndex else { return false }
        return pattern.dropFirst(1) == host[dot...]
    }

    static func addressBytes(_ text: String) -> [UInt8]? {
        guard !text.utf8.contains(0), let octets = unsafe a2i_IPADDRESS(text) else {
            ERR_clear_error()
            return nil
        }
        defer { unsafe ASN1_OCTET_STRING_free(octets) }
        return unsafe [UInt8](
            UnsafeBufferPointer(start: ASN1_STRING_get0_data(octets), count: Int(ASN1_STRING_length(octets)))
        )
    }

    private static func isLabelByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

extension CertificateName: CustomStringConvertible {
    package var description: String {
        switch self {
        case .dns(let name): name
        case .address(let bytes) where bytes.count == 4: bytes.map(String.init).joined(separator: ".")
        case .address(let bytes):
            stride(from: 0, to: bytes.count - 1, by: 2)
                .map { String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16) }
                .joined(separator: ":")
        }
    }
}
