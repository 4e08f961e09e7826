import Basics

/// A SHA-256 certificate fingerprint in one spelling: 64 lower-case hexadecimal digits.
package struct CertificateFingerprint: Sendable, Equatable {
    package let text: String

    /// Drops a `sha256:` or `SHA-256` in front, then everything that is no hexadecimal digit.
    package init?(_ text: String) {
        var rest = text.lowercased()[...].drop { $0 == " " || $0 == "\t" }
        for prefix in ["sha256", "sha-256"] where rest.hasPrefix(prefix) { rest = rest.dropFirst(prefix.count) }
        let digits = rest.utf8.filter { Hex.value(of: $0) != nil }
        guard digits.count == 64 else { return nil }
        self.text = String(decoding: digits, as: UTF8.self)
    }
}

/// What to pin after discovery.
package enum FingerprintChoice: Sendable, Equatable {
    /// The stored one, whatever was announced.
    case stored(CertificateFingerprint)
    /// The stored one; and the announcement differs, which people should hear of.
    case storedDespite(CertificateFingerprint, announced: CertificateFingerprint)
    /// Nothing is stored: to be confirmed by a person before it is.
    case confirm(CertificateFingerprint)
    case nothing

    /// Announcements are unauthenticated: anyone on the network can send one, so none ever replaces what is stored.
    package static func choose(stored: CertificateFingerprint?, announced: CertificateFingerprint?) -> FingerprintChoice
    {
        guard let stored else { return announced.map { .confirm($0) } ?? .nothing }
        guard let announced, announced != stored else { return .stored(stored) }
        return .storedDespite(stored, announced: announced)
    }
}
