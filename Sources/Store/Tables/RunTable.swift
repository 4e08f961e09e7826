package import Basics
package import SQLite

/// A run as the database stores it: columns for queries, and the API's own JSON.
package struct StoredRun: Sendable, Equatable {
    package var id: String
    package var session: String
    package var state: String
    package var startedAt: Timestamp
    package var endedAt: Timestamp?
    /// The run without its steps.
    package var body: [UInt8]

    package init(
        id: String,
        session: String,
        state: String,
        startedAt: Timestamp,
        endedAt: Timestamp? = nil,
        body: [UInt8]
    ) {
        self.id = id
        self.session = session
        self.state = state
        self.startedAt = startedAt
        self.endedAt = endedAt
        self.body = body
    }
}

/// Runs and their steps, kept as long as their events.
package struct RunTable {
    private let connection: SQLiteConnection

    package init(_ connection: SQLiteConnection) {
        self.connection = connection
    }

    package func save(_ run: StoredRun) throws(SQLiteError) {
        try connection.run(
            "INSERT INTO run(id, session, state, started_at, ended_at, body) VALUES(?, ?, ?, ?, ?, ?) "
                + "ON CONFLICT(id) DO UPDATE SET session = excluded.session, state = excluded.state, "
                + "started_at = excluded.started_at, ended_at = excluded.ended_at, body = excluded.body",
            run.id,
            run.session,
            run.state,
            run.startedAt.milliseconds,
            run.endedAt?.milliseconds,
            run.body
        )
    }

    package func saveStep(run: String, sequence: Int64, body: [UInt8]) throws(SQLiteError) {
        try connection.run(
            "INSERT INTO run_step(run, seq, body) VALUES(?, ?, ?) "
                + "ON CONFLICT(run, seq) DO UPDATE SET body = excluded.body",
            run,
            sequence,
            body
        )
    }

    package func run(id: String) throws(SQLiteError) -> StoredRun? {
        try connection.first("SELECT \(Self.columns) FROM run WHERE id = ?", id, row: Self.run)
    }

    /// The state alone, which needs no reading of the run's text.
    package func state(id: String) throws(SQLiteError) -> String? {
        try connection.first("SELECT state FROM run WHERE id = ?", id) { row in row.string(0) }
    }

    package func steps(run: String) throws(SQLiteError) -> [[UInt8]] {
        try connection.all("SELECT body FROM run_step WHERE run = ? ORDER BY seq", run) { row in row.bytes(0) }
    }

    package func active() throws(SQLiteError) -> [StoredRun] {
        try connection.all(
            "SELECT \(Self.columns) FROM run WHERE ended_at IS NULL ORDER BY started_at",
            row: Self.run
        )
    }

    /// Ended runs, newest first.
    package func ended(_ state: String, since time: Timestamp, limit: Int) throws(SQLiteError) -> [StoredRun] {
        try connection.all(
            "SELECT \(Self.columns) FROM run WHERE ended_at >= ? AND state = ? ORDER BY ended_at DESC LIMIT ?",
            time.milliseconds,
            state,
            limit,
            row: Self.run
        )
    }

    /// Runs, newest first; `before` is the last run of the previous page.
    package func list(session: String?, before: RowPlace?, limit: Int) throws(SQLiteError) -> [StoredRun] {
        try connection.all(
            Self.page(session: session != nil, before: before != nil),
            session,
            before?.at.milliseconds,
            before?.id,
            limit,
            row: Self.run
        )
    }

    /// An unused condition is left out instead of made always true, so that an index is used for the others.
    static func page(session: Bool, before: Bool) -> String {
        let conditions = [session ? "session = ?1" : nil, before ? "(started_at, id) < (?2, ?3)" : nil].compactMap(
            \.self
        )
        return "SELECT \(columns) FROM run "
            + (conditions.isEmpty ? "" : "WHERE \(conditions.joined(separator: " AND ")) ")
            + "ORDER BY started_at DESC, id DESC LIMIT ?4"
    }

    /// Deletes at most `slice` runs that ended before the given time, with their steps.
    package func prune(endedBefore time: Timestamp, slice: Int) throws(SQLiteError) -> Int {
        let ids = try connection.all(
            "SELECT id FROM run WHERE ended_at < ? ORDER BY ended_at LIMIT ?",
            time.milliseconds,
            slice
        ) { row in row.string(0) }
        for id in ids {
            try connection.run("DELETE FROM run_step WHERE run = ?", id)
            try connection.run("DELETE FROM run WHERE id = ?", id)
        }
        return ids.count
    }

    private static let columns = "id, session, state, started_at, ended_at, body"

    private static func run(_ row: SQLiteRow) -> StoredRun {
        StoredRun(
            id: row.string(0),
            session: row.string(1),
            state: row.string(2),
            startedAt: Timestamp(milliseconds: row.int64(3)),
            endedAt: row.optionalInt64(4).map { Timestamp(milliseconds: $0) },
            body: row.bytes(5)
        )
    }
}
