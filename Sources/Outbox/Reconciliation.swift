import Ledger

/// The range of a search in the history.
package enum SearchDepth: Sendable, Equatable {
    /// Only the newest page.
    case recent
    /// Back past the first dispatch, page by page.
    case complete
}

/// The result of a search in the history.
package struct SearchReport: Sendable, Equatable {
    package var proof: OutboxProof?
    /// The message's own row, where that is the proof.
    package var row: OwnRow?
    /// The history was read back past the first dispatch.
    package var isComplete: Bool
    /// A run is in progress in the session: the row may not be in the history yet.
    package var hasActiveRun: Bool
    /// The request itself failed, so nothing is known.
    var hasFailed = false

    package init(proof: OutboxProof? = nil, row: OwnRow? = nil, isComplete: Bool, hasActiveRun: Bool = false) {
        self.proof = proof
        self.row = row
        self.isComplete = isComplete
        self.hasActiveRun = hasActiveRun
    }

    package static let failed = {
        var report = SearchReport(isComplete: false)
        report.hasFailed = true
        return report
    }()
}

/// The order of steps that settle doubt about one entry: (a) events, which come unasked; (b) the newest history; (c) a
/// repeat of the same key while the gateway surely remembers it; (d) the whole history since the dispatch.
///
/// A history without the row has two possible meanings. A gateway that was restarted since the dispatch has forgotten
/// everything that was not on disk: the message did not arrive. The same process may still have it in memory: behind
/// another run, or in a new session, which is not on disk before its first answer is complete.
package struct Reconciliation: Sendable, Equatable {
    package enum Ask: Sendable, Equatable {
        case search(SearchDepth)
        case repeatSameKey
        case settleAbsent
        case searchAgain(afterMs: Int64)
        /// Nothing shows an accepted entry any more.
        case doubt
    }

    struct Situation: Sendable, Equatable {
        /// A slash command, or `ambiguous=hold`: only proof or a person may settle it.
        var mayOnlyBeProven: Bool
        var process: Continuity
        /// The least time since the dispatch, by all clocks; nil if unknown.
        var leastSinceDispatchMs: Int64?
        /// The most time since the dispatch.
        var mostSinceDispatchMs: Int64?
        /// Whether the entry has attempts and time left, and its target still exists.
        var mayGoOut: Bool
        /// The entry must not go out again.
        var isWithdrawn: Bool
        /// Whether runs of the session gave signs of life and have not ended.
        var isBusy: Bool
        /// The time since the link was opened.
        var sinceContactMs: Int64
    }

    private var isReadingBack = false
    private var hasRepeated = false
    private var rests = 0

    package init() {}

    /// Begins a new search, at the start or after a pause.
    package mutating func begin() -> Ask {
        isReadingBack = false
        return .search(.recent)
    }

    /// The last repeat did not reach the gateway, or was refused before the gateway checked its key; or the connection is a new one.
    mutating func repeatFailed() { hasRepeated = false }

    /// The report of a search that found no proof.
    mutating func received(_ report: SearchReport, _ situation: Situation, policy: OutboxPolicy) -> Ask {
        if !isReadingBack {
            if situation.process == .same, mayRepeat(situation, policy: policy) {
                hasRepeated = true
                return .repeatSameKey
            }
            if report.hasFailed { return rest(policy.failedSearchesMs) }
            if !report.isComplete {
                isReadingBack = true
                return .search(.complete)
            }
        }
        if report.hasFailed { return rest(policy.failedSearchesMs) }
        let isAtRest = report.isComplete && !report.hasActiveRun && !situation.mayOnlyBeProven
        if isAtRest, situation.process == .other { return .settleAbsent }
        // Keys outlive a restart inside the process, and another process never had this one: either takes a message without a row once.
        if isAtRest, situation.process == .either, !situation.isWithdrawn {
            guard !situation.isBusy, mayRepeat(situation, policy: policy) else { return rest(policy.emptySearchesMs) }
            hasRepeated = true
            return .repeatSameKey
        }
        guard isAtRest, !situation.isBusy, let passed = situation.leastSinceDispatchMs else {
            return rest(policy.emptySearchesMs)
        }
        let left = policy.absenceAfterMs - passed
        return left <= 0 ? .settleAbsent : rest(policy.emptySearchesMs, atMost: left)
    }

    mutating func rest(_ waits: [Int64], atMost most: Int64 = .max) -> Ask {
        rests += 1
        let wait = waits.isEmpty ? Self.longestRestMs : waits[min(rests, waits.count) - 1]
        return .searchAgain(afterMs: min(wait, most))
    }

    private static let longestRestMs: Int64 = 300_000

    /// Once a connection, while the gateway remembers the key, or when a message that it has would have a row by now.
    private func mayRepeat(_ situation: Situation, policy: OutboxPolicy) -> Bool {
        guard !hasRepeated, !situation.mayOnlyBeProven, situation.mayGoOut, let most = situation.mostSinceDispatchMs,
            let least = situation.leastSinceDispatchMs
        else { return false }
        return most < policy.safeRepeatWindowMs || (situation.process == .either && least >= policy.absenceAfterMs)
    }
}
