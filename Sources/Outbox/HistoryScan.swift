package import Basics

/// One row of the gateway's history, as far as it can prove anything.
package struct HistoryRow: Sendable, Equatable {
    /// The idempotency key, from the row itself or its `__openclaw` member.
    package var key: String?
    package var isUser: Bool
    package var text: String
    package var at: Timestamp?

    package init(key: String?, isUser: Bool, text: String, at: Timestamp?) {
        self.key = key
        self.isUser = isUser
        self.text = text
        self.at = at
    }
}

/// Looks for one entry in pages of history, newest page first.
package struct HistoryScan: Sendable {
    /// More rows than this prove nothing either way.
    package static let mostRows = 1_000
    /// The gateway's clock and ours may differ by this much; text matches and the end of a scan allow for it.
    package static let clockToleranceMs: Int64 = 10_000

    private let entryID: String
    private let text: String?
    private let since: Timestamp
    private let twins: Int
    private var rows = 0
    private var sawKeys = false
    private var sightings = 0

    /// `text` of the entry, nil when it is not known; `since` the first dispatch; `twins` how many other entries of the same
    /// text may have rows of their own in that time.
    package init(entryID: String, text: String?, since: Timestamp, twins: Int = 0) {
        self.entryID = entryID
        self.text = text.map(Self.bare)
        self.since = since
        self.twins = twins
    }

    /// The verdict after this page, or nil when the next older page is wanted.
    package mutating func receive(page: [HistoryRow], hasMore: Bool, hasActiveRun: Bool) -> ScanReport? {
        var reachedPast = false
        for row in page {
            rows += 1
            if let key = row.key {
                sawKeys = true
                if OutboxEntry.entryID(ofKey: key) == entryID {
                    return ScanReport(proof: .history, isComplete: true, hasActiveRun: hasActiveRun)
                }
            }
            guard let at = row.at else { continue }
            if at < since.adding(milliseconds: -Self.clockToleranceMs) {
                reachedPast = true
            } else if row.isUser, let text, Self.bare(row.text) == text {
                sightings += 1
            }
        }
        let isComplete = reachedPast || !hasMore
        guard isComplete || rows >= Self.mostRows else { return nil }
        // A gateway that shows keys shows ours too: there an equal text is another message.
        guard !sawKeys, sightings > 0 else { return ScanReport(isComplete: isComplete, hasActiveRun: hasActiveRun) }
        // As many rows as twins: none of them need be ours, none need not. That says nothing either way.
        guard sightings > twins else { return ScanReport(isComplete: false, hasActiveRun: hasActiveRun) }
        return ScanReport(proof: .textMatch, isComplete: isComplete, hasActiveRun: hasActiveRun)
    }

    private static func bare(_ text: String) -> String {
        var text = Substring(text)
        while text.last?.isWhitespace == true { text.removeLast() }
        while text.first?.isWhitespace == true { text.removeFirst() }
        return String(text)
    }
}
