import Basics
import EventStream
import Outbox
import SQLite
import Store
import TestSupport
import Testing

struct `A database that cannot be used` {
    private func fill(_ fixture: StoreFixture, entries: Int) async throws {
        let (store, _) = try fixture.open()
        for index in 0..<entries { _ = try await store.enqueue(fixture.entry("e\(index)")) }
        await fixture.end(store)
    }

    private func damage(_ fixture: StoreFixture) throws {
        var bytes = try fixture.scratch.bytes(of: "state/ladle.db")
        for index in bytes.indices where index >= 8_192 && index % 3 == 0 { bytes[index] ^= 0x5a }
        try fixture.scratch.write(bytes, to: "state/ladle.db")
    }

    @Test func `is set aside, sends are refused, and the event log starts anew`() async throws {
        let fixture = try StoreFixture()
        try await fill(fixture, entries: 200)
        let epoch = fixture.published.values[0].id.epoch
        try damage(fixture)
        let (store, opening) = try fixture.open()
        guard case .setAside(let path, let reason) = opening else {
            Issue.record("\(opening)")
            return
        }
        #expect(reason.contains("damaged"))
        #expect(fixture.scratch.exists("state/\(path.split(separator: "/").last ?? "")/ladle.db"))
        guard case .quarantined = store.health else {
            Issue.record("\(store.health)")
            return
        }
        await #expect(throws: StoreError.self) { _ = try await store.enqueue(fixture.entry("new")) }
        #expect(await store.probe() != nil)
        // Reads continue, and events too, under a new epoch.
        let bounds = try await store.read { try $0.events.bounds() }
        #expect(bounds.epoch != epoch)
        try await store.submit { transaction in
            _ = try transaction.append(EventDraft(type: "message", at: transaction.now, body: Array("{}".utf8)))
        }
    }

    /// SQLite's own check does not read these texts.
    @Test(
        arguments: [
            ("attempt_count", "attempt_couns"), ("schema_version", "schema_versinn"),
            ("CREATE TABLE token", "CREATE TABLE tokdn"),
        ]
    )
    func `with a changed bit in the text of its schema is set aside, and the start succeeds`(
        text: String,
        changed: String
    ) async throws {
        let fixture = try StoreFixture()
        try await fill(fixture, entries: 3)
        var bytes = try fixture.scratch.bytes(of: "state/ladle.db")
        let (old, new) = (Array(text.utf8), Array(changed.utf8))
        for place in bytes.indices where bytes[place...].starts(with: old) {
            bytes.replaceSubrange(place..<place + old.count, with: new)
        }
        try fixture.scratch.write(bytes, to: "state/ladle.db")
        let (store, opening) = try fixture.open()
        guard case .setAside(_, let reason) = opening else {
            Issue.record("\(opening)")
            return
        }
        #expect(reason.contains("damaged"))
        guard case .quarantined = store.health else {
            Issue.record("\(store.health)")
            return
        }
        await fixture.end(store)
    }

    @Test func `stays a reason to refuse sends at the next start too`() async throws {
        let fixture = try StoreFixture()
        try await fill(fixture, entries: 20)
        try fixture.scratch.write([UInt8](repeating: 0x41, count: 20_000), to: "state/ladle.db")
        do {
            let (store, _) = try fixture.open()
            await fixture.end(store)
        }
        let (store, opening) = try fixture.open()
        #expect(opening == .opened)
        guard case .quarantined = store.health else {
            Issue.record("\(store.health)")
            return
        }
        #expect(StateStore.inspectSetAside(in: fixture.scratch.file("state"))?.unreadable != nil)
        _ = try await store.recover(restoring: false)
        #expect(store.health == .ok)
        _ = try await store.enqueue(fixture.entry("new"))
    }

    @Test(arguments: [false, true])
    func `from before entries had their time in a column gives it to them, also when it was set aside`(isAside: Bool)
        async throws
    {
        let fixture = try StoreFixture()
        let hour: Int64 = 3_600_000
        do {
            let (store, _) = try fixture.open()
            var later = fixture.entry("later")
            later.notBefore = later.createdAt.adding(milliseconds: 40 * hour)
            for entry in [fixture.entry("now"), later] { _ = try await store.enqueue(entry) }
            await fixture.end(store)
        }
        do {
            let connection = try SQLiteConnection(path: fixture.scratch.file("state/ladle.db"), access: .readWrite)
            try connection.run("ALTER TABLE outbox DROP COLUMN ttl_ms")
            for column in ["dispatch_skew_ms", "mode", "joined_run", "deferred_at", "deferred_behind", "equals_before"]
            {
                try connection.run("ALTER TABLE outbox DROP COLUMN \(column)")
            }
            try connection.run("ALTER TABLE outbox_payload DROP COLUMN files")
            try connection.execute("DROP INDEX outbox_stop; DROP TRIGGER outbox_message_removed")
            try connection.run("UPDATE schema_version SET version = 1 WHERE module = 'outbox'")
            if isAside { try connection.run("UPDATE schema_version SET version = 99 WHERE module = 'eventlog'") }
        }
        let (store, opening) = try fixture.open()
        if isAside {
            let found = try #require(StateStore.inspectSetAside(in: fixture.scratch.file("state")))
            #expect(found.unreadable == nil)
            _ = try await store.recover(restoring: true)
        } else {
            #expect(opening == .opened)
        }
        let times = try await store.entries().map { [$0.id: $0.ttlMs / hour] }
        #expect(times == [["now": 48], ["later": 8]])
    }

    @Test func `of a newer version is set aside whole, and what it holds can be taken back`() async throws {
        let fixture = try StoreFixture()
        try await fill(fixture, entries: 30)
        do {
            let connection = try SQLiteConnection(path: fixture.scratch.file("state/ladle.db"), access: .readWrite)
            try connection.run("UPDATE schema_version SET version = 99 WHERE module = 'outbox'")
        }
        let (store, opening) = try fixture.open()
        guard case .setAside(_, let reason) = opening else {
            Issue.record("\(opening)")
            return
        }
        #expect(reason.contains("newer version"))
        await #expect(throws: StoreError.self) { _ = try await store.enqueue(fixture.entry("new")) }
        let found = try #require(StateStore.inspectSetAside(in: fixture.scratch.file("state")))
        #expect(found.entries.count == 30)
        #expect(found.unreadable == nil)
        let report = try #require(try await store.recover(restoring: true))
        #expect(report.restored.map(\.id) == (0..<30).map { "e\($0)" })
        #expect(store.health == .ok)
        #expect(try await store.entries().count == 30)
        _ = try await store.enqueue(fixture.entry("new"))
        #expect(StateStore.inspectSetAside(in: fixture.scratch.file("state")) == nil)
    }

    @Test func `gives back what can still be read, from both ends`() async throws {
        let fixture = try StoreFixture()
        try await fill(fixture, entries: 400)
        // Ruin one leaf page of the outbox table, found by an id that lies in it.
        var bytes = try fixture.scratch.bytes(of: "state/ladle.db")
        let page = 4_096
        let needle = Array("e200messagemain".utf8)
        let hit = try #require(bytes.firstRange(of: needle)?.lowerBound)
        let start = hit / page * page
        for index in start..<(start + page) { bytes[index] = 0xff }
        try fixture.scratch.write(bytes, to: "state/ladle.db")
        let (store, opening) = try fixture.open()
        guard case .setAside = opening else {
            Issue.record("\(opening)")
            return
        }
        let report = try #require(try await store.recover(restoring: true))
        #expect(report.unreadable != nil)
        let ids = Set(report.restored.map(\.id))
        #expect(ids.contains("e0") && ids.contains("e399"))
        #expect(!ids.contains("e200"))
        #expect(ids.count > 300)
    }

    @Test func `of another program is not touched but set aside`() async throws {
        let fixture = try StoreFixture()
        _ = try StateDirectory(path: fixture.scratch.file("state"))
        do {
            let connection = try SQLiteConnection(path: fixture.scratch.file("state/ladle.db"), access: .readWrite)
            try connection.execute("CREATE TABLE theirs(x)")
        }
        let (_, opening) = try fixture.open()
        guard case .setAside(_, let reason) = opening else {
            Issue.record("\(opening)")
            return
        }
        #expect(reason.contains("another program"))
    }
}

struct `A failing disk` {
    enum Step: Equatable { case accepted, refused }

    private func survivors(_ fixture: StoreFixture) async throws -> Set<String> {
        var clean = fixture
        clean.fileSystem = nil
        let (store, opening) = try clean.open()
        #expect(opening == .opened || opening == .created)
        let ids = Set(try await store.entries().map(\.id))
        await clean.end(store)
        return ids
    }

    /// Enqueues one after another while the n-th call fails; returns the accepted ones.
    private func run(_ fixture: StoreFixture, _ system: FaultFileSystem, _ fault: FaultFileSystem.Fault, at call: Int)
        async throws -> (accepted: [String], met: Bool)
    {
        var accepted: [String] = []
        do {
            let (store, _) = try fixture.open()
            system.arm(fault, atCall: call)
            for index in 0..<8 {
                let entry = fixture.entry("e\(index)", text: String(repeating: "x", count: 600))
                do {
                    _ = try await store.enqueue(entry)
                    accepted.append(entry.id)
                } catch is StoreError {
                    // Refused, and its sender knows.
                }
            }
            let met = !system.isArmed
            system.losePower(keeping: UInt64(call))
            await fixture.end(store)
            return (accepted, met)
        }
    }

    @Test(
        arguments: [
            FaultFileSystem.Fault.inputOutput, .shortWrite, .full, .powerLoss(keeping: nil), .powerLoss(keeping: 7),
        ]
    )
    func `loses nothing that was accepted, whichever call goes wrong`(fault: FaultFileSystem.Fault) async throws {
        // n = 1, 2, 3 … until the fault is no longer reached.
        for call in 1... {
            var fixture = try StoreFixture()
            let system = try #require(FaultFileSystem(name: "fault-\(UInt64.random(in: 0 ... .max))"))
            fixture.fileSystem = system.name
            let (accepted, met) = try await run(fixture, system, fault, at: call)
            let found = try await survivors(fixture)
            #expect(Set(accepted).isSubset(of: found), "\(fault) at call \(call)")
            guard met else { break }
            #expect(call < 200)
        }
    }

    @Test func `that is full at the start lets the store open and reads go on`() async throws {
        var fixture = try StoreFixture()
        do {
            let (store, _) = try fixture.open()
            _ = try await store.enqueue(fixture.entry("before"))
            await fixture.end(store)
        }
        let system = try #require(FaultFileSystem(name: "full-at-start"))
        fixture.fileSystem = system.name
        system.arm(.full, atCall: 1)
        let (store, opening) = try fixture.open()
        #expect(opening == .opened)
        #expect(try await store.entries().map(\.id) == ["before"])
        await #expect(throws: StoreError.storageFull) { _ = try await store.enqueue(fixture.entry("refused")) }
        system.clear()
        _ = try await store.enqueue(fixture.entry("after"))
        await fixture.end(store)
    }

    @Test func `that is full refuses sends as full, keeps what it has, and works again`() async throws {
        var fixture = try StoreFixture()
        let system = try #require(FaultFileSystem(name: "full"))
        fixture.fileSystem = system.name
        let (store, _) = try fixture.open()
        _ = try await store.enqueue(fixture.entry("before"))
        system.arm(.full, atCall: 1)
        await #expect(throws: StoreError.storageFull) { _ = try await store.enqueue(fixture.entry("refused")) }
        #expect(store.statistics.failing == .storageFull)
        #expect(await store.probe() == .storageFull)
        #expect(try await store.entries().map(\.id) == ["before"], "reads go on")
        system.clear()
        _ = try await store.enqueue(fixture.entry("after"))
        #expect(store.statistics.failing == nil)
        #expect(try await store.entries().map(\.id) == ["before", "after"])
        let ids = fixture.published.values.map(\.id.sequence)
        #expect(ids == [1, 2])
    }
}

struct `A kill` {
    @Test func `at a named point leaves what was synced and nothing half`() async throws {
        for point in ["after-append", "after-sync"] {
            let fixture = try StoreFixture()
            let path = fixture.scratch.path
            await #expect(processExitsWith: .signal(9)) { [path = path as String, point = point as String] in
                try await KillScenario.run(path: path, point: point)
            }
            let (store, opening) = try fixture.open()
            #expect(opening == .opened)
            let ids = try await store.entries().map(\.id)
            #expect(ids == (point == "after-sync" ? ["e0", "e1", "e2"] : ["e0", "e1"]), "\(point)")
        }
    }

    @Test func `while a database is set aside leaves it to be set aside again, and nothing of it is lost`() async throws
    {
        let fixture = try StoreFixture()
        let (first, _) = try fixture.open()
        for id in ["a", "b"] { _ = try await first.enqueue(fixture.entry(id)) }
        await fixture.end(first)
        do {
            let connection = try SQLiteConnection(path: fixture.scratch.file("state/ladle.db"), access: .readWrite)
            try connection.run("UPDATE schema_version SET version = 99 WHERE module = 'outbox'")
        }
        let path = fixture.scratch.path
        await #expect(processExitsWith: .signal(9)) { [path = path as String] in
            try KillScenario.open(path: path, point: "set-aside")
        }
        fixture.clock.advance(1)
        let (store, opening) = try fixture.open()
        guard case .setAside = opening else {
            Issue.record("\(opening)")
            return
        }
        #expect(try await store.recover(restoring: true)?.restored.map(\.id) == ["a", "b"])
        // The half finished case holds the same file.
        #expect(store.health != .ok)
        #expect(try await store.recover(restoring: true)?.restored == [])
        #expect(store.health == .ok)
        #expect(try await store.entries().map(\.id) == ["a", "b"])
    }
}
