import Testing

@testable import TLS

struct TLSTrustTests {
    @Test func `a client refuses a server that is not whom it wants, and says why`() throws {
        let identity = try TLSIdentity.sample(["ladle.test", "*.tail.test", "127.0.0.1"])
        let other = try TLSIdentity.sample()
        let server = try TLSServerContext(identities: [identity])
        let trusted = TLSTrust.authorities(pem: identity.chainPEM)
        let cases: [(TLSTrust, String, String?)] = [
            (trusted, "ladle.test", nil),
            (trusted, "LADLE.test", nil),
            (trusted, "box.tail.test", nil),
            (trusted, "127.0.0.1", nil),
            (trusted, "127.0.0.2", "IP address mismatch"),
            (trusted, "other.test", "hostname mismatch"),
            (trusted, "a.box.tail.test", "hostname mismatch"),
            (.system, "ladle.test", "self-signed certificate"),
            (.authorities(pem: other.chainPEM), "ladle.test", "self-signed certificate"),
            (.pin(sha256: identity.info.sha256), "another.name", nil),
            (.pin(sha256: other.info.sha256), "ladle.test", "application verification failure"),
        ]
        for (trust, host, reason) in cases {
            let pair = try TLSPair(server: server, trust: trust, host: host)
            guard let reason else {
                try pair.pump()
                #expect(pair.client.handshakeComplete, "\(host)")
                continue
            }
            let error = #expect(throws: TLSError.self, "\(host)") { try pair.pump() }
            #expect(error?.fault == .peer)
            #expect(error?.reasons.first == reason)
            // The server learns of it by the client's alert.
            let alert = pair.client.takeOutput()
            let seen = #expect(throws: TLSError.self) { try pair.server.receive(alert, into: &pair.serverReceived) }
            #expect(seen?.alert != nil)
        }
    }

    @Test func `the certificate follows the name the client asks for`() throws {
        let first = try TLSIdentity.sample(["first.test"])
        let second = try TLSIdentity.sample(["second.test", "*.second.test"])
        let server = try TLSServerContext(identities: [first, second])
        for (host, expected) in [
            ("first.test", first), ("second.test", second), ("a.second.test", second), ("unknown.test", first),
            ("127.0.0.1", first),
        ] {
            let pair = try TLSPair(server: server, trust: .pin(sha256: expected.info.sha256), host: host)
            try pair.pump()
            #expect(pair.client.peerCertificateSHA256 == expected.info.sha256)
            #expect(pair.server.alpn == "h2")
        }
    }

    @Test(
        arguments: [
            (["h2", "http/1.1"], "h2"), (["http/1.1", "h2"], "h2"), (["http/1.1"], "http/1.1"),
            (["spdy/3", "http/1.1"], "http/1.1"),
        ]
    )
    func `the server's order chooses the protocol`(offered: [String], agreed: String) throws {
        let identity = try TLSIdentity.sample()
        let server = try TLSServerContext(identities: [identity])
        let pair = try TLSPair(server: server, trust: .pin(sha256: identity.info.sha256), protocols: offered)
        try pair.pump()
        #expect(pair.client.alpn == agreed)
        #expect(pair.server.alpn == agreed)
    }

    @Test func `a client that shares no protocol is refused with the alert for it`() throws {
        let identity = try TLSIdentity.sample()
        let server = try TLSServerContext(identities: [identity])
        let pair = try TLSPair(server: server, trust: .pin(sha256: identity.info.sha256), protocols: ["smtp"])
        let error = #expect(throws: TLSError.self) { try pair.pump() }
        #expect(error?.fault == .peer)
        let alert = pair.server.takeOutput()
        let seen = #expect(throws: TLSError.self) { try pair.client.receive(alert, into: &pair.clientReceived) }
        #expect(seen?.alert == 120)
    }

    enum Outcome: Sendable {
        case accepted
        case anonymous
        case refused
    }

    @Test func `client certificates count by their fingerprint`() throws {
        let identity = try TLSIdentity.sample()
        let listed = try TLSIdentity.sample(["friend"])
        let stranger = try TLSIdentity.sample(["stranger"])
        let allowed: Set = [listed.info.sha256]
        let cases: [(ClientCertificates, TLSIdentity?, Outcome)] = [
            (.none, nil, .anonymous), (.none, listed, .anonymous),
            (.optional(allowed: allowed), nil, .anonymous), (.optional(allowed: allowed), listed, .accepted),
            (.optional(allowed: allowed), stranger, .refused),
            (.required(allowed: allowed), nil, .refused), (.required(allowed: allowed), listed, .accepted),
            (.required(allowed: allowed), stranger, .refused), (.required(allowed: []), listed, .refused),
        ]
        for (rule, certificate, outcome) in cases {
            let server = try TLSServerContext(identities: [identity], clientCertificates: rule)
            let pair = try TLSPair(
                server: server,
                trust: .pin(sha256: identity.info.sha256),
                identity: certificate
            )
            switch outcome {
            case .accepted:
                try pair.pump()
                #expect(pair.server.peerCertificateSHA256 == listed.info.sha256)
            case .anonymous:
                try pair.pump()
                #expect(pair.server.handshakeComplete)
                #expect(pair.server.peerCertificateSHA256 == nil)
            case .refused:
                let error = #expect(throws: TLSError.self) { try pair.pump() }
                #expect(error?.fault == .peer)
                #expect(!pair.server.handshakeComplete)
            }
        }
    }

    @Test func `a resumed session still shows the client certificate`() throws {
        let identity = try TLSIdentity.sample()
        let friend = try TLSIdentity.sample(["friend"])
        let server = try TLSServerContext(
            identities: [identity],
            clientCertificates: .required(allowed: [friend.info.sha256])
        )
        let client = try TLSClientContext(trust: .pin(sha256: identity.info.sha256), identity: friend)
        let first = TLSPair(client: try client.makeSession(host: "a.test"), server: try server.makeSession())
        try first.pump()
        let second = TLSPair(
            client: try client.makeSession(host: "a.test", resuming: first.client.resumption),
            server: try server.makeSession()
        )
        try second.pump()
        #expect(second.server.wasResumed)
        #expect(second.server.peerCertificateSHA256 == friend.info.sha256)
    }
}
