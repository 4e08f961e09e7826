package import Access
package import Basics
package import SQLite

/// Tokens on disk: rows of digests. Used on the store's queue; the daemon authenticates from `TokenIndex`.
package struct TokenTable {
    package static let migrations = [
        Migration(
            module: "access",
            version: 1,
            script: """
                CREATE TABLE token(
                    id TEXT PRIMARY KEY,
                    name TEXT NOT NULL,
                    scopes INTEGER NOT NULL,
                    sessions TEXT,
                    created_at INTEGER NOT NULL,
                    expires_at INTEGER,
                    last_used_at INTEGER,
                    digest BLOB NOT NULL UNIQUE,
                    shown TEXT NOT NULL
                ) WITHOUT ROWID;
                """
        ),
        Migration(module: "access", version: 2, script: "ALTER TABLE token ADD COLUMN paths TEXT"),
    ]

    private let connection: SQLiteConnection

    package init(_ connection: SQLiteConnection) {
        self.connection = connection
    }

    /// All tokens, for the index at the start. An unreadable row (written by a later version) is skipped.
    package func load() throws(SQLiteError) -> [TokenRecord] {
        try connection.all(
            "SELECT id, name, scopes, sessions, created_at, expires_at, last_used_at, digest, shown, paths "
                + "FROM token ORDER BY id"
        ) { row in Self.record(row) }.compactMap { $0 }
    }

    /// Inserts a token, or replaces the row with the same id (rotation).
    package func save(_ record: TokenRecord) throws(SQLiteError) {
        try connection.run(
            "INSERT OR REPLACE INTO "
                + "token(id, name, scopes, sessions, created_at, expires_at, last_used_at, digest, shown, paths) "
                + "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            record.id,
            record.name,
            Int64(record.scopes.rawValue),
            record.sessions.map(Self.encode),
            record.createdAt.milliseconds,
            record.expiresAt?.milliseconds,
            record.lastUsedAt?.milliseconds,
            record.digest.bytes,
            record.shown,
            record.paths.map { $0.list.joined(separator: "\n") }
        )
        try countChange()
    }

    package func delete(_ id: String) throws(SQLiteError) {
        try connection.run("DELETE FROM token WHERE id = ?", id)
        try countChange()
    }

    /// Counts token changes; the witness beside the database holds this number too.
    private func countChange() throws(SQLiteError) {
        try connection.run(
            "INSERT INTO value(space, name, updated_at, bytes) VALUES('store', 'tokenChanges', 0, CAST('1' AS BLOB)) "
                + "ON CONFLICT(space, name) DO UPDATE SET bytes = CAST(CAST(bytes AS INTEGER) + 1 AS BLOB)"
        )
    }

    /// Writes last uses, from time to time; a token deleted meanwhile stays deleted.
    package func touch(_ uses: [String: Timestamp]) throws(SQLiteError) {
        for (id, time) in uses {
            try connection.run("UPDATE token SET last_used_at = ? WHERE id = ?", time.milliseconds, id)
        }
    }

    private static func record(_ row: SQLiteRow) -> TokenRecord? {
        guard let digest = SecretDigest(bytes: row.bytes(7)), let raw = UInt8(exactly: row.int64(2)) else { return nil }
        let scopes = ScopeSet(rawValue: raw)
        // An unknown bit is a scope of another version; granting the others would be a guess.
        guard ScopeSet(Scope.allCases).isSuperset(of: scopes), !scopes.isEmpty else { return nil }
        var paths: AllowedPaths?
        if let text = row.optionalString(9) {
            // An unreadable limit must not become no limit.
            guard let known = try? AllowedPaths(text.split(separator: "\n").map(String.init)) else { return nil }
            paths = known
        }
        return TokenRecord(
            id: row.string(0),
            name: row.string(1),
            scopes: scopes,
            sessions: row.optionalString(3).map(decode),
            paths: paths,
            createdAt: Timestamp(milliseconds: row.int64(4)),
            expiresAt: row.optionalInt64(5).map { Timestamp(milliseconds: $0) },
            lastUsedAt: row.optionalInt64(6).map { Timestamp(milliseconds: $0) },
            digest: digest,
            shown: row.string(8)
        )
    }

    /// Session keys have no line feeds: `NewToken` refuses them.
    private static func encode(_ sessions: SessionSet) -> String { sessions.texts.joined(separator: "\n") }

    private static func decode(_ text: String) -> SessionSet {
        SessionSet(text.split(separator: "\n").map(String.init))
    }
}
