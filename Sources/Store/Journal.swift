package import Basics
package import EventStream

/// The disk as the services see it: operations that become durable in order, and reads of durable state. `StateStore`
/// keeps it in a file; tests keep it in memory.
package protocol Journal: AnyObject, Sendable {
    /// Appends an operation. `completion` is called once it is durable or has failed, with the events it logged; in the
    /// order of these calls, on the journal's own queue. `cost` is the approximate number of bytes written. An urgent operation has room
    /// on a full disk.
    nonisolated func commit<Value: Sendable>(
        cost: Int,
        isUrgent: Bool,
        _ body: @escaping @Sendable (inout StoreTransaction) throws -> Value,
        completion: @escaping @Sendable (Result<Value, any Error>, [StoredEvent]) -> Void
    )

    /// Reads in one read transaction; `completion` is called on the journal's own queue, in the order of the calls.
    nonisolated func read<Value: Sendable>(
        _ body: @escaping @Sendable (StoreTables) throws -> Value,
        completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    )

    /// Nil if a message could be stored durably now, otherwise the reason why not.
    nonisolated func probe() async -> StoreError?

    nonisolated var health: StoreHealth { get }
    nonisolated var statistics: StoreStatistics { get }
    /// The oldest event kept; nil if there is none.
    nonisolated var oldest: EventID? { get }
}

/// The journal of a process that serves.
package protocol ServedStore: Journal {
    /// Looks whether the database is still there. `completion` is called with the health on the store's queue.
    nonisolated func look(completion: @escaping @Sendable (StoreHealth) -> Void)

    /// For a watchdog: returns once the queues have finished the operations before this one. Writes nothing.
    nonisolated func answer() async

    /// Admits no more operations, finishes the waiting ones, and closes the database.
    nonisolated func close() async
}

extension Journal {
    /// Writes a copy of data that the gateway has too: a failure loses nothing.
    package nonisolated func cache(
        cost: Int = 1024,
        _ body: @escaping @Sendable (inout StoreTransaction) throws -> Void
    ) {
        commit(cost: cost, isUrgent: false, body) { _, _ in }
    }

    package nonisolated func read<Value: Sendable>(
        _ body: @escaping @Sendable (StoreTables) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            read(body) { continuation.resume(with: $0) }
        }
    }

    package nonisolated func commit<Value: Sendable>(
        cost: Int = 1024,
        _ body: @escaping @Sendable (inout StoreTransaction) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            commit(cost: cost, isUrgent: false, body) { result, _ in continuation.resume(with: result) }
        }
    }
}
