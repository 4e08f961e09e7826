import Basics
import Documents
import EventLoops
import Gateway
import JSONBytes
import Runs
import SQLite
import TestSupport
import Testing

@testable import Service
@testable import Store

/// The services read saved state before the link may open.
struct StartTests {
    @Test func `the link may open once the runs of the earlier process are read`() async throws {
        try await withServices { bench, loop in
            #expect(bench.mayOpen)
            #expect(bench.services.runs.fault == nil)
        }
    }

    @Test func `while the saved runs cannot be read the link stays closed, and they are read again each second`()
        async throws
    {
        try await withLinkedServices { bench, loop in
            try await bench.event("agent", Frame.start("run-1"), on: loop)
            bench.journal.failReads(.unavailable("torn page"))
            try await bench.restart(on: loop)
            #expect(!bench.mayOpen)
            #expect(bench.services.runs.fault == "torn page")
            try await bench.advance(3000, on: loop)
            #expect(!bench.mayOpen)
            bench.journal.failReads(nil)
            try await bench.advance(1000, on: loop)
            #expect(bench.mayOpen)
            #expect(bench.services.runs.fault == nil)
            #expect(bench.services.runs.active.map(\.id) == ["run-1"])
        }
    }

    @Test(.enabled(if: TestDatabase.isFile))
    func `a start reads what is open, not the thousands of messages and runs that are over`() async throws {
        try await withLinkedServices { bench, loop in
            try await bench.accept("open", session: "agent:main:work", on: loop)
            var costs: [Int] = []
            // The first number is above the limits of what is read of the newest messages.
            for count in [2_000, 12_000] {
                try await bench.journal.commit { try Self.fill(&$0, count) }
                let before = bench.journal.databaseSteps
                try await bench.restart(on: loop)
                try await bench.open(on: loop)
                costs.append(bench.journal.databaseSteps - before)
            }
            #expect(costs[1] < costs[0] + costs[0] / 10, "steps of the database: \(costs)")
        }
    }

    /// Delivered messages with their runs and their answers on the stream.
    private static func fill(_ transaction: inout StoreTransaction, _ count: Int) throws {
        let (now, first) = (transaction.now.milliseconds, transaction.lastSequence + 1)
        for _ in 0..<count {
            let draft = EventDraft(
                type: "message",
                at: transaction.now,
                session: ServiceBench.main,
                body: Array("{}".utf8)
            )
            try transaction.append(draft)
        }
        for statement in [
            """
            INSERT INTO run(id, session, state, started_at, ended_at, end_kind, text)
                SELECT 'run-' || seq, session, 'completed', ?1 - seq, ?1 - seq, 'completed', 'Hello you.' FROM event WHERE seq >= ?2
            """,
            """
            INSERT INTO outbox(id, kind, session, state, created_at, updated_at, attempt_count, expires_at, run_id, version,
                is_slash_command, upstream_key, key_generation, is_repeat_in_doubt, payload_bytes)
                SELECT 'entry-' || seq, 'message', session, 'delivered', ?1 - seq, ?1 - seq, 1, ?1, 'run-' || seq, 1, 0, 'entry-' || seq,
                    1, 0, 0
                FROM event WHERE seq >= ?2
            """,
            """
            INSERT INTO said SELECT seq, 'answer-' || seq, session, 'assistant', 'sent', 'run-' || seq, ?1 - seq FROM event
                WHERE seq >= ?2
            """,
        ] {
            try transaction.connection.run(statement, now, first)
        }
    }

    @Test func `documents that could not be read at the start are read later`() async throws {
        try await withServices { bench, loop in
            bench.gateway.files["IDENTITY.md"] = "# Wren\n"
            try await bench.open(on: loop)
            bench.journal.failReads(.unavailable("torn page"))
            try await bench.restart(on: loop)
            #expect(try await bench.document(.identity, on: loop)?.isFresh == nil)
            bench.journal.failReads(nil)
            try await bench.advance(1000, on: loop)
            let copy = try await bench.document(.identity, on: loop)
            #expect(copy.map { String(decoding: $0.bytes, as: UTF8.self) } == "# Wren\n")
            #expect(copy?.isFresh == false)
        }
    }

    @Test func `a message event whose text cannot be read comes later`() async throws {
        try await withServices { bench, loop in
            try await bench.drop(on: loop)
            let id = try await bench.accept("hello", on: loop)
            try await bench.restart(on: loop)
            bench.gateway.silent = ["chat.send"]
            try await bench.open(on: loop)
            bench.journal.failReads(.unavailable("torn page"))
            bench.gateway.answer("chat.send", ok(#"{"status":"ok"}"#))
            try await bench.settle(on: loop)
            bench.journal.failReads(nil)
            try await bench.advance(1000, on: loop)
            #expect(bench.messages.filter { $0["id"]?.string == id }.last?["state"]?.string == "sent")
        }
    }

    @Test func `the meaning of main is remembered from the last gateway`() async throws {
        try await withServices { bench, loop in
            let before = try await SessionDefaults.kept(in: bench.journal)
            #expect(before == .standard)
            try await bench.open(on: loop)
            #expect(try await SessionDefaults.kept(in: bench.journal).mainSession.text == "agent:main:main")
        }
    }
}
