/// The kinds of counted attempts. The raw value names the policy in headers and problems.
package enum RateLimitKind: String, CaseIterable, Sendable {
    case auth, pairing, sends
    case nodeCalls = "node-calls"
    case captures
    /// The sends of one caller to all sessions together.
    case allSends = "all-sends"
    /// Messages read aloud for one caller, each a new recording.
    case speech

    var index: Int {
        switch self {
        case .auth: 0
        case .pairing: 1
        case .sends: 2
        case .nodeCalls: 3
        case .captures: 4
        case .allSends: 5
        case .speech: 6
        }
    }
}

/// `burst` at once, then one per `intervalMilliseconds`.
package struct RateLimitPolicy: Equatable, Sendable {
    package var burst: Int64
    package var intervalMilliseconds: Int64

    /// Values below one would divide by zero or admit nothing.
    package init(burst: Int64, intervalMilliseconds: Int64) {
        self.burst = min(max(burst, 1), 1_000_000)
        self.intervalMilliseconds = min(max(intervalMilliseconds, 1), 86_400_000)
    }

    package static func perMinute(_ count: Int64) -> RateLimitPolicy {
        RateLimitPolicy(burst: count, intervalMilliseconds: 60_000 / max(count, 1))
    }

    package static func standard(_ kind: RateLimitKind) -> RateLimitPolicy {
        switch kind {
        case .auth: .perMinute(10)
        case .pairing: .perMinute(5)
        case .sends: RateLimitPolicy(burst: 5, intervalMilliseconds: 1000)
        case .allSends: RateLimitPolicy(burst: 60, intervalMilliseconds: 1000)
        case .nodeCalls: .perMinute(6)
        case .captures: .perMinute(1)
        case .speech: .perMinute(10)
        }
    }

    /// The time in which an empty bucket fills: the policy's window.
    var windowMilliseconds: Int64 { burst * intervalMilliseconds }
}

/// draft-ietf-httpapi-ratelimit-headers-10: `RateLimit-Policy: "sends";q=5;w=5` and `RateLimit: "sends";r=4;t=1`.
/// A limit of streams that are open at the same time has no window.
package struct RateLimitHeaders: Equatable, Sendable {
    package let policy: String
    package let limit: String
}

/// The outcome of taking one from a bucket.
package struct RateLimitVerdict: Equatable, Sendable {
    package let kind: RateLimitKind
    package let policy: RateLimitPolicy
    package let allowed: Bool
    package let remaining: Int64
    /// The time until the bucket is full again.
    let resetMilliseconds: Int64
    /// The time until the next attempt is admitted; 0 if this one was.
    package let retryAfterMilliseconds: Int64

    package var headers: RateLimitHeaders {
        RateLimitHeaders(
            policy: "\"\(kind.rawValue)\";q=\(policy.burst);w=\(Self.seconds(policy.windowMilliseconds))",
            limit: "\"\(kind.rawValue)\";r=\(remaining);t=\(Self.seconds(resetMilliseconds))"
        )
    }

    /// Whole seconds for `Retry-After`, rounded up, so that an obedient client is not refused again.
    package static func seconds(_ milliseconds: Int64) -> Int64 { (max(milliseconds, 0) + 999) / 1000 }
}
