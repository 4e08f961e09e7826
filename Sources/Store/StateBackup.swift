package import Basics
package import EventStream
import POSIX
import SQL
import SQLite

/// A copy of the state in one file: the database, and files such as the device's key.
package struct StateBackup: Sendable {
    /// The table with the other files; only backups have it.
    private static let table = "backup_file"

    /// The path of the backup.
    package let path: String
    /// The names of the other files in the state directory.
    package let files: [String]

    package init(path: String, files: [String]) {
        self.path = path
        self.files = files
    }

    /// Copies the state of a directory, even while a server uses it. An existing file is never replaced.
    package func make(of directory: String) throws(StoreError) {
        try perform {
            guard !RestorePlan.isUnfinished(in: directory) else {
                throw StoreError.unavailable("a restore of it was cut off; ladle serve finishes it")
            }
            try copy(directory + "/ladle.db", to: path)
            do {
                let copy = try SQLiteConnection(path: path, access: .readWrite)
                try copy.execute("PRAGMA journal_mode = DELETE; CREATE TABLE \(Self.table)(name TEXT, bytes BLOB)")
                for name in files {
                    guard let bytes = try PrivateFile(directory + "/" + name).read() else { continue }
                    try copy.run("INSERT INTO \(Self.table) VALUES(?, ?)", name, bytes)
                }
                copy.close()
            } catch {
                try? FileSystem.remove(path)
                throw error
            }
        }
    }

    /// Replaces the state of a directory by the backup. The backup is checked first, and the earlier state is kept. The
    /// event log restarts, because its numbers were given to other events since.
    /// - Parameter fault: why one of the other files cannot be used, if it cannot.
    /// - Returns: the directory with the earlier state; nil if there was none.
    package func restore(
        into directory: StateDirectory,
        epoch: EventEpoch,
        at now: Timestamp,
        fault: (_ name: String, _ bytes: [UInt8]) -> String? = { _, _ in nil }
    ) throws(StoreError) -> String? {
        let other = { (name: String) in PrivateFile("\(directory.path)/\(name)\(RestorePlan.suffix)") }
        let candidate = other(SetAsideFiles.databaseName).path
        return try perform {
            try? FileSystem.remove(candidate)
            try checkLength()
            try copy(path, to: candidate)
            do {
                let others = try prepare(candidate, epoch: epoch, at: now)
                for (name, bytes) in others {
                    if let fault = fault(name, bytes) { throw StoreError.unavailable("its \(name) \(fault)") }
                }
                // All is written before the earlier state is moved, since a full disk must not leave half of each.
                for (name, bytes) in others { try other(name).replace(with: bytes) }
                let plan = RestorePlan(
                    at: now.milliseconds,
                    new: [SetAsideFiles.databaseName] + others.map(\.0),
                    old: ["ladle.db-wal", "ladle.db-shm", SetAsideFiles.databaseName, Witness.fileName] + files
                )
                try plan.perform(in: directory.path)
                let place = "\(directory.path)/\(plan.place)"
                return FileSystem.exists(place) ? place : nil
            } catch {
                // With a plan, the next start finishes the restore.
                guard !RestorePlan.isUnfinished(in: directory.path) else { throw error }
                for path in [candidate] + files.map({ other($0).path }) { try? FileSystem.remove(path) }
                throw error
            }
        }
    }

    /// Copies a consistent snapshot of a database into a private file that must not exist.
    private func copy(_ database: String, to target: String) throws {
        let start = try FileSystem.read(database, limit: 1)
        guard start.facts.kind == .regular else { throw StoreError.unavailable("\(database) is not a file") }
        // SQLite takes an empty file for a new database.
        guard !start.bytes.isEmpty else { throw StoreError.unavailable("\(database) is empty") }
        try PrivateFile(target).createDirectly([])
        do {
            let source = try SQLiteConnection(path: database, access: .readOnly)
            defer { source.close() }
            try source.run("VACUUM INTO ?", target)
        } catch {
            try? FileSystem.remove(target)
            guard error.kind == .corrupt || error.kind == .cannotOpen else { throw error }
            throw Self.damaged(database)
        }
    }

    /// SQLite opens a file whose last page is cut, and fills it with zeros (sqlite.org/fileformat2.html §1.3).
    private func checkLength() throws {
        let start = try FileSystem.read(path, limit: 100)
        guard start.bytes.count == 100 else { return }
        let number = { (range: Range<Int>) in start.bytes[range].reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
        let pageBytes = number(16..<18) == 1 ? 65_536 : number(16..<18)
        if start.facts.size < pageBytes * number(28..<32) { throw Self.damaged(path) }
    }

    private static func damaged(_ path: String) -> StoreError {
        .unavailable("\(path) is no database, or it is damaged or cut short")
    }

    /// Turns a copy of the backup into a usable database.
    private func prepare(_ candidate: String, epoch: EventEpoch, at now: Timestamp) throws -> [(String, [UInt8])] {
        let connection = try SQLiteConnection(path: candidate, access: .readWrite)
        defer { connection.close() }
        if let problem = try connection.quickCheck().first { throw StoreError.unavailable("it is damaged: \(problem)") }
        let isBackup = try connection.first("SELECT 1 FROM sqlite_schema WHERE name = ?", Self.table) { row in
            row.int64(0)
        }
        guard isBackup != nil else { throw StoreError.unavailable("it is no backup of Ladle") }
        let steps = StoreTables.migrations
        try Migrator(steps).migrate(connection)
        try Schema.check(connection, after: steps)
        let rows = try connection.all("SELECT name, bytes FROM \(Self.table)") { row in (row.string(0), row.bytes(1)) }
        try connection.transaction { () throws(SQLError) in
            try connection.execute(
                """
                DROP TABLE \(Self.table); DELETE FROM event; DELETE FROM event_log; DELETE FROM event_session;
                DELETE FROM said; UPDATE run SET unanswered_since = NULL WHERE unanswered_since IS NOT NULL
                """
            )
            try EventTable(SQLConnection(connection)).createLog(epoch: epoch, at: now)
        }
        return rows.filter { files.contains($0.0) }
    }

    private func perform<Value>(_ work: () throws -> Value) throws(StoreError) -> Value {
        do {
            return try work()
        } catch let error as SystemError {
            throw .unavailable("\(error)")
        } catch {
            throw DatabaseFile.storeError(error)
        }
    }
}
