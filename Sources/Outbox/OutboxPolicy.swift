/// The configurable part of the rules; every default is the documented one.
package struct OutboxPolicy: Sendable, Equatable {
    package enum Offline: String, Sendable {
        /// An unreachable gateway counts as a failed attempt, as in the app this follows.
        case count
        /// Entries wait for the link, up to their expiry.
        case hold
    }

    package enum Ambiguous: String, Sendable {
        case reconcile, hold
    }

    package enum Ordering: String, Sendable {
        /// The next entry of a session goes once the one before is accepted.
        case accepted
        /// Once it is delivered.
        case strict
    }

    package enum Resume: String, Sendable {
        case auto, hold
    }

    /// Waits after failures 1 to 6; the attempt after the last one is the final one.
    var scheduleMs: [Int64] = [1_000, 4_000, 15_000, 60_000, 300_000, 1_800_000]
    /// 0, or up to 0.1: the share by which a wait is varied.
    package var jitter: Double = 0
    /// A gateway may ask for longer waits, but not for more than this.
    var longestDelayMs: Int64 = 1_800_000
    package var offline = Offline.hold
    package var ambiguous = Ambiguous.reconcile
    package var ordering = Ordering.accepted
    package var resume = Resume.auto
    /// Sessions with an entry on the wire at the same time.
    package var parallelSessions = 4
    /// The gateway forgets a key after 5 minutes; a minute is left for clocks and slow frames.
    var safeRepeatWindowMs: Int64 = 240_000
    /// When an accepted entry without proof is looked up in history, after its acceptance; the last one repeats.
    var proofChecksMs: [Int64] = [30_000, 120_000, 600_000, 1_800_000]
    /// How long an accepted entry is kept for its proof: a run may wait behind others, for a person, or for a model.
    var proofPatienceMs: Int64 = 48 * 3_600_000
    /// How long an entry in doubt is looked for, at least: the first look after a gateway's start can take 16 s.
    var doubtPatienceMs: Int64 = 60_000
    /// A history without the row proves absence at a gateway that has run on since the dispatch only after this time: runs
    /// that take longer have written something, and keys are forgotten after half of it.
    var absenceAfterMs: Int64 = 600_000
    /// Rests after looks into history that failed, for an entry in doubt; the last one repeats. A gateway that starts refuses
    /// them for a second, or keeps them waiting for 16.
    var failedLooksMs: [Int64] = [1_000, 2_000, 5_000, 10_000, 20_000, 30_000]
    /// Rests after looks that settled nothing.
    var emptyLooksMs: [Int64] = [1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000]
    /// Protocol 3: how long a run may be silent before the session's next entry goes in spite of it. The gateway puts a message
    /// behind a run that still goes on, and the answer is found; a run that nobody can tell of must not hold the session for long.
    var runPatienceMs: Int64 = 30_000

    var maxAttempts: Int { scheduleMs.count + 1 }

    package init() {}
}
