import CSQLite
import SQL

/// One prepared statement. Owned by the connection that made it and used on that connection's queue only.
@safe
package final class SQLiteStatement {
    private let handle: OpaquePointer
    private unowned let connection: SQLiteConnection
    let sql: String
    /// Set while rows are being read, so that a nested use of the same text gets a statement of its own.
    var isBusy = false

    init(handle: OpaquePointer, sql: String, connection: SQLiteConnection) {
        unsafe self.handle = handle
        self.sql = sql
        self.connection = connection
    }

    deinit {
        unsafe sqlite3_finalize(handle)
    }

    func bind(_ value: SQLValue, at index: Int32) throws(SQLError) {
        switch value {
        case .integer(let value): try check(unsafe sqlite3_bind_int64(handle, index, value))
        case .real(let value): try check(unsafe sqlite3_bind_double(handle, index, value))
        case .text(let value): try bind(value, at: index)
        case .bytes(let value): try bind(value, at: index)
        case .null: try check(unsafe sqlite3_bind_null(handle, index))
        }
    }

    private func bind(_ value: String, at index: Int32) throws(SQLError) {
        var value = value
        let result = value.withUTF8 { bytes in
            // An empty buffer may have no address, and a null address would bind NULL instead of ''.
            guard let start = bytes.baseAddress else {
                return unsafe sqlite3_bind_text(handle, index, "", 0, transient)
            }
            return unsafe start.withMemoryRebound(to: CChar.self, capacity: bytes.count) { text in
                unsafe sqlite3_bind_text64(
                    handle,
                    index,
                    text,
                    sqlite3_uint64(bytes.count),
                    transient,
                    UInt8(SQLITE_UTF8)
                )
            }
        }
        try check(result)
    }

    private func bind(_ value: ArraySlice<UInt8>, at index: Int32) throws(SQLError) {
        let result = unsafe value.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress, unsafe !bytes.isEmpty else {
                return unsafe sqlite3_bind_zeroblob(handle, index, 0)
            }
            return unsafe sqlite3_bind_blob64(handle, index, start, sqlite3_uint64(bytes.count), transient)
        }
        try check(result)
    }

    /// True if there is a row to read.
    func step() throws(SQLError) -> Bool {
        switch unsafe sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw connection.lastError(sql: sql)
        }
    }

    /// The steps of SQLite's virtual machine since the last reset: a measure of the rows that were visited, whether returned or not.
    var machineSteps: Int {
        Int(unsafe sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_VM_STEP, 1))
    }

    /// Prepares the statement for its next use. The result of reset repeats the error of the last step, which was
    /// already thrown.
    func reset() {
        _ = unsafe sqlite3_reset(handle)
        _ = unsafe sqlite3_clear_bindings(handle)
    }

    func isNull(_ column: Int32) -> Bool {
        unsafe sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    func integer(_ column: Int32) -> Int64 {
        unsafe sqlite3_column_int64(handle, column)
    }

    func real(_ column: Int32) -> Double {
        unsafe sqlite3_column_double(handle, column)
    }

    func text(_ column: Int32) -> String {
        guard let start = unsafe sqlite3_column_text(handle, column) else { return "" }
        let count = unsafe Int(sqlite3_column_bytes(handle, column))
        return unsafe String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    func blob(_ column: Int32) -> [UInt8] {
        guard let start = unsafe sqlite3_column_blob(handle, column) else { return [] }
        let count = unsafe Int(sqlite3_column_bytes(handle, column))
        return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
    }

    private func check(_ result: Int32) throws(SQLError) {
        guard result == SQLITE_OK else { throw connection.lastError(sql: sql) }
    }

    /// SQLITE_TRANSIENT: SQLite copies the bytes before the call returns.
    private var transient: sqlite3_destructor_type {
        unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    }
}
