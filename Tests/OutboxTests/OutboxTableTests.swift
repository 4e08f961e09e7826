import Basics
import JSONBytes
import Ledger
import SQLite
import Store
import TestSupport
import Testing

@testable import Outbox

struct `The outbox on disk` {
    let directory: ScratchDirectory
    let connection: SQLConnection
    var table: OutboxTable { OutboxTable(connection) }

    init() throws {
        directory = try ScratchDirectory()
        connection = try TestDatabase.open(directory.file("t.db"))
    }

    @discardableResult
    private func insert(_ id: String, session: String = "main", text: String? = "hi", body: [UInt8]? = nil) throws
        -> OutboxEntry
    {
        let payload = OutboxTable.Payload(text: text, body: body)
        let entry = OutboxEntry.sample(id, session: session, text: text)
        guard case .inserted(let inserted) = try table.insert(entry, payload: payload) else {
            Issue.record("not inserted")
            return entry
        }
        return inserted
    }

    private func move(_ id: String, to state: OutboxState, at ms: Int64 = 2_000_000) throws {
        guard var entry = try table.entry(id: id) else { return }
        let version = entry.version
        entry.state = state
        entry.version += 1
        entry.updatedAt = time(ms)
        #expect(try table.apply(OutboxChange(expectedVersion: version, entry: entry)))
    }

    /// A gateway that takes nothing for a while puts a message back by itself.
    @Test(arguments: [false, true])
    func `lifts the stops of a message's run only when a person sends the message again`(isRetried: Bool) throws {
        _ = try insert("a")
        let stop = OutboxEntry.sample("stop", kind: .abort, text: nil, coalescing: OutboxEntry.abortKey(ofRun: "a"))
        _ = try table.insert(stop, payload: OutboxTable.Payload(text: nil, body: nil))
        try move("a", to: .failed)
        if isRetried {
            let entry = try #require(try table.entry(id: "a"))
            let change = try #require(try OutboxCommand.retry.change(of: entry, now: time(3_000_000)))
            #expect(try table.apply(change))
        } else {
            try move("a", to: .queued)
        }
        #expect(try table.entry(id: "a")?.state == .queued)
        #expect(try (table.stop(ofRun: "a", in: "main") == nil) == isRetried)
    }

    @Test func `reads back every field`() throws {
        var entry = try insert("a", body: [1, 2, 3])
        entry.state = .retrying
        entry.version = 2
        entry.updatedAt = time(5)
        entry.attemptCount = 3
        entry.nextAttemptAt = time(6)
        entry.runID = "run"
        entry.joinedRun = "theirs"
        entry.proof = .textMatch
        entry.fault = OutboxFault(code: "C", detail: "D")
        entry.upstreamKey = "a-r2"
        entry.keyGeneration = 2
        entry.lastClass = .rejectedTransient
        entry.firstDispatchAt = time(7)
        entry.dispatchUptimeMs = 8
        entry.dispatchSkewMs = -9
        entry.isRepeatInDoubt = true
        let attempt = OutboxAttempt(at: time(5), outcome: .ambiguous, key: "a", code: "C", detail: "D", delayMs: 9)
        #expect(try table.apply(OutboxChange(expectedVersion: 1, entry: entry, attempt: attempt)))
        let deferral = Deferral(at: time(8), behind: time(-4), equalsBefore: 3)
        try table.keep(deferral, ofRun: "a-r2")
        entry.deferral = deferral
        #expect(try table.entry(id: "a") == entry)
        #expect(try table.attempts(id: "a") == [attempt])
        #expect(try table.payload(id: "a") == OutboxTable.Payload(text: "hi", body: [1, 2, 3]))
        var bare = entry
        bare.text = nil
        #expect(try table.open() == [bare], "the dispatcher's copies carry no text")
        // It is sent again, and may not wait there.
        entry.state = .retrying
        entry.version += 1
        #expect(try table.apply(OutboxChange(expectedVersion: entry.version - 1, entry: entry, attempt: nil)))
        #expect(try table.entry(id: "a")?.deferral == nil)
    }

    @Test func `refuses a change from another version and writes nothing of it`() throws {
        var entry = try insert("a")
        entry.state = .cancelled
        let attempt = OutboxAttempt(at: time(5), outcome: .ambiguous, key: "a")
        #expect(try !table.apply(OutboxChange(expectedVersion: 7, entry: entry, attempt: attempt)))
        #expect(try table.entry(id: "a")?.state == .queued)
        #expect(try table.attempts(id: "a") == [])
    }

    @Test func `keeps counts and limits in step with every change`() throws {
        for index in 1...9 { try insert("e\(index)", session: index < 5 ? "one" : "two") }
        try move("e1", to: .delivered)
        try move("e2", to: .failed)
        try move("e3", to: .expired)
        try move("e5", to: .unconfirmed)
        try move("e6", to: .accepted)
        #expect(try table.counts() == OutboxCounts(pending: 5, unconfirmed: 1, failed: 2))
        #expect(try table.counts(session: "one") == OutboxCounts(pending: 1, unconfirmed: 0, failed: 2))
        // The totals equal a count.
        let counted = try connection.first(
            "SELECT count(*), CAST(sum(payload_bytes) AS BIGINT) FROM outbox WHERE state <> 'delivered'"
        ) {
            row in (row.int(0), row.int(1))
        }
        let total = try connection.first(
            "SELECT CAST(sum(entries) AS BIGINT), CAST(sum(bytes) AS BIGINT) FROM outbox_total WHERE session = '' AND state <> 'delivered'"
        ) { row in (row.int(0), row.int(1)) }
        #expect(counted?.0 == total?.0)
        #expect(counted?.1 == total?.1)
    }

    @Test func `is full by entries, by session and by bytes`() throws {
        var limits = OutboxLimits()
        limits.entries = 5
        limits.perSession = 3
        limits.payloadBytes = 100
        func insert(_ id: String, _ session: String, _ bytes: Int = 1) throws -> OutboxTable.Insertion {
            let payload = OutboxTable.Payload(text: String(repeating: "x", count: bytes), body: nil)
            return try table.insert(.sample(id, session: session), payload: payload, limits: limits)
        }
        for id in ["a", "b", "c"] { _ = try insert(id, "one") }
        #expect(try insert("d", "one") == .full(.session))
        _ = try insert("e", "two")
        #expect(try insert("f", "two", 97) == .full(.bytes))
        _ = try insert("g", "two", 96)
        #expect(try insert("h", "three") == .full(.entries))
        try move("a", to: .cancelled)
        if case .full = try insert("i", "one") { Issue.record("what is final makes room") }
    }

    @Test func `drops the attachments of what is final and keeps the text`() throws {
        try insert("a", body: [UInt8](repeating: 1, count: 1_000))
        try move("a", to: .delivered)
        #expect(try table.payload(id: "a") == OutboxTable.Payload(text: "hi", body: nil))
        let bytes = try connection.first("SELECT CAST(sum(bytes) AS BIGINT) FROM outbox_total") { row in row.int(0) }
        #expect(bytes == 0)
    }

    @Test func `the names of attachments outlast their contents`() throws {
        let body =
            #"{"thinking":"low","attachments":[{"name":"holiday.png","mimeType":"image/png","data":"iVBORw0KGgo="},{"name":null,"mimeType":"text/plain","data":"aGk="}]}"#
        try insert("a", body: Array(body.utf8))
        try insert("b", body: Array(#"{"thinking":"low"}"#.utf8))
        try move("a", to: .delivered)
        let files = [
            AttachedFile(name: "holiday.png", mimeType: "image/png", bytes: 8),
            AttachedFile(name: nil, mimeType: "text/plain", bytes: 2),
        ]
        #expect(try table.files(id: "a") == files)
        #expect(try table.files(session: "main", limit: 9) == ["a": files])
        #expect(try table.files(id: "b") == [])
    }

    @Test(.enabled(if: TestDatabase.isFile))
    func `asks for the same states with the same statement, however often and in which order they are named`() throws {
        guard case .sqlite(let connection) = connection.engine else { return }
        let kept = connection.keptStatements
        for round in 0..<200 {
            var query = OutboxTable.Query()
            query.states = (0...round).map { $0 % 2 == round % 2 ? .failed : .expired }
            _ = try table.list(query)
        }
        #expect(connection.keptStatements - kept <= 3)
    }

    @Test(.enabled(if: TestDatabase.isFile))
    func `finds a page by an index, not by walking the table`() throws {
        for index in 1...3 { try insert("e\(index)") }
        for (session, before) in [(nil, nil), ("main", nil), (nil, "e2"), ("main", "e2")] {
            var query = OutboxTable.Query()
            query.session = session
            query.before = before
            let plan = try connection.all("EXPLAIN QUERY PLAN " + query.statement, session, 2, 50) {
                row in row.string(3)
            }
            let first = try #require(plan.first)
            #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
            if session != nil { #expect(first.contains("outbox_session"), "\(plan)") }
            if before != nil { #expect(first.hasPrefix("SEARCH"), "\(plan)") }
        }
    }

    @Test(.enabled(if: TestDatabase.isFile))
    func `finds confirmed stops by an index, not by walking the table`() throws {
        let plan = try connection.all(
            "EXPLAIN QUERY PLAN " + OutboxTable.confirmedStops,
            1,
            10
        ) { row in row.string(3) }
        #expect(plan.first?.hasPrefix("SEARCH o USING INDEX outbox_stop") == true, "\(plan)")
        #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
    }

    @Test func `lists newest first, by state, session and page`() throws {
        for index in 1...6 { try insert("e\(index)", session: index % 2 == 0 ? "even" : "odd") }
        try move("e2", to: .failed)
        try move("e4", to: .expired)
        var query = OutboxTable.Query()
        query.limit = 2
        #expect(try table.list(query).map(\.id) == ["e6", "e5"])
        query.before = "e5"
        #expect(try table.list(query).map(\.id) == ["e4", "e3"])
        query.before = "e0"
        #expect(try table.list(query) == [])
        query = OutboxTable.Query()
        query.states = [.failed, .expired]
        #expect(try table.list(query).map(\.id) == ["e4", "e2"])
        query = OutboxTable.Query()
        query.session = "odd"
        #expect(try table.list(query).map(\.id) == ["e5", "e3", "e1"])
        #expect(try table.list(query).first?.text == "hi")
    }

    @Test func `knows which other entries were with the gateway`() throws {
        for (id, session, text) in [
            ("a", "main", "yes"), ("b", "main", " yes\n"), ("c", "main", "no"), ("d", "den", "yes"),
            ("e", "main", "yes"),
            ("f", "main", "yes"),
        ] {
            try insert(id, session: session, text: text)
        }
        for id in ["a", "b", "c", "d"] {
            var entry = try #require(try table.entry(id: id))
            entry.state = .sending
            entry.firstDispatchAt = time(1_999_000)
            entry.version = 2
            #expect(try table.apply(OutboxChange(expectedVersion: 1, entry: entry)))
            try move(id, to: .delivered)
        }
        let entry = try #require(try table.entry(id: "f"))
        func others(_ since: Int64) throws -> [String?] {
            try table.others(in: entry.session, besides: entry.id, since: time(since)).map(\.text)
        }
        #expect(try others(1_995_000) == ["yes", " yes\n", "no"])
        #expect(try others(2_005_000) == [])
        try move("a", to: .accepted)
        #expect(try others(2_005_000) == ["yes"], "its row may come yet")
    }

    @Test func `forgets final entries by age, keeps the newest, and all that goes with one goes`() throws {
        for index in 1...20 {
            try insert("e\(index)")
            try move("e\(index)", to: .delivered, at: Int64(index))
        }
        try insert("open")
        #expect(try table.prune(before: time(1_000), keeping: 5, slice: 10) == 10)
        #expect(try table.prune(before: time(1_000), keeping: 5, slice: 10) == 5)
        #expect(try table.prune(before: time(1_000), keeping: 5, slice: 10) == 0)
        #expect(try table.prune(before: time(18), keeping: 0, slice: 10) == 2)
        #expect(try table.list(OutboxTable.Query()).map(\.id) == ["open", "e20", "e19", "e18"])
        #expect(try connection.first("SELECT count(*) FROM outbox_payload") { row in row.int(0) } == 4)
    }

    @Test func `remembers keys of requests for a day`() throws {
        let table = ReceiptTable(connection)
        let claim = ReceiptTable.Claim(scope: "token POST /v1/messages", key: "k", bodyHash: [1, 2])
        let start = time(1_000_000_000)
        #expect(try table.find(claim, now: start) == .free)
        try table.record(claim, entry: "a", now: start)
        #expect(try table.find(claim, now: start) == .same(entry: "a"))
        var other = claim
        other.bodyHash = [3]
        #expect(try table.find(other, now: start) == .other)
        other = claim
        other.scope = "another token"
        #expect(try table.find(other, now: start) == .free)
        let later = start.adding(milliseconds: ReceiptTable.lifetimeMs)
        #expect(try table.find(claim, now: later) == .free)
        #expect(try table.prune(now: start, slice: 10) == 0)
        #expect(try table.prune(now: later, slice: 10) == 1)
    }

    @Test func `writes the entry of the API, exactly`() throws {
        var entry = OutboxEntry.sample("id", text: "hi", at: 0)
        entry.state = .retrying
        entry.attemptCount = 2
        entry.nextAttemptAt = time(4_000)
        entry.runID = "id"
        entry.fault = OutboxFault(code: "UNAVAILABLE", detail: "busy")
        entry.version = 5
        var writer = JSONWriter()
        let attempt = OutboxAttempt(at: time(0), outcome: .notDispatched, key: "id", delayMs: 1_000)
        entry.write(to: &writer, blockedReason: "pairing", attempts: [attempt])
        let expected = """
            {"id":"id","kind":"message","session":"main","text":"hi","state":"retrying",\
            "createdAt":"1970-01-01T00:00:00.000Z","updatedAt":"1970-01-01T00:00:00.000Z","attemptCount":2,\
            "nextAttemptAt":"1970-01-01T00:00:04.000Z","expiresAt":"1970-01-03T00:00:00.000Z","runId":"id",\
            "blockedReason":"pairing","error":{"code":"UNAVAILABLE","detail":"busy"},"version":5,\
            "attempts":[{"at":"1970-01-01T00:00:00.000Z","class":"not_dispatched","key":"id","delayMs":1000}]}
            """
        #expect(String(decoding: writer.bytes, as: UTF8.self) == expected)
    }
}

struct `A key` {
    @Test(
        arguments: [
            ("0190b2c0-0000-7000-8000-000000000001", "0190b2c0-0000-7000-8000-000000000001"),
            ("0190b2c0-0000-7000-8000-000000000001-r2", "0190b2c0-0000-7000-8000-000000000001"),
            ("0190b2c0-0000-7000-8000-000000000001-r12:user", "0190b2c0-0000-7000-8000-000000000001"),
            ("foreign", "foreign"), ("", ""), (":user", ""), ("x-r", "x-r"), ("x-rx", "x-rx"), ("-r2", ""),
        ]
    )
    func `leads to its entry`(key: String, id: String) {
        #expect(OutboxEntry.entryID(ofKey: key) == id)
    }
}
