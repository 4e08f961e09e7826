package import Basics
package import SQL

/// Clients' idempotency keys, with the entry that the first request made; for a request that acts at once, with its
/// answer, empty until it is known. Kept 24 h, even after the entry.
package struct ReceiptTable {
    package static let lifetimeMs: Int64 = 24 * 3_600_000

    /// The key of a request within the caller's own scope (token, method, path), and a hash of its body.
    package struct Claim: Sendable, Equatable {
        package var scope: String
        package var key: String
        package var bodyHash: [UInt8]

        package init(scope: String, key: String, bodyHash: [UInt8]) {
            self.scope = scope
            self.key = key
            self.bodyHash = bodyHash
        }
    }

    package enum Finding: Sendable, Equatable {
        case free
        case same(entry: String)
        /// The key was used with another body.
        case other
    }

    private let connection: SQLConnection

    package init(_ connection: SQLConnection) {
        self.connection = connection
    }

    package func find(_ claim: Claim, now: Timestamp) throws(SQLError) -> Finding {
        let known = try connection.first(
            "SELECT entry, body_hash FROM receipt WHERE scope = ? AND key = ? AND created_at > ?",
            claim.scope,
            claim.key,
            now.milliseconds - Self.lifetimeMs
        ) { row in (row.string(0), row.bytes(1)) }
        guard let known else { return .free }
        return known.1 == claim.bodyHash ? .same(entry: known.0) : .other
    }

    /// The newest key of a scope with this beginning, of a request since then.
    package func newestKey(in scope: String, beginning: String, since: Timestamp) throws(SQLError) -> String? {
        try connection.first(
            "SELECT key FROM receipt WHERE scope = ?1 AND key >= ?2 AND substr(key, 1, length(?2)) = ?2 "
                + "AND created_at > ?3 ORDER BY created_at DESC LIMIT 1",
            scope,
            beginning,
            since.milliseconds
        ) { $0.string(0) }
    }

    package func record(_ claim: Claim, entry: String, now: Timestamp) throws(SQLError) {
        try connection.run(
            "INSERT INTO receipt(scope, key, body_hash, entry, created_at) VALUES(?, ?, ?, ?, ?) "
                + "ON CONFLICT(scope, key) DO UPDATE SET body_hash = excluded.body_hash, entry = excluded.entry, "
                + "created_at = excluded.created_at",
            claim.scope,
            claim.key,
            claim.bodyHash,
            entry,
            now.milliseconds
        )
    }

    package func forget(_ claim: Claim) throws(SQLError) {
        try connection.run("DELETE FROM receipt WHERE scope = ? AND key = ?", claim.scope, claim.key)
    }

    package func prune(now: Timestamp, slice: Int) throws(SQLError) -> Int {
        try connection.run(
            "DELETE FROM receipt WHERE (scope, key) IN "
                + "(SELECT scope, key FROM receipt WHERE created_at <= ? ORDER BY created_at LIMIT ?)",
            now.milliseconds - Self.lifetimeMs,
            slice
        )
        return try connection.changes()
    }
}
