import CSQLite
package import SQL

extension SQLError {
    /// - Parameter code: the extended result code; its low byte is the primary one.
    package init(sqlite code: Int32, message: String, sql: String? = nil) {
        self.init(Self.kind(of: code), code: "SQLite \(code)", message: message, sql: sql)
    }

    private static func kind(of code: Int32) -> Kind {
        switch code & 0xff {
        case SQLITE_CONSTRAINT: .constraint
        case SQLITE_FULL: .full
        case SQLITE_IOERR: .inputOutput
        case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupt
        case SQLITE_BUSY, SQLITE_LOCKED: .busy
        case SQLITE_READONLY: .readOnly
        case SQLITE_ERROR: .statement
        case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH: .cannotOpen
        default: .other
        }
    }
}
