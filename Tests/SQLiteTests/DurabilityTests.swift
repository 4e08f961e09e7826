import SQL
import SQLite
import TestSupport
import Testing

/// Syncs decide which writes survive a loss of power, and only a file system that forgets can show it.
struct `After a loss of power` {
    private func rows(_ directory: ScratchDirectory) throws -> [Int] {
        let connection = try SQLiteConnection(path: directory.file("t.db"), access: .readWrite)
        return try connection.all("SELECT x FROM t ORDER BY x") { row in row.int(0) }
    }

    private func prepare(_ directory: ScratchDirectory, _ system: FaultFileSystem, synchronous: String) throws
        -> SQLiteConnection
    {
        let connection = try SQLiteConnection(
            path: directory.file("t.db"),
            access: .readWrite,
            fileSystem: system.name
        )
        _ = try connection.first("PRAGMA journal_mode = WAL") { row in row.string(0) }
        try connection.execute("PRAGMA synchronous = FULL; CREATE TABLE t(x)")
        try connection.execute("PRAGMA synchronous = \(synchronous)")
        return connection
    }

    @Test func `every commit made with FULL is there`() throws {
        let directory = try ScratchDirectory()
        let system = try #require(FaultFileSystem(name: "power-full"))
        do {
            let connection = try prepare(directory, system, synchronous: "FULL")
            for value in 1...20 { try connection.run("INSERT INTO t VALUES(?)", value) }
            system.losePower()
        }
        #expect(try rows(directory) == Array(1...20))
    }

    @Test func `commits made with NORMAL are not, so the shim can see a missing sync`() throws {
        let directory = try ScratchDirectory()
        let system = try #require(FaultFileSystem(name: "power-normal"))
        do {
            let connection = try prepare(directory, system, synchronous: "NORMAL")
            for value in 1...20 { try connection.run("INSERT INTO t VALUES(?)", value) }
            system.losePower()
        }
        #expect(try rows(directory).count < 20)
    }

    @Test(arguments: 1...40)
    func `in the middle of anything, all that was committed is there and the file is sound`(call: Int) throws {
        let directory = try ScratchDirectory()
        let system = try #require(FaultFileSystem(name: "power-at-\(call)"))
        var committed: [Int] = []
        do {
            let connection = try prepare(directory, system, synchronous: "FULL")
            system.arm(.powerLoss(keeping: UInt64(call)), atCall: call)
            for value in 1...12 {
                do throws(SQLError) {
                    try connection.run("INSERT INTO t VALUES(?)", value)
                    committed.append(value)
                    if value == 6 { _ = try connection.checkpoint(.passive) }
                } catch {
                    break
                }
            }
            system.losePower(keeping: UInt64(call))
        }
        let found = try rows(directory)
        // One more may be there: its commit was on disk, but not reported.
        #expect(found.starts(with: committed) && found.count <= committed.count + 1, "call \(call)")
        let connection = try SQLiteConnection(path: directory.file("t.db"), access: .readWrite)
        #expect(try connection.quickCheck() == [])
    }
}

struct `A log cut at any length` {
    @Test func `gives back every commit that lies before the cut`() throws {
        let directory = try ScratchDirectory()
        // A small page keeps the number of lengths in bounds.
        let connection = try SQLiteConnection(path: directory.file("t.db"), access: .readWrite)
        try connection.execute("PRAGMA page_size = 512")
        _ = try connection.first("PRAGMA journal_mode = WAL") { row in row.string(0) }
        try connection.execute("CREATE TABLE t(x)")
        var ends: [Int] = []
        for value in 1...5 {
            try connection.run("INSERT INTO t VALUES(?)", value)
            ends.append(try directory.bytes(of: "t.db-wal").count)
        }
        let database = try directory.bytes(of: "t.db")
        let log = try directory.bytes(of: "t.db-wal")
        // Every length around the ends of commits and of their frames, and a sample of the lengths in between.
        let edges = Set(ends.flatMap { ($0 - 3)...($0 + 3) } + stride(from: 0, to: log.count, by: 61))
        for length in edges.filter({ $0 <= log.count }).sorted() {
            let copy = "copy.db"
            try directory.write(database, to: copy)
            try directory.write(Array(log.prefix(length)), to: copy + "-wal")
            let opened = try SQLiteConnection(path: directory.file(copy), access: .readWrite)
            let isThere = try opened.first("SELECT count(*) FROM sqlite_schema") { row in row.int(0) } == 1
            let rows = isThere ? try opened.all("SELECT x FROM t ORDER BY x") { row in row.int(0) } : []
            let expected = ends.count { $0 <= length }
            #expect(rows == Array(1...5).prefix(expected).map { $0 }, "cut at \(length)")
        }
    }
}
