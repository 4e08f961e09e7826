import Access
import Basics
import SQLite
import Store
import TestSupport
import Testing

struct TokenTableTests {
    static func table(_ folder: ScratchDirectory) throws -> (TokenTable, SQLiteConnection) {
        let connection = try SQLiteConnection(path: folder.file("t.db"), access: .readWrite)
        try Migrator(EventLogSchema.migrations + TokenTable.migrations).migrate(connection)
        return (TokenTable(connection), connection)
    }

    @Test func `what is saved is loaded, and authenticates after a restart`() throws {
        let folder = try ScratchDirectory()
        let (record, secret) = try TokenRecord.sample(sessions: ["agent:main:main", "b"], expiresAt: .after(9000))
        let plain = try TokenRecord.sample(name: "ü 'quoted'", scopes: .admin, seed: 2).record
        do {
            let (table, _) = try Self.table(folder)
            try table.save(record)
            try table.save(plain)
        }
        let (table, _) = try Self.table(folder)
        let loaded = try table.load()
        #expect(Set(loaded.map(\.id)) == [record.id, plain.id])
        #expect(loaded.contains(record))
        #expect(loaded.contains(plain))
        var index = TokenIndex(loaded)
        #expect(index.authenticate(Array(secret.reveal().utf8), now: .start)?.id == record.id)
    }

    @Test func `the file holds no secret`() throws {
        let folder = try ScratchDirectory()
        let (record, secret) = try TokenRecord.sample()
        do {
            let (table, connection) = try Self.table(folder)
            try table.save(record)
            _ = try? connection.checkpoint(.truncate)
        }
        let text = secret.reveal()
        for name in try folder.names() {
            #expect(try !folder.text(of: name).contains(text.dropFirst(10)))
        }
    }

    @Test func `rotation replaces, deletion deletes, and a late touch brings nothing back`() throws {
        let folder = try ScratchDirectory()
        let (table, _) = try Self.table(folder)
        let (record, _) = try TokenRecord.sample()
        try table.save(record)
        let rotated = record.rotated().record
        try table.save(rotated)
        #expect(try table.load() == [rotated])
        try table.touch([record.id: .after(5)])
        #expect(try table.load().first?.lastUsedAt == .after(5))
        try table.delete(record.id)
        try table.touch([record.id: .after(6)])
        #expect(try table.load().isEmpty)
    }

    @Test func `a row of another version grants nothing`() throws {
        let folder = try ScratchDirectory()
        let (table, connection) = try Self.table(folder)
        for (index, scopes) in [(1, Int64(128)), (2, 129), (3, 0), (4, 300), (5, -1)] {
            let record = try TokenRecord.sample(seed: UInt8(index)).record
            try table.save(record)
            try connection.run("UPDATE token SET scopes = ? WHERE id = ?", scopes, record.id)
        }
        #expect(try table.load().isEmpty)
    }
}
