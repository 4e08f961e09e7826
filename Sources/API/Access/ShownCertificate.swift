/// The certificate that a listener shows to clients, as far as a device has to know it before it connects.
package struct ShownCertificate: Sendable, Equatable {
    /// DNS names, without wildcards.
    package var names: [String]
    package var sha256: [UInt8]
    /// Nobody vouches for it but itself: a device has to know its SHA-256. Another one is renewed by its authority, and then
    /// has another SHA-256.
    package var isSelfSigned: Bool

    package init(names: [String], sha256: [UInt8], isSelfSigned: Bool) {
        self.names = names
        self.sha256 = sha256
        self.isSelfSigned = isSelfSigned
    }
}
