package import Basics
package import Runs
package import SQL

/// The last messages of each session, for reading without the gateway. A cache: bounded, and safe to lose.
package struct MessageTable {
    package struct Limits: Sendable {
        package var perSession = 500
        package var sessions = 200
        package var largestMessage = 256 << 10

        package init() {}
    }

    /// A message's position in its session.
    package struct Place: Sendable, Equatable {
        package var at: Timestamp
        /// The order among messages of the same time.
        package var ordinal: Int64

        package init(at: Timestamp, ordinal: Int64) {
            self.at = at
            self.ordinal = ordinal
        }
    }

    private let connection: SQLConnection
    private let limits: Limits

    package init(_ connection: SQLConnection, limits: Limits = Limits()) {
        self.connection = connection
        self.limits = limits
    }

    /// A page of a conversation as the gateway returned it: complete between its first and its last message.
    package struct Page: Sendable {
        fileprivate let rows: [MessageRow]
        /// Nil if the gateway names none.
        fileprivate let conversation: String?
        /// In bytes.
        package let size: Int
        /// Equal for pages with equal messages.
        package let digest: UInt64

        package init(_ messages: [ChatMessage], conversation: String?) {
            rows = messages.enumerated().map { MessageRow($1, ordinal: Int64($0)) }
            self.conversation = conversation
            size = rows.reduce(0) { $0 + $1.body.count }
            digest = rows.reduce(FNV1a.start) { FNV1a.hash($1.body, after: $0) }
        }
    }

    /// Replaces the cached messages in the page's range, or all of them if they belong to another conversation.
    package func save(_ page: Page, session: String, asOf: Timestamp) throws(SQLError) {
        if let conversation = page.conversation, let kept = try self.conversation(of: session), kept != conversation {
            try removeAll(session: session)
        }
        if let first = page.rows.first?.at, let last = page.rows.last?.at {
            let shown = Set(page.rows.map(\.id))
            let kept = try connection.all(
                "SELECT id FROM message WHERE session = ? AND at BETWEEN ? AND ?",
                session,
                first.milliseconds,
                last.milliseconds
            ) { row in row.string(0) }
            for id in kept where !shown.contains(id) {
                try connection.run("DELETE FROM message WHERE session = ? AND id = ?", session, id)
            }
        }
        try save(page.rows, session: session, asOf: asOf)
        guard let conversation = page.conversation else { return }
        try connection.run("UPDATE message_session SET conversation = ? WHERE session = ?", conversation, session)
    }

    /// Drops the session's cached messages, which belong to another conversation.
    package func begin(session: String, conversation: String?, at time: Timestamp) throws(SQLError) {
        try removeAll(session: session)
        try connection.run(
            "INSERT INTO message_session(session, as_of, conversation, begun_at) VALUES(?, ?, ?, ?)",
            session,
            time.milliseconds,
            conversation,
            time.milliseconds
        )
    }

    private func conversation(of session: String) throws(SQLError) -> String? {
        try connection.first("SELECT conversation FROM message_session WHERE session = ?", session) { row in
            row.optionalString(0)
        } ?? nil
    }

    /// The conversation of each session, if known, and when it replaced another one.
    package func conversations() throws(SQLError) -> [SessionKey: (id: String, begunAt: Timestamp?)] {
        var found: [SessionKey: (id: String, begunAt: Timestamp?)] = [:]
        try connection.forEach(
            "SELECT session, conversation, begun_at FROM message_session WHERE conversation IS NOT NULL"
        ) { row in
            let begunAt = row.optionalInt64(2).map { Timestamp(milliseconds: $0) }
            found[row.string(0)] = (row.string(1), begunAt)
        }
        return found
    }

    /// Adds or replaces one message.
    package func save(_ message: ChatMessage, session: String, asOf: Timestamp) throws(SQLError) {
        try save([MessageRow(message, ordinal: 0)], session: session, asOf: asOf)
    }

    /// Adds or replaces messages of one session, seen at `asOf`; oversized ones are left out.
    private func save(_ rows: [MessageRow], session: String, asOf: Timestamp) throws(SQLError) {
        for row in rows where row.body.count <= limits.largestMessage {
            try connection.run(
                "INSERT INTO message(session, id, at, ordinal, body) VALUES(?, ?, ?, ?, ?) "
                    + "ON CONFLICT(session, id) DO UPDATE SET at = excluded.at, ordinal = excluded.ordinal, "
                    + "body = excluded.body",
                session,
                row.id,
                row.at.milliseconds,
                row.ordinal,
                row.body
            )
        }
        try connection.run(
            "INSERT INTO message_session(session, as_of) VALUES(?, ?) "
                + "ON CONFLICT(session) DO UPDATE SET as_of = "
                + "CASE WHEN message_session.as_of > excluded.as_of THEN message_session.as_of ELSE excluded.as_of END",
            session,
            asOf.milliseconds
        )
        try trim(session: session)
    }

    private func removeAll(session: String) throws(SQLError) {
        try connection.run("DELETE FROM message WHERE session = ?", session)
        try connection.run("DELETE FROM message_session WHERE session = ?", session)
    }

    package func asOf(session: String) throws(SQLError) -> Timestamp? {
        try connection.first("SELECT as_of FROM message_session WHERE session = ?", session) { row in
            Timestamp(milliseconds: row.int64(0))
        }
    }

    /// Nil also for a damaged row: the gateway has the message.
    package func message(session: String, id: String) throws(SQLError) -> ChatMessage? {
        try connection.first("SELECT body FROM message WHERE session = ? AND id = ?", session, id) { row in
            MessageRow.message(row.bytes(0))
        } ?? nil
    }

    /// Nil for a message that is not cached.
    package func place(session: String, id: String) throws(SQLError) -> Place? {
        try connection.first("SELECT at, ordinal FROM message WHERE session = ? AND id = ?", session, id) { row in
            Place(at: Timestamp(milliseconds: row.int64(0)), ordinal: row.int64(1))
        }
    }

    /// The place of the newest message; nil if none is cached.
    package func newestPlace(session: String) throws(SQLError) -> Place? {
        try connection.first(
            "SELECT at, ordinal FROM message WHERE session = ? ORDER BY at DESC, ordinal DESC LIMIT 1",
            session
        ) { row in
            Place(at: Timestamp(milliseconds: row.int64(0)), ordinal: row.int64(1))
        }
    }

    /// Messages, newest last: the ones following `after` if only that is given, otherwise the newest. A damaged row is left out.
    package func list(
        session: String,
        before: Place? = nil,
        after: Place? = nil,
        limit: Int
    ) throws(SQLError) -> [ChatMessage] {
        let isForward = after != nil && before == nil
        let order = isForward ? "ASC" : "DESC"
        let rows = try connection.all(
            "SELECT body FROM message WHERE session = ?1 "
                + "AND (?2 IS NULL OR (at, ordinal) < (?2, ?3)) AND (?4 IS NULL OR (at, ordinal) > (?4, ?5)) "
                + "ORDER BY at \(order), ordinal \(order) LIMIT ?6",
            session,
            before?.at.milliseconds,
            before?.ordinal,
            after?.at.milliseconds,
            after?.ordinal,
            limit
        ) { row in
            MessageRow.message(row.bytes(0))
        }.compactMap(\.self)
        return isForward ? rows : rows.reversed()
    }

    private func trim(session: String) throws(SQLError) {
        try connection.run(
            "DELETE FROM message WHERE session = ?1 AND id IN ("
                + "SELECT id FROM message WHERE session = ?1 ORDER BY at DESC, ordinal DESC LIMIT \(Int64.max) OFFSET ?2)",
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
}
