/// The numbers of open streams: in total, and per limited caller.
package struct StreamSlots: Sendable {
    package let perCaller: Int
    package let total: Int
    /// Slots that only the owner gets, so that tokens cannot take them all.
    private var reserve: Int { total / 16 }
    private var open: [Caller: Int] = [:]
    private var count = 0

    package init(perCaller: Int = 20, total: Int = 20_000) {
        self.perCaller = max(perCaller, 1)
        self.total = max(total, 1)
    }

    /// False if there are too many already. The owner's streams count only in the total.
    package func hasRoom(for caller: Caller) -> Bool {
        guard caller.isLimited else { return count < total }
        return count < total - reserve && open[caller.principal, default: 0] < perCaller
    }

    /// False if there is no room.
    package mutating func take(_ caller: Caller) -> Bool {
        guard hasRoom(for: caller) else { return false }
        if caller.isLimited { open[caller.principal, default: 0] += 1 }
        count += 1
        return true
    }

    /// Called once for each successful `take`.
    package mutating func release(_ caller: Caller) {
        count -= 1
        guard caller.isLimited, let own = open[caller.principal] else { return }
        open[caller.principal] = own > 1 ? own - 1 : nil
    }

    /// The rate limit headers about a caller's streams.
    package func headers(for caller: Caller) -> RateLimitHeaders? {
        guard caller.isLimited else { return nil }
        return RateLimitHeaders(
            policy: "\"streams\";q=\(perCaller);qu=\"concurrent-requests\"",
            limit: "\"streams\";r=\(perCaller - open[caller.principal, default: 0])"
        )
    }
}
