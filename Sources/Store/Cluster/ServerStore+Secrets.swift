import Basics
package import Postgres
import SQL

/// Secrets that all hosts share, sealed with a key that is in no table.
extension ServerStore {
    /// Before this host leads; none where no Ladle has made tables yet.
    package static func secrets(at place: PostgresPlace) throws(ServerFault) -> [String: [UInt8]] {
        let connection = try ServerSession.connect(place)
        defer { connection.close() }
        let tables = SQLConnection(connection)
        do throws(SQLError) {
            let isMade = try tables.first("SELECT to_regclass('secret') IS NOT NULL") { row in row.bool(0) }
            return isMade == true ? try Self.secrets(in: tables) : [:]
        } catch {
            throw ServerSession.fault(of: error)
        }
    }

    package nonisolated func secrets() async throws -> [String: [UInt8]] {
        try await commit { try Self.secrets(in: $0.connection) }
    }

    private static func secrets(in tables: SQLConnection) throws(SQLError) -> [String: [UInt8]] {
        let rows = try tables.all("SELECT name, sealed FROM secret") { row in (row.string(0), row.bytes(1)) }
        return Dictionary(rows, uniquingKeysWith: { first, _ in first })
    }

    package nonisolated func keep(_ sealed: [UInt8], as name: String) async throws {
        try await commit { transaction in
            try transaction.connection.run(
                "INSERT INTO secret VALUES(?, ?, ?) ON CONFLICT(name) DO UPDATE SET sealed = excluded.sealed, "
                    + "updated_at = excluded.updated_at",
                name,
                sealed[...],
                transaction.now.milliseconds
            )
        }
    }
}
