/// The types of values in a database. A flag is an integer.
package enum SQLType: Sendable {
    case integer, real, text, bytes
}

/// A value that stands for a `?` in a statement.
package enum SQLValue: Sendable {
    case integer(Int64)
    case real(Double)
    case text(String)
    case bytes(ArraySlice<UInt8>)
    /// The absence of a value of this type.
    case null(SQLType)

    package static func list<each Value: SQLBindable>(_ values: repeat each Value) -> [SQLValue] {
        var list: [SQLValue] = []
        for value in repeat each values { list.append(value.sqlValue) }
        return list
    }
}

/// A type whose values can be written to a database.
package protocol SQLBindable {
    static var sqlType: SQLType { get }
    var sqlValue: SQLValue { get }
}

extension Int64: SQLBindable {
    package static var sqlType: SQLType { .integer }
    package var sqlValue: SQLValue { .integer(self) }
}

extension Int: SQLBindable {
    package static var sqlType: SQLType { .integer }
    package var sqlValue: SQLValue { .integer(Int64(self)) }
}

extension Double: SQLBindable {
    package static var sqlType: SQLType { .real }
    package var sqlValue: SQLValue { .real(self) }
}

extension Bool: SQLBindable {
    package static var sqlType: SQLType { .integer }
    package var sqlValue: SQLValue { .integer(self ? 1 : 0) }
}

extension String: SQLBindable {
    package static var sqlType: SQLType { .text }
    package var sqlValue: SQLValue { .text(self) }
}

extension ArraySlice<UInt8>: SQLBindable {
    package static var sqlType: SQLType { .bytes }
    package var sqlValue: SQLValue { .bytes(self) }
}

extension [UInt8]: SQLBindable {
    package static var sqlType: SQLType { .bytes }
    package var sqlValue: SQLValue { .bytes(self[...]) }
}

extension Optional: SQLBindable where Wrapped: SQLBindable {
    package static var sqlType: SQLType { Wrapped.sqlType }
    package var sqlValue: SQLValue { self?.sqlValue ?? .null(Wrapped.sqlType) }
}
