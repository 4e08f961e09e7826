import CPostgres
import SQL

/// The server's answer to one statement.
@safe
final class PostgresResult {
    enum Kind {
        case rows, command, failed
        /// Not carried out, because a statement before it failed.
        case skipped
        /// The end of all that was asked together.
        case end
    }

    private let handle: OpaquePointer
    let kind: Kind
    let rows: Int32

    init(_ handle: OpaquePointer) {
        unsafe self.handle = handle
        kind =
            switch Int(unsafe cpostgres_PQresultStatus(handle)) {
            case CPOSTGRES_ROWS: .rows
            case CPOSTGRES_COMMAND, CPOSTGRES_EMPTY: .command
            case CPOSTGRES_SYNC: .end
            case CPOSTGRES_ABORTED: .skipped
            default: .failed
            }
        rows = unsafe cpostgres_PQntuples(handle)
    }

    deinit {
        unsafe cpostgres_PQclear(handle)
    }

    /// The number of rows that the statement inserted, changed or deleted.
    var changes: Int { unsafe Int(String(cString: cpostgres_PQcmdTuples(handle))) ?? 0 }
    /// The statement's kind, such as `COMMIT`.
    var word: String { unsafe String(cString: cpostgres_PQcmdStatus(handle)) }

    func isNull(_ row: Int32, _ column: Int32) -> Bool {
        unsafe cpostgres_PQgetisnull(handle, row, column) != 0
    }

    /// The value in the protocol's binary form; empty for none.
    func value(_ row: Int32, _ column: Int32) -> UnsafeRawBufferPointer {
        let start = unsafe cpostgres_PQgetvalue(handle, row, column)
        let count = unsafe cpostgres_PQgetlength(handle, row, column)
        return unsafe UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(count))
    }

    func error(_ sql: String?) -> SQLError {
        let state = field("C") ?? ""
        let message = unsafe field("M") ?? String(cString: cpostgres_PQresultErrorMessage(handle))
        let code = state.isEmpty ? "PostgreSQL" : "PostgreSQL \(state)"
        return SQLError(Self.kind(of: state), code: code, message: message, sql: sql)
    }

    private func field(_ name: Unicode.Scalar) -> String? {
        unsafe cpostgres_PQresultErrorField(handle, Int32(name.value)).map { unsafe String(cString: $0) }
    }

    /// postgresql.org/docs/current/errcodes-appendix.html
    private static func kind(of state: String) -> SQLError.Kind {
        switch state {
        case "": .lost
        case "53100": .full
        case "55P03", "40001", "40P01": .busy
        case "25006": .readOnly
        case "58030": .inputOutput
        case "XX001", "XX002": .corrupt
        case "57P01", "57P02", "57P03", "25P03": .lost
        default:
            switch state.prefix(2) {
            case "08": .lost
            case "23": .constraint
            case "28", "3D": .cannotOpen
            case "42": .statement
            default: .other
            }
        }
    }
}
