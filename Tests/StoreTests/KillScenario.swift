import Basics
import Outbox
import SQLite
import Store

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Runs in a process of its own and does not come back.
enum KillScenario {
    static func run(path: String, point: String) async throws {
        // The first commit that reaches the point is the pruning at the start; three entries follow.
        _ = unsafe setenv("LADLE_KILL_POINT", "\(point):4", 1)
        let configuration = StoreConfiguration(
            directory: try StateDirectory(path: path + "/state"),
            clock: { Timestamp(milliseconds: 1_700_000_000_000) },
            makeEpoch: { "killed" }
        )
        let (store, _) = try StateStore.open(configuration)
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
