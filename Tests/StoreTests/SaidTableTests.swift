import Basics
import Outbox
import Runs
import TestSupport
import Testing

@testable import Store

struct SaidTableTests {
    private let connection: SQLConnection

    init() throws {
        connection = try TestDatabase.open()
    }

    private func save(_ id: String, _ sequence: Int64, _ role: ChatMessage.Role, _ state: ChatMessage.State) throws {
        let message = ChatMessage(id: id, role: role, text: "", at: time(sequence), state: state, runID: "r")
        try SaidTable(connection, sequence: sequence).save(message, session: "agent:main:main")
    }

    private func entry(_ id: String, in state: OutboxState) throws {
        let main = "agent:main:main"
        let entry = OutboxEntry(
            id: id,
            kind: .message,
            session: main,
            createdAt: time(1),
            expiresAt: time(9),
            payloadBytes: 1
        )
        let table = OutboxTable(connection)
        _ = try table.insert(entry, payload: OutboxTable.Payload(text: id, body: nil), limits: OutboxLimits())
        try connection.run("UPDATE outbox SET state = ? WHERE id = ?", state.rawValue, id)
    }

    @Test func `each message has the state in which it was published last`() throws {
        try save("a", 1, .user, .sending)
        try save("b", 2, .assistant, .sent)
        try save("a", 3, .user, .sent)
        let newest = try SaidTable(connection).newest(9)
        #expect(newest.map(\.message.id) == ["a", "b"])
        #expect(newest.map(\.sequence) == [3, 2])
        #expect(newest[0].message == ChatMessage(id: "a", role: .user, text: "", at: time(3), state: .sent, runID: "r"))
        #expect(try SaidTable(connection).newest(1).map(\.message.id) == ["a"])
    }

    @Test func `the runs of a session's messages are found`() throws {
        try save("a", 1, .user, .sent)
        try save("b", 2, .assistant, .sent)
        let alone = ChatMessage(id: "c", role: .user, text: "", at: time(3))
        try SaidTable(connection, sequence: 3).save(alone, session: "agent:main:main")
        #expect(try SaidTable(connection).runs(in: "agent:main:main") == ["a": "r", "b": "r"])
        #expect(try SaidTable(connection).runs(in: "agent:main:work").isEmpty)
    }

    @Test
    func `messages that were not published as sent are found with their entries, those that are over are not read`()
        throws
    {
        try entry("never said", in: .queued)
        try entry("sending", in: .accepted)
        try entry("arrived since", in: .delivered)
        try entry("taken back", in: .cancelled)
        try entry("done", in: .delivered)
        for (place, id) in ["sending", "arrived since", "taken back"].enumerated() {
            try save(id, Int64(place) + 1, .user, .sending)
        }
        try save("done", 9, .user, .sent)
        let unsent = try SaidTable(connection).unsent()
        #expect(unsent.map(\.entry.id) == ["never said", "sending", "arrived since"])
        #expect(unsent.map(\.said) == [nil, .sending, .sending])
        guard TestDatabase.isFile else { return }
        let plan = try connection.all("EXPLAIN QUERY PLAN " + SaidTable.unsent) { row in row.string(3) }
        #expect(plan.contains { $0.contains("outbox_open") } && plan.contains { $0.contains("said_unsent") }, "\(plan)")
    }

    @Test func `messages whose runs changed since they were published are found with their entries`() throws {
        for (place, run) in ["r", "other", nil].enumerated() {
            try entry("m\(place)", in: .delivered)
            try connection.run("UPDATE outbox SET run_id = ?, updated_at = ? WHERE id = ?", run, place, "m\(place)")
            try save("m\(place)", Int64(place) + 1, .user, .sent)
        }
        #expect(try SaidTable(connection).sentWithAnotherRun(ofNewest: 2).map(\.id) == ["m1"])
        #expect(try SaidTable(connection).sentWithAnotherRun(ofNewest: 1).isEmpty)
    }

    @Test func `the oldest messages are forgotten, except ours that wait`() throws {
        try entry("waits", in: .queued)
        try save("waits", 1, .user, .sending)
        for place in 2...Int64(SaidTable.kept) + 11 { try save("m\(place)", place, .assistant, .sent) }
        try SaidTable(connection).prune()
        let kept = try SaidTable(connection).newest(.max)
        #expect(kept.count == SaidTable.kept + 2)
        #expect(kept.last?.message.id == "waits")
        try connection.run("DELETE FROM outbox")
        #expect(try SaidTable(connection).newest(.max).last?.message.id != "waits")
    }
}
