import Basics
import JSONBytes
import Ledger
import Runs
import SQLite
import TestSupport
import Testing

@testable import Store

/// Databases as 0.1.0 left them when it was killed: in a run, after a frame, and before the end of a run was on disk.
struct MigrationTests {
    private static let databases = ["running", "sending", "ended"]
    /// A run that Ladle gave up, in the form of 0.1.0.
    private static let givenUp =
        #"{"id":"g","session":"agent:main:main","state":"failed","startedAt":"2026-11-26T16:00:00.001Z","#
        + #""endedAt":"2026-11-26T16:00:09.999Z","text":"Half of \"it\"\n\u0001é","error":"gone","code":"RUN_INTERRUPTED","#
        + #""usage":{"input":3,"output":4,"cacheRead":0,"cacheWrite":0,"totalTokens":7,"cost":0.0123}}"#

    private func database(_ name: String) throws -> SQLiteConnection {
        let connection = try SQLiteConnection(path: ":memory:", access: .readWrite)
        let script = try TestData.bytes("databases/0.1.0-\(name).sql")
        try connection.execute(String(decoding: script, as: UTF8.self))
        return connection
    }

    private func migrate(_ connection: SQLiteConnection) throws {
        try Migrator(StoreTables.migrations).migrate(connection)
    }

    private func text(_ body: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter(capacity: 512)
        body(&writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test(arguments: databases)
    func `runs and steps are shown as before`(name: String) throws {
        let connection = try database(name)
        try connection.run(
            "INSERT INTO run VALUES('g', 'agent:main:main', 'failed', 1795708800001, 1795708809999, ?)",
            Array(Self.givenUp.utf8)
        )
        let bodies = { (table: String, order: String) in
            try connection.all("SELECT body FROM \(table) ORDER BY \(order)") { row in
                String(decoding: row.bytes(0), as: UTF8.self)
            }
        }
        let (runs, steps) = (try bodies("run", "started_at DESC, id DESC"), try bodies("run_step", "run, seq"))
        let active = try connection.all("SELECT id FROM run WHERE ended_at IS NULL") { row in row.string(0) }
        try migrate(connection)
        let table = RunTable(SQLConnection(connection))
        let found = try table.list(session: nil, before: nil, limit: 100)
        #expect(found.map { run in text { run.write(to: &$0, includingSteps: false) } } == runs)
        let foundSteps = try found.map(\.id).sorted().flatMap { try table.steps(run: $0) }
        #expect(foundSteps.map { step in text { step.write(to: &$0) } } == steps)
        #expect(runs.count >= 7 && steps.count >= 20)
        #expect(try table.active().map(\.id) == active)
        #expect(try table.givenUp(since: time(0), limit: 10).map(\.id) == ["g"])
        for run in found where run.id != "g" {
            #expect(run.end?.rawValue == run.endedAt.map { _ in run.state.rawValue })
        }
    }

    @Test(arguments: databases)
    func `the messages on the stream are known`(name: String) throws {
        let connection = try database(name)
        var states: [String: String] = [:]
        try SQLConnection(connection).forEach("SELECT data FROM event WHERE type = 'message' ORDER BY seq") { row in
            let message = (try? JSONDocument(parsing: row.bytes(0)).root)?["message"]
            if let id = message?["id"]?.string { states[id] = message?["state"]?.string }
        }
        // A message for later whose event is no longer in the log.
        try connection.run("DELETE FROM event WHERE data LIKE '%for later%' OR type = 'session'")
        try connection.run("UPDATE outbox SET created_at = 1 WHERE state = 'queued'")
        try migrate(connection)
        let table = SaidTable(SQLConnection(connection))
        let newest = try table.newest(1_000)
        #expect(Dictionary(uniqueKeysWithValues: newest.map { ($0.message.id, $0.message.state.rawValue) }) == states)
        #expect(states.count >= 12)
        #expect(try table.unsent().allSatisfy { $0.said == .sending })
        let sessions = try EventTable(SQLConnection(connection)).sessions(from: 0, limit: 10).map(\.text)
        #expect(Set(sessions) == Set(newest.map(\.session.text)))
        // The stopped run had no answer.
        #expect(try RunTable(SQLConnection(connection)).unanswered(since: time(0)).map(\.end) == [.aborted])
    }

    @Test func `a run that has just ended awaits its answer`() throws {
        let connection = try database("running")
        try connection.run("DELETE FROM event WHERE seq > (SELECT max(seq) FROM event WHERE type = 'run.ended')")
        try migrate(connection)
        let last = try #require(try EventTable(SQLConnection(connection)).newestTime())
        let table = RunTable(SQLConnection(connection))
        let waiting = try table.unanswered(since: last)
        #expect(waiting.count == 1 && waiting[0].state == .completed)
        var answer = ChatMessage(id: "a", role: .user, text: "hi", at: last)
        let session = waiting[0].session.text
        try SaidTable(SQLConnection(connection), sequence: 10_000).save(answer, session: session)
        #expect(try table.unanswered(since: last) == waiting)
        answer.role = .assistant
        try SaidTable(SQLConnection(connection), sequence: 10_001).save(answer, session: "agent:main:other")
        #expect(try table.unanswered(since: last) == waiting)
        try SaidTable(SQLConnection(connection), sequence: 10_002).save(answer, session: session)
        #expect(try table.unanswered(since: last) == [])
    }

    @Test func `a run and a step that cannot be read do not stop the upgrade`() throws {
        let connection = try database("running")
        try connection.run("UPDATE run SET body = x'7b', state = 'failed', ended_at = 1")
        try connection.run("UPDATE run_step SET body = x'ff'")
        try migrate(connection)
        let runs = try RunTable(SQLConnection(connection)).list(session: nil, before: nil, limit: 100)
        #expect(runs.count >= 6)
        #expect(runs.allSatisfy { $0.text.isEmpty && $0.end == .failed })
        #expect(try RunTable(SQLConnection(connection)).steps(run: runs[0].id) == [])
    }
}
