import Basics
import EventStream
import Outbox
import SQL

/// Deletes old rows, in slices so small that no commit takes long.
struct Retention {
    static let eventSlice = 512
    static let runSlice = 64
    static let entrySlice = 128
    static let receiptSlice = 256

    /// Events since the last pruning; half a slice, so that pruning always outruns appending.
    var appended = 0
    /// The first pruning starts when the store opens.
    private var isPruning = true

    mutating func began() {
        isPruning = true
    }

    var isDue: Bool { !isPruning && appended >= Self.eventSlice / 2 }

    mutating func pruned() {
        isPruning = false
        appended = 0
    }

    struct Outcome: Sendable {
        /// Whether there is more to delete.
        let isMore: Bool
        /// The number of the oldest event kept, 0 without any.
        let oldest: Int64
    }

    /// Deletes old rows in slices, each as an operation of its own behind the waiting ones. `done` is called on the journal's queue
    /// after each slice; nil after a failure, which counts too: the next events start another pruning, when there may be room.
    static func prune(
        _ journal: some Journal,
        _ configuration: StoreConfiguration,
        done: @escaping @Sendable (Outcome?) -> Void
    ) {
        journal.commit(cost: 0, isUrgent: false, { try prune(&$0, configuration) }) { [weak journal] result, _ in
            let outcome = try? result.get()
            done(outcome)
            if let journal, outcome?.isMore == true { prune(journal, configuration, done: done) }
        }
    }

    private static func prune(
        _ transaction: inout StoreTransaction,
        _ configuration: StoreConfiguration
    ) throws(SQLError) -> Outcome {
        let now = transaction.now
        let events = EventTable(transaction.connection)
        let oldestAllowed = now.adding(milliseconds: -configuration.keepEventsMs)
        let eventsGone = try events.prune(
            keeping: configuration.keepEvents,
            notBefore: oldestAllowed,
            slice: eventSlice
        )
        try transaction.said.prune()
        // Runs are kept as long as their events.
        let oldest = try events.oldestTime(among: eventSlice).map { $0 < now ? $0 : oldestAllowed }
        let runLimit = max(oldestAllowed, oldest ?? oldestAllowed)
        let runsGone = try transaction.runs.prune(endedBefore: runLimit, slice: runSlice)
        let approvalsGone = try transaction.approvals.prune(endedBefore: runLimit, slice: runSlice)
        let notificationsGone = try transaction.notifications.prune(
            keeping: configuration.keepNotifications,
            before: now.adding(milliseconds: -configuration.keepEventsMs),
            slice: runSlice
        )
        let entriesGone = try transaction.outbox.prune(
            before: now.adding(milliseconds: -configuration.keepFinalEntriesMs),
            keeping: configuration.keepFinalEntries,
            slice: entrySlice
        )
        let receiptsGone = try transaction.receipts.prune(now: now, slice: receiptSlice)
        return Outcome(
            isMore: eventsGone == eventSlice || runsGone == runSlice || approvalsGone == runSlice
                || notificationsGone == runSlice
                || entriesGone == entrySlice
                || receiptsGone == receiptSlice,
            oldest: try events.bounds().oldest?.sequence ?? 0
        )
    }
}
