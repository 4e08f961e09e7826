import CSQLite
package import SQL

/// One handle on a database file. Not Sendable: it lives on the queue of the actor that opened it, which is also why
/// SQLite's own mutexes are off (multi-thread mode, sqlite.org/threadsafe.html).
@safe
package final class SQLiteConnection {
    package enum Access: Sendable {
        case readWrite, readOnly
        /// Reads without creating or changing any file (sqlite.org/uri.html). With a log, the log and its index must both
        /// exist; without one, nobody else may use the database meanwhile.
        case untouched(hasLog: Bool)
    }

    package struct CheckpointResult: Sendable, Equatable {
        /// The pages in the write-ahead log, and how many of them are already in the database file.
        package var logPages: Int
        package var copiedPages: Int
    }

    package enum CheckpointMode: Sendable {
        /// Copies as much as possible beside readers and a writer.
        case passive
        /// Also waits for nobody (no busy handler), but restarts the log if possible.
        case restart
        /// Like `restart`, and truncates the log file.
        case truncate
    }

    /// More statements than the program has fixed texts; texts built for a request are prepared again each time.
    private static let mostKept = 256

    private let handle: OpaquePointer
    private var cache: [String: SQLiteStatement] = [:]
    private var isClosed = false
    /// The work of all statements so far.
    package private(set) var machineSteps = 0
    /// Pages in the write-ahead log after the last commit of this connection.
    package private(set) var logPages = 0

    /// - Parameter fileSystem: the name of a registered VFS; tests use one that fails on demand.
    package init(path: String, access: Access, fileSystem: String? = nil) throws(SQLError) {
        var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        switch access {
        case .readWrite: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        case .readOnly: flags |= SQLITE_OPEN_READONLY
        case .untouched: flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
        }
        var opened: OpaquePointer?
        let result = unsafe sqlite3_open_v2(Self.name(of: path, access), &opened, flags, fileSystem)
        guard result == SQLITE_OK, let opened = unsafe opened else {
            let message = unsafe opened.map { unsafe String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
            _ = unsafe sqlite3_close_v2(opened)
            throw SQLError(sqlite: result, message: "\(path): \(message)")
        }
        unsafe self.handle = opened
        unsafe sqlite3_busy_timeout(opened, 0)
        // Replaces SQLite's own hook, the automatic checkpoint: the owner decides when to copy the log. (The pragma
        // wal_autocheckpoint would replace this hook in turn, whatever its value.)
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        _ = unsafe sqlite3_wal_hook(opened, writeAheadLogGrew, context)
    }

    /// The path, or the URI that carries the options of an access.
    private static func name(of path: String, _ access: Access) -> String {
        guard case .untouched(let hasLog) = access else { return path }
        let digits = Array("0123456789abcdef".utf8)
        var uri = Array("file:".utf8)
        for byte in path.utf8 {
            switch byte {
            // These three have a meaning in a URI.
            case UInt8(ascii: "%"), UInt8(ascii: "?"), UInt8(ascii: "#"):
                uri += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0xf)]]
            default: uri.append(byte)
            }
        }
        return String(decoding: uri, as: UTF8.self) + (hasLog ? "?readonly_shm=1" : "?immutable=1")
    }

    deinit {
        close()
    }

    /// Closes the file now instead of with the last reference; later calls throw. The last connection to close copies
    /// the log into the database.
    package func close() {
        guard !isClosed else { return }
        isClosed = true
        // Statements must be finalised before their connection closes.
        cache.removeAll()
        _ = unsafe sqlite3_close_v2(handle)
    }

    // MARK: Statements

    /// Visits rows until `body` has enough.
    package func scan(
        _ sql: String,
        values: [SQLValue],
        row body: (SQLiteRow) throws(SQLError) -> Bool
    ) throws(SQLError) {
        let statement = try prepared(sql)
        defer { release(statement) }
        for (index, value) in values.enumerated() { try statement.bind(value, at: Int32(index + 1)) }
        while try statement.step(), try body(SQLiteRow(statement: statement)) {}
    }

    /// Runs a statement and drops any rows.
    package func run<each Value: SQLBindable>(_ sql: String, _ values: repeat each Value) throws(SQLError) {
        try scan(sql, values: SQLValue.list(repeat each values)) { _ in true }
    }

    package func all<each Value: SQLBindable, Element>(
        _ sql: String,
        _ values: repeat each Value,
        row map: (SQLiteRow) throws(SQLError) -> Element
    ) throws(SQLError) -> [Element] {
        var elements: [Element] = []
        try scan(sql, values: SQLValue.list(repeat each values)) { row throws(SQLError) in
            elements.append(try map(row))
            return true
        }
        return elements
    }

    package func first<each Value: SQLBindable, Element>(
        _ sql: String,
        _ values: repeat each Value,
        row map: (SQLiteRow) throws(SQLError) -> Element
    ) throws(SQLError) -> Element? {
        var element: Element?
        try scan(sql, values: SQLValue.list(repeat each values)) { row throws(SQLError) in
            element = try map(row)
            return false
        }
        return element
    }

    /// Runs several statements in one text, without values: schemas and pragmas.
    package func execute(_ script: String) throws(SQLError) {
        try checkOpen()
        let result = unsafe sqlite3_exec(handle, script, nil, nil, nil)
        guard result == SQLITE_OK else { throw lastError(sql: script) }
    }

    /// The number of rows that the last statement inserted, changed or deleted.
    package var changes: Int { unsafe isClosed ? 0 : Int(sqlite3_changes64(handle)) }
    /// False once a failed statement made SQLite roll back everything (full disk, I/O error).
    package var isInTransaction: Bool { unsafe !isClosed && sqlite3_get_autocommit(handle) == 0 }

    // MARK: Transactions

    /// Runs `body` in a transaction, committed when it returns.
    package func transaction<Value>(_ body: () throws(SQLError) -> Value) throws(SQLError) -> Value {
        try run("BEGIN IMMEDIATE")
        do throws(SQLError) {
            let value = try body()
            try run("COMMIT")
            return value
        } catch {
            rollBack()
            throw error
        }
    }

    /// Ends any open transaction. A failure here means that SQLite ended it already.
    package func rollBack() {
        guard isInTransaction else { return }
        try? run("ROLLBACK")
    }

    /// Copies the write-ahead log into the database file.
    package func checkpoint(_ mode: CheckpointMode) throws(SQLError) -> CheckpointResult {
        try checkOpen()
        let flag =
            switch mode {
            case .passive: SQLITE_CHECKPOINT_PASSIVE
            case .restart: SQLITE_CHECKPOINT_RESTART
            case .truncate: SQLITE_CHECKPOINT_TRUNCATE
            }
        var log: Int32 = 0
        var copied: Int32 = 0
        let result = unsafe sqlite3_wal_checkpoint_v2(handle, nil, flag, &log, &copied)
        // Busy is not an error here: a reader or the writer uses the log, and the other pages were copied.
        guard result == SQLITE_OK || result & 0xff == SQLITE_BUSY else { throw lastError(sql: "checkpoint") }
        return CheckpointResult(logPages: Int(log), copiedPages: Int(copied))
    }

    /// Problems that SQLite finds in the file; empty if there are none. `table` limits the check.
    package func quickCheck(table: String? = nil) throws(SQLError) -> [String] {
        let argument = table.map { "('\($0)')" } ?? "(8)"
        return try all("PRAGMA quick_check\(argument)") { row in row.string(0) }.filter { $0 != "ok" }
    }

    func lastError(sql: String?) -> SQLError {
        SQLError(
            sqlite: unsafe sqlite3_extended_errcode(handle),
            message: unsafe String(cString: sqlite3_errmsg(handle)),
            sql: sql
        )
    }

    fileprivate func logGrew(to pages: Int) {
        logPages = pages
    }

    // MARK: Prepared statements

    /// The number of prepared statements kept for reuse.
    package var keptStatements: Int { cache.count }

    private func checkOpen() throws(SQLError) {
        guard !isClosed else { throw SQLError(sqlite: SQLITE_MISUSE, message: "the connection is closed") }
    }

    private func prepared(_ sql: String) throws(SQLError) -> SQLiteStatement {
        try checkOpen()
        if let cached = cache[sql], !cached.isBusy {
            cached.isBusy = true
            return cached
        }
        var made: OpaquePointer?
        let result = unsafe sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &made, nil)
        guard result == SQLITE_OK, let made = unsafe made else { throw lastError(sql: sql) }
        let statement = unsafe SQLiteStatement(handle: made, sql: sql, connection: self)
        statement.isBusy = true
        if cache[sql] == nil, cache.count < Self.mostKept { cache[sql] = statement }
        return statement
    }

    private func release(_ statement: SQLiteStatement) {
        machineSteps += statement.machineSteps
        statement.reset()
        statement.isBusy = false
    }
}

private func writeAheadLogGrew(
    context: UnsafeMutableRawPointer?,
    connection: OpaquePointer?,
    database: UnsafePointer<CChar>?,
    pages: Int32
) -> Int32 {
    if let context = unsafe context {
        unsafe Unmanaged<SQLiteConnection>.fromOpaque(context).takeUnretainedValue().logGrew(to: Int(pages))
    }
    return SQLITE_OK
}
