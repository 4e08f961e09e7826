import Basics
import EventStream
import Outbox
import POSIX
import SQL
import SQLite
import TestSupport
import Testing

@testable import Store

struct StateBackupTests {
    private let fixture: StoreFixture
    private let backup: StateBackup
    private let epoch = EventEpoch.make(random: 7)

    init() throws {
        fixture = try StoreFixture()
        backup = StateBackup(path: fixture.scratch.file("copy"), files: ["device-key"])
    }

    private var state: String { fixture.scratch.file("state") }

    @Test func `a backup of a store in use is restored with its files and a new event log`() async throws {
        let (store, _) = try fixture.open()
        _ = try await store.enqueue(fixture.entry("e1"))
        let key = PrivateFile(state + "/device-key")
        try key.replace(with: [1, 2, 3])
        try backup.make(of: state)
        #expect(try FileSystem.facts(backup.path).mode == 0o600)
        #expect(throws: StoreError.self) { try backup.make(of: state) }
        _ = try await store.enqueue(fixture.entry("e2"))
        await fixture.end(store)
        try key.replace(with: [4])

        let directory = try StateDirectory(path: state)
        let earlier = try #require(try backup.restore(into: directory, epoch: epoch, at: fixture.clock.now))
        directory.release()
        #expect(try key.read() == [1, 2, 3])
        #expect(try PrivateFile(earlier + "/device-key").read() == [4])
        let (restored, opening) = try fixture.open()
        #expect(opening == .opened)
        #expect(try await restored.read { try $0.outbox.entry(id: "e1")?.text } == "hello")
        #expect(try await restored.read { try $0.outbox.entry(id: "e2") } == nil)
        #expect(try await restored.read { try $0.events.bounds() }.newest == EventID(epoch: epoch, sequence: 0))
        await fixture.end(restored)
    }

    /// Each rename is the last one before a power cut.
    @Test func `a restore that was cut off is finished by whoever opens the directory next`() async throws {
        let (store, _) = try fixture.open()
        _ = try await store.enqueue(fixture.entry("e1"))
        let key = PrivateFile(state + "/device-key")
        try key.replace(with: [1, 2, 3])
        try backup.make(of: state)
        _ = try await store.enqueue(fixture.entry("e2"))
        await fixture.end(store)
        try key.replace(with: [4])
        let names = ["ladle.db", "device-key"]
        var left = 1
        var cut = 0
        while left > 0 {
            // The state and what a restore has prepared, before its first rename.
            let now = fixture.clock.now.milliseconds + Int64(cut)
            let plan = RestorePlan(at: now, new: names, old: ["ladle.db-wal", "ladle.db-shm"] + names)
            let restored = try fixture.scratch.bytes(of: "state/ladle.db")
            try PrivateFile(state + "/ladle.db.restored").replace(with: restored)
            try PrivateFile(state + "/device-key.restored").replace(with: [1, 2, 3])
            try key.replace(with: [4])
            try PrivateFile("\(state)/\(RestorePlan.name)").replace(with: plan.bytes)
            #expect(RestorePlan(plan.bytes) == plan)
            #expect(throws: StoreError.self) { try backup.make(of: state) }
            let moves = plan.moves(in: state)
            try FileSystem.makeDirectory("\(state)/\(plan.place)")
            for move in moves.prefix(cut) { try FileSystem.rename(move.from, to: move.to) }
            left = moves.count - cut
            let directory = try StateDirectory(path: state)
            directory.release()
            #expect(try key.read() == [1, 2, 3] && !FileSystem.exists("\(state)/\(RestorePlan.name)"), "\(cut)")
            #expect(try PrivateFile("\(state)/\(plan.place)/device-key").read() == [4], "\(cut)")
            #expect(plan.moves(in: state).isEmpty && FileSystem.exists(state + "/ladle.db"))
            cut += 1
        }
        #expect(cut >= 4)
        try PrivateFile("\(state)/\(RestorePlan.name)").replace(with: Array("before-restore-1\nnew ../x\nend\n".utf8))
        #expect(throws: StateDirectoryError.unreadablePlan(path: "\(state)/\(RestorePlan.name)")) {
            _ = try StateDirectory(path: state)
        }
    }

    @Test func `a backup with a key that is none, or with a trigger of its own, is refused and changes nothing`()
        async throws
    {
        let (store, _) = try fixture.open()
        let key = PrivateFile(state + "/device-key")
        try key.replace(with: [9])
        try backup.make(of: state)
        await fixture.end(store)
        let directory = try StateDirectory(path: state)
        defer { directory.release() }
        #expect(throws: StoreError.unavailable("its device-key holds no key")) {
            try backup.restore(into: directory, epoch: epoch, at: fixture.clock.now) { name, bytes in
                name == "device-key" && bytes == [9] ? "holds no key" : nil
            }
        }
        let connection = try SQLiteConnection(path: backup.path, access: .readWrite)
        try connection.execute("CREATE TRIGGER more AFTER INSERT ON token BEGIN UPDATE token SET scopes = 32; END")
        connection.close()
        #expect(throws: StoreError.self) {
            try backup.restore(into: directory, epoch: epoch, at: fixture.clock.now)
        }
        #expect(try key.read() == [9] && !FileSystem.exists(state + "/ladle.db.restored"))
    }

    @Test func `a backup that ends early is said to be cut short, wherever it ends`() async throws {
        let (store, _) = try fixture.open()
        try backup.make(of: state)
        await fixture.end(store)
        let directory = try StateDirectory(path: state)
        defer { directory.release() }
        let whole = try #require(try PrivateFile(backup.path).read())
        for count in [50, 100, 4096, whole.count / 2, whole.count - 4096, whole.count - 1] {
            try PrivateFile(backup.path).replace(with: Array(whole.prefix(count)))
            #expect(throws: StoreError.unavailable("\(backup.path) is no database, or it is damaged or cut short")) {
                try backup.restore(into: directory, epoch: epoch, at: fixture.clock.now)
            }
        }
    }

    @Test func `a restore that cannot write its files leaves the state as it is`() async throws {
        let (store, _) = try fixture.open()
        try FileSystem.makeDirectory(state + "/sub")
        try PrivateFile(state + "/sub/key").replace(with: [1])
        let backup = StateBackup(path: backup.path, files: ["sub/key"])
        try backup.make(of: state)
        await fixture.end(store)
        try FileSystem.rename(state + "/sub", to: fixture.scratch.file("elsewhere"))
        let before = FileSystem.names(in: state).sorted()
        let directory = try StateDirectory(path: state)
        defer { directory.release() }
        #expect(throws: StoreError.self) { try backup.restore(into: directory, epoch: epoch, at: fixture.clock.now) }
        #expect(FileSystem.names(in: state).sorted() == before)
    }

    @Test func `an empty database is not copied, since it would be a backup of nothing`() throws {
        try FileSystem.makeDirectories(state)
        try PrivateFile(state + "/ladle.db").replace(with: [])
        #expect(throws: StoreError.unavailable("\(state)/ladle.db is empty")) { try backup.make(of: state) }
        #expect(!FileSystem.exists(backup.path))
    }

    @Test func `people read what happened, and the log the statement too`() {
        let error = StoreError(SQLError(sqlite: 14, message: "unable to open database: x", sql: "VACUUM INTO ?"))
        #expect(error.detail == "unable to open database: x (SQLite 14)")
        #expect("\(error)" == "unable to open database: x (SQLite 14) in VACUUM INTO ?")
    }

    @Test func `a file that is no backup leaves the state as it is`() async throws {
        let (store, _) = try fixture.open()
        await fixture.end(store)
        let directory = try StateDirectory(path: state)
        defer { directory.release() }
        for bytes in [[], Array("no database at all, but long enough to be looked at".utf8)] {
            try PrivateFile(backup.path).replace(with: bytes)
            let problem = bytes.isEmpty ? "is empty" : "is no database, or it is damaged or cut short"
            #expect(throws: StoreError.unavailable("\(backup.path) \(problem)")) {
                try backup.restore(into: directory, epoch: epoch, at: fixture.clock.now)
            }
        }
        #expect(throws: StoreError.unavailable("\(state) is not a file")) {
            try StateBackup(path: state, files: []).restore(into: directory, epoch: epoch, at: fixture.clock.now)
        }
        let database = StateBackup(path: "\(state)/ladle.db", files: [])
        #expect(throws: StoreError.unavailable("it is no backup of Ladle")) {
            try database.restore(into: directory, epoch: epoch, at: fixture.clock.now)
        }
        #expect(FileSystem.names(in: state).allSatisfy { !$0.contains("restore") })
    }
}
