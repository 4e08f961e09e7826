package import Basics
package import SQL
package import SQLite

/// A notification as the database stores it: columns for queries, and its own JSON.
package struct StoredNotification: Sendable, Equatable {
    package var id: String
    /// The event or subject: each rule reports it once.
    package var source: String
    package var rule: String
    package var type: String
    package var session: String?
    /// The kind and id of its subject.
    package var subject: String?
    package var at: Timestamp
    package var body: [UInt8]

    package init(
        id: String,
        source: String,
        rule: String,
        type: String,
        session: String?,
        subject: String?,
        at: Timestamp,
        body: [UInt8]
    ) {
        self.id = id
        self.source = source
        self.rule = rule
        self.type = type
        self.session = session
        self.subject = subject
        self.at = at
        self.body = body
    }
}

/// A notification on its way to one sink, as the database stores it.
package struct StoredDelivery: Sendable, Equatable {
    package var notification: String
    package var sink: String
    package var purpose: String
    package var state: String
    package var attempts: Int
    package var dueAt: Timestamp
    package var startedAt: Timestamp?
    package var updatedAt: Timestamp
    package var status: Int?
    package var error: String?

    package init(
        notification: String,
        sink: String,
        purpose: String,
        state: String,
        attempts: Int,
        dueAt: Timestamp,
        startedAt: Timestamp?,
        updatedAt: Timestamp,
        status: Int?,
        error: String?
    ) {
        self.notification = notification
        self.sink = sink
        self.purpose = purpose
        self.state = state
        self.attempts = attempts
        self.dueAt = dueAt
        self.startedAt = startedAt
        self.updatedAt = updatedAt
        self.status = status
        self.error = error
    }
}

/// Notifications and their deliveries: the history, and the queue of unsent ones.
package struct NotificationTable {
    package static let migrations = [
        Migration(
            module: "notifications",
            version: 1,
            script: """
                CREATE TABLE notification(
                    ordinal INTEGER PRIMARY KEY,
                    id TEXT NOT NULL UNIQUE,
                    source TEXT NOT NULL,
                    rule TEXT NOT NULL,
                    type TEXT NOT NULL,
                    session TEXT,
                    matter TEXT,
                    at INTEGER NOT NULL,
                    has_ended INTEGER NOT NULL DEFAULT 0,
                    body BLOB NOT NULL
                );
                CREATE UNIQUE INDEX notification_source ON notification(source, rule);
                CREATE INDEX notification_last ON notification(rule, type, session, at);
                CREATE INDEX notification_matter ON notification(matter) WHERE has_ended = 0;
                CREATE TABLE notification_delivery(
                    notification TEXT NOT NULL,
                    sink TEXT NOT NULL,
                    purpose TEXT NOT NULL,
                    state TEXT NOT NULL,
                    attempts INTEGER NOT NULL,
                    due_at INTEGER NOT NULL,
                    started_at INTEGER,
                    updated_at INTEGER NOT NULL,
                    status INTEGER,
                    error TEXT,
                    PRIMARY KEY(notification, sink)
                ) WITHOUT ROWID;
                CREATE INDEX notification_open ON notification_delivery(state) WHERE state IN ('pending', 'held');
                CREATE TABLE notification_echo(entry TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
                """
        )
    ]

    private let connection: SQLConnection

    package init(_ connection: SQLConnection) {
        self.connection = connection
    }

    // MARK: Writing

    /// False if this rule has reported it before.
    package func insert(_ notification: StoredNotification) throws(SQLError) -> Bool {
        try connection.run(
            "INSERT INTO notification(id, source, rule, type, session, matter, at, body) VALUES(?, ?, ?, ?, ?, ?, ?, ?) "
                + "ON CONFLICT(source, rule) DO NOTHING",
            notification.id,
            notification.source,
            notification.rule,
            notification.type,
            notification.session,
            notification.subject,
            notification.at.milliseconds,
            notification.body
        )
        return try connection.changes() == 1
    }

    /// The time of the rule's last notification of this type and session.
    package func last(rule: String, type: String, session: String?) throws(SQLError) -> Timestamp? {
        try connection.first(
            "SELECT at FROM notification WHERE rule = ? AND type = ? AND "
                + "\(session == nil ? "session IS NULL AND ?3 IS NULL" : "session = ?3") ORDER BY at DESC LIMIT 1",
            rule,
            type,
            session
        ) { row in Timestamp(milliseconds: row.int64(0)) }
    }

    package func save(_ delivery: StoredDelivery) throws(SQLError) {
        try connection.run(
            "INSERT INTO notification_delivery(notification, sink, purpose, state, attempts, due_at, started_at, "
                + "updated_at, status, error) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 "
                // The notification may have been deleted by age meanwhile.
                + "WHERE EXISTS (SELECT 1 FROM notification WHERE id = ?1) "
                + "ON CONFLICT(notification, sink) DO UPDATE SET purpose = excluded.purpose, state = excluded.state, "
                + "attempts = excluded.attempts, due_at = excluded.due_at, started_at = excluded.started_at, "
                + "updated_at = excluded.updated_at, status = excluded.status, error = excluded.error",
            delivery.notification,
            delivery.sink,
            delivery.purpose,
            delivery.state,
            delivery.attempts,
            delivery.dueAt.milliseconds,
            delivery.startedAt?.milliseconds,
            delivery.updatedAt.milliseconds,
            delivery.status,
            delivery.error
        )
    }

    /// Ends a subject. Returns the ids of its open notifications.
    package func end(subject: String) throws(SQLError) -> [String] {
        let ids = try connection.all("SELECT id FROM notification WHERE matter = ? AND has_ended = 0", subject) { row in
            row.string(0)
        }
        guard !ids.isEmpty else { return [] }
        try connection.run("UPDATE notification SET has_ended = 1 WHERE matter = ? AND has_ended = 0", subject)
        return ids
    }

    /// Whether the subject was reported, and its end was not.
    /// - Parameter type: nil for any.
    package func isOpen(subject: String, type: String?) throws(SQLError) -> Bool {
        try connection.first(
            "SELECT 1 FROM notification WHERE matter = ?1 AND has_ended = 0 AND (?2 IS NULL OR type = ?2) LIMIT 1",
            subject,
            type
        ) { _ in true } ?? false
    }

    /// Records a message caused by a notification: its run causes none, otherwise the two would go on for ever.
    package func noteEcho(entry: String, at: Timestamp) throws(SQLError) {
        try connection.run(
            "INSERT INTO notification_echo(entry, at) VALUES(?, ?) ON CONFLICT(entry) DO NOTHING",
            entry,
            at.milliseconds
        )
    }

    /// Whether a run or an entry was caused by a notification.
    package func isEcho(_ id: String) throws(SQLError) -> Bool {
        try connection.first(
            "SELECT 1 FROM notification_echo AS echo WHERE echo.entry = ?1 "
                + "OR EXISTS (SELECT 1 FROM outbox WHERE outbox.id = echo.entry AND outbox.run_id = ?1) LIMIT 1",
            id
        ) { _ in true } ?? false
    }

    // MARK: Reading

    package func notification(id: String) throws(SQLError) -> StoredNotification? {
        try connection.first("SELECT \(Self.columns) FROM notification WHERE id = ?", id, row: Self.notification)
    }

    /// The newest first, limited to `sessions`; nil for all of them.
    /// - Parameters:
    ///   - state: the state of a delivery.
    ///   - before: the last one of the previous page.
    package func page(
        state: String?,
        sessions: SessionSet?,
        before: String?,
        limit: Int
    ) throws(SQLError) -> (rows: [StoredNotification], isMore: Bool)? {
        var start = Int64.max
        if let before {
            let found = try connection.first("SELECT ordinal FROM notification WHERE id = ?", before) { row in
                row.int64(0)
            }
            guard let found else { return nil }
            start = found
        }
        var rows: [StoredNotification] = []
        var isMore = false
        try connection.scan(
            "SELECT \(Self.columns) FROM notification WHERE ordinal < ?1 AND (?2 IS NULL OR EXISTS "
                + "(SELECT 1 FROM notification_delivery WHERE notification = id AND state = ?2)) ORDER BY ordinal DESC",
            start,
            state
        ) { row in
            let one = Self.notification(row)
            if let sessions, one.session.map({ !sessions.contains($0) }) ?? true { return true }
            guard rows.count < limit else {
                isMore = true
                return false
            }
            rows.append(one)
            return true
        }
        return (rows, isMore)
    }

    package func deliveries(of id: String) throws(SQLError) -> [StoredDelivery] {
        try connection.all(
            "SELECT \(Self.deliveryColumns) FROM notification_delivery WHERE notification = ? ORDER BY sink",
            id,
            row: Self.delivery
        )
    }

    /// The newest unsent deliveries, at most `limit`, oldest first.
    package func open(limit: Int) throws(SQLError) -> [(delivery: StoredDelivery, body: [UInt8])] {
        let columns = Self.deliveryColumns.split(separator: ",").map { "d.\($0.drop { $0 == " " })" }
        let found = try connection.all(
            "SELECT \(columns.joined(separator: ", ")), n.body FROM notification_delivery AS d "
                + "JOIN notification AS n ON n.id = d.notification WHERE d.state IN ('pending', 'held') "
                + "ORDER BY n.ordinal DESC LIMIT ?",
            limit
        ) { row in (Self.delivery(row), row.bytes(10)) }
        return found.reversed()
    }

    // MARK: Retention

    /// Deletes at most `slice` of the oldest beyond the limits, with their deliveries.
    package func prune(keeping count: Int, before time: Timestamp, slice: Int) throws(SQLError) -> Int {
        try connection.run(
            "DELETE FROM notification_echo WHERE entry IN (SELECT entry FROM notification_echo WHERE at < ? LIMIT ?)",
            time.milliseconds,
            slice
        )
        let newest = try connection.first("SELECT max(ordinal) FROM notification") { row in row.int64(0) } ?? 0
        let gone = try connection.all(
            "SELECT id FROM notification WHERE ordinal <= ? OR at < ? ORDER BY ordinal LIMIT ?",
            newest - Int64(count),
            time.milliseconds,
            slice
        ) { row in row.string(0) }
        for id in gone {
            try connection.run("DELETE FROM notification_delivery WHERE notification = ?", id)
            try connection.run("DELETE FROM notification WHERE id = ?", id)
        }
        return gone.count
    }

    private static let columns = "id, source, rule, type, session, matter, at, body"

    private static func notification(_ row: SQLRow) -> StoredNotification {
        StoredNotification(
            id: row.string(0),
            source: row.string(1),
            rule: row.string(2),
            type: row.string(3),
            session: row.optionalString(4),
            subject: row.optionalString(5),
            at: Timestamp(milliseconds: row.int64(6)),
            body: row.bytes(7)
        )
    }

    private static let deliveryColumns =
        "notification, sink, purpose, state, attempts, due_at, started_at, updated_at, status, error"

    private static func delivery(_ row: SQLRow) -> StoredDelivery {
        StoredDelivery(
            notification: row.string(0),
            sink: row.string(1),
            purpose: row.string(2),
            state: row.string(3),
            attempts: row.int(4),
            dueAt: Timestamp(milliseconds: row.int64(5)),
            startedAt: row.optionalInt64(6).map { Timestamp(milliseconds: $0) },
            updatedAt: Timestamp(milliseconds: row.int64(7)),
            status: row.optionalInt64(8).map { Int($0) },
            error: row.optionalString(9)
        )
    }
}
