/// The certificate that a listener presents, as far as a device must know it before it connects.
package struct ShownCertificate: Sendable, Equatable {
    /// DNS names, without wildcards.
    package var names: [String]
    package var sha256: [UInt8]
    /// A self-signed certificate must be known by its SHA-256. One from an authority changes its SHA-256 at each
    /// renewal.
    package var isSelfSigned: Bool

    package init(names: [String], sha256: [UInt8], isSelfSigned: Bool) {
        self.names = names
        self.sha256 = sha256
        self.isSelfSigned = isSelfSigned
    }
}
