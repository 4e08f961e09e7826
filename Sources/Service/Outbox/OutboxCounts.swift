import Basics
package import Outbox
import Store

/// Counts of open entries, kept as they change: the status screen asks nobody.
struct OutboxCounts {
    private struct Open {
        let state: OutboxState
        let createdAt: Int64
    }

    private var open: [String: Open] = [:]
    private var badges = OutboxBadges()
    /// nil: to be looked for again, because the oldest has left.
    private var oldest: Int64?

    /// The state it was open in before; nil where it was final already.
    @discardableResult
    mutating func note(_ entry: OutboxEntry) -> OutboxState? {
        let before = open[entry.id]
        if let before {
            badges.count(before.state, -1)
            if before.createdAt == oldest { oldest = nil }
        }
        guard !entry.state.isFinal else {
            open[entry.id] = nil
            return before?.state
        }
        let now = Open(state: entry.state, createdAt: entry.createdAt.milliseconds)
        open[entry.id] = now
        badges.count(now.state, 1)
        if let oldest, Self.waits(now.state) { self.oldest = min(oldest, now.createdAt) }
        return before?.state
    }

    mutating func report(now: Timestamp) -> OutboxSummary {
        var report = OutboxSummary()
        report.pending = badges.pending
        report.unconfirmed = badges.unconfirmed
        report.failed = badges.failed
        guard badges.pending + badges.unconfirmed > 0 else { return report }
        if oldest == nil { oldest = open.values.lazy.filter { Self.waits($0.state) }.map(\.createdAt).min() }
        report.oldestAgeMilliseconds = oldest.map { max(0, now.milliseconds - $0) }
        return report
    }

    private static func waits(_ state: OutboxState) -> Bool { !state.isTerminal }
}

/// The outbox in figures, for the status screen and the metrics.
package struct OutboxSummary: Equatable {
    package var pending = 0
    package var unconfirmed = 0
    package var failed = 0
    package var oldestAgeMilliseconds: Int64?
    /// Since the start, by how they ended.
    package var attempts: [AttemptClass: UInt64] = [:]
    /// Why the saved entries could not be read: nothing is sent, and the counts leave them out.
    package var fault: String?

    package init() {}
}
