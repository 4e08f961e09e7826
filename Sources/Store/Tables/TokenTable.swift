package import Access
package import Basics
package import SQL
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
        // Null in rows of the versions before.
        Migration(module: "access", version: 3, script: "ALTER TABLE token ADD COLUMN sum BLOB"),
    ]

    private let connection: SQLConnection

    package init(_ connection: SQLConnection) {
        self.connection = connection
    }

    /// One row. Each has a checksum of its token: SQLite does not see a single bit that changed on the disk, and one
    /// more bit would be one more scope.
    package enum Row: Sendable, Equatable {
        case token(TokenRecord)
        /// A row of a version before, without a checksum; `save` adds it.
        case unsealed(TokenRecord)
        /// Damaged, or written by a later version. It grants nothing.
        case unreadable(id: String)
    }

    package func rows() throws(SQLError) -> [Row] {
        try connection.all(
            "SELECT id, name, scopes, sessions, created_at, expires_at, last_used_at, digest, shown, paths, sum "
                + "FROM token ORDER BY id"
        ) { row in
            guard let record = Self.record(row) else { return .unreadable(id: row.string(0)) }
            guard let sum = row.optionalBytes(10) else { return .unsealed(record) }
            return sum == Self.sum(of: record) ? .token(record) : .unreadable(id: record.id)
        }
    }

    /// All tokens that can be read, for the index at the start.
    package func load() throws(SQLError) -> [TokenRecord] {
        try rows().compactMap { row in
            switch row {
            case .token(let record), .unsealed(let record): record
            case .unreadable: nil
            }
        }
    }

    /// The last use is left out: it is written alone, and grants nothing.
    private static func sum(of record: TokenRecord) -> [UInt8] {
        let fields = [
            record.id, record.name, "\(record.scopes.rawValue)", record.sessions.map(encode) ?? "-",
            record.paths.map { $0.list.joined(separator: "\n") } ?? "-", "\(record.createdAt.milliseconds)",
            record.expiresAt.map { "\($0.milliseconds)" } ?? "-", record.shown,
        ]
        let text = fields.map { "\($0.utf8.count):\($0)" }.joined()
        return SecretDigest(of: Array(text.utf8) + record.digest.bytes).bytes
    }

    /// Inserts a token, or replaces the row with the same id (rotation).
    package func save(_ record: TokenRecord) throws(SQLError) {
        try connection.run(
            "INSERT INTO "
                + "token(id, name, scopes, sessions, created_at, expires_at, last_used_at, digest, shown, paths, sum) "
                + "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO UPDATE SET name = excluded.name, "
                + "scopes = excluded.scopes, sessions = excluded.sessions, created_at = excluded.created_at, "
                + "expires_at = excluded.expires_at, last_used_at = excluded.last_used_at, digest = excluded.digest, "
                + "shown = excluded.shown, paths = excluded.paths, sum = excluded.sum",
            record.id,
            record.name,
            Int64(record.scopes.rawValue),
            record.sessions.map(Self.encode),
            record.createdAt.milliseconds,
            record.expiresAt?.milliseconds,
            record.lastUsedAt?.milliseconds,
            record.digest.bytes,
            record.shown,
            record.paths.map { $0.list.joined(separator: "\n") },
            Self.sum(of: record)
        )
        try countChange()
    }

    package func delete(_ id: String) throws(SQLError) {
        try connection.run("DELETE FROM token WHERE id = ?", id)
        try countChange()
    }

    /// Counts token changes; the witness beside the database holds this number too.
    private func countChange() throws(SQLError) {
        let values = ValueTable(connection)
        let (space, name) = ("store", "tokenChanges")
        let known = try values.get(space: space, name: name).flatMap { Int(String(decoding: $0.bytes, as: UTF8.self)) }
        try values.set(Array("\((known ?? 0) + 1)".utf8), space: space, name: name, at: Timestamp(milliseconds: 0))
    }

    /// Writes last uses, from time to time; a token deleted meanwhile stays deleted.
    package func touch(_ uses: [String: Timestamp]) throws(SQLError) {
        for (id, time) in uses {
            try connection.run("UPDATE token SET last_used_at = ? WHERE id = ?", time.milliseconds, id)
        }
    }

    private static func record(_ row: SQLRow) -> TokenRecord? {
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
