import Basics
import EventLoops
import TLS
import TestSupport
import Testing

@testable import Server

struct TLSServerTests {
    @Test func `a handshake that is not finished has failed, and one that is has not, whatever follows`() async throws {
        let made = try SelfSignedCertificate.make(names: ["localhost"], validDays: 1)
        let identity = try TLSIdentity(chainPEM: made.certificatePEM, keyPEM: made.keyPEM)
        let server = try await TestServer(tls: TLSServerContext(identities: [identity]))
        for _ in 0..<2 { try BlockingSocket.connect(.loopback4, port: server.port).close() }
        #expect(await server.wait { $0.server.counters.handshakesFailed == 2 })

        let socket = try BlockingSocket.connect(.loopback4, port: server.port)
        let client = try TLSClientContext(trust: .pin(sha256: identity.info.sha256)).makeSession(host: "localhost")
        while !client.handshakeComplete {
            try send(client, to: socket)
            var plaintext: [UInt8] = []
            let bytes = try socket.receive()
            try plaintext.append(addingCapacity: bytes.count + TLSSession.heldBytes) {
                (output: inout OutputSpan<UInt8>) in
                try client.receive(ciphertext: bytes.span, into: &output)
            }
        }
        try send(client, to: socket)
        try socket.send(Array("no record".utf8))
        #expect(await server.wait { $0.server.counters.handshakes == 1 && $0.server.openConnections == 0 })
        #expect(await server.with { parts, _ in parts.server.counters.handshakesFailed } == 2)
    }

    private func send(_ session: TLSSession, to socket: BlockingSocket) throws {
        var bytes: [UInt8] = []
        session.takeOutput(into: &bytes)
        try socket.send(bytes)
    }
}
