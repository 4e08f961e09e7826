package import SQL

/// One step of a module's part of the schema. Steps of a module are numbered 1, 2, 3… and never change once released.
package struct Migration: Sendable {
    package var module: String
    package var version: Int
    package var script: String

    package init(module: String, version: Int, script: String) {
        self.module = module
        self.version = version
        self.script = script
    }
}

package enum MigrationError: Error, Equatable, Sendable {
    /// The file was written by a later version of the program.
    case newer(module: String, found: Int, known: Int)
    /// The database belongs to another program.
    case foreign(applicationID: Int)
    case storage(SQLError)
}

extension MigrationError: CustomStringConvertible {
    /// The end of a sentence about the database.
    package var description: String {
        switch self {
        case .newer(let module, let found, let known):
            "is of a newer version (\(module) \(found), this program knows \(known))"
        case .foreign(let applicationID): "belongs to another program (application id \(applicationID))"
        case .storage(let error): "cannot be read: \(error.summary)"
        }
    }
}

/// Brings a database up to the given list in one transaction: all steps or none.
package struct Migrator {
    /// "Ladl" in the file's header, so that another program's database is not mistaken for ours.
    package static let applicationID = 0x4c61_646c

    private let migrations: [Migration]

    package init(_ migrations: [Migration]) {
        self.migrations = migrations
    }

    /// Checks whether `migrate` would refuse the database; writes nothing.
    package func check(_ connection: SQLiteConnection) throws(MigrationError) {
        _ = try checkedVersions(connection)
    }

    /// The number of steps taken.
    @discardableResult
    package func migrate(_ connection: SQLiteConnection) throws(MigrationError) -> Int {
        let found = try checkedVersions(connection)
        let applied = found ?? [:]
        let open = migrations.filter { $0.version > applied[$0.module] ?? 0 }
        // A database of the newest version is not written to: it must open even on a full disk.
        guard found == nil || !open.isEmpty else { return 0 }
        do throws(SQLError) {
            try connection.transaction { () throws(SQLError) in
                if found == nil { try createVersionTable(connection) }
                for migration in open { try apply(migration, to: connection) }
                // The sum of all steps: one number that other tools can read from the header.
                let total = applied.values.reduce(0, +) + open.count
                try connection.execute("PRAGMA user_version = \(total)")
            }
        } catch {
            throw .storage(error)
        }
        return open.count
    }

    private func ownerOfFile(
        _ connection: SQLiteConnection
    ) throws(MigrationError) -> (applicationID: Int, isOurs: Bool) {
        do throws(SQLError) {
            let owner = try connection.first("PRAGMA application_id") { row in row.int(0) } ?? 0
            let objects = try connection.first("SELECT count(*) FROM sqlite_schema") { row in row.int(0) } ?? 0
            return (owner, owner == Self.applicationID || (owner == 0 && objects == 0))
        } catch {
            throw .storage(error)
        }
    }

    private func apply(_ migration: Migration, to connection: SQLiteConnection) throws(SQLError) {
        try connection.execute(migration.script)
        try connection.run(
            "INSERT INTO schema_version(module, version) VALUES(?, ?) "
                + "ON CONFLICT(module) DO UPDATE SET version = excluded.version",
            migration.module,
            migration.version
        )
    }

    /// The applied versions of a database that this program may use; nil without a table of them.
    private func checkedVersions(_ connection: SQLiteConnection) throws(MigrationError) -> [String: Int]? {
        let owner = try ownerOfFile(connection)
        guard owner.isOurs else { throw .foreign(applicationID: owner.applicationID) }
        guard let applied = try appliedVersions(connection) else { return nil }
        var known: [String: Int] = [:]
        for migration in migrations {
            known[migration.module] = max(known[migration.module] ?? 0, migration.version)
        }
        for (module, version) in applied.sorted(by: { $0.key < $1.key }) where version > known[module] ?? 0 {
            throw .newer(module: module, found: version, known: known[module] ?? 0)
        }
        return applied
    }

    private func appliedVersions(_ connection: SQLiteConnection) throws(MigrationError) -> [String: Int]? {
        do throws(SQLError) {
            let tables = try connection.first("SELECT count(*) FROM sqlite_schema WHERE name = 'schema_version'") {
                row in
                row.int(0)
            }
            guard tables != 0 else { return nil }
            let rows = try connection.all("SELECT module, version FROM schema_version") { row in
                (row.string(0), row.int(1))
            }
            return Dictionary(rows) { $1 }
        } catch {
            throw .storage(error)
        }
    }

    private func createVersionTable(_ connection: SQLiteConnection) throws(SQLError) {
        try connection.execute("PRAGMA application_id = \(Self.applicationID)")
        try connection.execute(
            "CREATE TABLE schema_version(module TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID"
        )
    }
}
