import Access
import Basics
import EventStream
import Outbox
import Store
import TestSupport
import Testing

/// Losses that SQLite itself takes for a new or a shorter database.
struct `A loss in the database` {
    private static let files = ["ladle.db", "ladle.db-wal", "ladle.witness"]

    /// The files of a store with entries, as a kill leaves them.
    private func killed(entries: Int, also: (StateStore) async throws -> Void = { _ in }) async throws -> StoreFixture {
        let (before, after) = (try StoreFixture(), try StoreFixture())
        let (store, _) = try before.open { $0.checkpointsWhenIdle = false }
        for index in 0..<entries { _ = try await store.enqueue(before.entry("e\(index)")) }
        try await also(store)
        try after.scratch.makeDirectory("state", mode: 0o700)
        for file in Self.files {
            try after.scratch.write(before.scratch.bytes(of: "state/\(file)"), to: "state/\(file)")
        }
        await before.end(store)
        return after
    }

    private func change(_ file: String, of fixture: StoreFixture, _ body: (inout [UInt8]) -> Void) throws {
        var bytes = try fixture.scratch.bytes(of: "state/\(file)")
        body(&bytes)
        try fixture.scratch.write(bytes, to: "state/\(file)")
    }

    private func reason(_ opening: StoreOpening) throws -> String {
        guard case .setAside(_, let reason) = opening else {
            Issue.record("\(opening)")
            return ""
        }
        return reason
    }

    @Test func `is not seen where none is: after a kill everything is there`() async throws {
        let fixture = try await killed(entries: 20)
        let (store, opening) = try fixture.open()
        #expect(opening == .opened)
        #expect(try await store.entries().count == 20)
        _ = try await store.enqueue(fixture.entry("next"))
    }

    @Test(arguments: [false, true])
    func `is seen where its file is gone beside a full log, and the log gives everything back`(isMissing: Bool)
        async throws
    {
        let fixture = try await killed(entries: 20)
        if isMissing { try fixture.remove("ladle.db") } else { try change("ladle.db", of: fixture) { $0 = [] } }
        let (store, opening) = try fixture.open()
        let reason = try reason(opening)
        #expect(reason.contains("its log ladle.db-wal is not; it had 20 messages"), "\(reason)")
        await #expect(throws: StoreError.self) { _ = try await store.enqueue(fixture.entry("new")) }
        #expect(await store.probe() != nil)
        let report = try #require(try await store.recover(restoring: true))
        #expect(report.restored.map(\.id) == (0..<20).map { "e\($0)" })
        #expect(report.restored.allSatisfy { $0.state == .queued }, "the log is whole")
        #expect(store.health == .ok)
    }

    @Test func `is seen where file and log are gone`() async throws {
        let fixture = try await killed(entries: 3)
        for file in ["ladle.db", "ladle.db-wal"] { try fixture.remove(file) }
        let (store, opening) = try fixture.open()
        #expect(
            try reason(opening)
                == "the database is missing; it had 3 messages and 3 events, and 3 messages were not done"
        )
        #expect(try await store.recover(restoring: true)?.unreadable?.contains("there is no database") == true)
        #expect(store.health == .ok)
    }

    @Test(arguments: Array(stride(from: 0, to: 100, by: 7)))
    func `is seen wherever the log is damaged, and what is left is sent only after a check`(percent: Int) async throws {
        let fixture = try await killed(entries: 20)
        try change("ladle.db-wal", of: fixture) { bytes in
            let start = bytes.count * percent / 100
            for place in start..<min(start + 20, bytes.count) { bytes[place] ^= 0xff }
        }
        let (store, opening) = try fixture.open()
        let reason = try reason(opening)
        #expect(reason.contains("accepted message"), "\(reason)")
        #expect(reason.contains("missing"), "\(reason)")
        await #expect(throws: StoreError.self) { _ = try await store.enqueue(fixture.entry("new")) }
        let report = try #require(try await store.recover(restoring: true))
        #expect(report.restored.allSatisfy { $0.state == .sending && $0.firstDispatchAt != nil })
        #expect(percent < 50 || report.restored.count > 5)
    }

    @Test func `is seen where a change of an entry or of a token is missing`() async throws {
        let token = try NewToken(name: "t", scopes: [.read], now: Timestamp(milliseconds: 1))
        let (record, _) = TokenRecord.issue(
            token,
            now: Timestamp(milliseconds: 1),
            random: [UInt8](repeating: 1, count: 10)
        )
        let fixture = try await killed(entries: 2) { store in
            try await store.submit { try $0.tokens.save(record) }
            try await store.submit { try $0.tokens.delete(record.id) }
        }
        // The frames of the last commit.
        try change("ladle.db-wal", of: fixture) { $0[$0.count - 2_000] ^= 0xff }
        #expect(try reason(fixture.open().1).contains("1 change of tokens"))
    }

    @Test func `is seen where an older copy is in its place, and not where another database is`() async throws {
        let (older, newer, other) = (try await killed(entries: 5), try StoreFixture(), try await killed(entries: 1))
        let (store, _) = try older.open()
        await older.end(store)
        let copy = try older.scratch.bytes(of: "state/ladle.db")
        try newer.scratch.makeDirectory("state", mode: 0o700)
        try newer.scratch.write(copy, to: "state/ladle.db")
        let (again, _) = try newer.open()
        for index in 10..<14 { _ = try await again.enqueue(newer.entry("e\(index)")) }
        await newer.end(again)
        try newer.scratch.write(copy, to: "state/ladle.db")
        #expect(try reason(newer.open().1).contains("4 accepted messages, 4 events are missing"))

        try other.scratch.write(copy, to: "state/ladle.db")
        try other.remove("ladle.db-wal")
        #expect(try other.open().1 == .opened)
    }

    @Test func `is seen with one record torn, and a witness that is gone or torn whole is made anew`() async throws {
        for block in [0, 4_096] {
            let fixture = try await killed(entries: 8)
            try change("ladle.witness", of: fixture) { $0[block + 20] ^= 0xff }
            try change("ladle.db-wal", of: fixture) { $0[$0.count / 2] ^= 0xff }
            #expect(try reason(fixture.open().1).contains("missing"))
        }
        for bytes in [[], [UInt8](repeating: 0x41, count: 9_000)] {
            let fixture = try await killed(entries: 8)
            try fixture.scratch.write(bytes, to: "state/ladle.witness")
            let (store, opening) = try fixture.open()
            #expect(opening == .opened)
            await fixture.end(store)
            let line = try fixture.scratch.bytes(of: "state/ladle.witness").dropFirst(4_096).prefix(16)
            #expect(String(decoding: line, as: UTF8.self) == "ladle-witness-1 ")
        }
    }
}
