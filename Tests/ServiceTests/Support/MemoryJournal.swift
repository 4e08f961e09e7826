import Basics
import EventStream
import SQL
import SQLite
import Synchronization
import TestSupport

@testable import Store

/// The journal in memory: the real tables and transactions on a database without a file. Operations complete at once
/// and in order; a test can delay them or make reads or writes fail.
final class MemoryJournal: Journal {
    private struct State {
        let connection: SQLConnection
        var lastSequence: Int64 = 0
        var readFault: StoreError?
        var writeFault: StoreError?
        var health = StoreHealth.ok
        var statistics = StoreStatistics()
        var isHeld = false
        var held: [@Sendable () -> Void] = []
        var operations = 0
    }

    private let state: Mutex<State>
    private let epoch = EventEpoch.make(random: 7)
    private let clock: ManualClock

    init(clock: ManualClock) throws {
        self.clock = clock
        let connection = try TestDatabase.open()
        try EventTable(connection).createLog(epoch: epoch, at: clock.wall)
        state = Mutex(State(connection: connection))
    }

    // MARK: For tests

    /// The newest event.
    var newest: EventID { EventID(epoch: epoch, sequence: state.withLock { $0.lastSequence }) }

    /// The number of operations so far.
    var operations: Int { state.withLock { $0.operations } }

    /// The work of the database so far, in steps of its machine.
    var databaseSteps: Int {
        state.withLock { if case .sqlite(let connection) = $0.connection.engine { connection.machineSteps } else { 0 } }
    }

    func failReads(_ error: StoreError?) { state.withLock { $0.readFault = error } }

    func failWrites(_ error: StoreError?) {
        state.withLock { state in
            state.writeFault = error
            state.statistics.failing = error
        }
    }

    /// Changes whether the store can be used, as a damaged file does.
    func become(_ health: StoreHealth) { state.withLock { $0.health = health } }

    /// Makes operations wait from now on, as on a slow disk.
    func hold() { state.withLock { $0.isHeld = true } }

    /// Carries out the first operation that waited.
    func releaseOne() {
        state.withLock { $0.held.isEmpty ? nil : $0.held.removeFirst() }?()
    }

    /// Carries out the operations that waited.
    func release() {
        let held = state.withLock { state in
            state.isHeld = false
            defer { state.held = [] }
            return state.held
        }
        for operation in held { operation() }
    }

    /// Forgets the operations that waited, as a kill does.
    func dropHeld() {
        state.withLock { state in
            state.isHeld = false
            state.held = []
        }
    }

    // MARK: Journal

    func commit<Value: Sendable>(
        cost: Int,
        isUrgent: Bool,
        _ body: @escaping @Sendable (inout StoreTransaction) throws -> Value,
        completion: @escaping @Sendable (Result<Value, any Error>, [StoredEvent]) -> Void
    ) {
        perform { [self] in
            switch transact(body) {
            case .success((let value, let events)): completion(.success(value), events)
            case .failure(let error): completion(.failure(error), [])
            }
        }
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (StoreTables) throws -> Value,
        completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        perform { [self] in
            completion(
                state.withLock { state in
                    Result {
                        if let fault = state.readFault { throw fault }
                        return try body(StoreTables(state.connection))
                    }
                }
            )
        }
    }

    func probe() async -> StoreError? { state.withLock { $0.writeFault } }

    var health: StoreHealth { state.withLock { $0.health } }
    var statistics: StoreStatistics { state.withLock { $0.statistics } }
    var oldest: EventID? { state.withLock { try? StoreTables($0.connection).events.bounds().oldest } }

    // MARK: Operations

    private func perform(_ operation: @escaping @Sendable () -> Void) {
        let runsNow = state.withLock { state in
            state.operations += 1
            if state.isHeld { state.held.append(operation) }
            return !state.isHeld
        }
        if runsNow { operation() }
    }

    private func transact<Value: Sendable>(
        _ body: @Sendable (inout StoreTransaction) throws -> Value
    ) -> Result<(Value, [StoredEvent]), any Error> {
        state.withLock { state in
            Result {
                if let fault = state.writeFault { throw fault }
                var transaction = StoreTransaction(
                    connection: state.connection,
                    now: clock.wall,
                    epoch: epoch,
                    lastSequence: state.lastSequence,
                    outboxRefusal: state.health.refusal
                )
                try state.connection.begin()
                do {
                    let value = try body(&transaction)
                    try state.connection.commit()
                    state.lastSequence = transaction.lastSequence
                    return (value, transaction.appended)
                } catch {
                    state.connection.rollBack()
                    throw (error as? SQLError).map { StoreError($0) as any Error } ?? error
                }
            }
        }
    }
}
