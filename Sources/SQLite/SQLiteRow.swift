/// The current row of a statement; valid only inside the closure that receives it.
package struct SQLiteRow {
    let statement: SQLiteStatement

    package func isNull(_ column: Int32) -> Bool { statement.isNull(column) }
    package func int(_ column: Int32) -> Int { Int(statement.integer(column)) }
    package func int64(_ column: Int32) -> Int64 { statement.integer(column) }
    package func bool(_ column: Int32) -> Bool { statement.integer(column) != 0 }
    package func string(_ column: Int32) -> String { statement.text(column) }
    package func double(_ column: Int32) -> Double { statement.real(column) }
    package func bytes(_ column: Int32) -> [UInt8] { statement.blob(column) }

    package func optionalInt64(_ column: Int32) -> Int64? { isNull(column) ? nil : int64(column) }
    package func optionalDouble(_ column: Int32) -> Double? { isNull(column) ? nil : statement.real(column) }
    package func optionalString(_ column: Int32) -> String? { isNull(column) ? nil : string(column) }
    package func optionalBytes(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : bytes(column) }
}
