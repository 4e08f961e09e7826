/// How far back a look into history goes.
package enum ScanDepth: Sendable, Equatable {
    /// The newest page.
    case recent
    /// Back past the first dispatch, page by page.
    case complete
}

/// The result of a look into history.
package struct ScanReport: Sendable, Equatable {
    package var proof: OutboxProof?
    /// The history was read back past the first dispatch.
    package var isComplete: Bool
    /// A run is under way in the session: the row may still be on its way to the history.
    package var hasActiveRun: Bool
    /// The request itself failed: nothing is known.
    var hasFailed = false

    package init(proof: OutboxProof? = nil, isComplete: Bool, hasActiveRun: Bool = false) {
        self.proof = proof
        self.isComplete = isComplete
        self.hasActiveRun = hasActiveRun
    }

    package static let failed = {
        var report = ScanReport(isComplete: false)
        report.hasFailed = true
        return report
    }()
}

/// The order in which doubt about one entry is cleared: (a) events, which come by themselves; (b) the newest history;
/// (c) a repeat of the same key while the gateway surely remembers it; (d) the whole history since the dispatch.
///
/// A history without the row means two things. A gateway that was restarted since the dispatch has forgotten what was not on
/// disk: the message did not arrive. The same gateway may have it in memory: behind another run, or in a new session, of which
/// nothing is on disk before the first answer is complete.
package struct Reconciliation: Sendable, Equatable {
    package enum Ask: Sendable, Equatable {
        case scan(ScanDepth)
        case repeatSameKey
        case settleAbsent
        case lookAgain(afterMs: Int64)
    }

    struct Situation: Sendable, Equatable {
        /// A slash command, or `ambiguous=hold`: proof may settle it, nothing else does but a person.
        var mayOnlyBeProven: Bool
        var process: GatewayContinuity
        /// At the least, by all clocks; nil where they do not tell.
        var leastSinceDispatchMs: Int64?
        /// At the most.
        var mostSinceDispatchMs: Int64?
        /// It has attempts and time left, and its target is still there.
        var mayGoOut: Bool
        /// Runs of the session were heard of and have not ended.
        var isBusy: Bool
    }

    private var isLookingBack = false
    private var hasRepeated = false
    private var looks = 0

    package init() {}

    /// A new look, at the start or after a rest.
    package mutating func begin() -> Ask {
        isLookingBack = false
        return .scan(.recent)
    }

    /// The last repeat did not reach the gateway, or was refused by it before it looked at the key.
    mutating func repeatFailed() { hasRepeated = false }

    /// The report of a look that found no proof.
    mutating func received(_ report: ScanReport, _ situation: Situation, policy: OutboxPolicy) -> Ask {
        if !isLookingBack {
            if mayRepeat(situation, policy: policy) {
                hasRepeated = true
                return .repeatSameKey
            }
            if report.hasFailed { return rest(policy.failedLooksMs) }
            if !report.isComplete {
                isLookingBack = true
                return .scan(.complete)
            }
        }
        if report.hasFailed { return rest(policy.failedLooksMs) }
        let isAtRest = report.isComplete && !report.hasActiveRun && !situation.mayOnlyBeProven
        if isAtRest, situation.process == .other { return .settleAbsent }
        guard isAtRest, !situation.isBusy, let passed = situation.leastSinceDispatchMs else {
            return rest(policy.emptyLooksMs)
        }
        let left = policy.absenceAfterMs - passed
        return left <= 0 ? .settleAbsent : rest(policy.emptyLooksMs, atMost: left)
    }

    mutating func rest(_ waits: [Int64], atMost most: Int64 = .max) -> Ask {
        looks += 1
        let wait = waits.isEmpty ? Self.longestRestMs : waits[min(looks, waits.count) - 1]
        return .lookAgain(afterMs: min(wait, most))
    }

    private static let longestRestMs: Int64 = 300_000

    /// Once only: an unanswered repeat would otherwise be repeated as fast as the link comes and goes.
    private func mayRepeat(_ situation: Situation, policy: OutboxPolicy) -> Bool {
        guard let passed = situation.mostSinceDispatchMs else { return false }
        return !hasRepeated && !situation.mayOnlyBeProven && situation.process == .same && situation.mayGoOut
            && passed < policy.safeRepeatWindowMs
    }
}
