package import Access
import Basics
package import EventLoops
import HTTPModel
import Server
package import Service

/// Asks tailscaled for the identity behind an address; always answers, with `.failed` on any error.
package protocol WhoisAsking: AnyObject {
    func ask(
        _ question: WhoisQuestion,
        on loop: isolated EventLoop,
        then answer: @escaping (WhoisAnswer) -> Void
    )
}

/// All changes to access, on the loop: tokens and their end, pairing applications, tickets, limits.
package final class AccessService {
    /// A token in constant use costs one row write a minute.
    private static let touchMilliseconds: Int64 = 60_000
    private static let firstRetryMs: Int64 = 1_000
    /// A client whose token is gone hears so as soon as it comes back.
    private static let refusedRetryMs = 1_000
    private static let longestRetryMs: Int64 = 60_000

    package var authenticator: Authenticator
    package var whois: (any WhoisAsking)?
    let audit: AuditLog?
    var pairing = PairingRequests()
    var invitations = PairingInvitations()
    /// Limits how many applications are announced to people, because any client that reaches the server can send one.
    private var notices = TokenBucket(burst: 5, perMinute: 2)
    private let rows: TokenRows
    private let hub: EventHub
    private let open: OpenRequests
    private var expiry: TimerID?
    private var isTouchArmed = false
    /// Tokens that are revoked in memory while their rows may still exist.
    private var leaving: Set<String> = []
    /// Exchanges in progress, by the token that authorized them: they end with the token.
    private var underWay: [String: [ObjectIdentifier: Exchange]] = [:]
    private var visitors = TailnetVisitors()
    private var isVisitArmed = false

    package init(
        authenticator: Authenticator,
        rows: TokenRows,
        hub: EventHub,
        open: OpenRequests,
        audit: AuditTrail? = nil
    ) {
        self.hub = hub
        self.open = open
        self.authenticator = authenticator
        self.rows = rows
        self.audit = audit.map(AuditLog.init)
    }

    /// Starts watching for expiring tokens.
    package func start(on loop: isolated EventLoop) {
        armExpiry(on: loop)
    }

    func identify(
        _ peer: Peer,
        _ head: RequestHead,
        on loop: isolated EventLoop
    ) -> Authenticator.Identification {
        let result = authenticator.identify(peer, head, now: loop.wallClock)
        if case .caller(.token) = result { armTouch(on: loop) }
        return result
    }

    /// False if the credential has ended since it was checked.
    func isCurrent(_ caller: Caller, now: Timestamp) -> Bool {
        guard let id = caller.tokenID else { return true }
        return authenticator.tokens[id: id].map { !$0.isExpired(now: now) } ?? false
    }

    /// Whether the caller is still authorized. The token may end or change its secret while a body arrives or a page
    /// waits.
    func isStillGood(_ call: Call, now: Timestamp) -> Bool {
        if call.tokenRevision == authenticator.tokens.revision { return isCurrent(call.caller, now: now) }
        // A ticket is single-use, and the changed token may belong to its buyer.
        guard case .token(let caller) = call.caller else { return false }
        let fields = call.head.fields.string(for: .authorization).map { [$0] } ?? []
        guard case .bearer(let token) = Credential(authorization: fields) else { return false }
        return authenticator.tokens.authenticate(token, now: now)?.id == caller.id
    }

    // MARK: Work in progress

    func began(_ exchange: Exchange, by caller: Caller, on loop: isolated EventLoop) {
        if let id = caller.tokenID { underWay[id, default: [:]][ObjectIdentifier(exchange)] = exchange }
        guard let tailnet = caller.tailnet else { return }
        visitors.add(exchange, tailnet)
        armVisit(on: loop)
    }

    func finished(_ exchange: Exchange, by caller: Caller) {
        if caller.tailnet != nil { visitors.remove(exchange) }
        guard let id = caller.tokenID, underWay[id] != nil else { return }
        underWay[id]?[ObjectIdentifier(exchange)] = nil
        if underWay[id]?.isEmpty ?? false { underWay[id] = nil }
    }

    /// Rechecks callers of the tailnet as often as cached answers of tailscaled expire, so that a withdrawn identity
    /// ends open requests.
    private func armVisit(on loop: isolated EventLoop) {
        guard !isVisitArmed else { return }
        isVisitArmed = true
        loop.after(milliseconds: WhoisCache.lifeMilliseconds) { [weak self] in
            guard let self else { return }
            self.isVisitArmed = false
            for (question, exchanges) in self.visitors.questions() {
                self.whois?.ask(question, on: loop) { answer in
                    self.learn(answer, to: question, on: loop)
                    for (exchange, caller) in exchanges where !self.authenticator.confirms(answer, caller) {
                        self.end(exchange, reason: "identity_ended", on: loop)
                    }
                }
            }
            if !self.visitors.isEmpty { self.armVisit(on: loop) }
        }
    }

    /// Caches an answer, except one about a single loopback request: the next caller may have the same port.
    private func learn(_ answer: WhoisAnswer, to question: WhoisQuestion, on loop: isolated EventLoop) {
        if !question.isForOneRequest { authenticator.learn(answer, to: question, now: loop.wallClock) }
    }

    private func end(_ exchange: Exchange, reason: String, on loop: isolated EventLoop) {
        if let subscriber = exchange.notes as? Subscriber {
            let event = StreamEvent.shutdown(reason: reason, retryMilliseconds: Self.refusedRetryMs, at: loop.wallClock)
            _ = exchange.write(subscriber.plan.format.encode(event), on: loop)
            hub.finish(subscriber, on: loop)
        } else {
            exchange.cut(Problem(.notPaired(credentialSent: false)).closing(), on: loop)
        }
    }

    // MARK: Limits

    /// Checks a caller's send: its sessions and, except for the owner, its rate, for this session and for all of them:
    /// each new name is another session.
    func admitSend(_ exchange: Exchange, by caller: Caller, to session: String, on loop: isolated EventLoop)
        throws(Problem)
    {
        guard caller.mayUse(session: session) else { throw Problem(.foreignSession) }
        guard caller.isLimited else { return }
        let (caller, now) = (caller.principal, loop.wallClock.milliseconds)
        let all = authenticator.limiter.take(.allSends, .caller(caller), now: now)
        guard all.allowed else { throw Problem(.rateLimited(.allSends, all)) }
        let verdict = authenticator.limiter.take(.sends, .session(caller, session: session), now: now)
        guard verdict.allowed else {
            authenticator.limiter.giveBack(.allSends, .caller(caller))
            throw Problem(.rateLimited(.sends, verdict))
        }
        exchange.state(verdict.headers)
    }

    /// Checks a node command by a caller other than the owner: a capture counts against two limits, the general one and
    /// its own.
    func admitNodeCall(_ exchange: Exchange, by caller: Caller, isCapture: Bool, on loop: isolated EventLoop)
        throws(Problem)
    {
        guard caller.isLimited else { return }
        let (key, now) = (RateLimitKey.caller(caller.principal), loop.wallClock.milliseconds)
        if isCapture {
            let verdict = authenticator.limiter.take(.captures, key, now: now)
            guard verdict.allowed else { throw Problem(.rateLimited(.captures, verdict)) }
        }
        let verdict = authenticator.limiter.take(.nodeCalls, key, now: now)
        guard verdict.allowed else {
            if isCapture { authenticator.limiter.giveBack(.captures, key) }
            throw Problem(.rateLimited(.nodeCalls, verdict))
        }
        exchange.state(verdict.headers)
    }

    /// Checks a message read aloud for a caller other than the owner, who pays for each recording.
    func admitSpeech(_ exchange: Exchange, by caller: Caller, on loop: isolated EventLoop) throws(Problem) {
        guard caller.isLimited else { return }
        let key = RateLimitKey.caller(caller.principal)
        let verdict = authenticator.limiter.take(.speech, key, now: loop.wallClock.milliseconds)
        guard verdict.allowed else { throw Problem(.rateLimited(.speech, verdict)) }
        exchange.state(verdict.headers)
    }

    /// Limits pairing applications from one address, including the owner's.
    func admitApplication(_ exchange: Exchange, from peer: Peer, on loop: isolated EventLoop) throws(Problem) {
        let verdict = authenticator.limiter.take(.pairing, peer.limitKey, now: loop.wallClock.milliseconds)
        guard verdict.allowed else { throw Problem(.rateLimited(.pairing, verdict)) }
        exchange.state(verdict.headers)
    }

    /// Counts an invitation secret that was wrong or expired.
    func countWrongSecret(_ exchange: Exchange, from peer: Peer, on loop: isolated EventLoop) throws(Problem) {
        try admitApplication(exchange, from: peer, on: loop)
    }

    /// Whether people may be notified of one more application.
    func mayTellOfApplication(on loop: isolated EventLoop) -> Bool { notices.take(now: loop.now) }

    // MARK: Tokens

    func save(
        _ record: TokenRecord,
        isRotation: Bool = false,
        on loop: isolated EventLoop,
        then done: @escaping (Result<Void, any Error>) -> Void
    ) {
        rows.save(record, isRotation: isRotation, on: loop) { [weak self] result in
            // A token that was revoked during this write stays revoked: its row is deleted next.
            if case .success = result, let self, !self.leaving.contains(record.id) {
                self.authenticator.tokens.insert(record)
                self.armExpiry(on: loop)
            }
            done(result)
        }
    }

    /// Whether the revoked token's row may still exist: after a failed delete the caller may try again.
    func isLeaving(_ id: String) -> Bool { leaving.contains(id) }

    /// Ends a token at once, in memory first: a failing disk must not keep a stolen token alive.
    func revoke(
        _ id: String,
        asked: Exchange,
        on loop: isolated EventLoop,
        then done: @escaping (Result<Void, any Error>) -> Void
    ) {
        _ = authenticator.tokens.revoke(id)
        leaving.insert(id)
        endWork(ofToken: id, reason: "token_revoked", except: asked, on: loop)
        delete(id, nextTryMs: Self.firstRetryMs, on: loop, then: done)
    }

    /// Deletes the row of a token that left memory. A disk that is full now has room later, and a row that stayed would
    /// make the token valid again at the next start.
    private func delete(
        _ id: String,
        nextTryMs: Int64,
        on loop: isolated EventLoop,
        then done: @escaping (Result<Void, any Error>) -> Void
    ) {
        rows.delete(id, on: loop) { [weak self] result in
            switch result {
            case .success: self?.leaving.remove(id)
            case .failure:
                loop.after(milliseconds: nextTryMs) {
                    guard let self, self.leaving.contains(id) else { return }
                    self.delete(id, nextTryMs: min(2 * nextTryMs, Self.longestRetryMs), on: loop) { _ in }
                }
            }
            done(result)
        }
    }

    /// Takes over a leader's tokens. What came in with one that is gone or changed ends.
    func adopt(_ tokens: [TokenRecord], on loop: isolated EventLoop) {
        let given = Set(tokens.map(\.id))
        for record in authenticator.tokens.records where !given.contains(record.id) {
            _ = authenticator.tokens.revoke(record.id)
            endWork(ofToken: record.id, reason: "token_revoked", on: loop)
        }
        for record in tokens {
            let known = authenticator.tokens[id: record.id]
            guard known.map({ !$0.grantsLike(record) }) ?? true else { continue }
            authenticator.tokens.insert(record)
            guard let known else { continue }
            endWork(
                ofToken: record.id,
                reason: known.digest == record.digest ? "token_revoked" : "token_rotated",
                on: loop
            )
        }
        armExpiry(on: loop)
    }

    /// Event streams get the reason; the token's other requests are refused or cut. Its tickets become void, its
    /// invitations and what it approved too, as long as no device has collected its token. Its one-tap links end with
    /// its row.
    func endWork(
        ofToken id: String,
        reason: String,
        except asking: Exchange? = nil,
        on loop: isolated EventLoop
    ) {
        authenticator.tickets.revoke(tokenID: id)
        invitations.end(madeBy: id)
        pairing.end(approvedBy: id)
        open.tokenEnded(id, reason: reason, on: loop)
        hub.end(
            where: { $0.tokenID == id },
            with: { StreamEvent.shutdown(reason: reason, retryMilliseconds: Self.refusedRetryMs, at: loop.wallClock) },
            on: loop
        )
        for exchange in (underWay[id] ?? [:]).values where exchange !== asking {
            exchange.cut(Problem(.notPaired(credentialSent: true)).closing(), on: loop)
        }
    }

    /// Ends expired tokens, also when the timer is only moved: one of them may have been due.
    private func endExpired(on loop: isolated EventLoop) {
        for id in authenticator.tokens.expired(now: loop.wallClock) {
            endWork(ofToken: id, reason: "token_expired", on: loop)
        }
    }

    private func armExpiry(on loop: isolated EventLoop) {
        if let expiry { loop.cancel(expiry) }
        expiry = nil
        endExpired(on: loop)
        guard let next = authenticator.tokens.nextExpiry(after: loop.wallClock) else { return }
        // The wall clock may be set meanwhile, so the timer runs a minute at most.
        let wait = min(max(next.milliseconds - loop.wallClock.milliseconds, 0) + 1, 60_000)
        expiry = loop.after(milliseconds: wait) { [weak self] in
            guard let self else { return }
            self.expiry = nil
            self.armExpiry(on: loop)
        }
    }

    private func armTouch(on loop: isolated EventLoop) {
        guard !isTouchArmed else { return }
        isTouchArmed = true
        loop.after(milliseconds: Self.touchMilliseconds) { [weak self] in
            guard let self else { return }
            self.isTouchArmed = false
            self.writeTouched(on: loop)
        }
    }

    /// Writes the last uses of tokens. Also called at shutdown, so that none are lost.
    package func writeTouched(on loop: isolated EventLoop) {
        let uses = authenticator.tokens.takeTouched()
        if !uses.isEmpty { rows.touch(uses, on: loop) }
    }
}

extension TokenRecord {
    /// The same secret opens the same with both.
    fileprivate func grantsLike(_ other: TokenRecord) -> Bool {
        name == other.name && scopes == other.scopes && sessions == other.sessions && paths == other.paths
            && expiresAt == other.expiresAt && digest == other.digest
    }
}

extension Exchange {
    /// Adds the remaining limit to every answer to this request.
    func state(_ limit: RateLimitHeaders) {
        commonFields.append((FieldName.rateLimitPolicy.canonical, limit.policy))
        commonFields.append((FieldName.rateLimit.canonical, limit.limit))
    }
}
