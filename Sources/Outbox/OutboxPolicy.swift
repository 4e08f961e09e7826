/// The configurable part of the rules; every default is the documented one.
package struct OutboxPolicy: Sendable, Equatable {
    package enum Offline: String, Sendable {
        /// An unreachable gateway counts as a failed attempt, as in the phone app that Ladle follows.
        case count
        /// Entries wait for the link, until they expire.
        case hold
    }

    package enum Ambiguous: String, Sendable {
        case reconcile, hold
    }

    package enum Ordering: String, Sendable {
        /// A session's next entry is sent once the previous one is accepted.
        case accepted
        /// A session's next entry is sent once the previous one is delivered.
        case strict
    }

    package enum Resume: String, Sendable {
        case auto, hold
    }

    /// Waits after failures 1 to 6; the attempt after the last wait is the final one.
    var scheduleMs: [Int64] = [1_000, 4_000, 15_000, 60_000, 300_000, 1_800_000]
    /// 0, or up to 0.1: the share by which a wait varies.
    package var jitter: Double = 0
    /// The longest wait that a gateway may ask for.
    var longestDelayMs: Int64 = 1_800_000
    package var offline = Offline.hold
    package var ambiguous = Ambiguous.reconcile
    package var ordering = Ordering.accepted
    package var resume = Resume.auto
    /// The most sessions with an entry on the wire at the same time.
    package var parallelSessions = 4
    /// The gateway forgets a key after 5 minutes; a minute is left for clock differences and slow frames.
    var safeRepeatWindowMs: Int64 = 240_000
    /// The times after acceptance at which an entry without proof is searched for in the transcript; the last interval repeats.
    var proofChecksMs: [Int64] = [30_000, 120_000, 600_000, 1_800_000]
    /// The longest wait of an accepted entry for its proof: a run may wait behind others, for a person, or for a model.
    var proofPatienceMs: Int64 = 48 * 3_600_000
    /// The shortest search for an entry in doubt: the first search after a gateway's start can take 16 s.
    var doubtPatienceMs: Int64 = 60_000
    /// The time after which a gateway at rest that has a message shows its row or its run. If it shows nothing, what became of the
    /// message is unknown, and later messages go.
    var unknownAfterMs: Int64 = 60_000
    /// The time after which a gateway that has a message has written its row, however long the runs before it take.
    var rowPatienceMs: Int64 = 600_000
    /// The longest wait before a message that was lost with the gateway's process is sent again. The gateway has refused nothing; the
    /// waits only keep a message that crashes the gateway from doing so without a pause.
    var absentDelayMs: Int64 = 60_000
    /// Pauses after failed searches for an entry in doubt; the last one repeats. A starting gateway refuses them for a
    /// second, or delays them for 16.
    var failedSearchesMs: [Int64] = [1_000, 2_000, 5_000, 10_000, 20_000, 30_000]
    /// Pauses after inconclusive searches.
    var emptySearchesMs: [Int64] = [1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000]
    /// Protocol 3: the longest silence of a run before the session's next entry is sent anyway. The gateway puts that
    /// message behind a run still in progress, and the answer is found; a run without signs of life must not block the
    /// session for long.
    var runPatienceMs: Int64 = 30_000
    /// The longest wait for a gateway that does not run what it acknowledges. Time alone cured it within 75 s in one recording, not within
    /// 20 s in another (`refused-rows-merged`, `init-conflict`).
    var refusalPatienceMs: Int64 = 1_800_000
    /// The same for gateways that are asked whether a run goes on, and say so: a run that waits for a person may be silent for long.
    var toldRunPatienceMs: Int64 = 600_000

    var maxAttempts: Int { scheduleMs.count + 1 }

    package init() {}
}

/// The limits on waiting entries.
package struct OutboxLimits: Sendable, Equatable {
    /// All entries except delivered and cancelled ones.
    package var entries = 10_000
    package var perSession = 1_000
    /// Texts and attachments of those entries together.
    package var payloadBytes = 64 << 20
    /// The sender is not the owner: a sixteenth of the room is kept for the owner.
    package private(set) var isShared = false
    /// The sender's own entries take its share already.
    package private(set) var isShareUsed = false

    package init() {}

    /// The most entries, and the bytes after which no more are taken, of one sender that is not the owner: one script must not fill the
    /// outbox for everybody.
    package var share: OutboxRoom { OutboxRoom(entries: max(1, entries / 4), bytes: max(1, payloadBytes / 4)) }

    /// The limits for a sender that is not the owner.
    package func shared(by used: OutboxRoom) -> OutboxLimits {
        var limits = self
        limits.isShared = true
        limits.isShareUsed = used.entries >= share.entries || used.bytes >= share.bytes
        limits.entries -= entries / 16
        limits.payloadBytes -= payloadBytes / 16
        return limits
    }
}

/// The room that some entries take.
package struct OutboxRoom: Sendable, Equatable {
    package var entries = 0
    package var bytes = 0

    package init(entries: Int = 0, bytes: Int = 0) { (self.entries, self.bytes) = (entries, bytes) }

    package mutating func add(_ other: OutboxRoom) { (entries, bytes) = (entries + other.entries, bytes + other.bytes) }
    package mutating func remove(_ other: OutboxRoom) {
        (entries, bytes) = (entries - other.entries, bytes - other.bytes)
    }
}

/// The limit that a new entry would exceed.
package enum OutboxFullness: String, Sendable, Equatable {
    case entries, session, bytes
    /// The sender's own share.
    case share
}

/// The waits between attempts.
struct RetrySchedule {
    var policy: OutboxPolicy

    /// The wait after the given number of attempts; nil if that was the last. The gateway's requested wait applies if
    /// it is longer. `vary` is in -1...1.
    func delay(afterAttempts attempts: Int, retryAfterMs: Int64?, vary: Double) -> Int64? {
        guard attempts < policy.maxAttempts else { return nil }
        var planned = planned(afterAttempts: attempts)
        if policy.jitter > 0 {
            planned += Int64(Double(planned) * min(policy.jitter, 0.1) * max(-1, min(1, vary)))
        }
        return min(max(planned, retryAfterMs ?? 0), max(policy.longestDelayMs, planned))
    }

    /// The rest of a stored wait. The wall clock may have jumped meanwhile, so the rest is never longer than the whole
    /// wait.
    func remaining(until dueMs: Int64, attempts: Int, wallMs: Int64) -> Int64 {
        let longest = max(planned(afterAttempts: attempts), policy.longestDelayMs)
        return max(0, min(dueMs - wallMs, longest))
    }

    private func planned(afterAttempts attempts: Int) -> Int64 {
        guard let last = policy.scheduleMs.last else { return 0 }
        let index = max(0, attempts - 1)
        return index < policy.scheduleMs.count ? policy.scheduleMs[index] : last
    }
}
