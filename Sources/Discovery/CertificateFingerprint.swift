import Basics

/// A SHA-256 certificate fingerprint in one spelling: 64 lower-case hexadecimal digits.
package struct CertificateFingerprint: Sendable, Equatable {
    package let text: String

    /// Drops a leading `sha256:` or `SHA-256`, then every character that is not a hexadecimal digit.
    package init?(_ text: String) {
        var rest = text.lowercased()[...].drop { $0 == " " || $0 == "\t" }
        for prefix in ["sha256", "sha-256"] where rest.hasPrefix(prefix) { rest = rest.dropFirst(prefix.count) }
        let digits = rest.utf8.filter { Hex.value(of: $0) != nil }
        guard digits.count == 64 else { return nil }
        self.text = String(decoding: digits, as: UTF8.self)
    }
}

/// The fingerprint to pin after discovery.
package enum FingerprintChoice: Sendable, Equatable {
    /// Keep the stored fingerprint; the gateway announced the same one or none.
    case stored(CertificateFingerprint)
    /// Keep the stored fingerprint, and tell the user that the gateway announced a different one.
    case storedDespite(CertificateFingerprint, announced: CertificateFingerprint)
    /// No fingerprint is stored; a person must confirm the announced one before it is.
    case confirm(CertificateFingerprint)
    case nothing

    /// An announcement never replaces a stored fingerprint: anyone on the network can send one without authentication.
    package static func choose(stored: CertificateFingerprint?, announced: CertificateFingerprint?) -> FingerprintChoice
    {
        guard let stored else { return announced.map { .confirm($0) } ?? .nothing }
        guard let announced, announced != stored else { return .stored(stored) }
        return .storedDespite(stored, announced: announced)
    }
}
