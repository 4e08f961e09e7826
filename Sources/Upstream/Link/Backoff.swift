/// Computes when to try again after a link ended. Pure: the caller passes the random bits for the jitter.
package struct Backoff: Sendable {
    /// The gateway's own companion apps wait as long after a dropped connection.
    package static let first: Int64 = 3_000
    package static let longest: Int64 = 30_000
    /// After an announced restart the link retries at once and then often, because a gateway is usually back within
    /// seconds.
    package static let restart: [Int64] = [0, 500, 1_000, 2_000]
    /// Pending approvals: retries are frequent while a user is likely at the keyboard, then slower, but always within
    /// the five minutes that a request lives.
    package static let approval: Int64 = 5_000
    static let slowApproval: Int64 = 30_000
    static let approvalPatience: Int64 = 300_000

    private var failures = 0
    private var restarting = false
    private var restartAttempts = 0
    private var restartExpected: Int64?
    private var approvalSince: Int64?

    package init() {}

    /// Called after a hello: the next drop starts with the shortest wait.
    package mutating func reset() {
        self = Backoff()
    }

    /// The gateway announced a restart. Ignored right after a hello: otherwise a gateway that greets and restarts in a
    /// loop would be called without pause.
    mutating func announceRestart(onlineForMs: Int64, expectedMs: Int64? = nil) {
        guard !restarting, onlineForMs >= 2_000 else { return }
        restarting = true
        restartExpected = expectedMs.map { min(max($0, 0), Self.longest) }
    }

    /// Milliseconds until the next attempt. `random` is any 64 bits.
    package mutating func delay(random: UInt64) -> Int64 {
        approvalSince = nil
        if restarting, let expected = restartExpected {
            restartExpected = nil
            return expected
        }
        if restarting, restartAttempts < Self.restart.count {
            restartAttempts += 1
            return Self.restart[restartAttempts - 1]
        }
        restarting = false
        let exponent = min(failures, 10)
        failures = min(failures + 1, 64)
        let base = min(Self.first << Int64(exponent), Self.longest)
        // The first wait is exact. Later waits keep half and randomise the other half, never above the cap.
        guard failures > 1 else { return base }
        return base / 2 + Int64(random % UInt64(base / 2 + 1))
    }

    mutating func approvalDelay(now: Int64) -> Int64 {
        let since = approvalSince ?? now
        approvalSince = since
        return now - since < Self.approvalPatience ? Self.approval : Self.slowApproval
    }
}
