import Access
import Basics
import HTTPModel
import Testing

struct AuthenticatorTests {
    static func gate(
        loopback: Bool = true,
        tailscaled: UInt32? = 0,
        grants: [String] = ["alice@example.com=read,send", "tag:kitchen=read"]
    ) -> Authenticator {
        let policy = TailnetPolicy(grants: grants.compactMap { TailnetPolicy.Grant($0) })
        return Authenticator(
            settings: .init(
                ownerUID: Peer.owner,
                trustsLoopback: loopback,
                tailscaledUID: tailscaled,
                tailnet: policy
            )
        )
    }

    static let alice = TailnetIdentity(nodeID: "n1", nodeName: "laptop", login: "alice@example.com", tags: [])

    @Test func `the owner needs no token on unix sockets and loopback, anyone else does`() {
        var gate = Self.gate()
        let owner = Authenticator.Identification.caller(.owner(uid: Peer.owner))
        let nobody = Authenticator.Identification.caller(.nobody)
        #expect(gate.identify(.unix(Peer.owner), .get(), now: .start) == owner)
        #expect(gate.identify(.loopback(Peer.owner), .get(), now: .start) == owner)
        for peer in [
            Peer.unix(Peer.stranger), .unix(0), .unix(nil), .loopback(Peer.stranger), .loopback(54321), .loopback(nil),
            .remote("192.0.2.9"), .remote("fd00::9"), .serve(Peer.owner),
        ] {
            #expect(gate.identify(peer, .get(), now: .start) == nobody)
        }
    }

    @Test func `a forwarded request has no ambient identity`() {
        var gate = Self.gate()
        for peer in [Peer.unix(Peer.owner), .loopback(Peer.owner), .remote("100.64.0.9")] {
            #expect(gate.identify(peer, .get(forwarded: true), now: .start) == .caller(.nobody))
        }
    }

    @Test func `the loopback exemption can be switched off; the unix socket stays`() {
        var gate = Self.gate(loopback: false)
        #expect(gate.identify(.loopback(Peer.owner), .get(), now: .start) == .caller(.nobody))
        #expect(gate.identify(.unix(Peer.owner), .get(), now: .start) == .caller(.owner(uid: Peer.owner)))
    }

    @Test func `the uid of another user namespace is nobody's, even when it is ours`() {
        var gate = Authenticator(settings: .init(ownerUID: 65534))
        #expect(gate.identify(.loopback(65534), .get(), now: .start) == .caller(.nobody))
    }

    @Test func `a credential that is sent is the one that counts, for the owner too`() throws {
        var gate = Self.gate()
        let (record, secret) = try TokenRecord.sample(scopes: .read)
        gate.tokens.insert(record)
        let caller = gate.identify(.unix(Peer.owner), .get(token: secret.reveal()), now: .start)
        #expect(caller == .caller(.token(TokenCaller(id: record.id, name: "dashboard", scopes: .read))))
        let wrong = gate.identify(.unix(Peer.owner), .get(token: "ldl_wrong"), now: .start)
        #expect(wrong == .refused(.firstWrongCredential))
    }

    @Test func `malformed credentials of every kind get one and the same answer`() throws {
        let (record, secret) = try TokenRecord.sample(expiresAt: .after(1))
        let good = secret.reveal()
        let credentials: [[String]] = [
            [""], ["Bearer"], ["Bearer "], ["Bearer  "], ["Basic dXNlcjpwYXNz"], ["bearer x y"], [good],
            ["Bearer \(good),"],
            ["Bearer \(good)", "Bearer \(good)"], ["Bearer ldl_"], ["Bearer \(TokenText.make().reveal())"],
            ["Digest a=b"],
            ["Bearer \u{0}"], ["Bearer é"], ["Bearer \(String(repeating: "x", count: 100_000))"],
            // Expired in the meantime.
            ["Bearer \(good)"],
        ]
        for authorization in credentials {
            var gate = Self.gate()
            gate.tokens.insert(record)
            let request = RequestHead.sample(.get, host: "localhost:1").adding(.authorization, authorization)
            let answer = gate.identify(.loopback(Peer.owner), request, now: .after(1))
            #expect(answer == .refused(.firstWrongCredential), "\(authorization)")
        }
        #expect(
            AccessRefusal.notPaired(credentialSent: true).authenticate
                == "Bearer realm=\"ladle\", error=\"invalid_token\""
        )
    }

    @Test func `the scheme is read without case and blanks may follow it`() throws {
        var gate = Self.gate()
        let (record, secret) = try TokenRecord.sample()
        gate.tokens.insert(record)
        for scheme in ["Bearer ", "bearer ", "BEARER   "] {
            let request = RequestHead.sample(.get).adding(.authorization, scheme + secret.reveal())
            guard case .caller(.token) = gate.identify(.remote("192.0.2.1"), request, now: .start) else {
                Issue.record("\(scheme) was refused")
                continue
            }
        }
    }

    @Test func `wrong tokens are throttled per caller and per prefix, a correct one never`() throws {
        var gate = Self.gate()
        let (record, secret) = try TokenRecord.sample()
        gate.tokens.insert(record)
        let guesser = Peer.loopback(Peer.stranger)
        var kinds: [AccessRefusal.Kind] = []
        for index in 0..<200 {
            if case .refused(let refusal) = gate.identify(guesser, .get(token: "ldl_guess\(index)"), now: .start) {
                kinds.append(refusal.kind)
                if refusal.kind == .rateLimited {
                    #expect(refusal.retryAfterMilliseconds ?? 0 > 0)
                    #expect(refusal.rateLimit?.policy == "\"auth\";q=10;w=60")
                }
            }
            guard case .caller(.token) = gate.identify(guesser, .get(token: secret.reveal()), now: .start) else {
                Issue.record("the correct token was refused")
                return
            }
        }
        #expect(kinds == Array(repeating: .notPaired, count: 10) + Array(repeating: .rateLimited, count: 190))
        #expect(gate.failures == 200)
        // Another uid on the same loopback address is not affected.
        guard case .refused(let other) = gate.identify(.loopback(7), .get(token: "other"), now: .start) else { return }
        #expect(other.kind == .notPaired)
        // One token guessed at from many addresses.
        var refusals = 0
        for index in 0..<50 {
            let peer = Peer.remote("192.0.2.\(index)")
            if case .refused(let refusal) = gate.identify(peer, .get(token: "ldl_AbCdEf\(index)"), now: .start) {
                if refusal.kind == .rateLimited { refusals += 1 }
            }
        }
        #expect(refusals == 40)
    }

    @Test func `a ticket reads one path once`() throws {
        var gate = Self.gate()
        let buyer = Caller.token(TokenCaller(id: "t", name: "n", scopes: [.read, .send]))
        let bought = try gate.tickets.issue(to: buyer, path: "/v1/events", now: .start).get()
        let request = RequestHead.get("/v1/events", ticket: bought.secret.reveal())
        let first = gate.identify(.remote("192.0.2.1"), request, now: .after(59_999))
        #expect(first == .caller(.ticket(buyer: buyer, path: "/v1/events")))
        #expect(
            gate.identify(.remote("192.0.2.1"), request, now: .after(59_999))
                == .refused(.firstWrongCredential)
        )
    }

    @Test func `tickets of a token that ends are void`() throws {
        var gate = Self.gate()
        let (record, _) = try TokenRecord.sample()
        gate.tokens.insert(record)
        let buyer = Caller.token(TokenCaller(id: record.id, name: "n", scopes: .read))
        let bought = try gate.tickets.issue(to: buyer, path: "/v1/events", now: .start).get()
        gate.tickets.revoke(tokenID: record.id)
        let request = RequestHead.get("/v1/events", ticket: bought.secret.reveal())
        guard case .refused = gate.identify(.remote("192.0.2.1"), request, now: .start) else {
            Issue.record("the ticket survived its buyer")
            return
        }
    }

    @Test func `a tailnet peer is asked for once and then known for half a minute`() {
        var gate = Self.gate()
        let peer = Peer.remote("100.64.0.9", port: 5555)
        guard case .whois(let question) = gate.identify(peer, .get(), now: .start) else {
            Issue.record("no question")
            return
        }
        #expect(question.address.description == "100.64.0.9:5555")
        gate.learn(.known(Self.alice), to: question, now: .start)
        let alice = Caller.tailnet(TailnetCaller(name: "alice@example.com", device: "n1", scopes: [.read, .send]))
        #expect(gate.identify(peer, .get(), now: .after(29_999)) == .caller(alice))
        #expect(gate.identify(peer, .get(), now: .after(30_000)) == .whois(question))
        // The port is part of the identity.
        guard case .whois = gate.identify(.remote("100.64.0.9", port: 5556), .get(), now: .start) else {
            Issue.record("another port was let in unasked")
            return
        }
    }

    private static let foreign: [WhoisAnswer] = [
        WhoisAnswer.unknown, .failed("no daemon"),
        .known(TailnetIdentity(nodeID: "n2", nodeName: "x", login: "mallory@example.com", tags: [])),
        // A tagged node acts for no user, whatever login is sent along.
        .known(TailnetIdentity(nodeID: "n3", nodeName: "x", login: "alice@example.com", tags: ["tag:other"])),
    ]

    @Test(arguments: foreign)
    func `an answer that does not match the allow list lets no one in`(answer: WhoisAnswer) {
        var gate = Self.gate()
        let peer = Peer.remote("100.64.0.9")
        guard case .whois(let question) = gate.identify(peer, .get(), now: .start) else { return }
        gate.learn(answer, to: question, now: .start)
        #expect(gate.identify(peer, .get(), now: .start) == .caller(.nobody))
    }

    @Test func `nobody is asked about when the allow list is empty or the address is no tailnet one`() {
        var empty = Self.gate(grants: [])
        #expect(empty.identify(.remote("100.64.0.9"), .get(), now: .start) == .caller(.nobody))
        var gate = Self.gate()
        #expect(gate.identify(.remote("100.128.0.9"), .get(), now: .start) == .caller(.nobody))
    }

    @Test func `under tailscaled's uid nobody on loopback is the owner, who may be anybody's messenger`() {
        var gate = Authenticator(
            settings: .init(
                ownerUID: 0,
                tailscaledUID: 0,
                tailnet: TailnetPolicy(grants: [.init(match: .login("alice@example.com"), scopes: .read)])
            )
        )
        let peer = Peer.loopback(0, port: 1234)
        guard case .whois(let question) = gate.identify(peer, .get(), now: .start) else {
            Issue.record("a proxied peer would pass for the owner")
            return
        }
        gate.learn(.unknown, to: question, now: .start)
        // tailscaled's answer for `tailscale serve --tcp`, which also connects on the peer's behalf.
        #expect(gate.identify(peer, .get(), now: .start) == .caller(.nobody))
        #expect(gate.identify(.unix(0), .get(), now: .start) == .caller(.owner(uid: 0)))
        gate.learn(.known(Self.alice), to: question, now: .start)
        #expect(
            gate.identify(peer, .get(), now: .start)
                == .caller(.tailnet(TailnetCaller(name: "alice@example.com", device: "n1", scopes: .read)))
        )
        gate.learn(.failed("time-out"), to: question, now: .start)
        #expect(gate.identify(peer, .get(), now: .start) == .caller(.nobody))
        gate.settings.tailnet = TailnetPolicy()
        #expect(gate.identify(peer, .get(), now: .start) == .caller(.nobody))
    }

    /// tailscaled would name this node's own user for such a caller.
    @Test func `a caller from this host to its tailnet address is no peer of the tailnet`() {
        var gate = Self.gate()
        let address = PeerAddress(ip: NetworkAddress("100.64.0.9") ?? .loopback4, port: 5)
        let peer = Peer(listener: .tcp, local: address.ip, remote: address, uid: nil)
        #expect(peer.origin == .thisHost(address))
        #expect(gate.identify(peer, .get(), now: .start) == .caller(.nobody))
    }

    @Test func `Serve is believed on its own socket, from tailscaled's uid, when whois agrees`() {
        let headers = ServeHeaders(login: "alice@example.com", forwardedFor: ["100.64.0.9"], isFunnel: false)
        func result(
            peer: Peer = .serve(0),
            headers: ServeHeaders? = headers,
            answer: WhoisAnswer = .known(Self.alice)
        ) -> Authenticator.Identification {
            var gate = Self.gate()
            let request = RequestHead.get(forwarded: true, serve: headers)
            let first = gate.identify(peer, request, now: .start)
            guard case .whois(let question) = first else { return first }
            gate.learn(answer, to: question, now: .start)
            return gate.identify(peer, request, now: .start)
        }
        #expect(
            result()
                == .caller(.tailnet(TailnetCaller(name: "alice@example.com", device: "n1", scopes: [.read, .send])))
        )
        let nobody = Authenticator.Identification.caller(.nobody)
        #expect(result(peer: .serve(Peer.owner)) == nobody)
        #expect(result(peer: .serve(nil)) == nobody)
        #expect(result(peer: .unix(0)) == nobody)
        #expect(result(peer: .loopback(0)) == nobody)
        #expect(result(headers: nil) == nobody)
        #expect(result(headers: ServeHeaders(login: nil, forwardedFor: ["100.64.0.9"], isFunnel: false)) == nobody)
        #expect(result(headers: ServeHeaders(login: "alice@example.com", forwardedFor: [], isFunnel: false)) == nobody)
        #expect(
            result(
                headers: ServeHeaders(
                    login: "alice@example.com",
                    forwardedFor: ["100.64.0.9", "100.64.0.8"],
                    isFunnel: false
                )
            ) == nobody
        )
        #expect(
            result(headers: ServeHeaders(login: "alice@example.com", forwardedFor: ["192.0.2.1"], isFunnel: false))
                == nobody
        )
        #expect(
            result(headers: ServeHeaders(login: "bob@example.com", forwardedFor: ["100.64.0.9"], isFunnel: false))
                == nobody
        )
        #expect(result(answer: .unknown) == nobody)
        #expect(result(answer: .failed("x")) == nobody)
    }

    @Test func `Funnel is refused everywhere, with a correct token too`() throws {
        let (record, secret) = try TokenRecord.sample()
        let headers = ServeHeaders(login: nil, forwardedFor: [], isFunnel: true)
        for peer in [Peer.serve(0), .unix(Peer.owner), .loopback(Peer.owner), .remote("100.64.0.9")] {
            var gate = Self.gate()
            gate.tokens.insert(record)
            let answer = gate.identify(peer, .get(token: secret.reveal(), serve: headers), now: .start)
            #expect(answer == .refused(.funnel))
        }
    }
}
