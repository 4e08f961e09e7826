package import Basics
package import SQL

/// Small values of other modules, by space and name: cached documents, link facts, counters.
package struct ValueTable {
    package struct Value: Sendable, Equatable {
        package var bytes: [UInt8]
        package var updatedAt: Timestamp
    }

    private let connection: SQLConnection

    package init(_ connection: SQLConnection) {
        self.connection = connection
    }

    package func set(_ bytes: [UInt8], space: String, name: String, at: Timestamp) throws(SQLError) {
        try connection.run(
            "INSERT INTO value(space, name, updated_at, bytes) VALUES(?, ?, ?, ?) "
                + "ON CONFLICT(space, name) DO UPDATE SET updated_at = excluded.updated_at, bytes = excluded.bytes",
            space,
            name,
            at.milliseconds,
            bytes
        )
    }

    package func get(space: String, name: String) throws(SQLError) -> Value? {
        try connection.first(
            "SELECT bytes, updated_at FROM value WHERE space = ? AND name = ?",
            space,
            name
        ) { row in
            Value(bytes: row.bytes(0), updatedAt: Timestamp(milliseconds: row.int64(1)))
        }
    }

    package func all(space: String) throws(SQLError) -> [(name: String, value: Value)] {
        try connection.all("SELECT name, bytes, updated_at FROM value WHERE space = ? ORDER BY name", space) { row in
            (row.string(0), Value(bytes: row.bytes(1), updatedAt: Timestamp(milliseconds: row.int64(2))))
        }
    }

    /// Removes the values of a space that were written before this time, and all but the newest so many.
    package func trim(space: String, before: Timestamp, keeping most: Int) throws(SQLError) {
        try connection.run("DELETE FROM value WHERE space = ? AND updated_at < ?", space, before.milliseconds)
        try connection.run(
            "DELETE FROM value WHERE space = ?1 AND name IN "
                + "(SELECT name FROM value WHERE space = ?1 ORDER BY updated_at DESC LIMIT \(Int64.max) OFFSET ?2)",
            space,
            most
        )
    }

    package func remove(space: String, name: String) throws(SQLError) {
        try connection.run("DELETE FROM value WHERE space = ? AND name = ?", space, name)
    }
}
