import Basics
import EventStream
import Outbox
import POSIX
import Store
import TestSupport
import Testing

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

    @Test func `a file that is no backup leaves the state as it is`() async throws {
        let (store, _) = try fixture.open()
        await fixture.end(store)
        let directory = try StateDirectory(path: state)
        defer { directory.release() }
        for bytes in [[], Array("no database at all, but long enough to be looked at".utf8)] {
            try PrivateFile(backup.path).replace(with: bytes)
            let problem = bytes.isEmpty ? "it is no backup of Ladle" : "it is no database, or it is damaged"
            #expect(throws: StoreError.unavailable(problem)) {
                try backup.restore(into: directory, epoch: epoch, at: fixture.clock.now)
            }
        }
        let database = StateBackup(path: "\(state)/ladle.db", files: [])
        #expect(throws: StoreError.unavailable("it is no backup of Ladle")) {
            try database.restore(into: directory, epoch: epoch, at: fixture.clock.now)
        }
        #expect(FileSystem.names(in: state).allSatisfy { !$0.contains("restore") })
    }
}
