import SQLite
import Store
import TestSupport
import Testing

/// The doctor's look at a database: it says what `serve` would say, and leaves every file as it is.
struct `A look at a database` {
    private let fixture: StoreFixture

    init() throws {
        fixture = try StoreFixture()
    }

    private var place: String { fixture.scratch.file("state") }
    private var path: String { place + "/ladle.db" }

    private func fill() async throws {
        let (store, _) = try fixture.open()
        for index in 0..<20 { _ = try await store.enqueue(fixture.entry("e\(index)")) }
        await fixture.end(store)
    }

    /// The files as a killed process leaves them.
    private func kill() async throws {
        let running = try StoreFixture()
        let (store, _) = try running.open { $0.checkpointsWhenIdle = false }
        for index in 0..<20 { _ = try await store.enqueue(running.entry("e\(index)")) }
        try fixture.scratch.makeDirectory("state", mode: 0o700)
        for file in ["ladle.db", "ladle.db-wal", "ladle.db-shm", "ladle.witness"] {
            try fixture.scratch.write(running.scratch.bytes(of: "state/\(file)"), to: "state/\(file)")
        }
        await running.end(store)
    }

    /// The finding of the look; a file that it makes or changes is a failure.
    private func find() throws -> DatabaseFault? {
        let before = try files()
        let fault = DatabaseFault.find(in: place)
        #expect(try files() == before)
        return fault
    }

    private func files() throws -> [String: [UInt8]] {
        let names = try fixture.scratch.names(in: "state").filter { $0.hasPrefix("ladle.db") && $0 != "ladle.db" }
        var found = Dictionary(uniqueKeysWithValues: names.map { ($0, try? fixture.scratch.bytes(of: "state/\($0)")) })
        found["ladle.db"] = try? fixture.scratch.bytes(of: "state/ladle.db")
        return found.compactMapValues(\.self)
    }

    private func change(_ script: String) throws {
        let connection = try SQLiteConnection(path: path, access: .readWrite)
        try connection.execute(script)
        connection.close()
    }

    @Test func `finds nothing wrong after a stop and after a kill, and where there is none yet`() async throws {
        #expect(try find(emptyPlace: true) == nil)
        try await fill()
        #expect(try find() == nil)
        let killed = try `A look at a database`()
        try await killed.kill()
        #expect(try killed.find() == nil)
        try killed.fixture.remove("ladle.db-shm")
        #expect(try killed.find() == nil, "a log without its index is not read")
    }

    private func find(emptyPlace: Bool) throws -> DatabaseFault? {
        try fixture.scratch.makeDirectory("state", mode: 0o700)
        return try find()
    }

    @Test func `sees bytes that are no database, with the words of serve`() throws {
        _ = try find(emptyPlace: true)
        try fixture.scratch.write([UInt8](repeating: 0x41, count: 20_000), to: "state/ladle.db")
        let reason = "the database is damaged (file is not a database)"
        #expect(try find() == .unusable(path: path, reason: reason))
        let (_, opening) = try fixture.open()
        guard case .setAside(_, let said) = opening else {
            Issue.record("\(opening)")
            return
        }
        #expect(said == reason)
    }

    @Test func `sees damage inside`() async throws {
        try await fill()
        var bytes = try fixture.scratch.bytes(of: "state/ladle.db")
        for index in bytes.indices where index >= 8_192 && index % 3 == 0 { bytes[index] ^= 0x5a }
        try fixture.scratch.write(bytes, to: "state/ladle.db")
        guard case .unusable(_, let reason) = try find() else {
            Issue.record("damage is not seen")
            return
        }
        #expect(reason.contains("damaged"))
    }

    @Test func `sees that it is of a newer Ladle, or of another program`() async throws {
        try await fill()
        try change("UPDATE schema_version SET version = 99 WHERE module = 'outbox'")
        guard case .newer(path, let reason) = try find() else {
            Issue.record("a newer database is not seen")
            return
        }
        #expect(reason.hasPrefix("the database is of a newer version (outbox 99"))
        try change("PRAGMA application_id = 7")
        let foreign = "the database belongs to another program (application id 7)"
        #expect(try find() == .unusable(path: path, reason: foreign))
    }

    @Test func `sees a log that is gone, and a database that is empty`() async throws {
        try await kill()
        try fixture.remove("ladle.db-wal")
        guard case .unusable(_, let reason) = try find() else {
            Issue.record("a lost log is not seen")
            return
        }
        #expect(reason.contains("20 accepted messages"))
        try fixture.scratch.write([], to: "state/ladle.db")
        guard case .unusable(_, let empty) = try find() else {
            Issue.record("an empty database is not seen")
            return
        }
        #expect(empty.hasPrefix("the database is empty; it had 20 messages"))
    }

    @Test func `sees a directory and a link to nothing, and follows a link to a database`() async throws {
        _ = try find(emptyPlace: true)
        try fixture.scratch.makeDirectory("state/ladle.db", mode: 0o700)
        #expect(DatabaseFault.find(in: place) == .notAFile(path: path))
        let other = try `A look at a database`()
        _ = try other.find(emptyPlace: true)
        try other.fixture.scratch.makeLink("state/ladle.db", to: "/nowhere/ladle.db")
        #expect(try other.find() == .leadsNowhere(path: other.path, target: "/nowhere/ladle.db"))
        let linked = try `A look at a database`()
        try await linked.fill()
        try linked.fixture.scratch.move("state/ladle.db", to: "elsewhere.db")
        try linked.fixture.scratch.makeLink("state/ladle.db", to: "../elsewhere.db")
        #expect(try linked.find() == nil)
        #expect(try linked.fixture.scratch.names() == ["elsewhere.db", "state"])
    }

    @Test func `reads a path with characters that a URI gives a meaning`() async throws {
        let scratch = try ScratchDirectory()
        try scratch.makeDirectory("50% off? #1", mode: 0o700)
        try await fill()
        try scratch.write(fixture.scratch.bytes(of: "state/ladle.db"), to: "50% off? #1/ladle.db")
        #expect(DatabaseFault.find(in: scratch.file("50% off? #1")) == nil)
        try scratch.write([1, 2, 3], to: "50% off? #1/ladle.db")
        #expect(DatabaseFault.find(in: scratch.file("50% off? #1")) != nil)
    }
}
