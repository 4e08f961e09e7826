package import Basics

/// The owner of a bucket: a caller and session for sends; an address, a uid and a token prefix for failures.
package enum RateLimitKey: Hashable, Sendable {
    case address(NetworkAddress)
    case uid(UInt32)
    /// The first characters of the sent credential.
    case tokenPrefix(UInt64)
    case caller(Caller)
    case session(Caller, session: String)
}

/// Token buckets in the form of the generic cell rate algorithm: one number per key, the time at which the bucket will
/// be full. A key whose time has passed equals an absent one, so forgetting it loses nothing.
///
/// Bounded: if a kind's table is full, full buckets are removed, at most once a second. If there are none, new keys
/// share one overflow bucket. So invented keys evict nobody, and the overflow bucket refuses only limited requests: a
/// correct credential is never counted here.
package struct RateLimiter: Sendable {
    private struct Table {
        var policy: RateLimitPolicy
        var fullAt: [RateLimitKey: Int64] = [:]
        var overflowFullAt: Int64 = 0
        var sweptAt: Int64 = .min / 2
    }

    /// Indexed by `RateLimitKind.index`.
    private var tables: [Table]
    private let capacity: Int

    package init(policies: [RateLimitKind: RateLimitPolicy] = [:], capacity: Int = 4096) {
        tables = RateLimitKind.allCases.map { Table(policy: policies[$0] ?? .standard($0)) }
        self.capacity = max(capacity, 1)
    }

    package func count(of kind: RateLimitKind) -> Int { tables[kind.index].fullAt.count }

    /// Takes one from the bucket. A refused attempt takes nothing, so it does not delay the next one.
    package mutating func take(_ kind: RateLimitKind, _ key: RateLimitKey, now: Int64) -> RateLimitVerdict {
        let index = kind.index
        let policy = tables[index].policy
        let known = tables[index].fullAt[key]
        if known == nil { makeRoom(in: &tables[index], now: now) }
        let shared = known == nil && tables[index].fullAt.count >= capacity
        let stored = known ?? (shared ? tables[index].overflowFullAt : now)
        // A clock that was set back must not block anybody for longer than one window.
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

    /// Returns one after an attempt that proved valid.
    package mutating func giveBack(_ kind: RateLimitKind, _ key: RateLimitKey) {
        let table = tables[kind.index]
        if let known = table.fullAt[key] {
            tables[kind.index].fullAt[key] = known - table.policy.intervalMilliseconds
        }
    }

    private func makeRoom(in table: inout Table, now: Int64) {
        guard table.fullAt.count >= capacity, now - table.sweptAt >= 1000 || now < table.sweptAt else { return }
        table.sweptAt = now
        table.fullAt = table.fullAt.filter { $0.value > now }
    }
}
