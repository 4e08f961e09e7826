import COpenSSL
import TestSupport
import Testing

@testable import TLS

struct TLSSessionTests {
    @Test(arguments: [Int.max, 1, 7, 600])
    func `a handshake and both directions work in pieces of any size`(size: Int) throws {
        let identity = try TLSIdentity.sample()
        let pair = try TLSPair(
            server: TLSServerContext(identities: [identity]),
            trust: .authorities(pem: identity.chainPEM)
        )
        #expect(!pair.server.handshakeComplete)
        try pair.pump(size: size)
        #expect(pair.client.handshakeComplete && pair.server.handshakeComplete)
        #expect(pair.client.version == "TLSv1.3")
        #expect(pair.server.alpn == "h2")
        #expect(pair.client.alpn == "h2")
        #expect(pair.server.serverName == "ladle.test")
        #expect(pair.client.peerCertificateSHA256 == identity.info.sha256)
        #expect(pair.server.peerCertificateSHA256 == nil)

        try pair.client.write(plaintext: Array("question".utf8))
        let answer = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 * 7) }
        try pair.server.write(plaintext: answer)
        try pair.pump(size: size == 1 ? 1 : size)
        #expect(pair.serverReceived == Array("question".utf8))
        #expect(pair.clientReceived == answer)
    }

    @Test func `a name gets the certificate of an authority before a self-signed one, and no name the first`() throws {
        let own = try TLSIdentity.sample(["box.tail1.ts.net", "box"])
        let tailnet = try TLSIdentity(pem: try TestData.bytes("tailnet-pair.pem"))
        let context = try TLSServerContext(identities: [own, tailnet])
        let shown = [("box.tail1.ts.net", tailnet), ("BOX.tail1.ts.net", tailnet), ("box", own), ("127.0.0.1", own)]
        for (host, identity) in shown {
            let pair = try TLSPair(server: context, trust: .pin(sha256: identity.info.sha256), host: host)
            try pair.pump()
            #expect(pair.client.handshakeComplete, "\(host)")
        }
    }

    @Test func `an empty write sends nothing`() throws {
        let pair = try pinnedPair()
        try pair.pump()
        try pair.server.write(plaintext: [])
        #expect(!pair.server.hasOutput)
    }

    @Test func `writing before the handshake is complete is refused without harm`() throws {
        let pair = try pinnedPair()
        #expect(throws: TLSError.self) { try pair.server.write(plaintext: [1]) }
        try pair.pump()
        #expect(pair.server.handshakeComplete)
    }

    @Test func `close_notify ends one direction and then the other`() throws {
        let pair = try pinnedPair()
        try pair.pump()
        pair.client.close()
        try pair.pump()
        #expect(pair.server.peerClosed)
        #expect(!pair.server.closed)
        try pair.server.write(plaintext: Array("last words".utf8))
        pair.server.close()
        try pair.pump()
        #expect(pair.clientReceived == Array("last words".utf8))
        #expect(pair.client.peerClosed)
        try pair.client.receiveEnd()
        #expect(throws: TLSError(.closed, "write on a TLS session that is not open")) {
            try pair.server.write(plaintext: [1])
        }
    }

    @Test func `a cut connection is told apart from a closed one`() throws {
        let pair = try pinnedPair()
        let early = #expect(throws: TLSError.self) { try TLSPair.startedServer().receiveEnd() }
        #expect(early?.fault == .closed)
        try pair.pump()
        let cut = #expect(throws: TLSError.self) { try pair.server.receiveEnd() }
        #expect(cut?.fault == .closed)
    }

    @Test func `plain HTTP on a TLS port is the peer's fault and the alert is ready to send`() throws {
        let server = try TLSPair.startedServer()
        var plaintext: [UInt8] = []
        let error = #expect(throws: TLSError.self) {
            try server.receive(Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8), into: &plaintext)
        }
        #expect(error?.fault == .peer)
        #expect(error?.reasons == ["http request"])
        #expect(plaintext.isEmpty)
        let after = #expect(throws: TLSError.self) { try server.receive([0], into: &plaintext) }
        #expect(after?.fault == .closed)
    }

    @Test func `a changed record fails the session and gives none of its bytes`() throws {
        let pair = try pinnedPair()
        try pair.pump()
        try pair.client.write(plaintext: Array("secret".utf8))
        var record = pair.client.takeOutput()
        record[record.count - 1] ^= 1
        let error = #expect(throws: TLSError.self) { try pair.server.receive(record, into: &pair.serverReceived) }
        #expect(error?.fault == .peer)
        #expect(pair.serverReceived.isEmpty)
        let alert = pair.server.takeOutput()
        let seen = #expect(throws: TLSError.self) { try pair.client.receive(alert, into: &pair.clientReceived) }
        // bad_record_mac
        #expect(seen?.alert == 20)
    }

    @Test func `noise at every place of the handshake fails without a crash`() throws {
        let context = try TLSServerContext(identities: [TLSIdentity.sample()])
        let client = try TLSClientContext(trust: .pin(sha256: [UInt8](repeating: 0, count: 32)))
        let hello = try client.makeSession(host: "ladle.test").takeOutput()
        for position in hello.indices {
            var changed = hello
            changed[position] ^= 0xa5
            let server = try context.makeSession()
            var plaintext: [UInt8] = []
            try? server.receive(changed, into: &plaintext)
            #expect(plaintext.isEmpty)
            #expect(!server.handshakeComplete)
        }
    }

    @Test func `a session is resumed by its ticket`() throws {
        let identity = try TLSIdentity.sample()
        let server = try TLSServerContext(identities: [identity])
        let client = try TLSClientContext(trust: .pin(sha256: identity.info.sha256))
        let first = TLSPair(client: try client.makeSession(host: "ladle.test"), server: try server.makeSession())
        try first.pump()
        #expect(!first.client.wasResumed)
        let ticket = try #require(first.client.resumption)
        let second = TLSPair(
            client: try client.makeSession(host: "ladle.test", resuming: ticket),
            server: try server.makeSession()
        )
        try second.pump()
        #expect(second.client.wasResumed && second.server.wasResumed)
        #expect(second.server.alpn == "http/1.1")

        // A reload: the old ticket means nothing to a new context, and the handshake is a full one.
        let reloaded = try TLSServerContext(identities: [identity])
        let third = TLSPair(
            client: try client.makeSession(host: "ladle.test", resuming: ticket),
            server: try reloaded.makeSession()
        )
        try third.pump()
        #expect(third.server.handshakeComplete && !third.server.wasResumed)
    }

    @Test(arguments: [SSL_KEY_UPDATE_REQUESTED, SSL_KEY_UPDATE_NOT_REQUESTED])
    func `a peer that sends nothing but key updates is let go before that costs much`(kind: Int32) throws {
        let pair = try pinnedPair()
        try pair.pump()
        let error = #expect(throws: TLSError.self) {
            for _ in 0..<5000 {
                pair.client.updateKeys(kind)
                try pair.server.receive(pair.client.takeOutput(), into: &pair.serverReceived)
            }
        }
        #expect(error?.fault == .peer)
        #expect(pair.server.takeOutput().count < 64 << 10)
        #expect(!pair.server.handshakeComplete)
    }

    @Test func `a peer that updates its keys now and then is served, and what it is sent does not count`() throws {
        let pair = try pinnedPair()
        try pair.pump()
        for _ in 0..<500 {
            pair.client.updateKeys(SSL_KEY_UPDATE_REQUESTED)
            try pair.client.write(plaintext: [1])
            try pair.server.write(plaintext: [UInt8](repeating: 2, count: 1000))
            try pair.pump()
        }
        #expect(pair.serverReceived.count == 500)
        #expect(pair.clientReceived.count == 500_000)
    }

    private func pinnedPair() throws -> TLSPair {
        let identity = try TLSIdentity.sample()
        return try TLSPair(
            server: TLSServerContext(identities: [identity]),
            trust: .pin(sha256: identity.info.sha256)
        )
    }
}

extension TLSSession {
    fileprivate func updateKeys(_ kind: Int32) {
        unsafe SSL_key_update(ssl, kind)
        unsafe SSL_do_handshake(ssl)
    }
}

extension TLSPair {
    static func startedServer() throws -> TLSSession {
        try TLSServerContext(identities: [TLSIdentity.sample()]).makeSession()
    }
}
