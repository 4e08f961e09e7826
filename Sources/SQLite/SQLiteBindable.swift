/// A value that can stand for a `?` in a statement.
package protocol SQLiteBindable {
    func bind(to statement: SQLiteStatement, at index: Int32) throws(SQLiteError)
}

extension Int64: SQLiteBindable {
    package func bind(to statement: SQLiteStatement, at index: Int32) throws(SQLiteError) {
        try statement.bind(self, at: index)
    }
}

extension Int: SQLiteBindable {
    package func bind(to statement: SQLiteStatement, at index: Int32) throws(SQLiteError) {
        try statement.bind(Int64(self), at: index)
    }
}

extension Double: SQLiteBindable {
    package func bind(to statement: SQLiteStatement, at index: Int32) throws(SQLiteError) {
        try statement.bind(self, at: index)
    }
}

extension Bool: SQLiteBindable {
    package func bind(to statement: SQLiteStatement, at index: Int32) throws(SQLiteError) {
        try statement.bind(self ? 1 as Int64 : 0, at: index)
    }
}

extension String: SQLiteBindable {
    package func bind(to statement: SQLiteStatement, at index: Int32) throws(SQLiteError) {
        try statement.bind(self, at: index)
    }
}

extension ArraySlice<UInt8>: SQLiteBindable {
    package func bind(to statement: SQLiteStatement, at index: Int32) throws(SQLiteError) {
        try statement.bind(self, at: index)
    }
}

extension [UInt8]: SQLiteBindable {
    package func bind(to statement: SQLiteStatement, at index: Int32) throws(SQLiteError) {
        try statement.bind(self[...], at: index)
    }
}

extension Optional: SQLiteBindable where Wrapped: SQLiteBindable {
    package func bind(to statement: SQLiteStatement, at index: Int32) throws(SQLiteError) {
        switch self {
        case .some(let value): try value.bind(to: statement, at: index)
        case .none: try statement.bindNull(at: index)
        }
    }
}
