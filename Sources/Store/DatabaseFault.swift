import POSIX
import SQL
import SQLite

/// The reason why `ladle serve` would not use the database of a directory, for `ladle doctor`.
package enum DatabaseFault: Equatable, Sendable {
    /// A directory or a device has the name of the database.
    case notAFile(path: String)
    /// The database is a symbolic link, and there is nothing at its end.
    case leadsNowhere(path: String, target: String)
    case unreadable(path: String, reason: String, isForbidden: Bool)
    /// `serve` sets the database aside, and takes no message until somebody has decided about the ones in it.
    case unusable(path: String, reason: String)
    /// As `unusable`; a newer program can use the database.
    case newer(path: String, reason: String)

    /// Checks the database as `serve` does when it opens it. No file is created or changed, so a log without its index is
    /// not read: SQLite would have to make the index. The caller holds the lock of the state directory.
    package static func find(in directory: String) -> DatabaseFault? {
        let path = "\(directory)/\(SetAsideFiles.databaseName)"
        let facts: FileFacts
        let header: [UInt8]
        do throws(SystemError) {
            guard (try? FileSystem.facts(path, follow: false)) != nil else { return missing(path, in: directory) }
            if let target = FileSystem.linkTarget(path), !FileSystem.mayExist(path) {
                return .leadsNowhere(path: path, target: target)
            }
            let start = try FileSystem.read(path, limit: 100)
            (facts, header) = (start.facts, start.bytes)
        } catch {
            return .unreadable(path: path, reason: error.reason, isForbidden: error.isPermission)
        }
        guard facts.kind == .regular else { return .notAFile(path: path) }
        guard facts.size > 0 else { return missing(path, in: directory) }
        // SQLite keeps log and index beside the file itself, not beside a link to it.
        let file = FileSystem.linkTarget(path).map { $0.hasPrefix("/") ? $0 : "\(directory)/\($0)" } ?? path
        let hasLog = DatabaseFile.size(of: file + "-wal") > 0
        guard !hasLog || FileSystem.exists(file + "-shm") else {
            let isDatabase = header.starts(with: Array("SQLite format 3\0".utf8))
            return isDatabase ? nil : .unusable(path: path, reason: "the database is damaged (it is no database)")
        }
        return check(path, .untouched(hasLog: hasLog), bytes: Int64(clamping: facts.size), in: directory)
    }

    /// An empty database is a new one for SQLite, unless it had messages before.
    private static func missing(_ path: String, in directory: String) -> DatabaseFault? {
        DatabaseFile.loss(in: directory, .untouched(hasLog: false)).map { .unusable(path: path, reason: $0) }
    }

    private static func check(
        _ path: String,
        _ access: SQLiteConnection.Access,
        bytes: Int64,
        in directory: String
    ) -> DatabaseFault? {
        if let loss = DatabaseFile.loss(in: directory, access) { return .unusable(path: path, reason: loss) }
        do {
            let connection = try SQLiteConnection(path: path, access: access)
            defer { connection.close() }
            try DatabaseFile.check(connection, whole: bytes <= DatabaseFile.wholeCheckBytes)
            try Migrator(StoreTables.migrations).check(connection)
            return nil
        } catch let error as SQLError {
            return fault(error, path)
        } catch MigrationError.storage(let error) {
            return fault(error, path)
        } catch let error as MigrationError {
            let reason = "the database \(error)"
            if case .newer = error { return .newer(path: path, reason: reason) }
            return .unusable(path: path, reason: reason)
        } catch {
            return .unreadable(path: path, reason: "\(error)", isForbidden: false)
        }
    }

    private static func fault(_ error: SQLError, _ path: String) -> DatabaseFault {
        error.isDamage
            ? .unusable(path: path, reason: "the database is damaged (\(error.message))")
            : .unreadable(path: path, reason: error.summary, isForbidden: false)
    }
}
