package import Basics
package import Ledger
package import Outbox
package import SQL

/// Entries on disk, written inside a transaction of the store and read on any connection.
package struct OutboxTable {
    /// The parts of a command that are sent to the gateway in addition to the entry's columns.
    package struct Payload: Sendable, Equatable {
        package var text: String?
        /// The caller's own JSON: thinking level, attachments. Dropped once the entry is final.
        package var body: [UInt8]?

        package init(text: String?, body: [UInt8]?) {
            self.text = text
            self.body = body
        }

        package var count: Int { (text?.utf8.count ?? 0) + (body?.count ?? 0) }
    }

    package enum Insertion: Sendable, Equatable {
        case inserted(OutboxEntry)
        case full(OutboxFullness)
    }

    package struct Query: Sendable, Equatable {
        /// Empty means all.
        package var states: [OutboxState] = []
        package var session: String?
        /// The id of the last entry of the previous page.
        package var before: String?
        package var limit = 50

        package init() {}

        /// The query; its values are session, position and limit. An unused condition is left out instead of made
        /// always true, so that an index is used for the others.
        package var statement: String {
            var conditions: [String] = []
            if session != nil { conditions.append("o.session = ?1") }
            if before != nil { conditions.append("o.ordinal < ?2") }
            if !states.isEmpty {
                // The names are the program's own, so they may be part of the text; their order is fixed, so that equal
                // queries have one text.
                let names = OutboxState.allCases.filter(states.contains).map { "'\($0.rawValue)'" }
                conditions.append("o.state IN (\(names.joined(separator: ", ")))")
                // Lets the index of open entries be used.
                if !states.contains(where: \.hasEndedForGood) {
                    conditions.append("o.state NOT IN ('delivered', 'cancelled')")
                }
            }
            return "SELECT \(OutboxRow.columns), p.text FROM outbox o LEFT JOIN outbox_payload p USING(ordinal) "
                + (conditions.isEmpty ? "" : "WHERE \(conditions.joined(separator: " AND ")) ")
                + "ORDER BY o.ordinal DESC LIMIT ?3"
        }
    }

    private let connection: SQLConnection

    package init(_ connection: SQLConnection) {
        self.connection = connection
    }

    // MARK: Writing

    /// Adds a new entry at the end, within the limits. A stop needs no room: it must not wait for the messages that it is
    /// to stop, and each names a run that Ladle knows.
    package func insert(
        _ entry: OutboxEntry,
        payload: Payload,
        limits: OutboxLimits = OutboxLimits()
    ) throws(SQLError) -> Insertion {
        if entry.kind != .abort,
            let full = try fullness(session: entry.session, adding: payload.count, limits: limits)
        {
            return .full(full)
        }
        var entry = try append(entry, payload)
        entry.text = payload.text
        return .inserted(entry)
    }

    /// Writes the rows of an entry with the next ordinal.
    private func append(_ entry: OutboxEntry, _ payload: Payload) throws(SQLError) -> OutboxEntry {
        var entry = entry
        entry.payloadBytes = payload.count
        entry.ordinal = (try connection.first("SELECT max(ordinal) FROM outbox") { row in row.int64(0) } ?? 0) + 1
        try insertRow(entry)
        try connection.run(
            "INSERT INTO outbox_payload(ordinal, text, body, files) VALUES(?, ?, ?, ?)",
            entry.ordinal,
            payload.text,
            payload.body,
            AttachedFile.stored(AttachedFile.list(payload: payload.body))
        )
        return entry
    }

    /// Writes a change if the entry still has the expected version; false if it changed.
    package func apply(_ change: OutboxChange) throws(SQLError) -> Bool {
        let entry = change.entry
        let isFinal = entry.state.hasEndedForGood
        try connection.run(
            """
            UPDATE outbox SET state = ?3, updated_at = ?4, attempt_count = ?5, next_attempt_at = ?6,
            expires_at = ?7, run_id = ?8, proof = ?9, error_code = ?10, error_detail = ?11, version = ?12,
            upstream_key = ?13, key_generation = ?14, last_class = ?15, first_dispatch_at = ?16,
            dispatch_uptime_ms = ?17,
            payload_bytes = CASE WHEN ?18 = 1 THEN 0 ELSE payload_bytes END, is_repeat_in_doubt = ?19,
            dispatch_skew_ms = ?20, joined_run = ?21
            WHERE id = ?1 AND version = ?2
            """,
            entry.id,
            change.expectedVersion,
            entry.state.rawValue,
            entry.updatedAt.milliseconds,
            entry.attemptCount,
            entry.nextAttemptAt?.milliseconds,
            entry.expiresAt.milliseconds,
            entry.runID,
            entry.proof?.rawValue,
            entry.fault?.code,
            entry.fault?.detail,
            entry.version,
            entry.upstreamKey,
            entry.keyGeneration,
            entry.lastClass?.rawValue,
            entry.firstDispatchAt?.milliseconds,
            entry.dispatchUptimeMs,
            isFinal,
            entry.isRepeatInDoubt,
            entry.dispatchSkewMs,
            entry.joinedRun
        )
        guard try connection.changes() == 1 else { return false }
        if change.liftsStops { try liftStops(of: entry) }
        if entry.state == .retrying { try forgetDeferral(of: entry.id) }
        if isFinal {
            try connection.run("UPDATE outbox_payload SET body = NULL WHERE ordinal = ?", entry.ordinal)
        }
        if let attempt = change.attempt {
            try insert(attempt, entry: entry.id)
        }
        return true
    }

    /// The gateway said that the message of this run waits. That changes nothing of the entry that people see.
    package func keep(_ deferral: Deferral, ofRun run: String) throws(SQLError) {
        try connection.run(
            "UPDATE outbox SET deferred_at = ?, deferred_behind = ?, equals_before = ? WHERE id = ?",
            deferral.at.milliseconds,
            deferral.behind?.milliseconds,
            deferral.equalsBefore,
            OutboxEntry.entryID(ofKey: run)
        )
    }

    /// The gateway has lost the message, and with it the place where it waited.
    private func forgetDeferral(of id: String) throws(SQLError) {
        try connection.run(
            "UPDATE outbox SET deferred_at = NULL, deferred_behind = NULL, equals_before = 0 WHERE id = ?",
            id
        )
    }

    /// Lifts the stops of the entry's run: they stay in the list of entries, but no longer keep the message from being sent.
    private func liftStops(of entry: OutboxEntry) throws(SQLError) {
        for generation in 1...entry.keyGeneration {
            try connection.run(
                "UPDATE outbox SET coalescing_key = NULL WHERE session = ? AND kind = ? AND coalescing_key = ?",
                entry.session,
                OutboxKind.abort.rawValue,
                OutboxEntry.abortKey(ofRun: generation == 1 ? entry.id : "\(entry.id)-r\(generation)")
            )
        }
    }

    /// Copies an entry unchanged from another file, at the end of the order.
    package func restore(
        _ entry: OutboxEntry,
        payload: Payload,
        attempts: [OutboxAttempt]
    ) throws(SQLError) -> Bool {
        guard try self.entry(id: entry.id) == nil else { return false }
        _ = try append(entry, payload)
        for attempt in attempts {
            try insert(attempt, entry: entry.id)
        }
        return true
    }

    // MARK: Reading one

    /// The entry whose message this run answers: the run's id is one of the entry's keys, or the gateway answered the entry in a
    /// run with an id of its own.
    package func entry(answeredBy run: String) throws(SQLError) -> OutboxEntry? {
        if let entry = try entry(id: OutboxEntry.entryID(ofKey: run)) { return entry }
        return try connection.first(
            "SELECT \(OutboxRow.columns), p.text FROM outbox o LEFT JOIN outbox_payload p USING(ordinal) WHERE run_id = ? "
                + "ORDER BY ordinal DESC LIMIT 1",
            run,
            row: OutboxRow.entryWithText
        )
    }

    /// The same, without reading the entry.
    package func hasEntry(answeredBy run: String) throws(SQLError) -> Bool {
        let either = "SELECT 1 FROM outbox WHERE id = ? UNION ALL SELECT 1 FROM outbox WHERE run_id = ? LIMIT 1"
        return try connection.first(either, OutboxEntry.entryID(ofKey: run), run) { _ in true } ?? false
    }

    package func entry(id: String) throws(SQLError) -> OutboxEntry? {
        try connection.first(
            "SELECT \(OutboxRow.columns), p.text FROM outbox o LEFT JOIN outbox_payload p USING(ordinal) WHERE id = ?",
            id,
            row: OutboxRow.entryWithText
        )
    }

    package func payload(id: String) throws(SQLError) -> Payload? {
        try connection.first(
            "SELECT p.text, p.body FROM outbox o JOIN outbox_payload p USING(ordinal) WHERE o.id = ?",
            id
        ) { row in
            Payload(text: row.optionalString(0), body: row.optionalBytes(1))
        }
    }

    /// The attachments of a session's newest entries, by entry.
    package func files(session: String, limit: Int) throws(SQLError) -> [String: [AttachedFile]] {
        var found: [String: [AttachedFile]] = [:]
        try connection.forEach(
            "SELECT o.id, p.files FROM (SELECT id, ordinal FROM outbox WHERE session = ? ORDER BY ordinal DESC LIMIT ?) o "
                + "JOIN outbox_payload p USING(ordinal) WHERE p.files IS NOT NULL",
            session,
            limit
        ) { row in
            found[row.string(0)] = AttachedFile.list(stored: row.optionalBytes(1))
        }
        return found
    }

    package func files(id: String) throws(SQLError) -> [AttachedFile] {
        try connection.first(
            "SELECT p.files FROM outbox o JOIN outbox_payload p USING(ordinal) WHERE o.id = ?",
            id
        ) { row in
            AttachedFile.list(stored: row.optionalBytes(0))
        } ?? []
    }

    package func attempts(id: String) throws(SQLError) -> [OutboxAttempt] {
        try connection.all(
            "SELECT at, class, key, code, detail, delay_ms FROM outbox_attempt WHERE entry = ? ORDER BY number",
            id
        ) { row throws(SQLError) in
            guard let outcome = AttemptClass(rawValue: row.string(1)) else {
                throw .malformed("unknown attempt class \(row.string(1))")
            }
            return OutboxAttempt(
                at: Timestamp(milliseconds: row.int64(0)),
                outcome: outcome,
                key: row.string(2),
                code: row.optionalString(3),
                detail: row.optionalString(4),
                delayMs: row.optionalInt64(5)
            )
        }
    }

    private func insert(_ attempt: OutboxAttempt, entry: String) throws(SQLError) {
        try connection.run(
            "INSERT INTO outbox_attempt(entry, number, at, class, key, code, detail, delay_ms) VALUES("
                + "?1, (SELECT coalesce(max(number), 0) + 1 FROM outbox_attempt WHERE entry = ?1), "
                + "?2, ?3, ?4, ?5, ?6, ?7)",
            entry,
            attempt.at.milliseconds,
            attempt.outcome.rawValue,
            attempt.key,
            attempt.code,
            attempt.detail,
            attempt.delayMs
        )
    }

    private func insertRow(_ entry: OutboxEntry) throws(SQLError) {
        try connection.run(
            """
            INSERT INTO outbox(ordinal, id, kind, session, state, created_at, updated_at, attempt_count,
            next_attempt_at, not_before, expires_at, run_id, proof, error_code, error_detail, version,
            is_slash_command, coalescing_key, upstream_key, key_generation, last_class, first_dispatch_at,
            dispatch_uptime_ms, owner, payload_bytes, is_repeat_in_doubt, ttl_ms, dispatch_skew_ms,
            mode, joined_run, deferred_at, deferred_behind, equals_before)
            VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            entry.ordinal,
            entry.id,
            entry.kind.rawValue,
            entry.session,
            entry.state.rawValue,
            entry.createdAt.milliseconds,
            entry.updatedAt.milliseconds,
            entry.attemptCount,
            entry.nextAttemptAt?.milliseconds,
            entry.notBefore?.milliseconds,
            entry.expiresAt.milliseconds,
            entry.runID,
            entry.proof?.rawValue,
            entry.fault?.code,
            entry.fault?.detail,
            entry.version,
            entry.isSlashCommand,
            entry.coalescingKey,
            entry.upstreamKey,
            entry.keyGeneration,
            entry.lastClass?.rawValue,
            entry.firstDispatchAt?.milliseconds,
            entry.dispatchUptimeMs,
            entry.owner,
            entry.payloadBytes,
            entry.isRepeatInDoubt,
            entry.ttlMs,
            entry.dispatchSkewMs,
            entry.mode.rawValue,
            entry.joinedRun,
            entry.deferral?.at.milliseconds,
            entry.deferral?.behind?.milliseconds,
            entry.deferral?.equalsBefore ?? 0
        )
    }

    private func fullness(
        session: String,
        adding bytes: Int,
        limits: OutboxLimits
    ) throws(SQLError) -> OutboxFullness? {
        if limits.isShareUsed { return .share }
        var fullness: OutboxFullness?
        try connection.forEach(
            "SELECT session, CAST(sum(entries) AS BIGINT), CAST(sum(bytes) AS BIGINT) FROM outbox_total "
                + "WHERE session IN ('', ?) AND state NOT IN ('delivered', 'cancelled') GROUP BY session",
            session
        ) { row in
            if row.string(0).isEmpty {
                if row.int(1) >= limits.entries {
                    fullness = .entries
                } else if row.int(2) + bytes > limits.payloadBytes {
                    fullness = .bytes
                }
            } else if row.int(1) >= limits.perSession, fullness == nil {
                fullness = .session
            }
        }
        return fullness
    }

    // MARK: Lists

    /// The entries, newest first.
    package func list(_ query: Query) throws(SQLError) -> [OutboxEntry] {
        let place = try query.before.flatMap { id throws(SQLError) in try entry(id: id)?.ordinal }
        // The position no longer exists, so nothing precedes it.
        if query.before != nil, place == nil { return [] }
        return try connection.all(query.statement, query.session, place, query.limit, row: OutboxRow.entryWithText)
    }

    /// Counts of one session's entries, or of all.
    package func counts(session: String? = nil) throws(SQLError) -> OutboxCounts {
        var counts = OutboxCounts()
        try connection.forEach("SELECT state, entries FROM outbox_total WHERE session = ?", session ?? "") { row in
            if let state = OutboxState(rawValue: row.string(0)) { counts.count(state, row.int(1)) }
        }
        return counts
    }

    /// The other entries of the session that were at the gateway at that time or later, with their texts. One that still is may get
    /// its row at any time.
    package func others(
        in session: String,
        besides id: String,
        since: Timestamp
    ) throws(SQLError) -> [OutboxEntry] {
        try connection.all(
            "SELECT \(OutboxRow.columns), p.text FROM outbox o JOIN outbox_payload p USING(ordinal) "
                + "WHERE o.session = ? AND o.id <> ? "
                + "AND (o.updated_at >= ? OR o.state IN ('sending', 'accepted', 'unconfirmed')) "
                + "AND (o.first_dispatch_at IS NOT NULL OR o.run_id IS NOT NULL) ORDER BY o.ordinal",
            session,
            id,
            since.milliseconds,
            row: OutboxRow.entryWithText
        )
    }

    /// Every entry that is not final, in order, without texts, for the dispatcher's start.
    package func open() throws(SQLError) -> [OutboxEntry] {
        try connection.all(
            "SELECT \(OutboxRow.columns), (SELECT 1 FROM run r WHERE r.id = o.run_id) FROM outbox o "
                + "WHERE state NOT IN ('delivered', 'cancelled') ORDER BY ordinal"
        ) { row throws(SQLError) in
            var entry = try OutboxRow.entry(row)
            entry.hadBegun = row.optionalInt64(OutboxRow.columnCount) != nil
            return entry
        }
    }

    /// The stops since the first of these messages was accepted, and those to which the gateway answered that it has no such run. A stop
    /// that was taken back no longer counts.
    package func stops(
        since messages: [OutboxEntry]
    ) throws(SQLError) -> (all: [OutboxEntry], foundNothing: [OutboxEntry]) {
        guard let first = messages.lazy.filter({ $0.kind.startsRun }).map(\.ordinal).min() else { return ([], []) }
        let stops =
            "SELECT \(OutboxRow.columns) FROM outbox o \(connection.indexed(by: "outbox_stop")) "
            + "WHERE kind = 'abort' AND ordinal > ? AND state <> 'cancelled'"
        return (
            try connection.all(stops + " ORDER BY ordinal", first, row: OutboxRow.entry),
            try connection.all(stops + " AND \(Self.foundNothing)", first, row: OutboxRow.entry)
        )
    }

    private static let foundNothing =
        "EXISTS (SELECT 1 FROM outbox_attempt a WHERE a.entry = o.id AND a.code = '\(OutboxFault.nothingRanCode)')"

    /// The newest abort of this run that was not taken back.
    package func stop(ofRun run: String, in session: String) throws(SQLError) -> OutboxEntry? {
        try connection.first(
            "SELECT \(OutboxRow.columns) FROM outbox o "
                + "WHERE session = ? AND kind = ? AND coalescing_key = ? AND state <> 'cancelled' "
                + "ORDER BY ordinal DESC LIMIT 1",
            session,
            OutboxKind.abort.rawValue,
            OutboxEntry.abortKey(ofRun: run),
            row: OutboxRow.entry
        )
    }

    /// Stops that the gateway confirmed, newest first.
    package func confirmedStops(since time: Timestamp, limit: Int) throws(SQLError) -> [OutboxEntry] {
        try connection.all(
            Self.confirmedStops,
            time.milliseconds,
            limit,
            row: OutboxRow.entryWithText
        )
    }

    package static let confirmedStops =
        "SELECT \(OutboxRow.columns), p.text FROM outbox o LEFT JOIN outbox_payload p USING(ordinal) "
        + "WHERE o.kind = 'abort' AND o.state = 'delivered' AND o.updated_at >= ? "
        + "AND NOT \(foundNothing) "
        + "ORDER BY o.updated_at DESC LIMIT ?"

    /// One row at a time in either direction, without indexes, for files whose indexes may be damaged.
    package func next(after place: Int64?, descending: Bool) throws(SQLError) -> OutboxEntry? {
        try connection.first(
            "SELECT \(OutboxRow.columns) FROM outbox o NOT INDEXED "
                + "WHERE ?1 IS NULL OR ordinal \(descending ? "<" : ">") ?1 "
                + "ORDER BY ordinal \(descending ? "DESC" : "ASC") LIMIT 1",
            place,
            row: OutboxRow.entry
        )
    }

    /// Deletes at most `slice` final entries older than the given time, but keeps the newest `keeping` of them.
    package func prune(before time: Timestamp, keeping: Int, slice: Int) throws(SQLError) -> Int {
        let done =
            try connection.first(
                "SELECT CAST(sum(entries) AS BIGINT) FROM outbox_total WHERE session = '' AND state IN ('delivered', 'cancelled')"
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
        return try connection.changes()
    }
}
