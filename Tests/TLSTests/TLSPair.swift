import Testing

@testable import TLS

/// A client and a server session joined by memory.
final class TLSPair {
    let client: TLSSession
    let server: TLSSession
    var clientReceived: [UInt8] = []
    var serverReceived: [UInt8] = []

    init(client: TLSSession, server: TLSSession) {
        self.client = client
        self.server = server
    }

    convenience init(
        server context: TLSServerContext,
        trust: TLSTrust,
        host: String = "ladle.test",
        protocols: [String] = ["h2", "http/1.1"],
        identity: TLSIdentity? = nil
    ) throws {
        let client = try TLSClientContext(trust: trust, protocols: protocols, identity: identity)
        self.init(client: try client.makeSession(host: host), server: try context.makeSession())
    }

    /// Carries bytes both ways until both are quiet, in pieces of `size`.
    func pump(size: Int = .max) throws {
        while client.hasOutput || server.hasOutput {
            try carry(from: client, to: server, into: &serverReceived, size: size)
            try carry(from: server, to: client, into: &clientReceived, size: size)
        }
    }

    private func carry(from: TLSSession, to: TLSSession, into plaintext: inout [UInt8], size: Int) throws {
        var bytes: [UInt8] = []
        from.takeOutput(into: &bytes)
        try to.receive(bytes, into: &plaintext, size: size)
    }
}

extension TLSSession {
    func receive(_ bytes: [UInt8], into plaintext: inout [UInt8], size: Int = .max) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(size))
            rest = rest.dropFirst(size)
            try plaintext.append(addingCapacity: piece.count + Self.heldBytes) { (output: inout OutputSpan<UInt8>) in
                try receive(ciphertext: piece.span, into: &output)
            }
        }
    }

    func write(plaintext: [UInt8]) throws(TLSError) {
        try write(plaintext: plaintext.span)
    }

    func takeOutput() -> [UInt8] {
        var bytes: [UInt8] = []
        takeOutput(into: &bytes)
        return bytes
    }
}

extension TLSIdentity {
    static func sample(_ names: [String] = ["ladle.test"]) throws -> TLSIdentity {
        let made = try SelfSignedCertificate.make(names: names, validDays: 30)
        return try TLSIdentity(chainPEM: made.certificatePEM, keyPEM: made.keyPEM)
    }
}
