package import Basics

/// One-time tickets for clients that cannot set headers: 60 s, one use, one path, reading only.
package struct TicketStore: Sendable {
    package static let lifeMilliseconds: Int64 = 60_000
    package static let prefix = "ldt_"

    private struct Ticket {
        let buyer: Caller
        let path: String
        let expiresAt: Int64
        /// A used ticket is kept until its minute is over, because a caller's tickets per minute are limited.
        var isSpent = false
    }

    private var tickets: [SecretDigest: Ticket] = [:]
    private let capacity: Int
    private let perCaller: Int

    package init(capacity: Int = 1024, perCaller: Int = 64) {
        self.capacity = max(capacity, 1)
        self.perCaller = max(perCaller, 1)
    }

    package enum Refusal: Error, Equatable, Sendable {
        /// The caller may not read, or used a ticket itself.
        case notAllowed
        case tooMany
    }

    /// `path` has no query. The caller of this method has checked that it names a readable route.
    package mutating func issue(
        to buyer: Caller,
        path: String,
        now: Timestamp
    ) -> Result<(secret: Secret, expiresAt: Timestamp), Refusal> {
        if case .ticket = buyer { return .failure(.notAllowed) }
        guard buyer.scopes.permits(.read) else { return .failure(.notAllowed) }
        tickets = tickets.filter { $0.value.expiresAt > now.milliseconds }
        // A part is kept for the owner.
        let room = buyer.isLimited ? capacity - capacity / 16 : capacity
        guard tickets.count < room, tickets.values.count(where: { $0.buyer == buyer }) < perCaller else {
            return .failure(.tooMany)
        }
        let secret = SecureCode.secret(prefix: Self.prefix)
        let expiresAt = now.adding(milliseconds: Self.lifeMilliseconds)
        tickets[SecretDigest(of: secret)] = Ticket(buyer: buyer, path: path, expiresAt: expiresAt.milliseconds)
        return .success((secret, expiresAt))
    }

    /// A ticket is used up even if it is presented for the wrong path: somebody else may have seen it.
    package mutating func redeem(_ text: [UInt8], path: String, method: String, now: Timestamp) -> Caller? {
        let key = SecretDigest(of: Array(text.prefix(128)))
        guard text.count <= 128, let ticket = tickets[key], !ticket.isSpent else { return nil }
        tickets[key]?.isSpent = true
        guard ticket.expiresAt > now.milliseconds, ticket.path == path, method == "GET" else { return nil }
        return .ticket(buyer: ticket.buyer, path: path)
    }

    package mutating func revoke(tokenID: String) {
        tickets = tickets.filter { $0.value.buyer.tokenID != tokenID }
    }

    package var count: Int { tickets.count }
}
