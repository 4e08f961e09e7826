import CPostgres

/// One row of a result; valid only inside the closure that receives it.
package struct PostgresRow {
    let result: PostgresResult
    let row: Int32

    package func isNull(_ column: Int32) -> Bool { result.isNull(row, column) }

    /// Integers of any size, and truths; 0 for no value.
    package func int64(_ column: Int32) -> Int64 {
        let bytes = unsafe result.value(row, column)
        guard let first = unsafe bytes.first else { return 0 }
        let start: Int64 = first >= 0x80 && bytes.count > 1 ? -1 : 0
        return unsafe bytes.reduce(start) { $0 << 8 | Int64($1) }
    }

    package func double(_ column: Int32) -> Double {
        isNull(column) ? 0 : Double(bitPattern: UInt64(bitPattern: int64(column)))
    }

    package func string(_ column: Int32) -> String {
        unsafe String(decoding: result.value(row, column), as: UTF8.self)
    }

    package func bytes(_ column: Int32) -> [UInt8] {
        unsafe [UInt8](result.value(row, column))
    }
}
