package import Basics
import Dispatch
package import EventStream
import Outbox
import POSIX
import SQL
import SQLite
import Synchronization

/// The only writer of `ladle.db`. Operations gather in a queue; when the disk is free, all waiting ones go into one
/// transaction, each in a savepoint of its own, and one sync makes them durable.
package actor StateStore: ServedStore {
    private nonisolated let reader: StoreReader

    private let configuration: StoreConfiguration
    private let executor: StoreExecutor
    private let connection: SQLiteConnection
    /// The same connection, as the tables see it.
    private let tables: SQLConnection
    private nonisolated let maintenance: StoreMaintenance?
    private let queue: CommitQueue
    private let shared: Mutex<Shared>
    private let epoch: EventEpoch
    /// The identity of the database file that was opened.
    private let file: String?
    private var lastSequence: Int64
    private var retention: Retention
    private var checkpoints = CheckpointPlan()
    private var reserve: SpaceReserve
    /// Nil if no witness file can be written.
    private let witness: WitnessFile<Witness>?
    private var isWitnessToBeSynced = false
    private static let witnessSync = DispatchTimeInterval.seconds(1)

    private struct Shared {
        var health: StoreHealth
        /// The reason why nothing can be written to the file at present; nil while it is in its place.
        var misplaced: String?
        var statistics = StoreStatistics()
        /// The number of the oldest event kept; 0 if there is none.
        var oldest: Int64
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    // MARK: Opening

    /// Opens or creates the database. Blocks on the disk: called once, before the server starts.
    package static func open(_ configuration: StoreConfiguration) throws(StoreError) -> (StateStore, StoreOpening) {
        let file = DatabaseFile(configuration: configuration)
        let opened = try file.open()
        let opening = opened.opening
        let needsWholeCheck = opened.needsWholeCheck
        let health = health(after: opening, in: configuration)
        let reader = StoreReader(
            connection: SQLConnection(try file.openReader()),
            executor: StoreExecutor(label: "ladle.reader")
        )
        var maintenance: StoreMaintenance?
        var witness: WitnessFile<Witness>?
        if case .readOnly = health {
        } else {
            maintenance = StoreMaintenance(
                connection: try file.openMaintenance(),
                executor: StoreExecutor(label: "ladle.maintenance")
            )
            // Without a witness file the store still works, but cannot notice a lost log.
            witness = try? Witness(of: opened.connection).map { try file.makeWitness($0) }
        }
        let bounds: EventLogBounds
        do throws(SQLError) {
            bounds = try EventTable(SQLConnection(opened.connection)).bounds()
        } catch {
            throw StoreError(error)
        }
        let store = StateStore(
            configuration: configuration,
            connection: opened.connection,
            reader: reader,
            maintenance: maintenance,
            witness: witness,
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
        witness: sending WitnessFile<Witness>?,
        bounds: EventLogBounds,
        health: StoreHealth
    ) {
        self.configuration = configuration
        self.connection = connection
        tables = SQLConnection(connection)
        self.reader = reader
        self.maintenance = maintenance
        self.witness = witness
        self.executor = StoreExecutor(label: "ladle.store")
        self.queue = CommitQueue()
        self.shared = Mutex(Shared(health: health, oldest: bounds.oldest?.sequence ?? 0))
        self.epoch = bounds.epoch
        self.file = try? FileSystem.facts(configuration.directory.databasePath).identity
        self.lastSequence = bounds.newest.sequence
        self.retention = Retention()
        var reserve = SpaceReserve(directory: configuration.directory.path)
        if maintenance != nil { reserve.refill() }
        self.reserve = reserve
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
                // The file may be damaged, so nothing more is written to it.
                shared.withLock { $0.health = .readOnly(reason: "the database is damaged (\(problem))") }
            }
        }
        prune()
    }

    // MARK: State, from any thread

    package nonisolated var health: StoreHealth {
        shared.withLock { shared in shared.misplaced.map { .misplaced(reason: $0) } ?? shared.health }
    }
    package nonisolated var statistics: StoreStatistics { shared.withLock { $0.statistics } }

    /// The oldest event kept.
    package nonisolated var oldest: EventID? {
        let sequence = shared.withLock { $0.oldest }
        return sequence == 0 ? nil : EventID(epoch: epoch, sequence: sequence)
    }

    // MARK: Operations

    /// Operations run in the order of these calls; `completion` is called on the store's queue, also in that order.
    ///
    /// The body may run twice: if a full disk rolls back a whole batch, each operation gets a transaction of its own.
    package nonisolated func commit<Value: Sendable>(
        cost: Int,
        isUrgent: Bool,
        _ body: @escaping @Sendable (inout StoreTransaction) throws -> Value,
        completion: @escaping @Sendable (Result<Value, any Error>, [StoredEvent]) -> Void
    ) {
        let operation = StoreOperation(cost: cost, isUrgent: isUrgent, body, completion)
        switch queue.append(operation) {
        case .first: executor.queue.async { self.assumeIsolated { $0.drain() } }
        case .waiting: break
        case .refused(let error):
            // Fails in its turn, but without its body: the queue must not hold more bytes.
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

    /// Looks whether the file is still in its place. `completion` is called with the health on the store's queue.
    package nonisolated func look(completion: @escaping @Sendable (StoreHealth) -> Void) {
        executor.queue.async {
            self.assumeIsolated { try? $0.checkPlace() }
            completion(self.health)
        }
    }

    /// Admits no more operations, finishes the waiting ones, and closes the file. The directory's lock stays with its
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
        witness?.synchronise()
        connection.close()
    }

    private func drain() {
        guard let batch = queue.take() else { return afterBurst() }
        commit(batch)
        // Returns to the queue between batches, so that other work of this actor gets a turn.
        executor.queue.async { self.assumeIsolated { $0.drain() } }
    }

    private func commit(_ batch: [StoreOperation]) {
        if case .readOnly(let reason) = health {
            for operation in batch { operation.fail(StoreError.unavailable(reason)) }
            return
        }
        do {
            try commitTogether(batch)
        } catch StoreError.storageFull {
            for operation in batch { commitOnFullDisk(operation, isFirstAlone: batch.count > 1) }
        } catch {
            for operation in batch { operation.fail(error) }
        }
    }

    /// A single large operation may have caused the failure of a batch, so each is tried alone; an urgent one once more, with the room
    /// that is kept for it.
    private func commitOnFullDisk(_ operation: StoreOperation, isFirstAlone: Bool) {
        var failure: any Error = StoreError.storageFull
        if isFirstAlone {
            do { return try commitTogether([operation]) } catch { failure = error }
        }
        if operation.isUrgent, failure as? StoreError == .storageFull, reserve.release() {
            do { return try commitTogether([operation]) } catch { failure = error }
        }
        operation.fail(failure)
    }

    private func commitTogether(_ batch: [StoreOperation]) throws {
        var reports: [@Sendable () -> Void] = []
        var sequence = lastSequence
        do {
            try checkPlace()
            let refusal = health.refusal
            try connection.execute("BEGIN IMMEDIATE")
            for operation in batch {
                var transaction = StoreTransaction(
                    connection: tables,
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
        noteInWitness()
        shared.withLock {
            $0.statistics.committed(batch.count)
            $0.statistics.logPages = connection.logPages
            if $0.oldest == 0, sequence >= first { $0.oldest = first }
        }
        for report in reports { report() }
    }

    /// SQLite goes on writing to a file that somebody has deleted, and everything in it is lost with this process.
    private func checkPlace() throws(StoreError) {
        let path = configuration.directory.databasePath
        let isInPlace = file == nil || (try? FileSystem.facts(path).identity) == file
        let reason =
            isInPlace ? nil : "\(path) was deleted or replaced while Ladle runs; put it back, or restart Ladle"
        shared.withLock { $0.misplaced = reason }
        if let reason { throw .unavailable(reason) }
    }

    /// Written before any report, so that the witness includes every answered operation.
    private func noteInWitness() {
        guard let witness, let now = try? Witness(of: connection), witness.record(now), !isWitnessToBeSynced else {
            return
        }
        isWitnessToBeSynced = true
        executor.queue.asyncAfter(deadline: .now() + Self.witnessSync) { [weak self] in
            self?.assumeIsolated { $0.syncWitness() }
        }
    }

    private func syncWitness() {
        isWitnessToBeSynced = false
        if let synchronisation = witness?.synchronisation { maintenance?.perform(synchronisation) }
    }

    /// Runs one operation in a savepoint. Its own error undoes only this operation; an error that ended the whole
    /// transaction is thrown.
    /// - Returns: the report to make once all is durable, and whether the operation stands.
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
            let reported = (error as? SQLError).map { StoreError($0) as any Error } ?? error
            if reported as? StoreError == .storageFull { throw error }
            let fail = operation.fail
            return ({ fail(reported) }, false)
        }
    }

    // MARK: Between bursts

    /// Deletes old rows, and copies the write-ahead log into the database.
    private func afterBurst() {
        reserve.refill()
        if retention.isDue {
            retention.began()
            prune()
        }
        planCheckpoint()
    }

    private func planCheckpoint() {
        switch checkpoints.next(logPages: connection.logPages) {
        case .nothing: break
        case .now: checkpointBeside()
        case .whenIdle(let generation):
            if configuration.checkpointsWhenIdle { scheduleIdleCheckpoint(generation) }
        case .blocking:
            _ = try? connection.checkpoint(.restart)
            shared.withLock { $0.statistics.checkpoints += 1 }
        }
    }

    private func scheduleIdleCheckpoint(_ generation: Int64) {
        executor.queue.asyncAfter(deadline: .now() + CheckpointPlan.idle) { [weak self] in
            self?.assumeIsolated { store in
                if store.checkpoints.isIdle(since: generation) {
                    store.checkpointBeside()
                } else {
                    store.planCheckpoint()
                }
            }
        }
    }

    private func checkpointBeside() {
        guard let maintenance, checkpoints.begin() else { return }
        maintenance.checkpoint { [weak self] result in
            guard let self else { return }
            executor.queue.async {
                self.assumeIsolated { $0.checkpointed(result) }
            }
        }
    }

    private func checkpointed(_ result: SQLiteConnection.CheckpointResult?) {
        checkpoints.ended(result)
        shared.withLock { $0.statistics.checkpoints += 1 }
    }

    /// Deletes old rows in slices, each as an operation of its own behind the waiting ones.
    private nonisolated func prune() {
        Retention.prune(self, configuration) { [weak self] outcome in
            guard let self else { return }
            assumeIsolated { $0.retention.pruned() }
            // None at the time of the pruning; the first may have been written in the same commit.
            if let outcome, outcome.oldest > 0 { shared.withLock { $0.oldest = outcome.oldest } }
        }
    }

    // MARK: Probes

    /// Makes a real write of about a message's size, to find out whether a send would be accepted now.
    package nonisolated func probe() async -> StoreError? {
        if let refusal = health.refusal { return refusal }
        return await StoreProbe.error(of: self)
    }

    /// For a watchdog: returns once both queues have finished the operations before this one. Writes nothing.
    package func answer() async {
        try? await read { _ in }
    }

    // MARK: Recovery

    /// The oldest set-aside database without a decision, with the reason.
    package static func setAside(in directory: String) -> (path: String, reason: String)? {
        SetAsideFiles(directory: directory).unresolved().map { ($0.path, $0.reason) }
    }

    /// Reads the set-aside database of a state directory without changing anything; nil if there is none.
    package static func inspectSetAside(in directory: String) -> RecoveryReport? {
        guard let found = SetAsideFiles(directory: directory).unresolved() else { return nil }
        return Salvage(path: found.path).report(reason: found.reason).report
    }

    /// Restores the readable entries of the set-aside file, then opens the outbox again. The report returns the entries
    /// for the dispatcher. With `restoring` false the file's entries are given up.
    package nonisolated func recover(restoring: Bool) async throws -> RecoveryReport? {
        let files = SetAsideFiles(directory: configuration.directory.path)
        guard let found = files.unresolved() else { return nil }
        let salvage = Salvage(path: found.path).report(reason: found.reason)
        var report = salvage.report
        if restoring {
            let items = salvage.items
            report.restored = try await commit(cost: items.reduce(0) { $0 + $1.payload.count }) { transaction in
                try transaction.restore(items)
            }
        }
        try files.resolve(found.path)
        let next = files.unresolved()
        let health: StoreHealth = next.map { .quarantined(path: $0.path, reason: $0.reason) } ?? .ok
        shared.withLock { $0.health = health }
        return report
    }
}
