package import Basics

/// Whose bucket. Sends are counted per caller and session, failures per address, uid and token prefix.
package enum RateLimitKey: Hashable, Sendable {
    case address(NetworkAddress)
    case uid(UInt32)
    /// The first characters of what was presented as a token.
    case tokenPrefix(UInt64)
    case caller(String)
    case session(caller: String, session: String)
}

/// Token buckets in the form of the generic cell rate algorithm: one number per key, the time at which the bucket will
/// be full. A key whose time has passed is as good as absent, so forgetting it loses nothing.
///
/// Bounded: when a kind's table is full, full buckets are swept out (at most once a second); if none was, keys not in
/// the table share one overflow bucket. Nobody's state is evicted by inventing keys, and the overflow can only refuse
/// what is limited anyway: a correct credential does not come here for authentication.
package struct RateLimiter: Sendable {
    private struct Table {
        var policy: RateLimitPolicy
        var fullAt: [RateLimitKey: Int64] = [:]
        var overflowFullAt: Int64 = 0
        var sweptAt: Int64 = .min / 2
    }

    /// By `RateLimitKind.index`.
    private var tables: [Table]
    private let capacity: Int

    package init(policies: [RateLimitKind: RateLimitPolicy] = [:], capacity: Int = 4096) {
        tables = RateLimitKind.allCases.map { Table(policy: policies[$0] ?? .standard($0)) }
        self.capacity = max(capacity, 1)
    }

    package func count(of kind: RateLimitKind) -> Int { tables[kind.index].fullAt.count }

    /// Takes one. A refused attempt takes nothing, so that asking too early does not postpone the next chance.
    package mutating func take(_ kind: RateLimitKind, _ key: RateLimitKey, now: Int64) -> RateLimitVerdict {
        let index = kind.index
        let policy = tables[index].policy
        let known = tables[index].fullAt[key]
        if known == nil { makeRoom(in: &tables[index], now: now) }
        let shared = known == nil && tables[index].fullAt.count >= capacity
        let stored = known ?? (shared ? tables[index].overflowFullAt : now)
        // A clock that was set back must not lock anybody out for longer than one window.
        let fullAt = min(max(stored, now), now + policy.windowMilliseconds)
        let debt = fullAt - now
        let allowed = debt <= policy.windowMilliseconds - policy.intervalMilliseconds
        let after = allowed ? fullAt + policy.intervalMilliseconds : fullAt
        if allowed || fullAt < stored {
            if shared { tables[index].overflowFullAt = after } else { tables[index].fullAt[key] = after }
        }
        return RateLimitVerdict(
            kind: kind,
            policy: policy,
            allowed: allowed,
            remaining: (policy.windowMilliseconds - (after - now)) / policy.intervalMilliseconds,
            resetMilliseconds: after - now,
            retryAfterMilliseconds: allowed ? 0 : debt - (policy.windowMilliseconds - policy.intervalMilliseconds)
        )
    }

    private func makeRoom(in table: inout Table, now: Int64) {
        guard table.fullAt.count >= capacity, now - table.sweptAt >= 1000 || now < table.sweptAt else { return }
        table.sweptAt = now
        table.fullAt = table.fullAt.filter { $0.value > now }
    }
}
