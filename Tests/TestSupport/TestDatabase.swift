import Foundation
package import Postgres
import SQLite
package import Store

/// The database of a test: a file, or, where LADLE_TEST_DATABASE names a server, tables of its own there. `Tests/postgres` starts such
/// a server.
package enum TestDatabase {
    package static let server = ProcessInfo.processInfo.environment["LADLE_TEST_DATABASE"]
    /// Tests of what only one engine has, such as its plans, run there.
    package static var isFile: Bool { server == nil }

    /// A connection to a new database with all tables.
    package static func open(_ path: String = ":memory:") throws -> SQLConnection {
        guard server == nil else { return try onServer() }
        let connection = try SQLiteConnection(path: path, access: .readWrite)
        try connection.execute("PRAGMA synchronous = OFF")
        try Migrator(StoreTables.migrations).migrate(connection)
        return SQLConnection(connection)
    }

    /// Where the server is, with a schema of this name.
    package static func place(schema: String) throws -> PostgresPlace {
        var place = PostgresPlace()
        place.set("dbname", server ?? "")
        place.set("options", "-csearch_path=\(schema)")
        return place
    }

    package static func newSchema() -> String { "t\(UInt64.random(in: 0 ... .max))" }

    private static func onServer() throws -> SQLConnection {
        let schema = newSchema()
        let connection = SQLConnection(try PostgresConnection(place(schema: schema)))
        try connection.run("CREATE SCHEMA \(schema)")
        for statement in ServerSchema.statements { try connection.run(statement) }
        return connection
    }
}
