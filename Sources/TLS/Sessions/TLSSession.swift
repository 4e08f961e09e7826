import COpenSSL

/// One TLS connection: bytes in, bytes out. The caller owns the socket.
///
/// Belongs to the connection's owner, on one loop. After any call, `takeOutput(into:)` returns the bytes for the peer,
/// even after a failure: the last output is the alert that tells the peer the reason.
@safe package final class TLSSession {
    enum Role {
        case server
        case client(CertificateName)
    }

    private enum State: Equatable {
        case handshaking
        case open
        case failed
    }

    let ssl: OpaquePointer
    /// Keeps the context alive, which the callbacks use as their user data.
    private let owner: AnyObject
    private var state = State.handshaking
    private var output: [UInt8] = []
    /// Bytes that `receive` lends for the time of the call.
    private var input = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    /// Output bytes the library has produced by itself since the handshake.
    private var replied = 0
    /// Input bytes since the last plaintext.
    private var silent = 0

    /// The peer sent `close_notify`; a connection cut without it is a truncation (RFC 8446 §6.1).
    package private(set) var peerClosed = false
    /// Ladle sent `close_notify`.
    package private(set) var closed = false

    /// Output storage kept between calls: it fits an SSE event or a small answer, and ten thousand sessions stay small.
    private static let retainedOutputBytes = 1024
    /// The most plaintext an earlier unfinished record can add to that of new input: one record (RFC 8446 §5.1).
    package static let heldBytes = 16 * 1024
    /// The most reply bytes to key updates and renegotiation attempts in a session's life. This is about six hundred
    /// replies; with 2^24 records between two key updates no peer needs as many. A peer that does not read them makes
    /// Ladle store them.
    private static let mostReplied = 16 << 10
    /// The most input bytes without plaintext. Such messages cost time even without a reply; the limit is three whole
    /// records more than any plaintext needs.
    private static let mostSilent = 64 << 10

    init(
        context: ContextHandle,
        owner: AnyObject,
        role: Role,
        resuming ticket: TLSResumption? = nil
    ) throws(TLSError) {
        ERR_clear_error()
        guard let made = unsafe SSL_new(context.pointer) else { throw TLSError.drained(.ours, "make a TLS session") }
        unsafe ssl = made
        self.owner = owner
        guard let bio = unsafe TransferBIO.make(for: self) else { throw TLSError.drained(.ours, "make a TLS session") }
        // Both directions share the BIO; the session owns it from here on.
        unsafe SSL_set_bio(ssl, bio, bio)
        switch role {
        case .server:
            unsafe SSL_set_accept_state(ssl)
        case .client(let name):
            unsafe SSL_set_connect_state(ssl)
            try expect(name)
            if let ticket, unsafe SSL_set_session(ssl, ticket.pointer) != 1 {
                throw TLSError.drained(.ours, "resume a TLS session")
            }
            try handshake()
        }
    }

    deinit {
        unsafe SSL_free(ssl)
    }

    package var handshakeComplete: Bool {
        state == .open
    }

    /// The protocol that ALPN selected, once the handshake is complete.
    package var alpn: String? {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        unsafe SSL_get0_alpn_selected(ssl, &name, &length)
        guard let name = unsafe name, length > 0 else { return nil }
        return unsafe String(decoding: UnsafeBufferPointer(start: name, count: Int(length)), as: UTF8.self)
    }

    /// The server name that the client requested.
    package var serverName: String? {
        unsafe SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name).map { unsafe String(cString: $0) }
    }

    /// `TLSv1.2` or `TLSv1.3`.
    package var version: String {
        unsafe SSL_get_version(ssl).map { unsafe String(cString: $0) } ?? "unknown"
    }

    package var wasResumed: Bool {
        unsafe SSL_session_reused(ssl) == 1
    }

    package var peerCertificateSHA256: [UInt8]? {
        guard let pointer = unsafe SSL_get1_peer_certificate(ssl) else { return nil }
        return unsafe CertificateHandle(owning: pointer).sha256
    }

    /// A ticket for the next connection to the same server. TLS 1.3 servers send it after the handshake, so read it
    /// late.
    package var resumption: TLSResumption? {
        guard let pointer = unsafe SSL_get1_session(ssl) else { return nil }
        let ticket = unsafe TLSResumption(owning: pointer)
        return unsafe SSL_SESSION_is_resumable(pointer) == 1 ? ticket : nil
    }

    /// Takes all bytes from the socket and appends their plaintext. `plaintext` needs room for as many bytes as came in
    /// plus `heldBytes`.
    ///
    /// To slow the peer down, stop reading its socket; the session keeps at most one unfinished record.
    package func receive(ciphertext: Span<UInt8>, into plaintext: inout OutputSpan<UInt8>) throws(TLSError) {
        guard state != .failed else { throw TLSError(.closed, "receive on a failed TLS session") }
        unsafe ciphertext.withUnsafeBytes { unsafe input = $0 }
        defer { unsafe input = UnsafeRawBufferPointer(start: nil, count: 0) }
        if state == .handshaking {
            try handshake()
            guard state == .open else { return }
        }
        guard !peerClosed else { return }
        let before = (output: output.count, plaintext: plaintext.count)
        guard unsafe plaintext.withUnsafeMutableBufferPointer({ unsafe decrypt(into: $0, &$1) }) else {
            throw fail("read from TLS")
        }
        replied += output.count - before.output
        silent = plaintext.count > before.plaintext ? 0 : silent + ciphertext.count
        guard replied <= Self.mostReplied, silent <= Self.mostSilent else {
            throw fail("answer any more handshake messages")
        }
    }

    /// Records the end of the socket. Throws when the peer had not sent `close_notify`.
    package func receiveEnd() throws(TLSError) {
        guard !peerClosed else { return }
        let early = state == .handshaking
        state = .failed
        throw TLSError(.closed, early ? "the connection ended in the TLS handshake" : "the connection was cut")
    }

    /// Encrypts bytes for the peer; the handshake must be complete.
    package func write(plaintext: Span<UInt8>) throws(TLSError) {
        guard state == .open, !closed else { throw TLSError(.closed, "write on a TLS session that is not open") }
        let done = unsafe plaintext.withUnsafeBytes { bytes in
            var sent = 0
            while sent < bytes.count {
                var count = 0
                let result = unsafe SSL_write_ex(
                    ssl,
                    bytes.baseAddress.map { unsafe $0 + sent },
                    bytes.count - sent,
                    &count
                )
                guard result == 1, count > 0 else { return false }
                sent += count
            }
            return true
        }
        guard done else { throw fail("write to TLS") }
    }

    /// Sends `close_notify`; the peer may still send.
    package func close() {
        guard state == .open, !closed else { return }
        closed = true
        ERR_clear_error()
        _ = unsafe SSL_shutdown(ssl)
        ERR_clear_error()
    }

    package var hasOutput: Bool {
        !output.isEmpty
    }

    /// Appends all output for the socket and drops it here. An empty destination is swapped with the output, without a
    /// copy.
    package func takeOutput(into destination: inout [UInt8]) {
        if destination.isEmpty {
            swap(&destination, &output)
        } else {
            destination.append(contentsOf: output)
        }
        if output.capacity > Self.retainedOutputBytes {
            output = []
        } else {
            output.removeAll(keepingCapacity: true)
        }
    }

    private func expect(_ name: CertificateName) throws(TLSError) {
        let parameters = unsafe SSL_get0_param(ssl)
        unsafe X509_VERIFY_PARAM_set_hostflags(parameters, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        let accepted: Bool
        switch name {
        case .dns(let host):
            accepted = unsafe SSL_set1_host(ssl, host) == 1 && openssl_set_server_name(ssl, host) == 1
        case .address(let bytes):
            // RFC 6066 §3: the client sends no server name when the host is an address.
            accepted = unsafe bytes.withUnsafeBufferPointer { bytes in
                unsafe X509_VERIFY_PARAM_set1_ip(parameters, bytes.baseAddress, bytes.count) == 1
            }
        }
        guard accepted else { throw TLSError.drained(.ours, "set the expected host") }
    }

    private func handshake() throws(TLSError) {
        ERR_clear_error()
        let result = unsafe SSL_do_handshake(ssl)
        if result == 1 {
            state = .open
        } else if unsafe SSL_get_error(ssl, result) != SSL_ERROR_WANT_READ {
            throw fail("TLS handshake")
        }
    }

    /// Returns false when the session has failed. `SSL_want` tells whether the session waits for more input:
    /// `SSL_get_error` reads the thread's error queue first, and emptying it before each call would cost a fifteenth of
    /// a record.
    @unsafe private func decrypt(into plaintext: UnsafeMutableBufferPointer<UInt8>, _ filled: inout Int) -> Bool {
        while filled < plaintext.count {
            var count = 0
            let rest = unsafe UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: plaintext[filled...]))
            guard unsafe SSL_read_ex(ssl, rest.baseAddress, rest.count, &count) == 1 else {
                if unsafe SSL_want(ssl) == SSL_READING { return true }
                peerClosed = unsafe SSL_get_error(ssl, 0) == SSL_ERROR_ZERO_RETURN
                return peerClosed
            }
            filled += count
            // Reading once more without input would cost as much as a record.
            if unsafe input.isEmpty, unsafe SSL_pending(ssl) == 0 { return true }
        }
        return false
    }

    private func fail(_ operation: String) -> TLSError {
        state = .failed
        let verification = unsafe SSL_get_verify_result(ssl)
        let reason =
            verification == Int(X509_V_OK)
            ? nil : unsafe X509_verify_cert_error_string(verification).map { unsafe String(cString: $0) }
        // Ladle is at fault only for lack of memory or a bug in the library; the peer's bytes cause every other
        // failure.
        let code = ERR_GET_REASON(ERR_peek_error())
        let ours = code == ERR_R_MALLOC_FAILURE || code == ERR_R_INTERNAL_ERROR
        return TLSError.drained(ours ? .ours : .peer, operation, extra: reason)
    }

    /// `TransferBIO` reads input through this function.
    @unsafe func takeInput(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = unsafe min(buffer.count, input.count)
        guard count > 0 else { return 0 }
        unsafe buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: input[..<count]))
        unsafe input = UnsafeRawBufferPointer(rebasing: input[count...])
        return count
    }

    /// `TransferBIO` writes output through this function.
    @unsafe func appendOutput(_ bytes: UnsafeRawBufferPointer) {
        unsafe output.append(contentsOf: bytes)
    }
}
