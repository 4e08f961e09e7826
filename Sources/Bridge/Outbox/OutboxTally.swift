import Store
import Basics
import Outbox

/// Counts of open entries, kept as they change: the status screen asks nobody.
struct OutboxTally {
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

    mutating func report(now: Timestamp) -> StatusReport.Outbox {
        var report = StatusReport.Outbox()
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
