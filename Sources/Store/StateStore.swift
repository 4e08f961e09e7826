import Basics
import Dispatch
package import EventStream
import SQLite
import Synchronization

/// The one writer of `ladle.db`. Operations gather in a queue; whatever waits when the disk is free goes into one
/// transaction, each in a savepoint of its own, and one sync makes all of it durable.
package actor StateStore: Journal {
    private nonisolated let reader: StoreReader

    let configuration: StoreConfiguration
    let executor: StoreExecutor
    let connection: SQLiteConnection
    nonisolated let maintenance: StoreMaintenance?
    private let queue: CommitQueue
    let shared: Mutex<Shared>
    private let epoch: EventEpoch
    private var lastSequence: Int64
    var retention: Retention
    var checkpoints = CheckpointPlan()

    struct Shared {
        var health: StoreHealth
        var statistics = StoreStatistics()
        /// Of the oldest event kept; 0 while there is none.
        var oldest: Int64
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    // MARK: Opening

    /// Opens or creates the database. Blocks on the disk: called once, before anything is served.
    package static func open(_ configuration: StoreConfiguration) throws(StoreError) -> (StateStore, StoreOpening) {
        let file = DatabaseFile(configuration: configuration)
        let opened = try file.open()
        let opening = opened.opening
        let needsWholeCheck = opened.needsWholeCheck
        let health = health(after: opening, in: configuration)
        let reader = StoreReader(connection: try file.openReader(), executor: StoreExecutor(label: "ladle.reader"))
        var maintenance: StoreMaintenance?
        if case .readOnly = health {
        } else {
            maintenance = StoreMaintenance(
                connection: try file.openMaintenance(),
                executor: StoreExecutor(label: "ladle.maintenance")
            )
        }
        let bounds: EventLogBounds
        do throws(SQLiteError) {
            bounds = try EventTable(opened.connection).bounds()
        } catch {
            throw StoreError(error)
        }
        let store = StateStore(
            configuration: configuration,
            connection: opened.connection,
            reader: reader,
            maintenance: maintenance,
            bounds: bounds,
            health: health
        )
        store.start(checkingWhole: needsWholeCheck)
        return (store, opening)
    }

    private init(
        configuration: StoreConfiguration,
        connection: sending SQLiteConnection,
        reader: StoreReader,
        maintenance: StoreMaintenance?,
        bounds: EventLogBounds,
        health: StoreHealth
    ) {
        self.configuration = configuration
        self.connection = connection
        self.reader = reader
        self.maintenance = maintenance
        self.executor = StoreExecutor(label: "ladle.store")
        self.queue = CommitQueue()
        self.shared = Mutex(Shared(health: health, oldest: bounds.oldest?.sequence ?? 0))
        self.epoch = bounds.epoch
        self.lastSequence = bounds.newest.sequence
        self.retention = Retention()
    }

    private static func health(after opening: StoreOpening, in configuration: StoreConfiguration) -> StoreHealth {
        if case .readOnly(let reason) = opening { return .readOnly(reason: reason) }
        let files = SetAsideFiles(directory: configuration.directory.path)
        return files.unresolved().map { .quarantined(path: $0.path, reason: $0.reason) } ?? .ok
    }

    private nonisolated func start(checkingWhole: Bool) {
        guard let maintenance else { return }
        if checkingWhole {
            maintenance.check { [weak self] problem in
                guard let self, let problem else { return }
                // What is on disk may be wrong; nothing more is written over it.
                shared.withLock { $0.health = .readOnly(reason: "the database is damaged (\(problem))") }
            }
        }
        prune()
    }

    // MARK: State, from any thread

    package nonisolated var health: StoreHealth { shared.withLock { $0.health } }
    package nonisolated var statistics: StoreStatistics { shared.withLock { $0.statistics } }

    /// The oldest event kept.
    package nonisolated var oldest: EventID? {
        let sequence = shared.withLock { $0.oldest }
        return sequence == 0 ? nil : EventID(epoch: epoch, sequence: sequence)
    }

    // MARK: Operations

    /// Appends an operation. Operations run in the order of these calls; `completion` is called on the store's queue
    /// once the operation is durable, or failed, also in that order. `cost` is about what it writes.
    ///
    /// The body may run twice: when a full disk takes a whole batch back, each operation gets a transaction of its own.
    package nonisolated func commit<Value: Sendable>(
        cost: Int,
        _ body: @escaping @Sendable (inout StoreTransaction) throws -> Value,
        completion: @escaping @Sendable (Result<Value, any Error>, [StoredEvent]) -> Void
    ) {
        let operation = StoreOperation(
            cost: cost,
            body: { transaction in
                let value = try body(&transaction)
                let events = transaction.appended
                return { completion(.success(value), events) }
            },
            fail: { completion(.failure($0), []) }
        )
        switch queue.append(operation) {
        case .first: executor.queue.async { self.assumeIsolated { $0.drain() } }
        case .waiting: break
        case .refused(let error):
            // In its turn, but without what it was to write: that it may not wait is why it was refused.
            let fail = operation.fail
            executor.queue.async { fail(error) }
        }
    }

    package nonisolated func read<Value: Sendable>(
        _ body: @escaping @Sendable (StoreTables) throws -> Value,
        completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        reader.read(body, completion: completion)
    }

    /// Takes no more operations, finishes those that wait, and closes the file. The lock on the directory stays with its
    /// owner.
    package nonisolated func close() async {
        queue.close()
        await reader.close()
        await maintenance?.close()
        await withCheckedContinuation { continuation in
            executor.queue.async {
                self.assumeIsolated { $0.finish() }
                continuation.resume()
            }
        }
    }

    // MARK: On the queue

    private func finish() {
        while let batch = queue.take() { commit(batch) }
        connection.close()
    }

    private func drain() {
        guard let batch = queue.take() else { return afterBurst() }
        commit(batch)
        // Back to the queue between batches: what else runs here gets its turn.
        executor.queue.async { self.assumeIsolated { $0.drain() } }
    }

    private func commit(_ batch: [StoreOperation]) {
        if case .readOnly(let reason) = health {
            for operation in batch { operation.fail(StoreError.unavailable(reason)) }
            return
        }
        do {
            try commitTogether(batch)
        } catch StoreError.storageFull where batch.count > 1 {
            // A large one may have been what did not fit.
            for operation in batch {
                do { try commitTogether([operation]) } catch { operation.fail(error) }
            }
        } catch {
            for operation in batch { operation.fail(error) }
        }
    }

    private func commitTogether(_ batch: [StoreOperation]) throws {
        var reports: [@Sendable () -> Void] = []
        var sequence = lastSequence
        let refusal = health.refusal
        do {
            try connection.execute("BEGIN IMMEDIATE")
            for operation in batch {
                var transaction = StoreTransaction(
                    connection: connection,
                    now: configuration.clock(),
                    epoch: epoch,
                    lastSequence: sequence,
                    outboxRefusal: refusal
                )
                let (report, isKept) = try run(operation, in: &transaction)
                if isKept { sequence = transaction.lastSequence }
                reports.append(report)
            }
            KillPoint.reach("after-append")
            try connection.run("COMMIT")
            KillPoint.reach("after-sync")
        } catch {
            connection.rollBack()
            let failure = DatabaseFile.storeError(error)
            shared.withLock {
                $0.statistics.failures += 1
                $0.statistics.failing = failure
            }
            throw failure
        }
        retention.appended += Int(sequence - lastSequence)
        let first = lastSequence + 1
        lastSequence = sequence
        checkpoints.committed()
        shared.withLock {
            $0.statistics.commits += 1
            $0.statistics.operations += Int64(batch.count)
            $0.statistics.largestBatch = max($0.statistics.largestBatch, batch.count)
            $0.statistics.logPages = connection.logPages
            $0.statistics.failing = nil
            if $0.oldest == 0, sequence >= first { $0.oldest = first }
        }
        for report in reports { report() }
    }

    /// Runs one operation in a savepoint: what to report once all is durable, and whether the operation stands. Its own
    /// error undoes only itself; an error that made SQLite give up the whole transaction is thrown.
    private func run(
        _ operation: StoreOperation,
        in transaction: inout StoreTransaction
    ) throws -> (report: @Sendable () -> Void, isKept: Bool) {
        try connection.run("SAVEPOINT operation")
        do {
            let report = try operation.body(&transaction)
            try connection.run("RELEASE operation")
            return (report, true)
        } catch {
            guard connection.isInTransaction else { throw error }
            try connection.run("ROLLBACK TO operation")
            try connection.run("RELEASE operation")
            let reported = (error as? SQLiteError).map { StoreError($0) as any Error } ?? error
            if reported as? StoreError == .storageFull { throw error }
            let fail = operation.fail
            return ({ fail(reported) }, false)
        }
    }

    // MARK: Recovery

    nonisolated var setAsideFiles: SetAsideFiles { SetAsideFiles(directory: configuration.directory.path) }

    nonisolated func setHealth(_ health: StoreHealth) {
        shared.withLock { $0.health = health }
    }
}
