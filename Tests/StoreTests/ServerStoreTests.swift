import Basics
import EventStream
import Outbox
import POSIX
import Postgres
import SQL
import SQLite
import Synchronization
import TestSupport
import Testing

@testable import Store

/// Stores on a server, one after the other or at the same time, in one schema.
private final class ServerFixture {
    let scratch: ScratchDirectory
    let clock = StoreClock()
    let schema = TestDatabase.newSchema()
    let left = Collected<String>()
    let published = Collected<StoredEvent>()
    /// By hand, for what Ladle does not do.
    let other: PostgresConnection

    init() throws {
        scratch = try ScratchDirectory()
        other = try PostgresConnection(TestDatabase.place(schema: schema))
        try other.run("CREATE SCHEMA \(schema)")
        try other.settle()
    }

    func configuration(_ directory: StateDirectory) -> StoreConfiguration {
        StoreConfiguration(
            directory: directory,
            clock: { [clock] in clock.now },
            makeEpoch: { EventEpoch.make(random: .random(in: 0 ... .max)) }
        )
    }

    func settings(_ host: String = "attic", leader: Int64 = 0) throws -> ServerSettings {
        let place = try TestDatabase.place(schema: schema)
        return ServerSettings(place: place, host: host, patienceMs: 20_000, leader: leader) { [left] in left.append($0)
        }
    }

    /// Takes the lease, whoever has it, and opens the store.
    func open(
        _ host: String = "attic",
        doubtMs: Int64 = 20_000,
        seen: SeenCommits? = nil,
        failover: Failover? = nil
    ) throws -> ServerStore {
        let directory = try StateDirectory(path: scratch.file(host))
        defer { directory.release() }
        let mark = Int64.random(in: 1 ... .max)
        var settings = try settings(host, leader: mark)
        (settings.doubtMs, settings.seen, settings.failover) = (doubtMs, seen, failover)
        _ = try ServerStore.prepare(configuration(directory), settings)
        try take(host, mark: mark)
        return try ServerStore.open(configuration(directory), settings)
    }

    func take(_ host: String, mark: Int64) throws {
        try leases { table in
            let row = try #require(try table.look()).row
            let isDone = try table.take(row, for: leaseHost(host), name: host, waitMs: 6_000, mark: mark)
            #expect(isDone)
        }
    }

    func leaseHost(_ name: String) -> Lease.Host { Lease.Host(id: name, boot: "boot") }

    /// The newest commit that the host knows of, read from its file anew.
    func seen(_ host: String = "attic") throws -> SeenCommits {
        let path = scratch.file(host)
        try StateDirectory(path: path).release()
        return SeenCommits(in: path)
    }

    func leaseSettings(_ name: String) throws -> LeaseSettings {
        LeaseSettings(
            place: try TestDatabase.place(schema: schema),
            host: leaseHost(name),
            name: name,
            version: "1",
            waitMs: 6_000,
            hasKey: false,
            seen: try seen(name)
        )
    }

    /// The rows of the lease, by a session of its own.
    func leases<Value>(_ body: (LeaseTable) throws -> Value) throws -> Value {
        let connection = try ServerSession.connect(TestDatabase.place(schema: schema))
        defer { connection.close() }
        return try body(LeaseTable(connection: SQLConnection(connection)))
    }

    func entry(_ id: String) -> OutboxEntry {
        OutboxEntry(
            id: id,
            session: "main",
            text: id,
            createdAt: clock.now,
            expiresAt: clock.now.adding(milliseconds: 1_000_000)
        )
    }

    func send(_ id: String, to store: ServerStore) async throws {
        let entry = entry(id)
        _ = try await store.commit { try $0.enqueue(entry, payload: OutboxTable.Payload(text: id, body: nil)) }
    }

    func number(_ sql: String) throws -> Int64 {
        var found: Int64 = 0
        try other.rows(sql, values: []) { row in
            found = row.int64(0)
            return true
        }
        return found
    }

    /// Ends the sessions that have written last, as a server does that restarts.
    func endSessions() throws {
        try other.rows(
            "SELECT pg_terminate_backend(l.pid) FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted "
                + "AND l.objid::bigint = (hashtext(?)::bigint & 4294967295)",
            values: [.text(schema)]
        ) { _ in true }
    }

    func ids(_ store: ServerStore) async throws -> [String] {
        try await store.read { try $0.outbox.open().map(\.id) }
    }
}

@Suite(.enabled(if: !TestDatabase.isFile, "LADLE_TEST_DATABASE names no server"))
struct `The store on a server` {
    @Test func `what was accepted is there after a restart, with the same log`() async throws {
        let fixture = try ServerFixture()
        let store = try fixture.open()
        for id in ["a", "b"] { try await fixture.send(id, to: store) }
        let newest = try await store.read { try $0.events.bounds().newest }
        #expect(store.oldest?.sequence == 1)
        await store.close()
        let again = try fixture.open()
        #expect(try await fixture.ids(again) == ["a", "b"])
        #expect(try await again.read { try $0.events.bounds().newest } == newest)
        try await fixture.send("c", to: again)
        #expect(try await again.read { try $0.events.bounds().newest.sequence } == newest.sequence + 1)
        #expect(try fixture.number("SELECT term FROM head") == 2)
        await again.close()
    }

    @Test func `whoever does not lead opens nothing`() async throws {
        let fixture = try ServerFixture()
        let store = try fixture.open()
        let directory = try StateDirectory(path: fixture.scratch.file("cellar"))
        var settings = try fixture.settings("cellar", leader: 7)
        settings.patienceMs = 0
        #expect(throws: ServerFault.deposed(by: "attic")) {
            try ServerStore.open(fixture.configuration(directory), settings)
        }
        try await fixture.send("a", to: store)
        await store.close()
        #expect(throws: ServerFault.deposed(by: "attic")) {
            try ServerStore.open(fixture.configuration(directory), settings)
        }
        directory.release()
    }

    @Test func `whoever takes the lease ends the session of the one before`() async throws {
        let fixture = try ServerFixture()
        let first = try fixture.open()
        try await fixture.send("a", to: first)
        let second = try fixture.open("cellar")
        await #expect(throws: (any Error).self) { try await fixture.send("b", to: first) }
        #expect(fixture.left.values == ["another Ladle has taken over the database"])
        try await fixture.send("c", to: second)
        #expect(try await fixture.ids(second) == ["a", "c"])
        await first.close()
        await second.close()
    }

    /// Its leader stands still inside a transaction.
    @Test func `a takeover waits for a commit under way, and ends one that does not come to an end`() async throws {
        let fixture = try ServerFixture()
        await (try fixture.open()).close()
        let frozen = try ServerSession.open(fixture.settings(), until: HostClock.monotonicMilliseconds)
        let head = try #require(try frozen.head())
        try frozen.begin(head.batch + 1, leader: head.leader)
        _ = try frozen.tables.changes()
        try fixture.leases { table in
            try table.connection.run("SET lock_timeout = '100ms'")
            let row = try #require(try table.look()).row
            let host = fixture.leaseHost("cellar")
            let error = #expect(throws: SQLError.self) {
                try table.take(row, for: host, name: "cellar", waitMs: 6_000, mark: 8)
            }
            #expect(error?.kind == .busy)
            #expect(try table.look()?.row == row, "nothing is written")
            try table.endWriter(behind: row)
            #expect(try table.take(row, for: host, name: "cellar", waitMs: 6_000, mark: 8))
        }
        #expect(throws: SQLError.self) { try frozen.connection.commit() }
    }

    @Test func `a lease is taken once, beats under its term, and is free once given up`() async throws {
        let fixture = try ServerFixture()
        await (try fixture.open()).close()
        let (attic, cellar) = (fixture.leaseHost("attic"), fixture.leaseHost("cellar"))
        try fixture.leases { table in
            let look = try #require(try table.look())
            let row = look.row
            #expect(row == Lease.Row(term: 1, beat: 0, holder: attic, waitMs: 6_000))
            #expect(look.leader == LeaseLeader(name: "attic", hasKey: true), "it has not said so")
            #expect(try table.beat(1, of: attic)?.isAsked == false)
            #expect(try !table.take(row, for: cellar, name: "cellar", waitMs: 6_000, mark: 9), "a beat came between")
            #expect(try table.beat(1, of: Lease.Host(id: "attic", boot: "another")) == nil, "a copy on another machine")
            try table.ask(term: 1)
            #expect(try table.beat(1, of: attic)?.isAsked == true, "somebody asks it to step down")
            try table.resign(1, of: attic)
            #expect(try table.beat(1, of: attic) == nil)
            let free = try #require(try table.look()).row
            #expect(free.holder == nil)
            #expect(try table.take(free, for: cellar, name: "cellar", waitMs: 3_000, mark: 9))
            #expect(try table.beat(2, of: cellar)?.isAsked == false, "the request was for the term before")
            try table.resign(1, of: attic)
            #expect(try table.look()?.row == Lease.Row(term: 2, beat: 1, holder: cellar, waitMs: 3_000))
        }
        #expect(try fixture.number("SELECT leader FROM head WHERE host = 'cellar' AND term = 2") == 9)
    }

    @Test func `hosts are listed, and forgotten after a week`() async throws {
        let fixture = try ServerFixture()
        await (try fixture.open()).close()
        try fixture.leases { table in
            for name in ["attic", "barn"] { try table.write(fixture.leaseHost(name), try fixture.leaseSettings(name)) }
            #expect(try table.look()?.leader == LeaseLeader(name: "attic", hasKey: false))
            try table.connection.run("UPDATE host SET updated_at = updated_at - 604801000 WHERE id = 'barn'")
            let hosts = try table.hosts()
            #expect(hosts.map(\.name) == ["attic", "barn"] && hosts.map(\.leads) == [true, false])
            #expect(hosts[0].silentMs < 60_000 && hosts[0].isFresh && !hosts[1].isFresh)
            try table.forgetSilent()
            #expect(try table.hosts().map(\.name) == ["attic"])
            #expect(try table.lead()?.term == 1)
        }
    }

    // MARK: Commits that are lost with a server

    /// A state with two messages, of which the server has lost the last commit.
    private func withLoss() async throws -> (fixture: ServerFixture, epoch: EventEpoch) {
        let fixture = try ServerFixture()
        let store = try fixture.open(seen: fixture.seen())
        for id in ["a", "b"] { try await fixture.send(id, to: store) }
        let epoch = try await store.read { try $0.events.bounds().newest.epoch }
        await store.close()
        try fixture.other.run("UPDATE head SET batch = batch - 1")
        try fixture.other.settle()
        return (fixture, epoch)
    }

    private func begins(anew store: ServerStore, after epoch: EventEpoch) async throws -> Bool {
        let bounds = try await store.read { try $0.events.bounds() }
        let states = try await store.read { try $0.outbox.open().map(\.state) }
        await store.close()
        return bounds.newest.epoch != epoch && bounds.newest.sequence == 0 && states == [.sending, .sending]
    }

    @Test func `a server that lacks what this host has seen begins a new log, and doubts what waits`() async throws {
        let (fixture, epoch) = try await withLoss()
        let store = try fixture.open(seen: fixture.seen())
        #expect(store.loss == "it lacks 1 commit that had been confirmed")
        #expect(store.statistics.losses == 1)
        try await fixture.send("c", to: store)
        await store.close()
        let again = try fixture.open(seen: fixture.seen())
        #expect(again.loss == nil, "once")
        #expect(try await again.read { try $0.events.bounds().newest.epoch } != epoch)
        #expect(try await again.read { try $0.outbox.open().map(\.state) } == [.sending, .sending, .queued])
        await again.close()
    }

    @Test func `so does one that lacks what another host has seen`() async throws {
        let (fixture, epoch) = try await withLoss()
        try fixture.leases { table in
            try table.write(fixture.leaseHost("attic"), try fixture.leaseSettings("attic"))
            _ = try table.connection.changes()
        }
        let store = try fixture.open("cellar", seen: fixture.seen("cellar"))
        #expect(store.loss != nil)
        #expect(try await begins(anew: store, after: epoch))
    }

    @Test func `a server that has everything goes on`() async throws {
        let fixture = try ServerFixture()
        let store = try fixture.open(seen: fixture.seen())
        try await fixture.send("a", to: store)
        let epoch = try await store.read { try $0.events.bounds().newest.epoch }
        await store.close()
        try fixture.leases { table in
            try table.write(fixture.leaseHost("attic"), try fixture.leaseSettings("attic"))
            #expect(try table.beat(1, of: fixture.leaseHost("attic"))?.hasLoss == false)
        }
        let again = try fixture.open("cellar", seen: fixture.seen("cellar"), failover: Failover(wasSynchronous: false))
        #expect(again.loss == nil)
        #expect(try await again.read { try $0.events.bounds().newest.epoch } == epoch)
        await again.close()
    }

    /// The leader died with the server, so nobody knows what it had confirmed last.
    @Test(arguments: [(false, 1_000, true), (true, 1_000, false), (false, 61_000, false)])
    func `after a failover a host that does not answer may have seen more`(
        wasSynchronous: Bool,
        silentMs: Int,
        isLoss: Bool
    ) async throws {
        let fixture = try ServerFixture()
        await (try fixture.open()).close()
        try fixture.leases { table in
            try table.write(fixture.leaseHost("attic"), try fixture.leaseSettings("attic"))
            try table.connection.run("UPDATE host SET timeline = 0, updated_at = updated_at - ?", Int64(silentMs))
            _ = try table.connection.changes()
        }
        let failover = Failover(wasSynchronous: wasSynchronous)
        let store = try fixture.open("cellar", seen: fixture.seen("cellar"), failover: failover)
        #expect((store.loss?.contains("attic, which may have seen more of them, does not answer") ?? false) == isLoss)
        await store.close()
    }

    @Test func `a leader ends when a host has seen commits that the database lacks, or when it finds that itself`()
        async throws
    {
        let fixture = try ServerFixture()
        let store = try fixture.open(seen: fixture.seen())
        try await fixture.send("a", to: store)
        try fixture.leases { table in
            try table.write(fixture.leaseHost("attic"), try fixture.leaseSettings("attic"))
            try table.connection.run("UPDATE head SET batch = batch - 1")
            #expect(try table.beat(1, of: fixture.leaseHost("attic"))?.hasLoss == true)
        }
        try fixture.endSessions()
        await #expect(throws: (any Error).self) { try await fixture.send("b", to: store) }
        #expect(fixture.left.values.first == "the database lacks commits that it had confirmed")
        await store.close()
    }

    @Test func `what a host has seen outlives it, and counts only in the same log`() throws {
        let scratch = try ScratchDirectory()
        let seen = SeenCommits(in: scratch.path)
        #expect(seen.newest == nil)
        seen.saw(ServerWitness(log: "e.1", batch: 7))
        seen.saw(ServerWitness(log: "e.1", batch: 6))
        #expect(seen.newest == ServerWitness(log: "e.1", batch: 7))
        let again = SeenCommits(in: scratch.path)
        #expect(again.newest == ServerWitness(log: "e.1", batch: 7))
        again.saw(ServerWitness(log: "f.1", batch: 2))
        #expect(SeenCommits(in: scratch.path).newest == ServerWitness(log: "f.1", batch: 2))
    }

    @Test func `secrets are kept for the next leader, and refused from the one before`() async throws {
        let fixture = try ServerFixture()
        let place = try TestDatabase.place(schema: fixture.schema)
        #expect(try ServerStore.secrets(at: place).isEmpty)
        let first = try fixture.open()
        try await first.keep([1, 2], as: "device-key")
        try await first.keep([3], as: "device-key")
        #expect(try await first.secrets() == ["device-key": [3]])
        let second = try fixture.open("cellar")
        await #expect(throws: (any Error).self) { try await first.keep([4], as: "device-key") }
        #expect(try await second.secrets() == ["device-key": [3]])
        #expect(try ServerStore.secrets(at: place) == ["device-key": [3]])
        await first.close()
        await second.close()
    }

    private static let withoutEquals = [
        "ALTER TABLE outbox DROP COLUMN equals_before", "UPDATE head SET format = 4",
    ]
    private static let withoutDeferrals =
        withoutEquals + [
            "ALTER TABLE run DROP COLUMN may_be_strangers",
            "ALTER TABLE outbox DROP COLUMN deferred_at, DROP COLUMN deferred_behind", "UPDATE head SET format = 3",
        ]
    private static let withoutWitnesses =
        withoutDeferrals + [
            "ALTER TABLE head DROP COLUMN made", "ALTER TABLE lease DROP COLUMN synchronous",
            "ALTER TABLE host DROP COLUMN log, DROP COLUMN batch, DROP COLUMN timeline", "UPDATE head SET format = 2",
        ]
    private static let withoutLease =
        withoutDeferrals + [
            "ALTER TABLE head DROP COLUMN made", "DROP TABLE lease", "DROP TABLE host", "DROP TABLE secret",
            "UPDATE head SET format = 1",
        ]

    @Test(arguments: [withoutLease, withoutWitnesses, withoutDeferrals, withoutEquals])
    func `tables of an earlier format get what they lack`(undo: [String]) async throws {
        let fixture = try ServerFixture()
        let store = try fixture.open()
        try await fixture.send("a", to: store)
        await store.close()
        for statement in undo { try fixture.other.run(statement) }
        try fixture.other.settle()
        let again = try fixture.open()
        #expect(try await fixture.ids(again) == ["a"])
        #expect(try fixture.number("SELECT format FROM head") == ServerSchema.format)
        #expect(try fixture.number("SELECT term FROM lease") == 2)
        await again.close()
    }

    @Test func `a schema of another name is made where there is none`() async throws {
        let fixture = try ServerFixture()
        try fixture.other.run("DROP SCHEMA \(fixture.schema)")
        try fixture.other.settle()
        await (try fixture.open()).close()
        #expect(try fixture.number("SELECT count(*) FROM \(fixture.schema).head") == 1)
    }

    @Test func `a session with several schemas is refused`() throws {
        let error = #expect(throws: ServerFault.self) {
            try ServerFacts.read(TestDatabase.place(schema: "ladle,public"))
        }
        #expect(error?.reason.contains("several schemas") == true, "\(String(describing: error))")
    }

    @Test func `an operation that refuses takes nothing of the others along`() async throws {
        struct Refused: Error, Equatable {}
        let fixture = try ServerFixture()
        let store = try fixture.open()
        let entries = ["a", "b", "c", "d"].map(fixture.entry)
        let answers = Collected<String>()
        // They gather behind the first one and share a commit; the third refuses before it writes, the fourth after it.
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            for (place, entry) in entries.enumerated() {
                store.commit(cost: 1, isUrgent: false) { transaction in
                    if place == 2 { throw Refused() }
                    _ = try transaction.enqueue(entry, payload: OutboxTable.Payload(text: entry.id, body: nil))
                    if place == 3 { throw Refused() }
                } completion: { result, events in
                    switch result {
                    case .success: answers.append("\(entry.id) \(events.count)")
                    case .failure(let error): answers.append("\(entry.id) \(error is Refused)")
                    }
                    if place == 3 { done.resume() }
                }
            }
        }
        #expect(answers.values == ["a 1", "b 1", "c true", "d true"])
        #expect(
            store.statistics.failures == 0 && store.statistics.failing == nil,
            "a refusal is no fault of the database"
        )
        #expect(try await fixture.ids(store) == ["a", "b"])
        #expect(try await store.read { try $0.events.bounds().newest.sequence } == 2, "no number is lost or used twice")
        await store.close()
    }

    @Test func `an operation that the server refuses fails alone`() async throws {
        let fixture = try ServerFixture()
        let store = try fixture.open()
        let (first, second) = (fixture.entry("a"), fixture.entry("a"))
        let answers = Collected<String>()
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            for entry in [first, second] {
                store.commit(cost: 1, isUrgent: false) { transaction in
                    _ = try transaction.enqueue(entry, payload: OutboxTable.Payload(text: "a", body: nil))
                } completion: { result, _ in
                    answers.append((try? result.get()) == nil ? "\(result)" : "done")
                    if answers.values.count == 2 { done.resume() }
                }
            }
        }
        #expect(answers.values.first == "done" && answers.values.last?.contains("23505") == true, "\(answers.values)")
        #expect(try await fixture.ids(store) == ["a"])
        #expect(fixture.left.values.isEmpty)
        await store.close()
    }

    @Test func `a full disk of the server refuses what is new, until there is room`() async throws {
        let fixture = try ServerFixture()
        let store = try fixture.open()
        try await fixture.send("a", to: store)
        for statement in [
            "CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS "
                + "$$ BEGIN RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END $$",
            "CREATE TRIGGER full_disk BEFORE INSERT ON outbox EXECUTE FUNCTION fill()",
        ] { try fixture.other.run(statement) }
        try fixture.other.settle()
        await #expect(throws: StoreError.storageFull) { try await fixture.send("b", to: store) }
        #expect(try await fixture.ids(store) == ["a"])
        try fixture.other.run("DROP TRIGGER full_disk ON outbox")
        try fixture.other.settle()
        try await fixture.send("c", to: store)
        #expect(try await fixture.ids(store) == ["a", "c"])
        #expect(fixture.left.values.isEmpty)
        await store.close()
    }

    /// The session ends between two commits, in one, and while a read is asked for.
    @Test func `a server that restarts costs nothing but time`() async throws {
        let fixture = try ServerFixture()
        let store = try fixture.open()
        for round in 0..<20 {
            let entry = fixture.entry("m\(round)")
            async let sent = store.commit {
                try $0.enqueue(entry, payload: OutboxTable.Payload(text: entry.id, body: nil))
            }
            try fixture.endSessions()
            _ = try await sent
        }
        #expect(try await fixture.ids(store) == (0..<20).map { "m\($0)" })
        #expect(store.statistics.reconnects > 0)
        #expect(try fixture.number("SELECT max(seq) FROM event") == 20)
        #expect(fixture.left.values.isEmpty)
        await store.close()
    }

    @Test func `whoever was deposed writes nothing more and ends`() async throws {
        let fixture = try ServerFixture()
        let store = try fixture.open()
        try await fixture.send("a", to: store)
        // As another host does after the lock of a frozen one was given up.
        try fixture.other.run("UPDATE head SET term = term + 1, leader = 7, host = 'cellar'")
        try fixture.other.settle()
        await #expect(throws: (any Error).self) { try await fixture.send("b", to: store) }
        #expect(fixture.left.values == ["another Ladle has taken over the database"])
        await #expect(throws: (any Error).self) { try await fixture.send("c", to: store) }
        #expect(try fixture.number("SELECT count(*) FROM outbox") == 1)
        await store.close()
    }

    /// The session ends between a commit and its answer, and another Ladle has the lock before this one is back.
    @Test func `whoever cannot learn whether a commit stands ends, and says so`() async throws {
        let fixture = try ServerFixture()
        let store = try fixture.open(doubtMs: 300)
        try await fixture.send("a", to: store)
        let place = try TestDatabase.place(schema: fixture.schema)
        let (end, over) = AsyncStream<Void>.makeStream()
        let other = Task {
            let connection = try PostgresConnection(place)
            let lock = "SELECT pg_advisory_lock(\(ServerSession.lock), hashtext(current_setting('search_path')))"
            try connection.rows(lock, values: []) { _ in true }
            for await _ in end {}
        }
        var looks = 0
        while try fixture.number("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") == 0 {
            looks += 1
            try #require(looks < 100_000, "the other one asks for the lock")
            await Task.yield()
        }
        let entry = fixture.entry("b")
        await #expect(throws: (any Error).self) {
            _ = try await store.commit { transaction in
                let report = try transaction.enqueue(entry, payload: OutboxTable.Payload(text: "b", body: nil))
                try transaction.connection.run("SELECT pg_terminate_backend(pg_backend_pid())")
                return report
            }
        }
        #expect(store.statistics.doubts == 1)
        #expect(
            fixture.left.values.map { $0.hasPrefix("the server does not say whether the last commit stands: ") } == [
                true
            ]
        )
        await #expect(throws: (any Error).self) { try await fixture.send("c", to: store) }
        over.finish()
        try await other.value
        #expect(try fixture.number("SELECT count(*) FROM outbox") == 1)
        await store.close()
    }

    @Test func `a database of a newer program, or none at all, is refused`() async throws {
        let fixture = try ServerFixture()
        await (try fixture.open()).close()
        try fixture.other.run("UPDATE head SET format = 99")
        try fixture.other.settle()
        let error = #expect(throws: ServerFault.self) { try fixture.open() }
        #expect(error?.reason.contains("newer version (99") == true, "\(String(describing: error))")
        try fixture.other.run("DELETE FROM head")
        try fixture.other.settle()
        #expect(throws: ServerFault.self) { try fixture.open() }
    }
}

@Suite(.enabled(if: !TestDatabase.isFile, "LADLE_TEST_DATABASE names no server"))
struct `A move between a file and a server` {
    /// A file with something in every table.
    private func filled(_ fixture: ServerFixture, _ seed: UInt64) async throws -> [String] {
        var random = SeededRandom(seed)
        let directory = try StateDirectory(path: fixture.scratch.file("state"))
        let (store, _) = try StateStore.open(fixture.configuration(directory))
        let entries = (0..<20).map { fixture.entry("e\($0)") }
        let some = Int.random(in: 1...200, using: &random)
        for entry in entries {
            _ = try await store.commit { transaction in
                _ = try transaction.enqueue(
                    entry,
                    payload: OutboxTable.Payload(text: "\(entry.id) \u{0} ü", body: [0, 1, 2]),
                    claim: ReceiptTable.Claim(scope: "s", key: entry.id, bodyHash: [1])
                )
                for number in 0..<some {
                    let body = Array("{\"n\":\(number)}".utf8)
                    try transaction.append(
                        EventDraft(
                            type: "run.step",
                            at: transaction.now,
                            session: "s\(number % 7)",
                            run: "r",
                            body: body
                        )
                    )
                }
                try transaction.values.set([0, 255], space: "x", name: entry.id, at: transaction.now)
            }
        }
        await store.close()
        directory.release()
        return entries.map(\.id)
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func `there and back: equal rows, the same log, and neither side is used twice`(seed: UInt64) async throws {
        let fixture = try ServerFixture()
        let ids = try await filled(fixture, seed)
        let path = fixture.scratch.file("state/ladle.db")
        let directory = try StateDirectory(path: fixture.scratch.file("state"))
        let move = ServerMove(fixture.configuration(directory), try fixture.settings())
        let before = try dump(path)
        let (there, kept) = try move.toServer()
        #expect(there.rows.first { $0.table == "outbox" }?.count == 20)
        #expect(there.replaced == 20, "a server keeps no U+0000")
        #expect(!FileSystem.exists(path) && FileSystem.exists(kept))
        #expect(throws: ServerFault.self) { try move.toServer() }
        try fixture.take("attic", mark: 5)
        let store = try ServerStore.open(fixture.configuration(directory), fixture.settings(leader: 5))
        #expect(try await store.read { try $0.outbox.open().map(\.id) } == ids)
        #expect(try await store.read { try $0.outbox.counts().pending } == 20)
        await store.close()
        let back = try move.toFile()
        #expect(back.rows.elementsEqual(there.rows) { $0 == $1 })
        #expect(throws: ServerFault.self) { try fixture.open("cellar") }
        #expect(try dump(path) == before.map { $0.replacing("\u{0}", with: "\u{FFFD}") })
        let (again, opening) = try StateStore.open(fixture.configuration(directory))
        #expect(opening == .opened, "the witness of the directory agrees")
        await again.close()
        directory.release()
    }

    private func dump(_ path: String) throws -> [String] {
        let connection = SQLConnection(try SQLiteConnection(path: path, access: .readOnly))
        defer { connection.close() }
        return try connection.all(
            "SELECT o.id || ' ' || o.ordinal || ' ' || p.text || hex(p.body) FROM outbox o JOIN outbox_payload p USING(ordinal) "
                + "UNION ALL SELECT seq || ' ' || hex(data) || sum FROM event UNION ALL SELECT name || hex(bytes) FROM value "
                + "UNION ALL SELECT scope || key || entry FROM receipt UNION ALL SELECT epoch FROM event_log"
        ) { row in row.string(0) }
    }
}
