import Access
import SQL

/// Copies all rows of one database into the empty tables of another, and reads both again.
struct Copier {
    /// Tables that triggers fill from the others.
    private static let derived: Set<String> = ["event_session", "outbox_total"]
    private static let types: [String: SQLType] = ["INTEGER": .integer, "TEXT": .text, "BLOB": .bytes, "REAL": .real]

    private static let step = 512

    private struct Column {
        let name: String
        let type: SQLType
        let isKey: Bool
        var quoted: String { "\"\(name)\"" }
    }

    private let source: SQLConnection
    private let target: SQLConnection
    private var replaced = 0

    init(from source: SQLConnection, to target: SQLConnection) {
        self.source = source
        self.target = target
    }

    consuming func copy() throws(SQLError) -> ServerMove.Report {
        var copier = self
        return try copier.copyTables()
    }

    private mutating func copyTables() throws(SQLError) -> ServerMove.Report {
        var report = ServerMove.Report()
        for table in ServerSchema.names {
            let columns = ServerSchema.columns(of: table).map {
                Column(name: $0.name, type: Self.types[$0.type] ?? .text, isKey: $0.isKey)
            }
            if !Self.derived.contains(table) {
                let count = try copy(table, columns)
                if count > 0 { report.rows.append((table, count)) }
            }
            guard try sum(of: table, columns, in: source) == sum(of: table, columns, in: target) else {
                throw .malformed("the copy of the table \(table) is not equal")
            }
        }
        report.replaced = replaced
        return report
    }

    private mutating func copy(_ table: String, _ columns: [Column]) throws(SQLError) -> Int {
        let names = columns.map(\.quoted).joined(separator: ", ")
        let places = columns.map { _ in "?" }.joined(separator: ", ")
        let insert = "INSERT INTO \(table)(\(names)) VALUES(\(places))"
        var count = 0
        try source.scan(Self.select(table, columns)) { row throws(SQLError) in
            let values = Self.values(row, columns)
            replaced += values.count { if case .text(let text) = $0 { text.utf8.contains(0) } else { false } }
            try target.run(insert, values: values)
            count += 1
            // Rows that were sent stay in memory until the server has taken them.
            if count.isMultiple(of: Self.step) { _ = try target.changes() }
            return true
        }
        return count
    }

    /// In the order of the key, so that both sides are read alike.
    private static func select(_ table: String, _ columns: [Column]) -> String {
        let names = columns.map(\.quoted).joined(separator: ", ")
        let keys = columns.filter(\.isKey).map(\.quoted).joined(separator: ", ")
        // Sessions without entries may have a row of zeros or none.
        return "SELECT \(names) FROM \(table)" + (table == "outbox_total" ? " WHERE entries <> 0" : "")
            + " ORDER BY \(keys)"
    }

    private static func values(_ row: SQLRow, _ columns: [Column]) -> [SQLValue] {
        columns.enumerated().map { place, column in
            let place = Int32(place)
            if row.isNull(place) { return .null(column.type) }
            return switch column.type {
            case .integer: .integer(row.int64(place))
            case .real: .real(row.double(place))
            case .text: .text(row.string(place))
            case .bytes: .bytes(row.bytes(place)[...])
            }
        }
    }

    /// A sum over all values, each with its length.
    private func sum(of table: String, _ columns: [Column], in database: SQLConnection) throws(SQLError) -> SecretDigest
    {
        var sum = SecretDigest(of: Array(table.utf8))
        try database.scan(Self.select(table, columns)) { row in
            var bytes = sum.bytes
            for value in Self.values(row, columns) { Self.append(value, to: &bytes) }
            sum = SecretDigest(of: bytes)
            return true
        }
        return sum
    }

    private static func append(_ value: SQLValue, to bytes: inout [UInt8]) {
        let text: [UInt8]? =
            switch value {
            case .integer(let value): Array("\(value)".utf8)
            case .real(let value): Array("\(value.bitPattern)".utf8)
            // A server's text has no U+0000.
            case .text(let value): Array(value.replacing("\0", with: "\u{FFFD}").utf8)
            case .bytes(let value): Array(value)
            case .null: nil
            }
        bytes += Array("\(text?.count ?? -1):".utf8) + (text ?? [])
    }
}
