import Access
import Basics
import SQLite
import Store
import TestSupport
import Testing

struct TokenTableTests {
    /// The tables in a file, which can be opened again.
    static func table(_ folder: ScratchDirectory) throws -> (TokenTable, SQLiteConnection) {
        let connection = try SQLiteConnection(path: folder.file("t.db"), access: .readWrite)
        try Migrator(EventLogSchema.migrations + TokenTable.migrations).migrate(connection)
        return (TokenTable(SQLConnection(connection)), connection)
    }

    @Test func `a saved token is loaded, and authenticates after a restart`() throws {
        let folder = try ScratchDirectory()
        let (record, secret) = try TokenRecord.sample(sessions: ["agent:main:main", "b"], expiresAt: .after(9000))
        let narrow = try TokenRecord.sample(paths: ["/v1/runs", "/v1/glance"], seed: 3).record
        let plain = try TokenRecord.sample(name: "ü 'quoted'", scopes: .admin, seed: 2).record
        do {
            let (table, _) = try Self.table(folder)
            try table.save(record)
            try table.save(plain)
            try table.save(narrow)
        }
        let (table, _) = try Self.table(folder)
        let loaded = try table.load()
        #expect(Set(loaded.map(\.id)) == [record.id, plain.id, narrow.id])
        #expect(loaded.contains(record))
        #expect(loaded.contains(plain))
        #expect(loaded.contains(narrow))
        var index = TokenIndex(loaded)
        #expect(index.authenticate(Array(secret.reveal().utf8), now: .start)?.id == record.id)
    }

    @Test func `a token of the version before keeps all paths, and a limit that cannot be read grants none`() throws {
        let folder = try ScratchDirectory()
        let (record, _) = try TokenRecord.sample()
        let connection = try SQLiteConnection(path: folder.file("t.db"), access: .readWrite)
        let first = TokenTable.migrations.filter { $0.version == 1 }
        try Migrator(EventLogSchema.migrations + first).migrate(connection)
        try connection.run(
            "INSERT INTO token(id, name, scopes, created_at, digest, shown) VALUES(?, ?, ?, ?, ?, ?)",
            record.id,
            record.name,
            Int64(record.scopes.rawValue),
            record.createdAt.milliseconds,
            record.digest.bytes,
            record.shown
        )
        #expect(
            try Migrator(EventLogSchema.migrations + TokenTable.migrations).migrate(connection) == TokenTable.migrations
                .count - 1
        )
        let table = TokenTable(SQLConnection(connection))
        #expect(try table.rows() == [.unsealed(record)])
        try table.save(record)
        #expect(try table.rows() == [.token(record)])
        for text in ["", "\n", "v1", "/v1//x", "/v1/../x"] {
            try connection.run("UPDATE token SET paths = ?", text)
            #expect(try table.load().isEmpty, "\(text)")
        }
    }

    /// Every bit of the page with the tokens is changed, one at a time: `read,send` never becomes more, and nothing else
    /// of a token changes.
    @Test func `a changed bit on the disk makes no other token`() throws {
        let folder = try ScratchDirectory()
        let (record, _) = try TokenRecord.sample(sessions: ["agent:main:main"], paths: ["/v1/runs"])
        do {
            let (table, connection) = try Self.table(folder)
            try table.save(record)
            try connection.execute("VACUUM")
            connection.close()
        }
        let whole = try folder.bytes(of: "t.db")
        let name = Array(record.shown.utf8)
        let place = try #require(whole.indices.first { whole[$0...].starts(with: name) })
        let page = place / 4096 * 4096..<place / 4096 * 4096 + 4096
        let used = page.filter { whole[$0] != 0 }
        var (unreadable, flips) = (0, 0)
        for index in used {
            for bit in 0..<8 {
                var bytes = whole
                bytes[index] ^= 1 << bit
                try folder.write(bytes, to: "t.db")
                flips += 1
                let connection = try SQLiteConnection(path: folder.file("t.db"), access: .readOnly)
                defer { connection.close() }
                guard let rows = try? TokenTable(SQLConnection(connection)).rows() else { continue }
                for row in rows {
                    switch row {
                    case .token(let found), .unsealed(let found):
                        var found = found
                        found.lastUsedAt = record.lastUsedAt
                        #expect(found == record, "byte \(index), bit \(bit)")
                    case .unreadable: unreadable += 1
                    }
                }
            }
        }
        #expect(flips > 1_000 && unreadable > 500, "\(flips) \(unreadable)")
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
        let table = TokenTable(try TestDatabase.open())
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
        let connection = try TestDatabase.open()
        let table = TokenTable(connection)
        for (index, scopes) in [(1, Int64(128)), (2, 129), (3, 0), (4, 300), (5, -1)] {
            let record = try TokenRecord.sample(seed: UInt8(index)).record
            try table.save(record)
            try connection.run("UPDATE token SET scopes = ? WHERE id = ?", scopes, record.id)
        }
        #expect(try table.load().isEmpty)
    }
}
