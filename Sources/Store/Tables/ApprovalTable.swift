package import Access
package import Basics
package import SQL
package import SQLite

/// An approval as the database stores it: columns for queries, and the API's own JSON.
package struct StoredApproval: Sendable, Equatable {
    package var id: String
    package var kind: String
    package var session: String?
    package var createdAt: Timestamp
    /// Nil while the approval is pending.
    package var endedAt: Timestamp?
    package var body: [UInt8]

    package init(
        id: String,
        kind: String,
        session: String?,
        createdAt: Timestamp,
        endedAt: Timestamp?,
        body: [UInt8]
    ) {
        self.id = id
        self.kind = kind
        self.session = session
        self.createdAt = createdAt
        self.endedAt = endedAt
        self.body = body
    }
}

/// Approvals, kept as long as their events.
package struct ApprovalTable {
    package static let migrations = [
        Migration(
            module: "approvals",
            version: 1,
            script: """
                CREATE TABLE approval(
                    id TEXT PRIMARY KEY,
                    kind TEXT NOT NULL,
                    session TEXT,
                    created_at INTEGER NOT NULL,
                    ended_at INTEGER,
                    body BLOB NOT NULL
                ) WITHOUT ROWID;
                CREATE INDEX approval_created ON approval(created_at, id);
                CREATE INDEX approval_session ON approval(session, created_at, id);
                CREATE INDEX approval_waiting ON approval(created_at) WHERE ended_at IS NULL;
                CREATE INDEX approval_ended ON approval(ended_at) WHERE ended_at IS NOT NULL;
                """
        ),
        Migration(
            module: "approvals",
            version: 2,
            script: """
                CREATE TABLE approval_link(
                    digest BLOB PRIMARY KEY,
                    approval TEXT NOT NULL,
                    decision TEXT NOT NULL,
                    sender TEXT NOT NULL,
                    token TEXT
                ) WITHOUT ROWID;
                CREATE INDEX approval_link_approval ON approval_link(approval);
                """
        ),
        // A link without a question hash answers no question.
        Migration(
            module: "approvals",
            version: 3,
            script: """
                DELETE FROM approval_link;
                ALTER TABLE approval_link ADD COLUMN question TEXT;
                """
        ),
    ]

    private let connection: SQLConnection

    package init(_ connection: SQLConnection) {
        self.connection = connection
    }

    package func save(_ approval: StoredApproval) throws(SQLError) {
        try connection.run(
            "INSERT INTO approval(id, kind, session, created_at, ended_at, body) VALUES(?, ?, ?, ?, ?, ?) "
                + "ON CONFLICT(id) DO UPDATE SET kind = excluded.kind, session = excluded.session, "
                + "created_at = excluded.created_at, ended_at = excluded.ended_at, body = excluded.body",
            approval.id,
            approval.kind,
            approval.session,
            approval.createdAt.milliseconds,
            approval.endedAt?.milliseconds,
            approval.body
        )
        // An approval's links end with it.
        if approval.endedAt != nil {
            try connection.run("DELETE FROM approval_link WHERE approval = ?", approval.id)
        }
    }

    // MARK: Links

    /// False if the approval has the most links allowed, or is not pending.
    package func add(_ link: StoredLink, limit: Int) throws(SQLError) -> Bool {
        try connection.run(
            "INSERT INTO approval_link(digest, approval, decision, question, sender, token) "
                + "SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE (SELECT count(*) FROM approval_link WHERE approval = ?2) < ?7 "
                + "AND EXISTS (SELECT 1 FROM approval WHERE id = ?2 AND ended_at IS NULL)",
            link.digest.bytes,
            link.approval,
            link.decision,
            link.question,
            link.sender,
            link.token,
            limit
        )
        return try connection.changes() == 1
    }

    package func link(_ digest: SecretDigest) throws(SQLError) -> StoredLink? {
        try connection.first(
            "SELECT approval, decision, question, sender, token FROM approval_link WHERE digest = ?",
            digest.bytes
        ) { row in
            StoredLink(
                digest: digest,
                approval: row.string(0),
                decision: row.string(1),
                question: row.optionalString(2),
                sender: row.string(3),
                token: row.optionalString(4)
            )
        }
    }

    /// Deletes the links that a token has made.
    package func dropLinks(of token: String) throws(SQLError) {
        try connection.run("DELETE FROM approval_link WHERE token = ?", token)
    }

    /// Uses a link up; false if it was used before.
    package func take(_ digest: SecretDigest) throws(SQLError) -> Bool {
        try connection.run("DELETE FROM approval_link WHERE digest = ?", digest.bytes)
        return try connection.changes() == 1
    }

    package func approval(id: String) throws(SQLError) -> StoredApproval? {
        try connection.first("SELECT \(Self.columns) FROM approval WHERE id = ?", id, row: Self.approval)
    }

    /// Pending approvals, newest first, at most `limit`.
    package func waiting(limit: Int) throws(SQLError) -> [StoredApproval] {
        try connection.all(
            "SELECT \(Self.columns) FROM approval WHERE ended_at IS NULL ORDER BY created_at DESC LIMIT ?",
            limit,
            row: Self.approval
        )
    }

    /// Maps the last ended approvals to the parts that the caller needs, latest end first.
    package func lastEnded<Element>(limit: Int, _ map: (StoredApproval) -> Element) throws(SQLError) -> [Element] {
        try connection.all(
            "SELECT \(Self.columns) FROM approval WHERE ended_at IS NOT NULL ORDER BY ended_at DESC LIMIT ?",
            limit
        ) { row in map(Self.approval(row)) }
    }

    /// Ended approvals, newest question first: as many as fit into `bytes`, but at least one; `before` is the last one
    /// of the previous page.
    package func ended(
        session: String?,
        kind: String?,
        before: RowPlace?,
        limit: Int,
        bytes: Int
    ) throws(SQLError) -> (rows: [StoredApproval], isMore: Bool) {
        let conditions = [
            "ended_at IS NOT NULL", session == nil ? nil : "session = ?1", kind == nil ? nil : "kind = ?2",
            before == nil ? nil : "(created_at, id) < (?3, ?4)",
        ].compactMap(\.self)
        var rows: [StoredApproval] = []
        var size = 0
        var isMore = false
        try connection.scan(
            "SELECT \(Self.columns) FROM approval WHERE \(conditions.joined(separator: " AND ")) "
                + "ORDER BY created_at DESC, id DESC LIMIT ?5",
            session,
            kind,
            before?.at.milliseconds,
            before?.id,
            limit + 1
        ) { row in
            isMore = rows.count == limit || (size >= bytes && !rows.isEmpty)
            guard !isMore else { return false }
            rows.append(Self.approval(row))
            size += rows[rows.count - 1].body.count
            return true
        }
        return (rows, isMore)
    }

    /// Deletes at most `slice` approvals that ended before the given time.
    package func prune(endedBefore time: Timestamp, slice: Int) throws(SQLError) -> Int {
        try connection.run(
            "DELETE FROM approval WHERE id IN "
                + "(SELECT id FROM approval WHERE ended_at < ? ORDER BY ended_at LIMIT ?)",
            time.milliseconds,
            slice
        )
        return try connection.changes()
    }

    private static let columns = "id, kind, session, created_at, ended_at, body"

    private static func approval(_ row: SQLRow) -> StoredApproval {
        StoredApproval(
            id: row.string(0),
            kind: row.string(1),
            session: row.optionalString(2),
            createdAt: Timestamp(milliseconds: row.int64(3)),
            endedAt: row.optionalInt64(4).map { Timestamp(milliseconds: $0) },
            body: row.bytes(5)
        )
    }
}
