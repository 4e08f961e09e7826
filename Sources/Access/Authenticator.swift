package import Basics
package import HTTPModel

/// Identifies the caller of a request. A value without I/O, owned by the loop.
///
/// Order: Funnel is refused; a credential, if sent, decides alone; then a ticket; then the identity that the kernel or
/// tailscaled reports for the connection. Forwarding fields void that identity everywhere but on Serve's own socket.
package struct Authenticator: Sendable {
    package struct Settings: Sendable, Equatable {
        /// The uid that runs the daemon, root included.
        package var ownerUID: UInt32
        /// False with `access.loopback=token`.
        package var trustsLoopback: Bool
        /// The uid that owns tailscaled's socket; nil if there is none on this host.
        package var tailscaledUID: UInt32?
        package var tailnet: TailnetPolicy

        package init(
            ownerUID: UInt32,
            trustsLoopback: Bool = true,
            tailscaledUID: UInt32? = nil,
            tailnet: TailnetPolicy = TailnetPolicy()
        ) {
            self.ownerUID = ownerUID
            self.trustsLoopback = trustsLoopback
            self.tailscaledUID = tailscaledUID
            self.tailnet = tailnet
        }
    }

    package enum Identification: Equatable, Sendable {
        /// The caller may be `.nobody`; the route decides whether that is enough.
        case caller(Caller)
        case refused(AccessRefusal)
        /// Ask tailscaled, pass the answer to `learn`, and call `identify` again.
        case whois(WhoisQuestion)
    }

    package var settings: Settings
    package var tokens: TokenIndex
    package var tickets: TicketStore
    package var limiter: RateLimiter
    package private(set) var failures: UInt64 = 0
    private var known = WhoisCache()

    package init(
        settings: Settings,
        tokens: TokenIndex = TokenIndex(),
        tickets: TicketStore = TicketStore(),
        limiter: RateLimiter = RateLimiter()
    ) {
        self.settings = settings
        self.tokens = tokens
        self.tickets = tickets
        self.limiter = limiter
    }

    package mutating func identify(_ peer: Peer, _ request: RequestHead, now: Timestamp) -> Identification {
        if request.serve?.isFunnel ?? false { return .refused(.funnel) }
        let credential = Credential(authorization: request.authorization)
        switch credential {
        case .bearer(let token):
            guard let caller = tokens.authenticate(token, now: now) else {
                return .refused(failure(credential, peer, now: now))
            }
            return .caller(.token(caller))
        case .malformed(let bytes):
            _ = tokens.authenticate(bytes, now: now)
            return .refused(failure(credential, peer, now: now))
        case .none:
            break
        }
        if let ticket = request.ticket {
            let path = String(decoding: request.path, as: UTF8.self)
            guard let caller = tickets.redeem(Array(ticket.utf8), path: path, method: request.method.name, now: now)
            else { return .refused(failure(.malformed(Array(ticket.utf8)), peer, now: now)) }
            return .caller(caller)
        }
        if peer.listener == .serve { return serveClient(peer, request, now: now) }
        if request.isForwarded { return .caller(.nobody) }
        return ambient(peer, now: now)
    }

    /// Stores tailscaled's answer, or its failure.
    package mutating func learn(_ answer: WhoisAnswer, to question: WhoisQuestion, now: Timestamp) {
        known.learn(answer, to: question, now: now)
    }

    package mutating func forget(_ question: WhoisQuestion) {
        known.forget(question)
    }

    private mutating func ambient(_ peer: Peer, now: Timestamp) -> Identification {
        switch peer.origin {
        case .unix(let uid):
            return .caller(isOwner(uid) ? .owner(uid: settings.ownerUID) : .nobody)
        case .loopback(let address, let uid):
            // tailscaled connects to us on behalf of its peers: with userspace networking, where `whois` names the
            // peer, and for `tailscale serve --tcp`, where it does not. So a caller with its uid is never the owner.
            if let uid, uid == settings.tailscaledUID { return whois(address, now: now) }
            return .caller(settings.trustsLoopback && isOwner(uid) ? .owner(uid: settings.ownerUID) : .nobody)
        // tailscaled would name this node's own user for any user of this host.
        case .thisHost: return .caller(.nobody)
        case .remote(let address):
            return address.ip.isTailnet ? whois(address, now: now) : .caller(.nobody)
        }
    }

    private mutating func whois(_ address: PeerAddress, now: Timestamp) -> Identification {
        guard settings.tailnet.admitsAnyone else { return .caller(.nobody) }
        let question = WhoisQuestion(address: address)
        guard let answer = known.answer(to: question, now: now) else { return .whois(question) }
        return .caller(tailnetCaller(answer, question))
    }

    private mutating func serveClient(_ peer: Peer, _ request: RequestHead, now: Timestamp) -> Identification {
        guard case .unix(let uid?) = peer.origin, uid == settings.tailscaledUID, settings.tailnet.admitsAnyone,
            let headers = request.serve, let login = headers.login, let client = headers.clientAddress
        else { return .caller(.nobody) }
        let question = WhoisQuestion(address: PeerAddress(ip: client, port: 0))
        guard let answer = known.answer(to: question, now: now) else { return .whois(question) }
        guard case .known(let identity) = answer, identity.login?.lowercased() == login.lowercased() else {
            return .caller(.nobody)
        }
        return .caller(tailnetCaller(answer, question))
    }

    private func tailnetCaller(_ answer: WhoisAnswer, _ question: WhoisQuestion) -> Caller {
        guard case .known(let identity) = answer, var caller = settings.tailnet.caller(for: identity) else {
            return .nobody
        }
        caller.question = question
        return .tailnet(caller)
    }

    /// Whether tailscaled's newest answer names the same caller.
    package func confirms(_ answer: WhoisAnswer, _ caller: TailnetCaller) -> Bool {
        guard case .known(let identity) = answer else { return false }
        return settings.tailnet.caller(for: identity) == caller
    }

    /// Whether the uid is the owner's. The kernel shows 65534 for a uid of another user namespace, which identifies
    /// nobody, even if it is our own uid.
    private func isOwner(_ uid: UInt32?) -> Bool {
        guard let uid, uid != 65534 else { return false }
        return uid == settings.ownerUID
    }

    private mutating func failure(_ credential: Credential, _ peer: Peer, now: Timestamp) -> AccessRefusal {
        failures &+= 1
        let byPeer = limiter.take(.auth, peer.limitKey, now: now.milliseconds)
        // Further guesses of a throttled peer are not counted, so that they cannot fill the table.
        guard byPeer.allowed else { return .rateLimited(.auth, byPeer) }
        let byPrefix = limiter.take(.auth, .tokenPrefix(credential.prefixKey), now: now.milliseconds)
        guard byPrefix.allowed else { return .rateLimited(.auth, byPrefix) }
        var refusal = AccessRefusal.notPaired(credentialSent: true)
        refusal.rateLimit = byPeer.headers
        return refusal
    }
}
