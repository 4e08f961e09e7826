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

    package init(proof: OutboxProof? = nil, isComplete: Bool, hasActiveRun: Bool = false) {
        self.proof = proof
        self.isComplete = isComplete
        self.hasActiveRun = hasActiveRun
    }

    /// The request itself failed: nothing is known.
    package static let failed = ScanReport(isComplete: false)
}

/// The order in which doubt about one entry is cleared: (a) events, which come by themselves; (b) the newest history;
/// (c) a repeat of the same key while the gateway surely remembers it; (d) the whole history since the dispatch.
package struct Reconciliation: Sendable, Equatable {
    package enum Ask: Sendable, Equatable {
        case scan(ScanDepth)
        case repeatSameKey
        case settleAbsent
        case lookAgain(afterMs: Int64)
    }

    package struct Situation: Sendable, Equatable {
        /// A slash command, or `ambiguous=hold`: proof may settle it, nothing else does but a person.
        package var mayOnlyBeProven: Bool
        package var isSameProcess: Bool
        package var sinceFirstDispatchMs: Int64
        /// It has attempts and time left, and its target is still there.
        package var mayGoOut: Bool

        package init(
            mayOnlyBeProven: Bool,
            isSameProcess: Bool,
            sinceFirstDispatchMs: Int64,
            mayGoOut: Bool
        ) {
            self.mayOnlyBeProven = mayOnlyBeProven
            self.isSameProcess = isSameProcess
            self.sinceFirstDispatchMs = sinceFirstDispatchMs
            self.mayGoOut = mayGoOut
        }
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

    /// The report of a look that found no proof.
    package mutating func received(_ report: ScanReport, _ situation: Situation, policy: OutboxPolicy) -> Ask {
        if !isLookingBack {
            if mayRepeat(situation, policy: policy) {
                hasRepeated = true
                return .repeatSameKey
            }
            if !report.isComplete {
                isLookingBack = true
                return .scan(.complete)
            }
        }
        if report.isComplete && !report.hasActiveRun && !situation.mayOnlyBeProven { return .settleAbsent }
        return rest(policy: policy)
    }

    mutating func rest(policy: OutboxPolicy) -> Ask {
        let waits = policy.reconcileChecksMs
        looks += 1
        return .lookAgain(afterMs: waits.isEmpty ? 300_000 : waits[min(looks, waits.count) - 1])
    }

    /// Once only: an unanswered repeat would otherwise be repeated as fast as the link comes and goes.
    private func mayRepeat(_ situation: Situation, policy: OutboxPolicy) -> Bool {
        !hasRepeated && !situation.mayOnlyBeProven && situation.isSameProcess && situation.mayGoOut
            && (0..<policy.safeRepeatWindowMs).contains(situation.sinceFirstDispatchMs)
    }
}
