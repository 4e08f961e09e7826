/// An error of a database, whichever the engine is.
package struct SQLError: Error, Equatable, Sendable {
    /// The kinds of error to which the store reacts differently.
    package enum Kind: Sendable, Equatable {
        case constraint, full, inputOutput, corrupt, busy, readOnly, cannotOpen
        /// A statement does not fit the schema.
        case statement
        /// The server cannot be reached, or the connection to it broke.
        case lost
        case other
    }

    package var kind: Kind
    /// The engine and its own code, such as `SQLite 13`.
    package var code: String
    package var message: String
    package var sql: String?

    package init(_ kind: Kind, code: String, message: String, sql: String? = nil) {
        self.kind = kind
        self.code = code
        self.message = message
        self.sql = sql
    }

    /// The row could be read, but no version of this program wrote such content.
    package static func malformed(_ what: String) -> SQLError {
        SQLError(.corrupt, code: "malformed", message: what)
    }

    /// Whether the database is not as this program wrote it. Its own statements fit the schema that it made.
    package var isDamage: Bool { kind == .corrupt || kind == .statement }
}

extension SQLError: CustomStringConvertible {
    /// The fault for people, without the statement.
    package var summary: String { "\(message) (\(code))" }

    package var description: String {
        let statement = sql.map { " in \($0.prefix(120))" } ?? ""
        return "\(code): \(message)\(statement)"
    }
}
