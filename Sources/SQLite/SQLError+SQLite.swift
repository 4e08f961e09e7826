import CSQLite

/// An error of SQLite, with the extended result code, so that callers can tell a full disk from a broken one.
package struct SQLiteError: Error, Equatable, Sendable {
    /// The kinds of error to which the store reacts differently.
    package enum Kind: Sendable, Equatable {
        case constraint, full, inputOutput, corrupt, busy, readOnly, cannotOpen
        /// A statement does not fit the schema.
        case statement
        case other
    }

    /// Extended result code; its low byte is the primary one.
    package var code: Int32
    package var message: String
    package var sql: String?

    package init(code: Int32, message: String, sql: String? = nil) {
        self.code = code
        self.message = message
        self.sql = sql
    }

    /// SQLite could read the row, but no version of this program wrote such content.
    package static func malformed(_ what: String) -> SQLiteError {
        SQLiteError(code: SQLITE_CORRUPT, message: what)
    }

    /// Whether the file is not as this program wrote it. Its own statements fit the schema that it made.
    package var isDamage: Bool { kind == .corrupt || kind == .statement }

    package var kind: Kind {
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

extension SQLiteError: CustomStringConvertible {
    /// The fault for people, without the statement.
    package var summary: String { "\(message) (SQLite \(code))" }

    package var description: String {
        let statement = sql.map { " in \($0.prefix(120))" } ?? ""
        return "SQLite \(code): \(message)\(statement)"
    }
}
