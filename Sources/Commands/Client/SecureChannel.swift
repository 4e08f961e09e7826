import TLS

/// A TLS channel over another channel.
final class SecureChannel: ByteChannel {
    /// The time after which a silent server is given up.
    private static let patienceMilliseconds = 10_000

    private let channel: any ByteChannel
    private let session: TLSSession
    /// Plaintext that arrived with the end of the handshake.
    private var early: [UInt8] = []

    /// Returns after the handshake.
    init(_ channel: any ByteChannel, to address: WebAddress, trust: TLSTrust) throws(ClientError) {
        self.channel = channel
        do throws(TLSError) {
            session = try TLSClientContext(trust: trust).makeSession(host: address.host)
        } catch {
            throw .unreachable(.tcp(address), reason: error.description)
        }
        try flush()
        while !session.handshakeComplete {
            let bytes = try channel.receive(milliseconds: Self.patienceMilliseconds)
            guard !bytes.isEmpty else { throw .unreachable(.tcp(address), reason: "it ended the TLS handshake") }
            do throws(TLSError) {
                early += try decrypted(bytes)
            } catch {
                try? flush()
                throw error.reasons.contains("certificate verify failed")
                    ? .notTrusted(.tcp(address), reason: error.reasons.first ?? error.operation)
                    : .unreachable(.tcp(address), reason: error.description)
            }
            try flush()
        }
    }

    func send(_ bytes: [UInt8]) throws(ClientError) {
        do throws(TLSError) {
            try session.write(plaintext: bytes.span)
        } catch {
            throw .closed
        }
        try flush()
    }

    func receive(milliseconds: Int?) throws(ClientError) -> [UInt8] {
        while early.isEmpty, !session.peerClosed {
            let bytes = try channel.receive(milliseconds: milliseconds)
            // Without `close_notify` the end may be an attacker's (RFC 8446 §6.1).
            guard !bytes.isEmpty else { throw .closed }
            do throws(TLSError) {
                early = try decrypted(bytes)
            } catch {
                throw .closed
            }
            try flush()
        }
        defer { early = [] }
        return early
    }

    private func decrypted(_ bytes: [UInt8]) throws(TLSError) -> [UInt8] {
        try [UInt8](capacity: bytes.count + TLSSession.heldBytes) { (plain) throws(TLSError) in
            try session.receive(ciphertext: bytes.span, into: &plain)
        }
    }

    private func flush() throws(ClientError) {
        var output: [UInt8] = []
        session.takeOutput(into: &output)
        if !output.isEmpty { try channel.send(output) }
    }
}
