/// When to try again after a link ended. Pure: the jitter's randomness comes in.
package struct Backoff: Sendable {
    /// As the gateway's own companions wait after a plain drop.
    package static let first: Int64 = 3_000
    package static let longest: Int64 = 30_000
    /// After an announced restart: at once, then often, because it is usually back within seconds.
    package static let restart: [Int64] = [0, 500, 1_000, 2_000]
    /// Pending approvals: often while someone is at the keyboard, then slower; always within the five minutes a request lives.
    package static let approval: Int64 = 5_000
    static let slowApproval: Int64 = 30_000
    static let approvalPatience: Int64 = 300_000

    private var failures = 0
    private var restarting = false
    private var restartAttempts = 0
    private var restartExpected: Int64?
    private var approvalSince: Int64?

    package init() {}

    /// A hello: the next drop starts from the beginning.
    package mutating func reset() {
        self = Backoff()
    }

    /// The gateway said that it restarts. Not honoured right after a hello, or a gateway that greets and restarts in a
    /// circle would be called without pause.
    mutating func announceRestart(onlineForMs: Int64, expectedMs: Int64? = nil) {
        guard !restarting, onlineForMs >= 2_000 else { return }
        restarting = true
        restartExpected = expectedMs.map { min(max($0, 0), Self.longest) }
    }

    /// Milliseconds to wait before the next attempt. `random` is any 64 bits.
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
        // The first wait is exact; later ones keep half and spread the rest, never above the cap.
        guard failures > 1 else { return base }
        return base / 2 + Int64(random % UInt64(base / 2 + 1))
    }

    mutating func approvalDelay(now: Int64) -> Int64 {
        let since = approvalSince ?? now
        approvalSince = since
        return now - since < Self.approvalPatience ? Self.approval : Self.slowApproval
    }
}
