package import Basics
package import SQLite

/// A chat message in the cache: the API's own JSON and what orders it.
package struct StoredMessage: Sendable, Equatable {
    package var session: String
    package var id: String
    package var at: Timestamp
    /// Order among messages of one time.
    package var ordinal: Int64
    package var body: [UInt8]

    package init(session: String, id: String, at: Timestamp, ordinal: Int64 = 0, body: [UInt8]) {
        self.session = session
        self.id = id
        self.at = at
        self.ordinal = ordinal
        self.body = body
    }
}

/// The last messages of each session, for reading while the gateway is away. A cache: bounded, and safe to lose.
package struct MessageTable {
    package struct Limits: Sendable {
        package var perSession = 500
        package var sessions = 200
        package var largestMessage = 256 << 10

        package init() {}
    }

    /// Where a message stands in its session.
    package struct Place: Sendable, Equatable {
        package var at: Timestamp
        package var ordinal: Int64

        package init(at: Timestamp, ordinal: Int64) {
            self.at = at
            self.ordinal = ordinal
        }
    }

    private let connection: SQLiteConnection
    private let limits: Limits

    package init(_ connection: SQLiteConnection, limits: Limits = Limits()) {
        self.connection = connection
        self.limits = limits
    }

    /// Adds or replaces messages of one session, seen at `asOf`; oversized ones are left out.
    package func save(_ messages: [StoredMessage], session: String, asOf: Timestamp) throws(SQLiteError) {
        for message in messages where message.body.count <= limits.largestMessage {
            try connection.run(
                "INSERT INTO message(session, id, at, ordinal, body) VALUES(?, ?, ?, ?, ?) "
                    + "ON CONFLICT(session, id) DO UPDATE SET at = excluded.at, ordinal = excluded.ordinal, "
                    + "body = excluded.body",
                session,
                message.id,
                message.at.milliseconds,
                message.ordinal,
                message.body
            )
        }
        try connection.run(
            "INSERT INTO message_session(session, as_of) VALUES(?, ?) "
                + "ON CONFLICT(session) DO UPDATE SET as_of = max(as_of, excluded.as_of)",
            session,
            asOf.milliseconds
        )
        try trim(session: session)
    }

    /// Forgets a session: it was reset or deleted upstream.
    package func removeAll(session: String) throws(SQLiteError) {
        try connection.run("DELETE FROM message WHERE session = ?", session)
        try connection.run("DELETE FROM message_session WHERE session = ?", session)
    }

    package func asOf(session: String) throws(SQLiteError) -> Timestamp? {
        try connection.first("SELECT as_of FROM message_session WHERE session = ?", session) { row in
            Timestamp(milliseconds: row.int64(0))
        }
    }

    package func message(session: String, id: String) throws(SQLiteError) -> StoredMessage? {
        try connection.first(
            "SELECT session, id, at, ordinal, body FROM message WHERE session = ? AND id = ?",
            session,
            id,
            row: Self.message
        )
    }

    /// nil for a message that is not kept.
    package func place(session: String, id: String) throws(SQLiteError) -> Place? {
        try message(session: session, id: id).map { Place(at: $0.at, ordinal: $0.ordinal) }
    }

    /// Newest last: those next to `after` where it is given alone, else the newest there are.
    package func list(
        session: String,
        before: Place? = nil,
        after: Place? = nil,
        limit: Int
    ) throws(SQLiteError) -> [StoredMessage] {
        let isForward = after != nil && before == nil
        let order = isForward ? "ASC" : "DESC"
        let rows = try connection.all(
            "SELECT session, id, at, ordinal, body FROM message WHERE session = ?1 "
                + "AND (?2 IS NULL OR (at, ordinal) < (?2, ?3)) AND (?4 IS NULL OR (at, ordinal) > (?4, ?5)) "
                + "ORDER BY at \(order), ordinal \(order) LIMIT ?6",
            session,
            before?.at.milliseconds,
            before?.ordinal,
            after?.at.milliseconds,
            after?.ordinal,
            limit,
            row: Self.message
        )
        return isForward ? rows : rows.reversed()
    }

    private func trim(session: String) throws(SQLiteError) {
        try connection.run(
            "DELETE FROM message WHERE session = ?1 AND rowid IN ("
                + "SELECT rowid FROM message WHERE session = ?1 ORDER BY at DESC, ordinal DESC LIMIT -1 OFFSET ?2)",
            session,
            limits.perSession
        )
        let surplus = try connection.all(
            "SELECT session FROM message_session ORDER BY as_of DESC LIMIT 8 OFFSET ?",
            limits.sessions
        ) { row in row.string(0) }
        for old in surplus {
            try removeAll(session: old)
        }
    }

    private static func message(_ row: SQLiteRow) -> StoredMessage {
        StoredMessage(
            session: row.string(0),
            id: row.string(1),
            at: Timestamp(milliseconds: row.int64(2)),
            ordinal: row.int64(3),
            body: row.bytes(4)
        )
    }
}
