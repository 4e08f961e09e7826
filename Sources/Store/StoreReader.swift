import Basics
import Dispatch
import POSIX
import SQL
import Synchronization

/// Reads on a separate connection and queue, so that a client that reads a hundred thousand events never delays a
/// commit. Each call reads one page: a long read transaction would keep the log from restarting.
actor StoreReader {
    /// The most waiting reads; further ones fail.
    static let mostWaiting = 10_000

    private let executor: StoreExecutor
    private var connection: SQLConnection
    /// Makes a connection in place of one that broke; nil where none breaks.
    private let reopen: (@Sendable () throws(StoreError) -> SQLConnection)?
    /// The last time that no connection could be made, and why. Reads from before that time have waited with it.
    private var lastFailure: (at: Int64, error: StoreError)?
    private let waiting = Mutex(0)

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    init(
        connection: sending SQLConnection,
        executor: StoreExecutor,
        reopen: (@Sendable () throws(StoreError) -> SQLConnection)? = nil
    ) {
        self.connection = connection
        self.executor = executor
        self.reopen = reopen
    }

    /// Reads in one read transaction; the completion is called on the reader's queue, in the order of the calls.
    nonisolated func read<Value: Sendable>(
        _ body: @escaping @Sendable (StoreTables) throws -> Value,
        completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        let isAdmitted = waiting.withLock { count in
            guard count < Self.mostWaiting else { return false }
            count += 1
            return true
        }
        let arrival = HostClock.monotonicMilliseconds
        executor.queue.async {
            guard isAdmitted else { return completion(.failure(StoreError.overloaded)) }
            self.waiting.withLock { $0 -= 1 }
            completion(self.assumeIsolated { reader in Result { try reader.perform(body, arrival) } })
        }
    }

    nonisolated func close() async {
        await withCheckedContinuation { continuation in
            executor.queue.async {
                self.assumeIsolated { $0.connection.close() }
                continuation.resume()
            }
        }
    }

    private func perform<Value>(_ body: (StoreTables) throws -> Value, _ arrival: Int64) throws -> Value {
        if let lastFailure, arrival <= lastFailure.at { throw lastFailure.error }
        do {
            return try attempt(body)
        } catch let error as SQLError {
            guard error.kind == .lost, let reopen else { throw StoreError(error) }
            connection.close()
            do throws(StoreError) {
                connection = try reopen()
            } catch {
                lastFailure = (HostClock.monotonicMilliseconds, error)
                throw error
            }
        }
        do { return try attempt(body) } catch let error as SQLError { throw StoreError(error) }
    }

    private func attempt<Value>(_ body: (StoreTables) throws -> Value) throws -> Value {
        try connection.beginReading()
        defer { connection.rollBack() }
        return try body(StoreTables(connection))
    }
}
