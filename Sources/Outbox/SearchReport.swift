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
