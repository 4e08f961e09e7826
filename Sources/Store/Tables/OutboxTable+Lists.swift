package import Basics
package import Outbox
package import SQLite

/// The numbers a person wants first. An expired entry needs attention like a failed one.
package struct OutboxBadges: Sendable, Equatable {
    package var pending = 0
    package var unconfirmed = 0
    package var failed = 0

    package init(pending: Int = 0, unconfirmed: Int = 0, failed: Int = 0) {
        self.pending = pending
        self.unconfirmed = unconfirmed
        self.failed = failed
    }

    package mutating func add(_ other: OutboxBadges) {
        pending += other.pending
        unconfirmed += other.unconfirmed
        failed += other.failed
    }

    package mutating func count(_ state: OutboxState, _ entries: Int) {
        switch state {
        case .queued, .sending, .retrying, .accepted: pending += entries
        case .unconfirmed: unconfirmed += entries
        case .failed, .expired: failed += entries
        case .delivered, .cancelled: break
        }
    }
}

extension OutboxTable {
    package struct Query: Sendable, Equatable {
        /// Empty: all.
        package var states: [OutboxState] = []
        package var session: String?
        /// The id of the last entry of the page before.
        package var before: String?
        package var limit = 50

        package init() {}

        /// Session, place and limit are its values. A condition that is not asked for is left out rather than made true: only
        /// so is an index found for the others.
        package var statement: String {
            var conditions: [String] = []
            if session != nil { conditions.append("o.session = ?1") }
            if before != nil { conditions.append("o.ordinal < ?2") }
            if !states.isEmpty {
                // The names are the program's own, so they can stand in the text; in one order, so that it is one text.
                let names = OutboxState.allCases.filter(states.contains).map { "'\($0.rawValue)'" }
                conditions.append("o.state IN (\(names.joined(separator: ", ")))")
            }
            return "SELECT \(OutboxRow.columns), p.text FROM outbox o LEFT JOIN outbox_payload p USING(ordinal) "
                + (conditions.isEmpty ? "" : "WHERE \(conditions.joined(separator: " AND ")) ")
                + "ORDER BY o.ordinal DESC LIMIT ?3"
        }
    }

    /// Newest first.
    package func list(_ query: Query) throws(SQLiteError) -> [OutboxEntry] {
        let place = try query.before.flatMap { id throws(SQLiteError) in try entry(id: id)?.ordinal }
        // None of those before an entry that is not there.
        if query.before != nil, place == nil { return [] }
        return try connection.all(query.statement, query.session, place, query.limit, row: OutboxRow.entryWithText)
    }

    package func badges(session: String? = nil) throws(SQLiteError) -> OutboxBadges {
        var badges = OutboxBadges()
        try connection.forEach("SELECT state, entries FROM outbox_total WHERE session = ?", session ?? "") { row in
            if let state = OutboxState(rawValue: row.string(0)) { badges.count(state, row.int(1)) }
        }
        return badges
    }

    /// Other entries of the session with this text that were with the gateway at that time or later.
    package func twins(of entry: OutboxEntry, text: String, since: Timestamp) throws(SQLiteError) -> Int {
        try connection.first(
            "SELECT count(*) FROM outbox o JOIN outbox_payload p USING(ordinal) WHERE o.session = ?1 AND o.id <> ?2 "
                + "AND o.updated_at >= ?3 AND (o.first_dispatch_at IS NOT NULL OR o.run_id IS NOT NULL) "
                + "AND trim(p.text, ?5) = trim(?4, ?5)",
            entry.session,
            entry.id,
            since.milliseconds - HistoryScan.clockToleranceMs,
            text,
            " \t\r\n"
        ) { row in row.int(0) } ?? 0
    }

    /// Every entry that is not final, in order: what the dispatcher starts with. Without texts.
    package func open() throws(SQLiteError) -> [OutboxEntry] {
        try connection.all(
            "SELECT \(OutboxRow.columns) FROM outbox o WHERE state NOT IN ('delivered', 'cancelled') ORDER BY ordinal",
            row: OutboxRow.entry
        )
    }

    /// One row at a time in either direction, by the table alone: for files whose indexes cannot be trusted.
    package func next(after place: Int64?, descending: Bool) throws(SQLiteError) -> OutboxEntry? {
        try connection.first(
            "SELECT \(OutboxRow.columns) FROM outbox o NOT INDEXED "
                + "WHERE ?1 IS NULL OR ordinal \(descending ? "<" : ">") ?1 "
                + "ORDER BY ordinal \(descending ? "DESC" : "ASC") LIMIT 1",
            place,
            row: OutboxRow.entry
        )
    }

    /// Deletes at most `slice` final entries older than the given time, keeping the newest `keeping` of them.
    package func prune(before time: Timestamp, keeping: Int, slice: Int) throws(SQLiteError) -> Int {
        let done =
            try connection.first(
                "SELECT sum(entries) FROM outbox_total WHERE session = '' AND state IN ('delivered', 'cancelled')"
            ) { row in row.int(0) } ?? 0
        let surplus = min(slice, done - keeping)
        guard surplus > 0 else { return 0 }
        try connection.run(
            "DELETE FROM outbox WHERE ordinal IN (SELECT ordinal FROM outbox "
                + "WHERE state IN ('delivered', 'cancelled') AND updated_at < ? ORDER BY updated_at LIMIT ?) "
                + "AND ordinal <> (SELECT max(ordinal) FROM outbox)",
            time.milliseconds,
            surplus
        )
        return connection.changes
    }
}
