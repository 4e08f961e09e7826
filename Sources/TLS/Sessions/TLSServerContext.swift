import COpenSSL

/// The rule for client certificates. A certificate listed by its fingerprint is trusted whatever its chain. With
/// authorities the chain must lead to one of them; with a list too, the certificate must also be listed. The handshake
/// refuses a client whose certificate fails the rule.
package enum ClientCertificates: Equatable, Sendable {
    case none
    case optional(allowed: Set<[UInt8]>)
    case required(allowed: Set<[UInt8]>)
    /// An empty list allows every certificate that the authorities issued.
    case issued(by: [UInt8], allowed: Set<[UInt8]>)
}

/// A listener's settings: certificates by name, protocols and the client certificate rule.
///
/// To reload, make a new context and use it for new connections; existing sessions keep their own. A new context has
/// new ticket keys, so a client with an old ticket is checked again.
///
/// Unchecked: `init` sets everything, and nothing changes later. OpenSSL counts references to an `SSL_CTX` atomically
/// and locks the state that its sessions share.
@safe package final class TLSServerContext: @unchecked Sendable {
    private struct Host {
        let info: CertificateInfo
        let context: ContextHandle
    }

    /// The first one serves clients that name no known host.
    private let hosts: [Host]
    private let alpn: [UInt8]
    /// nil when every certificate that the authorities issued is allowed.
    private let allowedClients: Set<[UInt8]>?
    fileprivate let checksChains: Bool

    package init(
        identities: [TLSIdentity],
        protocols: [String] = ["h2", "http/1.1"],
        clientCertificates: ClientCertificates = .none
    ) throws(TLSError) {
        guard !identities.isEmpty else { throw TLSError(.ours, "a TLS listener needs a certificate") }
        var hosts: [Host] = []
        for identity in identities {
            let context = try ContextHandle(server: true)
            try context.use(identity)
            hosts.append(Host(info: identity.info, context: context))
        }
        self.hosts = hosts
        alpn = alpnWireForm(protocols)
        switch clientCertificates {
        case .none: allowedClients = []
        case .optional(let allowed), .required(let allowed): allowedClients = allowed
        case .issued(_, let allowed): allowedClients = allowed.isEmpty ? nil : allowed
        }
        var authorities: [CertificateHandle] = []
        if case .issued(let pem, _) = clientCertificates { authorities = try CertificateHandle.all(inPEM: pem) }
        checksChains = !authorities.isEmpty
        for host in hosts {
            for authority in authorities
            where unsafe openssl_context_trust_clients_of(host.context.pointer, authority.pointer) != 1 {
                throw TLSError.drained(.ours, "trust an authority")
            }
            configure(host.context, clientCertificates)
        }
    }

    package func makeSession() throws(TLSError) -> TLSSession {
        try TLSSession(context: hosts[0].context, owner: self, role: .server)
    }

    private func configure(_ context: ContextHandle, _ rule: ClientCertificates) {
        // Callbacks receive this object unretained: it owns the contexts, and each session holds it.
        let me = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe SSL_CTX_set_alpn_select_cb(context.pointer, selectProtocol, me)
        unsafe openssl_context_server_name(context.pointer, selectCertificate, me)
        // One ticket is enough: HTTP clients keep connections, and each resumption brings the next ticket.
        unsafe SSL_CTX_set_num_tickets(context.pointer, 1)
        let mode =
            switch rule {
            case .none: SSL_VERIFY_NONE
            case .optional: SSL_VERIFY_PEER
            case .required, .issued: SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT
            }
        guard mode != SSL_VERIFY_NONE else { return }
        unsafe SSL_CTX_set_verify(context.pointer, mode, nil)
        unsafe SSL_CTX_set_cert_verify_callback(context.pointer, verifyClient, me)
        // Without a session id context OpenSSL refuses to resume sessions that have a client certificate.
        let id: [UInt8] = Array("ladle".utf8)
        unsafe id.withUnsafeBufferPointer { bytes in
            _ = unsafe SSL_CTX_set_session_id_context(context.pointer, bytes.baseAddress, UInt32(bytes.count))
        }
    }

    /// Selects by the server's order of preference; the result is a range of the client's list, as OpenSSL requires.
    fileprivate func choose(from offered: UnsafeBufferPointer<UInt8>) -> Range<Int>? {
        var wanted = alpn[...]
        while let length = wanted.first {
            let name = wanted.dropFirst().prefix(Int(length))
            var position = 0
            while position < offered.count {
                let start = position + 1
                let end = start + Int(unsafe offered[position])
                guard end <= offered.count else { return nil }
                if unsafe offered[start..<end].elementsEqual(name) { return start..<end }
                position = end
            }
            wanted = wanted.dropFirst(1 + Int(length))
        }
        return nil
    }

    /// Clients that know a self-signed certificate by its pin ask by address. A client that asks by name checks the usual way, so
    /// that a certificate of an authority comes first.
    fileprivate func context(for name: String) -> ContextHandle? {
        let named = hosts.filter { host in host.info.names.contains { $0.matches(name) } }
        return (named.first { !$0.info.isSelfSigned } ?? named.first)?.context
    }

    fileprivate func allows(client fingerprint: [UInt8]) -> Bool {
        allowedClients?.contains(fingerprint) ?? true
    }
}

@unsafe private func server(_ pointer: UnsafeMutableRawPointer?) -> TLSServerContext? {
    unsafe pointer.map { unsafe Unmanaged<TLSServerContext>.fromOpaque($0).takeUnretainedValue() }
}

/// The callback of `SSL_CTX_set_alpn_select_cb`.
private let selectProtocol:
    @convention(c) (
        OpaquePointer?, UnsafeMutablePointer<UnsafePointer<UInt8>?>?, UnsafeMutablePointer<UInt8>?,
        UnsafePointer<UInt8>?, UInt32, UnsafeMutableRawPointer?
    ) -> Int32 = { _, chosen, chosenLength, offered, length, argument in
        let names = unsafe UnsafeBufferPointer(start: offered, count: Int(length))
        guard let range = unsafe server(argument)?.choose(from: names) else { return SSL_TLSEXT_ERR_ALERT_FATAL }
        unsafe chosen?.pointee = offered.map { unsafe $0 + range.lowerBound }
        unsafe chosenLength?.pointee = UInt8(range.count)
        return SSL_TLSEXT_ERR_OK
    }

/// The callback of `SSL_CTX_set_tlsext_servername_callback`.
private let selectCertificate:
    @convention(c) (OpaquePointer?, UnsafeMutablePointer<Int32>?, UnsafeMutableRawPointer?) -> Int32 = {
        ssl,
        _,
        argument in
        guard
            let name = unsafe SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name),
            let context = unsafe server(argument)?.context(for: String(cString: name))
        else { return SSL_TLSEXT_ERR_NOACK }
        return unsafe SSL_set_SSL_CTX(ssl, context.pointer) == nil ? SSL_TLSEXT_ERR_ALERT_FATAL : SSL_TLSEXT_ERR_OK
    }

/// The callback of `SSL_CTX_set_cert_verify_callback`.
private let verifyClient: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Int32 = { store, argument in
    guard let owner = unsafe server(argument) else { return 0 }
    if owner.checksChains, unsafe X509_verify_cert(store) != 1 { return 0 }
    guard
        let certificate = unsafe X509_STORE_CTX_get0_cert(store),
        unsafe owner.allows(client: CertificateHandle.sha256(of: certificate))
    else {
        unsafe X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_UNTRUSTED)
        return 0
    }
    unsafe X509_STORE_CTX_set_error(store, X509_V_OK)
    return 1
}
