package import Postgres
package import SQLite

/// The current row of a statement; valid only inside the closure that receives it.
package enum SQLRow {
    case sqlite(SQLiteRow)
    case postgres(PostgresRow)

    package func isNull(_ column: Int32) -> Bool {
        switch self {
        case .sqlite(let row): row.isNull(column)
        case .postgres(let row): row.isNull(column)
        }
    }

    package func int64(_ column: Int32) -> Int64 {
        switch self {
        case .sqlite(let row): row.int64(column)
        case .postgres(let row): row.int64(column)
        }
    }

    package func double(_ column: Int32) -> Double {
        switch self {
        case .sqlite(let row): row.double(column)
        case .postgres(let row): row.double(column)
        }
    }

    package func string(_ column: Int32) -> String {
        switch self {
        case .sqlite(let row): row.string(column)
        case .postgres(let row): row.string(column)
        }
    }

    package func bytes(_ column: Int32) -> [UInt8] {
        switch self {
        case .sqlite(let row): row.bytes(column)
        case .postgres(let row): row.bytes(column)
        }
    }

    package func int(_ column: Int32) -> Int { Int(int64(column)) }
    package func bool(_ column: Int32) -> Bool { int64(column) != 0 }
    package func optionalInt64(_ column: Int32) -> Int64? { isNull(column) ? nil : int64(column) }
    package func optionalDouble(_ column: Int32) -> Double? { isNull(column) ? nil : double(column) }
    package func optionalString(_ column: Int32) -> String? { isNull(column) ? nil : string(column) }
    package func optionalBytes(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : bytes(column) }
}
