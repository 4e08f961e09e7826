import COpenSSL

/// Owns one `SSL_CTX` with the settings that all contexts share.
@safe final class ContextHandle {
    let pointer: OpaquePointer

    /// OpenSSL's own list begins with AES-256, which costs a tenth more and protects no better than AES-128 here. A
    /// client without AES hardware lists ChaCha first, and the server then uses it.
    private static let tls13Suites = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"

    /// RFC 9113 §9.2.2 forbids most TLS 1.2 suites under HTTP/2; these have forward secrecy and AEAD.
    private static let tls12Suites =
        "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
        + "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305"

    /// Finite-field groups are left out: any client could make the server spend tens of milliseconds on the largest
    /// one.
    private static let groups = "X25519:P-256:P-384"

    /// The most bytes of a peer's certificate chain; real chains have 3 to 10 KB, the library's default is 100 KB.
    private static let maximumCertificateBytes = 32 * 1024

    init(server: Bool) throws(TLSError) {
        ERR_clear_error()
        guard let made = unsafe SSL_CTX_new(server ? TLS_server_method() : TLS_client_method()) else {
            throw TLSError.drained(.ours, "make a TLS context")
        }
        unsafe pointer = made
        unsafe openssl_context_defaults(made)
        unsafe openssl_context_max_certificate_list(made, Self.maximumCertificateBytes)
        // The client stores its session in a ticket, so the server keeps no cache.
        unsafe openssl_context_session_cache(made, SSL_SESS_CACHE_OFF)
        guard
            unsafe SSL_CTX_set_ciphersuites(made, Self.tls13Suites) == 1,
            unsafe SSL_CTX_set_cipher_list(made, Self.tls12Suites) == 1,
            unsafe Self.groups.withCString({ list in
                unsafe SSL_CTX_ctrl(made, SSL_CTRL_SET_GROUPS_LIST, 0, UnsafeMutableRawPointer(mutating: list))
            }) == 1
        else {
            throw TLSError.drained(.ours, "choose cipher suites")
        }
    }

    deinit {
        unsafe SSL_CTX_free(pointer)
    }

    func use(_ identity: TLSIdentity) throws(TLSError) {
        let chain = try CertificateHandle.all(inPEM: identity.chainPEM)
        guard let key = KeyHandle.privateKey(pem: identity.keyPEM) else {
            throw TLSError.drained(.ours, "read a private key")
        }
        guard
            unsafe SSL_CTX_use_certificate(pointer, chain[0].pointer) == 1,
            unsafe SSL_CTX_use_PrivateKey(pointer, key.pointer) == 1,
            chain.dropFirst().allSatisfy({ unsafe openssl_context_add_chain(pointer, $0.pointer) == 1 })
        else { throw TLSError.drained(.ours, "use a certificate") }
    }
}

/// ALPN names in their wire form: a length byte before each name (RFC 7301 §3.1).
func alpnWireForm(_ protocols: [String]) -> [UInt8] {
    protocols.flatMap { name in
        let bytes = name.utf8.prefix(255)
        return [UInt8(bytes.count)] + bytes
    }
}
