import SQL
import TestSupport
import Testing

@testable import Postgres

@Suite(.enabled(if: !TestDatabase.isFile, "LADLE_TEST_DATABASE names no server"))
struct `A session with a server` {
    private let connection: PostgresConnection

    init() throws {
        let schema = TestDatabase.newSchema()
        connection = try PostgresConnection(TestDatabase.place(schema: schema))
        try connection.run("CREATE SCHEMA \(schema)")
        try connection.run("CREATE TABLE t(id bigint PRIMARY KEY, a text, b bytea, c double precision, d bigint)")
        try connection.settle()
    }

    private func insert(_ id: Int64, _ a: String? = nil) throws {
        try connection.run("INSERT INTO t(id, a) VALUES(?, ?)", values: SQLValue.list(id, a))
    }

    private func ids() throws -> [Int64] {
        var found: [Int64] = []
        try connection.rows("SELECT id FROM t ORDER BY id", values: []) { row in
            found.append(row.int64(0))
            return true
        }
        return found
    }

    @Test func `returns what was written, byte for byte`() throws {
        let numbers = [Int64.min, -256, -1, 0, 1, 255, 256, .max]
        for (id, number) in numbers.enumerated() {
            try connection.run(
                "INSERT INTO t VALUES(?, ?, ?, ?, ?)",
                values: SQLValue.list(
                    Int64(id),
                    "naïve \u{1F600} '?'",
                    [0, 1, 255] as [UInt8],
                    -0.1 * Double(id),
                    number
                )
            )
        }
        try connection.run(
            "INSERT INTO t VALUES(?, ?, ?, ?, ?)",
            values: SQLValue.list(99, "", [UInt8](), nil as Double?, nil as Int64?)
        )
        var found: [Int64?] = []
        try connection.rows("SELECT a, b, c, d FROM t ORDER BY id", values: []) { row in
            let id = found.count
            found.append(row.isNull(3) ? nil : row.int64(3))
            guard id < numbers.count else {
                #expect(!row.isNull(0) && row.string(0).isEmpty && row.bytes(1).isEmpty && row.isNull(2))
                return true
            }
            #expect(
                row.string(0) == "naïve \u{1F600} '?'" && row.bytes(1) == [0, 1, 255]
                    && row.double(2) == -0.1 * Double(id)
            )
            return true
        }
        #expect(found == numbers + [nil])
    }

    /// A server's text has no such character.
    @Test func `U+0000 in a text is another character there`() throws {
        try insert(1, "a\0b")
        var text: String?
        try connection.rows("SELECT a FROM t", values: []) { row in
            text = row.string(0)
            return true
        }
        #expect(text == "a\u{FFFD}b")
    }

    @Test func `an error shows with what looks at a result, names its statement, and nothing behind it was done`()
        throws
    {
        try insert(1)
        try connection.begin()
        try insert(2)
        try insert(1)
        try insert(3)
        let error = #expect(throws: SQLError.self) { try ids() }
        #expect(
            error?.kind == .constraint && error?.sql?.hasPrefix("INSERT INTO t(id") == true,
            "\(String(describing: error))"
        )
        connection.rollBack()
        #expect(try ids() == [1])
        // A text whose preparation was skipped is prepared again.
        try insert(4)
        #expect(try ids() == [1, 4])
    }

    @Test func `a failed transaction is no commit`() throws {
        try connection.begin()
        try insert(1)
        try connection.run("SELECT 1 / 0")
        try insert(2)
        let error = #expect(throws: SQLError.self) { try connection.commit() }
        #expect(error?.code == "PostgreSQL 22012" && connection.isInTransaction)
        connection.rollBack()
        #expect(try ids() == [])
    }

    @Test func `counts the rows that the last statement changed`() throws {
        for id in 1...5 as ClosedRange<Int64> { try insert(id) }
        try connection.run("UPDATE t SET d = 1 WHERE id > ?", values: [.integer(2)])
        #expect(try connection.changes() == 3)
        try connection.run("DELETE FROM t WHERE id = 77")
        #expect(try connection.changes() == 0)
    }

    @Test func `a long read stops when it is told to, and needs no memory for the rest`() throws {
        try connection.run("INSERT INTO t(id) SELECT * FROM generate_series(1, 100000)")
        for most in [1, 255, 256, 257, 1_000] {
            var seen = 0
            try connection.scan("SELECT id FROM t WHERE id > ? ORDER BY id", values: [.integer(10)]) { row in
                seen += 1
                #expect(row.int64(0) == Int64(10 + seen))
                return seen < most
            }
            #expect(seen == most)
        }
        #expect(!connection.isInTransaction)
    }

    @Test func `more texts than are kept, and one text with other types`() throws {
        for number in 0..<300 { try connection.run("INSERT INTO t(id) VALUES(\(number))") }
        #expect(try ids().count == 300)
        for values in [SQLValue.list("5"), SQLValue.list(5 as Int64)] {
            try connection.rows("SELECT ?::text", values: values) { row in
                #expect(row.string(0) == "5")
                return true
            }
        }
    }

    @Test func `a session that the server ended is lost, and says so`() throws {
        try connection.begin()
        try insert(1)
        let other = try PostgresConnection(TestDatabase.place(schema: "public"))
        var process: Int64 = 0
        try connection.rows("SELECT pg_backend_pid()", values: []) { row in
            process = row.int64(0)
            return true
        }
        try other.rows("SELECT pg_terminate_backend(?::int4)", values: [.integer(process)]) { _ in true }
        let error = #expect(throws: SQLError.self) { try connection.commit() }
        #expect(error?.kind == .lost && connection.isLost && !connection.isInTransaction)
        #expect(throws: SQLError.self) { try insert(2) }
    }

    @Test func `a server that is not there is told with the reason`() {
        var place = PostgresPlace()
        place.set("dbname", "postgresql://ladle@127.0.0.1:1/x")
        let error = #expect(throws: SQLError.self) { try PostgresConnection(place) }
        #expect(
            error?.kind == .cannotOpen && error?.message.contains("refused") == true,
            "\(String(describing: error))"
        )
    }
}

struct PostgresStatementTests {
    @Test(arguments: [
        ("SELECT 1", "SELECT 1"), ("a = ? AND b = ?", "a = $1 AND b = $2"), ("?2 ?1 ?12", "$2 $1 $12"),
        ("x = '?' AND y = ?", "x = '?' AND y = $1"), ("'it''s ?' ?", "'it''s ?' $1"),
    ])
    func `places of values have the server's form`(sql: String, text: String) {
        #expect(PostgresStatement.text(sql) == text)
    }
}
