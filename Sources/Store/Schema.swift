import SQL
import SQLite

/// The columns, triggers and views of a database. SQLite checks the pages of a file, not whether the texts of its schema
/// are still those that were written: one changed bit renames a column, and each start would fail at the first statement
/// that needs it. Blanks do not count.
struct Schema {
    private let columns: Set<String>
    private let programs: Set<String>

    init(of connection: SQLiteConnection) throws(SQLError) {
        columns = Set(
            try connection.all(
                "SELECT t.name || '.' || c.name FROM sqlite_schema AS t JOIN pragma_table_info(t.name) AS c "
                    + "WHERE t.type = 'table'"
            ) { row in row.string(0) }
        )
        programs = Set(
            try connection.all(
                "SELECT type || ' ' || name || ' ' || sql FROM sqlite_schema WHERE type IN ('trigger', 'view')"
            ) { row in row.string(0).split(whereSeparator: \.isWhitespace).joined(separator: " ") }
        )
    }

    /// The schema that the steps make.
    private init(_ migrations: [Migration]) throws {
        let connection = try SQLiteConnection(path: ":memory:", access: .readWrite)
        defer { connection.close() }
        try Migrator(migrations).migrate(connection)
        self = try Schema(of: connection)
    }

    /// Throws if the database, brought up to these steps, lacks a column, or has triggers or views that are not theirs:
    /// a program inside a database would change what Ladle writes.
    static func check(_ connection: SQLiteConnection, after migrations: [Migration]) throws {
        let (found, wanted) = (try Schema(of: connection), try Schema(migrations))
        if let missing = wanted.columns.subtracting(found.columns).min() {
            throw SQLError.malformed("there is no \(missing)")
        }
        guard let other = found.programs.symmetricDifference(wanted.programs).min() else { return }
        let words = other.split(separator: " ").prefix(2).joined(separator: " ")
        throw SQLError.malformed("the \(words) is not as Ladle made it")
    }
}
