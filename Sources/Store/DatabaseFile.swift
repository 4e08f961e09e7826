import Basics
import Outbox
import POSIX
import SQL
import SQLite

/// Opens `ladle.db`: settings, integrity check, schema, and the recovery if one of them fails.
struct DatabaseFile {
    /// The size up to which a file is checked whole at every start; in a larger file only the outbox is checked, the
    /// rest when idle.
    static let wholeCheckBytes: Int64 = 8 << 20
    /// The log keeps this size when it restarts: overwriting old blocks spares the file system its own journal.
    static let keptLogBytes = 16 << 20

    struct Opened {
        var connection: SQLiteConnection
        var opening: StoreOpening
        var needsWholeCheck: Bool
    }

    /// The file itself cannot be used, neither now nor later.
    private struct Unusable: Error {
        var reason: String
    }

    let configuration: StoreConfiguration

    func open() throws(StoreError) -> Opened {
        let existed = FileSystem.exists(path)
        do {
            let loss = Self.loss(in: configuration.directory.path, .readOnly, configuration.fileSystem)
            if let loss { throw Unusable(reason: loss) }
            return try openFile(as: existed ? .opened : .created)
        } catch let unusable as Unusable {
            let files = SetAsideFiles(directory: configuration.directory.path)
            let place = try files.setAside(reason: unusable.reason, at: configuration.clock())
            do {
                return try openFile(as: .setAside(path: place, reason: unusable.reason))
            } catch {
                throw Self.storeError(error)
            }
        } catch {
            let failure = Self.storeError(error)
            guard existed, let opened = try? openReadOnly(because: failure) else { throw failure }
            return opened
        }
    }

    /// A second handle for reading beside the writer.
    func openReader() throws(StoreError) -> SQLiteConnection {
        do {
            let connection = try connect(.readOnly)
            try connection.execute("PRAGMA query_only = 1; PRAGMA cache_size = -1024; PRAGMA temp_store = MEMORY")
            return connection
        } catch {
            throw Self.storeError(error)
        }
    }

    /// A handle for checkpoints, which run beside the writer.
    func openMaintenance() throws(StoreError) -> SQLiteConnection {
        do {
            let connection = try connect(.readWrite)
            try apply(settings: connection)
            return connection
        } catch {
            throw Self.storeError(error)
        }
    }

    // MARK: Losses that SQLite does not see

    /// The loss, if any. SQLite takes an empty file for a new database and removes the log beside it, and it takes a
    /// damaged log for a short one. So nothing is written before this check, whose handle is read-only and leaves the
    /// log unchanged.
    static func loss(
        in directory: String,
        _ access: SQLiteConnection.Access,
        _ fileSystem: String? = nil
    ) -> String? {
        let path = "\(directory)/\(SetAsideFiles.databaseName)"
        let witness = WitnessFile<Witness>.read(in: directory)
        guard size(of: path) > 0 else {
            let state = FileSystem.exists(path) ? "is empty" : "is missing"
            if size(of: path + "-wal") > 0 {
                return "the database \(state), but its log \(SetAsideFiles.databaseName)-wal is not" + told(witness)
            }
            guard let witness, witness.loss(in: nil) != nil else { return nil }
            return "the database \(state)" + told(witness)
        }
        guard let witness else { return nil }
        do throws(SQLError) {
            let connection = try SQLiteConnection(path: path, access: access, fileSystem: fileSystem)
            let missing = try witness.loss(in: Witness(of: connection))
            connection.close()
            return missing.map { "the database or its log is damaged or older than it was: \($0) are missing" }
        } catch {
            // The opening for writing finds the reason and acts on it.
            return nil
        }
    }

    /// A killed process may have left an unsynced commit in the log, while the witness of it was synced. So the log is
    /// synced first.
    func makeWitness(_ now: Witness) throws(SystemError) -> WitnessFile<Witness> {
        let log = path + "-wal"
        // SQLite's locks are on other files, so closing this handle releases none.
        if FileSystem.exists(log) { try OpenFile.updating(log).synchronise() }
        return try WitnessFile<Witness>(in: configuration.directory.path, now)
    }

    private static func told(_ witness: Witness?) -> String {
        guard let witness else { return "" }
        let messages = witness.waiting == 1 ? "1 message was not done" : "\(witness.waiting) messages were not done"
        return "; it had \(witness.entry) messages and \(witness.event) events, and \(messages)"
    }

    // MARK: Steps

    private func openFile(as opening: StoreOpening) throws -> Opened {
        // SQLite would make the file readable to others; its log and index get the mode of the file.
        try? PrivateFile(path).createIfMissing()
        do {
            let connection = try connect(.readWrite)
            try apply(settings: connection)
            let isLarge = Self.size(of: path) > Self.wholeCheckBytes
            try Self.check(connection, whole: !isLarge)
            let steps = StoreTables.migrations
            try Migrator(steps).migrate(connection)
            try Schema.check(connection, after: steps)
            try connection.transaction { () throws(SQLError) in
                try EventTable(SQLConnection(connection)).createLog(
                    epoch: configuration.makeEpoch(),
                    at: configuration.clock()
                )
            }
            return Opened(connection: connection, opening: opening, needsWholeCheck: isLarge)
        } catch let error as SQLError where error.isDamage {
            throw Unusable(reason: "the database is damaged (\(error.message))")
        } catch MigrationError.storage(let error) where error.isDamage {
            throw Unusable(reason: "the database is damaged (\(error.message))")
        } catch let error as MigrationError {
            if case .storage = error { throw error }
            throw Unusable(reason: "the database \(error)")
        }
    }

    private func openReadOnly(because failure: StoreError) throws -> Opened {
        let connection = try connect(.readOnly)
        _ = try EventTable(SQLConnection(connection)).epoch()
        return Opened(
            connection: connection,
            opening: .readOnly(reason: "the database cannot be written: \(failure.detail)"),
            needsWholeCheck: false
        )
    }

    private func connect(_ access: SQLiteConnection.Access) throws(SQLError) -> SQLiteConnection {
        try SQLiteConnection(path: path, access: access, fileSystem: configuration.fileSystem)
    }

    private func apply(settings connection: SQLiteConnection) throws(SQLError) {
        let mode = try connection.first("PRAGMA journal_mode = WAL") { row in row.string(0) }
        guard mode == "wal" else { throw SQLError(sqlite: 14, message: "no write-ahead log: \(mode ?? "no answer")") }
        // FULL syncs the log at each commit; otherwise a power loss could undo answered requests.
        try connection.execute(
            """
            PRAGMA synchronous = FULL;
            PRAGMA fullfsync = 1;
            PRAGMA checkpoint_fullfsync = 1;
            PRAGMA journal_size_limit = \(Self.keptLogBytes);
            PRAGMA cache_size = -2048;
            PRAGMA temp_store = MEMORY;
            PRAGMA trusted_schema = 0;
            PRAGMA cell_size_check = 1;
            """
        )
    }

    /// Damage in the outbox must show before anything is sent from it; other damage may show later.
    static func check(_ connection: SQLiteConnection, whole: Bool) throws(SQLError) {
        var problems: [String] = []
        if whole {
            problems = try connection.quickCheck()
        } else {
            for table in ["outbox", "outbox_payload", "outbox_attempt", "outbox_total", "receipt"] {
                problems += try connection.quickCheck(table: table)
            }
        }
        if let first = problems.first { throw .malformed(first) }
    }

    private var path: String { configuration.directory.databasePath }

    static func size(of path: String) -> Int64 {
        Int64(clamping: (try? FileSystem.facts(path))?.size ?? 0)
    }

    static let migrations =
        EventLogSchema.migrations + OutboxSchema.migrations + ApprovalTable.migrations
        + NotificationTable.migrations

    static func storeError(_ error: any Error) -> StoreError {
        switch error {
        case let error as StoreError: error
        case let error as SQLError: StoreError(error)
        case MigrationError.storage(let error): StoreError(error)
        case let error as Unusable: .unavailable(error.reason)
        case let error as MigrationError: .unavailable("it \(error)")
        default: .unavailable("\(error)")
        }
    }
}
