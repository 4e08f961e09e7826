import COpenSSL

/// A certificate chain and its private key as PEM text; the initializer checks that they belong together.
package struct TLSIdentity: Sendable {
    package let chainPEM: [UInt8]
    package let keyPEM: [UInt8]
    package let info: CertificateInfo

    /// The chain begins with the leaf, as `tailscale cert` and ACME clients write it.
    package init(chainPEM: [UInt8], keyPEM: [UInt8]) throws(TLSError) {
        let leaf = try CertificateHandle.all(inPEM: chainPEM)[0]
        ERR_clear_error()
        guard let key = KeyHandle.privateKey(pem: keyPEM) else { throw TLSError.drained(.ours, "read a private key") }
        guard unsafe X509_check_private_key(leaf.pointer, key.pointer) == 1 else {
            throw TLSError.drained(.ours, "match the private key to the certificate")
        }
        self.chainPEM = chainPEM
        self.keyPEM = keyPEM
        info = CertificateInfo(leaf)
    }

    /// Key and chain in one text, in either order.
    package init(pem: [UInt8]) throws(TLSError) {
        try self.init(chainPEM: pem, keyPEM: pem)
    }
}
