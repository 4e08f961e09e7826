import Access
import Basics
import POSIX
import Postgres
import SQL
import SQLite

/// Takes the state from a file to a server, or back, with nothing serving from either. Rows keep their numbers and the log its epoch, so
/// clients resume across the move. Both sides are read again before anything is committed.
package struct ServerMove {
    /// The rows that were taken along.
    package struct Report: Sendable, Equatable {
        /// The number of rows, by table; empty tables are left out.
        package var rows: [(table: String, count: Int)] = []
        /// Texts with U+0000, which a server cannot keep: it has U+FFFD in its place.
        package var replaced = 0

        package static func == (left: Report, right: Report) -> Bool {
            left.replaced == right.replaced && left.rows.elementsEqual(right.rows) { $0 == $1 }
        }
    }

    /// The end of the file's name once its state is on a server.
    package static let ending = ".moved"

    private let configuration: StoreConfiguration
    private let settings: ServerSettings

    package init(_ configuration: StoreConfiguration, _ settings: ServerSettings) {
        self.configuration = configuration
        self.settings = settings
    }

    // MARK: There

    /// The file is renamed afterwards, so that no forgotten start sends its outbox again.
    /// - Returns: the new path of the file, with what was moved.
    package func toServer() throws -> (Report, kept: String) {
        let path = configuration.directory.databasePath
        guard FileSystem.mayExist(path) else { throw ServerFault.foreign("there is no \(path)") }
        guard SetAsideFiles(directory: configuration.directory.path).unresolved() == nil else {
            throw ServerFault.foreign("messages are set aside in the directory; first: ladle outbox recover")
        }
        let opened = try DatabaseFile(configuration: configuration).open()
        guard case .opened = opened.opening else {
            throw ServerFault.foreign("\(path) cannot be taken along: ladle doctor names the reason")
        }
        let file = opened.connection
        defer { file.close() }
        do throws(SQLError) { try DatabaseFile.check(file, whole: true) } catch {
            throw ServerFault.storage(StoreError(error))
        }
        let session = try openSession()
        defer { session.connection.close() }
        let report = try copy(from: SQLConnection(file), to: session) { () throws(SQLError) in
            try session.createTables()
        }
        file.close()
        let kept = path + Self.ending
        try FileSystem.rename(path, to: kept)
        for suffix in ["-wal", "-shm"] where FileSystem.exists(path + suffix) {
            try FileSystem.rename(path + suffix, to: kept + suffix)
        }
        try FileSystem.synchronise(directory: configuration.directory.path)
        return (report, kept)
    }

    private func openSession() throws(ServerFault) -> ServerSession {
        try ServerSession.open(settings, until: HostClock.monotonicMilliseconds + settings.patienceMs)
    }

    private func copy(
        from file: SQLConnection,
        to session: ServerSession,
        _ prepare: () throws(SQLError) -> Void
    ) throws -> Report {
        guard try !session.hasTables() else {
            session.connection.close()
            throw ServerFault.foreign(
                "it has tables of Ladle already; a move needs a new database, or DROP SCHEMA ladle CASCADE where that state is not wanted"
            )
        }
        do {
            try session.connection.begin()
            try session.tables.run("SET LOCAL idle_in_transaction_session_timeout = 0")
            try prepare()
            let report = try Copier(from: file, to: session.tables).copy()
            try session.tables.run(
                "SELECT setval(pg_get_serial_sequence('notification', 'ordinal'), 1 + coalesce(max(ordinal), 0)) FROM notification"
            )
            try session.connection.commit()
            return report
        } catch {
            session.connection.rollBack()
            throw ServerFault.storage(StoreError(error))
        }
    }

    // MARK: Back

    /// Makes the file of the directory, which must have none. The server's tables stay, and no Ladle uses them any more.
    package func toFile() throws -> Report {
        let path = configuration.directory.databasePath
        guard !FileSystem.mayExist(path) else {
            throw ServerFault.foreign("\(path) is there already; a move needs an empty directory")
        }
        let session = try openSession()
        defer { session.connection.close() }
        let part = path + ".part"
        guard try session.hasTables(), try session.head() != nil else {
            let isMoved = FileSystem.exists(part)
            throw ServerFault.foreign(
                "it has no state of Ladle"
                    + (isMoved ? "; a move that was cut off left all of it in \(part): rename it" : "")
            )
        }
        try? FileSystem.remove(part)
        var isWhole = false
        do {
            try PrivateFile(part).createIfMissing()
            let file = try SQLiteConnection(path: part, access: .readWrite)
            defer { file.close() }
            try Migrator(StoreTables.migrations).migrate(file)
            try session.connection.begin("ISOLATION LEVEL REPEATABLE READ")
            try session.tables.run("SET LOCAL idle_in_transaction_session_timeout = 0")
            try file.run("BEGIN IMMEDIATE")
            let report = try Copier(from: session.tables, to: SQLConnection(file)).copy()
            try file.run("COMMIT")
            file.close()
            isWhole = true
            // From here on a Ladle that starts on the server is refused; before, the file has no name that counts.
            try session.tables.run("DELETE FROM head")
            try session.connection.commit()
            try FileSystem.rename(part, to: path)
            try FileSystem.synchronise(directory: configuration.directory.path)
            return report
        } catch {
            session.connection.rollBack()
            // If the answer to the last commit was lost, the server may have given its state away.
            if !isWhole { try? FileSystem.remove(part) }
            throw (error as? SQLError).map { ServerFault.storage(StoreError($0)) } ?? error
        }
    }
}
