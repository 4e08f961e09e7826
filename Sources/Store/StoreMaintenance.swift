import Dispatch
import SQL
import SQLite

/// Slow work on the file beside the writer: checkpoints and the check of large files.
actor StoreMaintenance {
    private let executor: StoreExecutor
    private let connection: SQLiteConnection

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    init(connection: sending SQLiteConnection, executor: StoreExecutor) {
        self.connection = connection
        self.executor = executor
    }

    /// The completion is called on this actor's queue; nil if the checkpoint failed and should be repeated later.
    nonisolated func checkpoint(_ completion: @escaping @Sendable (SQLiteConnection.CheckpointResult?) -> Void) {
        executor.queue.async {
            completion(
                self.assumeIsolated { maintenance in
                    KillPoint.reach("checkpoint")
                    return try? maintenance.connection.checkpoint(.passive)
                }
            )
        }
    }

    nonisolated func perform(_ work: @escaping @Sendable () -> Void) {
        executor.queue.async(execute: work)
    }

    nonisolated func close() async {
        await withCheckedContinuation { continuation in
            executor.queue.async {
                self.assumeIsolated { $0.connection.close() }
                continuation.resume()
            }
        }
    }

    /// The first problem that SQLite finds in the whole file.
    nonisolated func check(_ completion: @escaping @Sendable (String?) -> Void) {
        executor.queue.async {
            completion(
                self.assumeIsolated { maintenance in
                    do throws(SQLError) {
                        return try maintenance.connection.quickCheck().first
                    } catch {
                        return error.kind == .corrupt ? error.message : nil
                    }
                }
            )
        }
    }
}
