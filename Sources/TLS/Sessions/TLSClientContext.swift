import COpenSSL

/// The rule by which a client accepts a server.
package enum TLSTrust: Equatable, Sendable {
    /// One of the system's authorities signed the chain, and the host name matches.
    case system
    /// One of these authorities signed the chain, instead of the system's, and the host name matches.
    case authorities(pem: [UInt8])
    /// The server's own certificate has this SHA-256; chain, name and dates are not checked.
    case pin(sha256: [UInt8])
}

/// A client's settings: the trust rule, the offered protocols and, where a server requires one, its certificate.
///
/// Unchecked: `init` sets everything, and nothing changes later; see `TLSServerContext`.
@safe package final class TLSClientContext: @unchecked Sendable {
    private let context: ContextHandle
    private let pin: [UInt8]?

    package init(
        trust: TLSTrust = .system,
        protocols: [String] = ["http/1.1"],
        identity: TLSIdentity? = nil
    ) throws(TLSError) {
        context = try ContextHandle(server: false)
        if case .pin(let sha256) = trust {
            guard sha256.count == 32 else { throw TLSError(.ours, "a pin has 32 bytes") }
            pin = sha256
        } else {
            pin = nil
        }
        if let identity { try context.use(identity) }
        try trustAuthorities(trust)
        let names = alpnWireForm(protocols)
        let refused = unsafe names.withUnsafeBufferPointer { bytes in
            unsafe SSL_CTX_set_alpn_protos(context.pointer, bytes.baseAddress, UInt32(bytes.count))
        }
        guard refused == 0 else { throw TLSError.drained(.ours, "offer protocols") }
    }

    /// Starts a session; its first output is the ClientHello.
    /// - Parameter host: the name or IP literal that the server's certificate must prove.
    package func makeSession(host: String, resuming ticket: TLSResumption? = nil) throws(TLSError) -> TLSSession {
        guard let name = CertificateName(host) else { throw TLSError(.ours, "the host is no DNS name or address") }
        return try TLSSession(context: context, owner: self, role: .client(name), resuming: ticket)
    }

    private func trustAuthorities(_ trust: TLSTrust) throws(TLSError) {
        unsafe SSL_CTX_set_verify(context.pointer, SSL_VERIFY_PEER, nil)
        switch trust {
        case .system:
            guard unsafe SSL_CTX_set_default_verify_paths(context.pointer) == 1 else {
                throw TLSError.drained(.ours, "load the system's certificate authorities")
            }
        case .authorities(let pem):
            let store = unsafe SSL_CTX_get_cert_store(context.pointer)
            for certificate in try CertificateHandle.all(inPEM: pem) {
                guard unsafe X509_STORE_add_cert(store, certificate.pointer) == 1 else {
                    throw TLSError.drained(.ours, "trust a certificate authority")
                }
            }
        case .pin:
            let me = unsafe Unmanaged.passUnretained(self).toOpaque()
            unsafe SSL_CTX_set_cert_verify_callback(context.pointer, verifyPin, me)
        }
    }

    fileprivate func isPinned(_ fingerprint: [UInt8]) -> Bool {
        pin.map { constantTimeEqual($0, fingerprint) } ?? false
    }
}

/// The callback of `SSL_CTX_set_cert_verify_callback`.
private let verifyPin: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Int32 = { store, argument in
    guard
        let argument = unsafe argument,
        let certificate = unsafe X509_STORE_CTX_get0_cert(store),
        unsafe Unmanaged<TLSClientContext>.fromOpaque(argument).takeUnretainedValue()
            .isPinned(CertificateHandle.sha256(of: certificate))
    else {
        unsafe X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION)
        return 0
    }
    unsafe X509_STORE_CTX_set_error(store, X509_V_OK)
    return 1
}

/// A session ticket with which a later session skips the certificate exchange (RFC 8446 §2.2). It works with its own
/// context only.
///
/// Unchecked: an `SSL_SESSION` does not change once it is taken, and its reference count is atomic.
@safe package final class TLSResumption: @unchecked Sendable {
    let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) {
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe SSL_SESSION_free(pointer)
    }
}
