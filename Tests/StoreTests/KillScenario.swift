import Basics
import EventStream
import Outbox
import SQLite
import Store

/// Runs in a process of its own and does not return.
enum KillScenario {
    private static func configuration(_ path: String) throws -> StoreConfiguration {
        StoreConfiguration(
            directory: try StateDirectory(path: path + "/state"),
            clock: { Timestamp(milliseconds: 1_700_000_000_000) },
            makeEpoch: { .make(random: 1) }
        )
    }

    /// Dies while it opens an existing store.
    static func open(path: String, point: String) throws {
        KillPoint.arm(point, at: 1)
        _ = try StateStore.open(configuration(path))
    }

    static func run(path: String, point: String) async throws {
        let configuration = try configuration(path)
        let (store, _) = try StateStore.open(configuration)
        // After the store's own first operation, so that the following commits are the entries'.
        try await store.submit { _ in }
        KillPoint.arm(point, at: 3)
        for index in 0..<10 {
            let entry = OutboxEntry(
                id: "e\(index)",
                session: "main",
                text: "x",
                createdAt: configuration.clock(),
                expiresAt: configuration.clock().adding(milliseconds: 1_000_000)
            )
            _ = try await store.submit { transaction in
                try transaction.enqueue(entry, payload: OutboxTable.Payload(text: "x", body: nil))
            }
        }
    }
}
