/// Computes when to try again after a link ended. Pure: the caller passes the time and the random bits for the jitter.
struct Backoff: Sendable {
    /// The gateway's own companion apps wait as long after a dropped connection.
    private static let firstMs: Int64 = 3_000
    private static let longestMs: Int64 = 30_000
    /// After an announced restart the link retries at once and then often, because a gateway is usually back within
    /// seconds.
    private static let restartMs: [Int64] = [0, 500, 1_000, 2_000]
    /// A gateway that greets and announces a restart sooner than this is not followed at once: if it did so in a loop,
    /// it would be called without pause.
    private static let shortestLinkMs: Int64 = 2_000
    /// Pending approvals: retries are frequent while a user is likely at the keyboard, then slower, but always within
    /// the five minutes that a request lives.
    private static let approvalMs: Int64 = 5_000
    private static let slowApprovalMs: Int64 = 30_000
    private static let approvalPatienceMs: Int64 = 300_000
    /// The pause before an attempt with other secrets.
    static let otherSecretsMs: Int64 = 250

    private var failures = 0
    private var onlineSince: Int64?
    private var isRestarting = false
    private var restartAttempts = 0
    /// The time by which a restarting gateway expects to be back.
    private var restartEnd: Int64?
    private var approvalSince: Int64?
    private var hasDroppedToken = false

    /// The gateway accepted the link: the next drop starts with the shortest wait.
    mutating func opened(now: Int64) {
        self = Backoff()
        onlineSince = now
    }

    /// The gateway announced a restart.
    mutating func announceRestart(now: Int64, expectedMs: Int64? = nil) {
        guard !isRestarting, now - (onlineSince ?? now) >= Self.shortestLinkMs else { return }
        isRestarting = true
        restartEnd = expectedMs.map { now + min(max($0, 0), Self.longestMs) }
    }

    /// Milliseconds until the next attempt; nil if there is none. `random` is any 64 bits.
    mutating func delay(after next: Rejection.Next, now: Int64, random: UInt64) -> Int64? {
        switch next {
        case .stop: return nil
        case .retry: return growing(now, random)
        case .retryAfter(let milliseconds):
            // Adds a little jitter, so that many bridges do not reconnect at the same instant.
            return milliseconds + Int64(random % UInt64(max(milliseconds / 10, 1)))
        case .waitForApproval:
            let since = approvalSince ?? now
            approvalSince = since
            return now - since < Self.approvalPatienceMs ? Self.approvalMs : Self.slowApprovalMs
        case .retryWithDeviceToken: return Self.otherSecretsMs
        case .dropDeviceToken:
            // Quick once only: a gateway that keeps refusing must not be asked four times a second.
            defer { hasDroppedToken = true }
            return hasDroppedToken ? growing(now, random) : Self.otherSecretsMs
        }
    }

    private mutating func growing(_ now: Int64, _ random: UInt64) -> Int64 {
        approvalSince = nil
        if isRestarting, let end = restartEnd {
            restartEnd = nil
            return max(end - now, 0)
        }
        if isRestarting, restartAttempts < Self.restartMs.count {
            restartAttempts += 1
            return Self.restartMs[restartAttempts - 1]
        }
        isRestarting = false
        let exponent = min(failures, 10)
        failures = min(failures + 1, 64)
        let base = min(Self.firstMs << Int64(exponent), Self.longestMs)
        // The first wait is exact. Later waits keep half and randomise the other half, never above the longest.
        guard failures > 1 else { return base }
        return base / 2 + Int64(random % UInt64(base / 2 + 1))
    }
}
