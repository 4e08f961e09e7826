package import Postgres
package import SQL
package import SQLite

/// A connection to the database, whichever the engine is: a file, or a server. The texts of the statements are those of both. Not
/// Sendable: it lives on the queue of the actor that opened it.
package final class SQLConnection {
    package enum Engine {
        case sqlite(SQLiteConnection)
        case postgres(PostgresConnection)
    }

    package let engine: Engine

    package init(_ connection: SQLiteConnection) {
        engine = .sqlite(connection)
    }

    package init(_ connection: PostgresConnection) {
        engine = .postgres(connection)
    }

    package func close() {
        switch engine {
        case .sqlite(let connection): connection.close()
        case .postgres(let connection): connection.close()
        }
    }

    // MARK: Statements

    /// Runs a statement and drops any rows. A server's error may show with a later statement, at the latest with the commit.
    package func run<each Value: SQLBindable>(_ sql: String, _ values: repeat each Value) throws(SQLError) {
        try run(sql, values: SQLValue.list(repeat each values))
    }

    func run(_ sql: String, values: [SQLValue]) throws(SQLError) {
        switch engine {
        case .sqlite(let connection): try connection.scan(sql, values: values) { _ in true }
        case .postgres(let connection): try connection.run(sql, values: values)
        }
    }

    /// Visits each row.
    package func forEach<each Value: SQLBindable>(
        _ sql: String,
        _ values: repeat each Value,
        row body: (SQLRow) throws(SQLError) -> Void
    ) throws(SQLError) {
        try rows(sql, SQLValue.list(repeat each values)) { row throws(SQLError) in
            try body(row)
            return true
        }
    }

    package func all<each Value: SQLBindable, Element>(
        _ sql: String,
        _ values: repeat each Value,
        row map: (SQLRow) throws(SQLError) -> Element
    ) throws(SQLError) -> [Element] {
        var elements: [Element] = []
        try rows(sql, SQLValue.list(repeat each values)) { row throws(SQLError) in
            elements.append(try map(row))
            return true
        }
        return elements
    }

    package func first<each Value: SQLBindable, Element>(
        _ sql: String,
        _ values: repeat each Value,
        row map: (SQLRow) throws(SQLError) -> Element
    ) throws(SQLError) -> Element? {
        var element: Element?
        try rows(sql, SQLValue.list(repeat each values)) { row throws(SQLError) in
            element = try map(row)
            return false
        }
        return element
    }

    /// Visits rows until `body` has enough, of a statement that may have more than anybody wants.
    package func scan<each Value: SQLBindable>(
        _ sql: String,
        _ values: repeat each Value,
        row body: (SQLRow) throws(SQLError) -> Bool
    ) throws(SQLError) {
        let values = SQLValue.list(repeat each values)
        guard case .postgres(let connection) = engine else { return try rows(sql, values, body) }
        try connection.scan(sql, values: values) { row throws(SQLError) in try body(.postgres(row)) }
    }

    private func rows(
        _ sql: String,
        _ values: [SQLValue],
        _ body: (SQLRow) throws(SQLError) -> Bool
    ) throws(SQLError) {
        switch engine {
        case .sqlite(let connection):
            try connection.scan(sql, values: values) { row throws(SQLError) in try body(.sqlite(row)) }
        case .postgres(let connection):
            try connection.rows(sql, values: values) { row throws(SQLError) in try body(.postgres(row)) }
        }
    }

    /// The number of rows that the last statement inserted, changed or deleted.
    package func changes() throws(SQLError) -> Int {
        switch engine {
        case .sqlite(let connection): connection.changes
        case .postgres(let connection): try connection.changes()
        }
    }

    // MARK: Transactions

    package func begin() throws(SQLError) {
        switch engine {
        case .sqlite(let connection): try connection.run("BEGIN IMMEDIATE")
        case .postgres(let connection): try connection.begin()
        }
    }

    package func commit() throws(SQLError) {
        switch engine {
        case .sqlite(let connection): try connection.run("COMMIT")
        case .postgres(let connection): try connection.commit()
        }
    }

    /// Ends any open transaction.
    package func rollBack() {
        switch engine {
        case .sqlite(let connection): connection.rollBack()
        case .postgres(let connection): connection.rollBack()
        }
    }

    /// Begins a read transaction: what it reads is the state of one moment.
    func beginReading() throws(SQLError) {
        switch engine {
        case .sqlite(let connection): try connection.execute("BEGIN")
        case .postgres(let connection): try connection.begin("ISOLATION LEVEL REPEATABLE READ READ ONLY")
        }
    }

    // MARK: Words that differ

    /// A text's length in bytes.
    func bytes(of column: String) -> String {
        switch engine {
        case .sqlite: "length(CAST(\(column) AS BLOB))"
        case .postgres: "octet_length(\(column))"
        }
    }

    /// A hint that only one engine takes.
    func indexed(by name: String) -> String {
        switch engine {
        case .sqlite: "INDEXED BY \(name)"
        case .postgres: ""
        }
    }
}
