import SQL
import SQLite
import TestSupport
import Testing

struct `A connection` {
    let directory: ScratchDirectory
    let connection: SQLiteConnection

    init() throws {
        directory = try ScratchDirectory()
        connection = try SQLiteConnection(path: directory.file("t.db"), access: .readWrite)
        try connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, c)")
    }

    @Test func `returns what was bound, byte for byte`() throws {
        let text = "naïve \u{0} \u{1F600} 'quoted'"
        let bytes: [UInt8] = [0, 1, 255, 0]
        try connection.run("INSERT INTO t(a, b, c) VALUES(?, ?, ?)", text, bytes, Int64.min)
        try connection.run("INSERT INTO t(a, b, c) VALUES(?, ?, ?)", "", [UInt8](), nil as Int64?)
        try connection.run("INSERT INTO t(a, b, c) VALUES(?, ?, ?)", nil as String?, bytes[1...2], true)
        let rows = try connection.all("SELECT a, b, c, typeof(a), typeof(b) FROM t ORDER BY id") { row in
            (row.optionalString(0), row.bytes(1), row.optionalInt64(2), row.string(3), row.string(4))
        }
        #expect(rows[0].0 == text)
        #expect(rows[0].1 == bytes)
        #expect(rows[0].2 == Int64.min)
        #expect(rows[1].0 == "" && rows[1].3 == "text", "an empty text is not NULL")
        #expect(rows[1].1 == [] && rows[1].4 == "blob")
        #expect(rows[1].2 == nil)
        #expect(rows[2].0 == nil)
        #expect(rows[2].1 == [1, 255])
        #expect(rows[2].2 == 1)
    }

    @Test func `gives a statement met again inside its own rows a life of its own`() throws {
        for value in 1...3 { try connection.run("INSERT INTO t(a) VALUES(?)", value) }
        var pairs = 0
        try connection.scan("SELECT a FROM t", values: []) { _ throws(SQLError) in
            pairs += try connection.all("SELECT a FROM t") { _ in 1 }.count
            return true
        }
        #expect(pairs == 9)
    }

    @Test func `keeps a bounded number of statements, however many texts it is given`() throws {
        for value in 0..<1_000 {
            #expect(try connection.first("SELECT \(value)") { row in row.int(0) } == value)
        }
        #expect(connection.keptStatements <= 256)
        // The kept statements include those in constant use.
        try connection.run("INSERT INTO t(a) VALUES(1)")
        #expect(try connection.all("SELECT a FROM t") { row in row.int(0) } == [1])
    }

    @Test func `stops a scan when it is told to`() throws {
        for value in 1...10 { try connection.run("INSERT INTO t(a) VALUES(?)", value) }
        var seen = 0
        try connection.scan("SELECT a FROM t", values: []) { _ in
            seen += 1
            return seen < 4
        }
        #expect(seen == 4)
        // The statement was left in the middle and can be used again.
        #expect(try connection.all("SELECT a FROM t") { row in row.int(0) }.count == 10)
    }

    @Test func `names the kind of an error and the statement`() throws {
        try connection.run("INSERT INTO t(id) VALUES(1)")
        let error = #expect(throws: SQLError.self) { try connection.run("INSERT INTO t(id) VALUES(1)") }
        #expect(error?.kind == .constraint)
        #expect(error?.sql == "INSERT INTO t(id) VALUES(1)")
        let syntax = #expect(throws: SQLError.self) { try connection.run("SELEC") }
        #expect(syntax?.kind == .statement)
    }

    @Test func `takes back a transaction whose body throws`() throws {
        #expect(throws: SQLError.self) {
            try connection.transaction { () throws(SQLError) in
                try connection.run("INSERT INTO t(a) VALUES(1)")
                throw SQLError.malformed("enough")
            }
        }
        #expect(!connection.isInTransaction)
        #expect(try connection.first("SELECT count(*) FROM t") { row in row.int(0) } == 0)
    }

    @Test func `that only reads cannot write`() throws {
        let reader = try SQLiteConnection(path: directory.file("t.db"), access: .readOnly)
        let error = #expect(throws: SQLError.self) { try reader.run("INSERT INTO t(a) VALUES(1)") }
        #expect(error?.kind == .readOnly)
    }

    @Test func `to a file that is not there or not a database fails`() throws {
        let missing = #expect(throws: SQLError.self) {
            try SQLiteConnection(path: directory.file("none.db"), access: .readOnly)
        }
        #expect(missing?.kind == .cannotOpen)
        try directory.write([UInt8](repeating: 0x41, count: 8_192), to: "text.db")
        let text = try SQLiteConnection(path: directory.file("text.db"), access: .readWrite)
        let error = #expect(throws: SQLError.self) { try text.execute("CREATE TABLE t(a)") }
        #expect(error?.kind == .corrupt)
    }

    @Test func `reports the size of the log and copies it`() throws {
        _ = try connection.first("PRAGMA journal_mode = WAL") { row in row.string(0) }
        try connection.run("INSERT INTO t(b) VALUES(?)", [UInt8](repeating: 7, count: 100_000))
        #expect(connection.logPages > 20)
        let result = try connection.checkpoint(.passive)
        #expect(result.copiedPages == result.logPages)
        #expect(try connection.quickCheck() == [])
        #expect(try connection.quickCheck(table: "t") == [])
    }
}

struct `Migrations` {
    let directory: ScratchDirectory
    let connection: SQLiteConnection
    let first = Migration(module: "m", version: 1, script: "CREATE TABLE a(x); CREATE TABLE b(x)")
    let second = Migration(module: "m", version: 2, script: "ALTER TABLE a ADD COLUMN y")
    let other = Migration(module: "n", version: 1, script: "CREATE TABLE c(x)")

    init() throws {
        directory = try ScratchDirectory()
        connection = try SQLiteConnection(path: directory.file("t.db"), access: .readWrite)
    }

    @Test func `are taken once, in order, per module`() throws {
        #expect(try Migrator([first]).migrate(connection) == 1)
        #expect(try Migrator([first]).migrate(connection) == 0)
        #expect(try Migrator([first, second, other]).migrate(connection) == 2)
        #expect(try connection.first("PRAGMA user_version") { row in row.int(0) } == 3)
        try connection.run("INSERT INTO a(x, y) VALUES(1, 2)")
    }

    @Test func `of a later version are refused without touching anything`() throws {
        try Migrator([first, second]).migrate(connection)
        #expect(throws: MigrationError.newer(module: "m", found: 2, known: 1)) {
            try Migrator([first]).migrate(connection)
        }
        #expect(throws: MigrationError.newer(module: "m", found: 2, known: 0)) {
            try Migrator([other]).migrate(connection)
        }
    }

    @Test func `that fail half way leave the version before`() throws {
        try Migrator([first]).migrate(connection)
        let broken = Migration(module: "m", version: 2, script: "CREATE TABLE d(x); CREATE TABLE a(x)")
        #expect(throws: MigrationError.self) { try Migrator([first, broken]).migrate(connection) }
        #expect(try connection.first("SELECT count(*) FROM sqlite_schema WHERE name = 'd'") { row in row.int(0) } == 0)
        #expect(try Migrator([first, second]).migrate(connection) == 1)
    }

    @Test func `leave the database of another program alone`() throws {
        try connection.execute("CREATE TABLE theirs(x)")
        #expect(throws: MigrationError.foreign(applicationID: 0)) { try Migrator([first]).migrate(connection) }
        try connection.execute("PRAGMA application_id = 7")
        #expect(throws: MigrationError.foreign(applicationID: 7)) { try Migrator([first]).migrate(connection) }
    }
}
