package import Basics
import Dispatch
package import EventStream
import POSIX
import Postgres
import SQL
import Synchronization

/// The state on a PostgreSQL server, with this process as the only one that writes it. Operations gather in a queue as those of a file do;
/// all waiting ones go into one transaction, whose commit makes them durable.
///
/// A server that is away for a moment is waited for. A commit whose answer was lost is looked up before anything else is written. Where that
/// cannot be done in time, or another process has taken over, this process ends: what it would go on with may not be what the server has.
package actor ServerStore: ServedStore {
    private nonisolated let reader: StoreReader
    /// The reason why commits are taken for lost since the last leader wrote.
    package nonisolated let loss: String?

    private let configuration: StoreConfiguration
    private let settings: ServerSettings
    private let executor: StoreExecutor
    private let queue = CommitQueue()
    private let shared: Mutex<Shared>
    private let epoch: EventEpoch
    private var session: ServerSession
    private let log: String
    /// The number of the last commit.
    private var batch: Int64
    private var lastSequence: Int64
    private var retention = Retention()
    private var hasLeft = false

    private struct Shared {
        /// The reason why the server is away; nil while it answers.
        var away: String?
        var statistics = StoreStatistics()
        /// The number of the oldest event kept; 0 if there is none.
        var oldest: Int64
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    // MARK: Opening

    /// Makes the tables where there are none. Blocks on the network: called once, before this host asks for the lease.
    package static func prepare(
        _ configuration: StoreConfiguration,
        _ settings: ServerSettings
    ) throws(ServerFault) -> StoreOpening {
        let deadline = HostClock.monotonicMilliseconds + settings.patienceMs
        let isNew = try ServerSession.prepare(settings, until: deadline) { log throws(SQLError) in
            try log.createLog(epoch: configuration.makeEpoch(), at: configuration.clock())
        }
        return isNew ? .created : .opened
    }

    /// Opens the tables for the process that has the lease. Blocks on the network.
    package static func open(
        _ configuration: StoreConfiguration,
        _ settings: ServerSettings
    ) throws(ServerFault) -> ServerStore {
        let deadline = HostClock.monotonicMilliseconds + settings.patienceMs
        let session = try ServerSession.open(settings, until: deadline, endsOthers: true)
        try session.checkLeader(settings.leader)
        let loss: String?
        do throws(SQLError) {
            loss = try session.loss(after: settings.failover, seen: settings.seen?.newest)
            if loss != nil {
                let (epoch, now) = (configuration.makeEpoch(), configuration.clock())
                try session.beginNewLog(epoch, at: now, leader: settings.leader)
            }
        } catch {
            throw ServerSession.fault(of: error)
        }
        let (witness, bounds) = try session.adopt(settings.leader)
        settings.seen?.saw(witness)
        let reader = StoreReader(
            connection: SQLConnection(try ServerSession.connect(settings.place)),
            executor: StoreExecutor(label: "ladle.reader")
        ) { () throws(StoreError) in
            do throws(ServerFault) {
                let until = HostClock.monotonicMilliseconds + settings.patienceMs
                let connection = try ServerSession.waiting(until: until) { () throws(ServerFault) in
                    try ServerSession.connect(settings.place)
                }
                let tables = SQLConnection(connection)
                try checkCommits(LeaseTable(connection: tables), settings)
                return tables
            } catch {
                throw away(error)
            }
        }
        let store = ServerStore(
            configuration,
            settings,
            session,
            witness: witness,
            bounds: bounds,
            reader: reader,
            loss: loss
        )
        store.prune()
        return store
    }

    private init(
        _ configuration: StoreConfiguration,
        _ settings: ServerSettings,
        _ session: sending ServerSession,
        witness: ServerWitness,
        bounds: EventLogBounds,
        reader: StoreReader,
        loss: String?
    ) {
        self.configuration = configuration
        self.settings = settings
        self.session = session
        log = witness.log
        batch = witness.batch
        self.reader = reader
        self.loss = loss
        executor = StoreExecutor(label: "ladle.store")
        epoch = bounds.epoch
        lastSequence = bounds.newest.sequence
        var shared = Shared(oldest: bounds.oldest?.sequence ?? 0)
        shared.statistics.losses = loss == nil ? 0 : 1
        self.shared = Mutex(shared)
    }

    // MARK: State, from any thread

    package nonisolated var health: StoreHealth {
        shared.withLock { shared in shared.away.map { .unreachable(reason: $0) } ?? .ok }
    }
    package nonisolated var statistics: StoreStatistics { shared.withLock { $0.statistics } }

    package nonisolated var oldest: EventID? {
        let sequence = shared.withLock { $0.oldest }
        return sequence == 0 ? nil : EventID(epoch: epoch, sequence: sequence)
    }

    // MARK: Operations

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
        case .refused(let error): executor.queue.async { operation.fail(error) }
        }
    }

    package nonisolated func read<Value: Sendable>(
        _ body: @escaping @Sendable (StoreTables) throws -> Value,
        completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        reader.read(body, completion: completion)
    }

    /// Asks the server whether it is there, and connects anew if the connection broke.
    package nonisolated func look(completion: @escaping @Sendable (StoreHealth) -> Void) {
        executor.queue.async {
            self.assumeIsolated { $0.ask() }
            completion(self.health)
        }
    }

    package nonisolated func answer() async {
        // An absent server is no reason to take this process for dead.
        await withCheckedContinuation { continuation in executor.queue.async { continuation.resume() } }
    }

    package nonisolated func close() async {
        queue.close()
        await reader.close()
        await withCheckedContinuation { continuation in
            executor.queue.async {
                self.assumeIsolated { $0.finish() }
                continuation.resume()
            }
        }
    }

    package nonisolated func probe() async -> StoreError? {
        if let refusal = health.refusal { return refusal }
        return await StoreProbe.error(of: self)
    }

    // MARK: On the queue

    private func finish() {
        while let batch = queue.take() { write(batch) }
        session.connection.close()
    }

    private func drain() {
        guard let operations = queue.take() else { return afterBurst() }
        write(operations)
        executor.queue.async { self.assumeIsolated { $0.drain() } }
    }

    private func ask() {
        guard !hasLeft else { return }
        do throws(SQLError) {
            _ = try session.tables.first("SELECT 1") { row in row.int(0) }
            shared.withLock { $0.away = nil }
        } catch {
            do throws(ServerFault) { try connectAgain(until: HostClock.monotonicMilliseconds) } catch { note(error) }
        }
    }

    private func note(_ fault: ServerFault) {
        shared.withLock { $0.away = away(fault).detail }
    }

    private func write(_ operations: [StoreOperation]) {
        do {
            try commitTogether(operations)
        } catch is NotTogether where operations.count > 1 {
            for operation in operations { write([operation]) }
        } catch {
            let failure = (error as? NotTogether)?.reason ?? error
            let reported = (failure as? SQLError).map { StoreError($0) as any Error } ?? failure
            for operation in operations { operation.fail(reported) }
        }
    }

    /// One operation failed after it had written, or the server refused a statement that may be of any of them. Alone, each fails or
    /// succeeds for itself.
    private struct NotTogether: Error {
        let reason: any Error
    }

    /// Writes the operations in one transaction, in a new session if the one before broke.
    private func commitTogether(_ operations: [StoreOperation]) throws {
        guard !hasLeft else { throw StoreError.closed }
        // Operations that waited behind others have waited for the server too.
        let deadline = (operations.last?.arrival ?? 0) + settings.patienceMs
        var made = Attempt()
        attempts: while true {
            do {
                if session.connection.isLost { try connectAgain(until: deadline) }
                made = try attempt(operations)
                KillPoint.reach("after-append")
            } catch let error as SQLError where error.kind == .lost {
                // A server that breaks at each try, perhaps over these operations, is not asked for ever.
                guard HostClock.monotonicMilliseconds < deadline else { throw failed(.away(error.message)) }
                continue
            } catch let fault as ServerFault {
                throw failed(fault)
            } catch {
                session.connection.rollBack()
                if let error = error as? SQLError, ServerSession.isFence(error) { throw leave(Self.deposed) }
                throw noted(error)
            }
            do throws(SQLError) {
                try session.connection.commit()
                break attempts
            } catch {
                guard error.kind == .lost else {
                    session.connection.rollBack()
                    if ServerSession.isFence(error) { throw leave(Self.deposed) }
                    throw noted(NotTogether(reason: error))
                }
            }
            if try wasCommitted() { break attempts }
            guard HostClock.monotonicMilliseconds < deadline else {
                throw failed(.away("the connection broke during the commit, which was not carried out"))
            }
        }
        KillPoint.reach("after-sync")
        batch += 1
        settings.seen?.saw(ServerWitness(log: log, batch: batch))
        succeeded(operations.count, upTo: made.lastSequence)
        for report in made.reports { report() }
    }

    private struct Attempt {
        var reports: [@Sendable () -> Void] = []
        var lastSequence: Int64 = 0
    }

    private func attempt(_ operations: [StoreOperation]) throws -> Attempt {
        var attempt = Attempt(lastSequence: lastSequence)
        try session.begin(batch + 1, leader: settings.leader)
        for operation in operations {
            var transaction = StoreTransaction(
                connection: session.tables,
                now: configuration.clock(),
                epoch: epoch,
                lastSequence: attempt.lastSequence,
                outboxRefusal: nil
            )
            let writesBefore = session.connection.writes
            do {
                attempt.reports.append(try operation.body(&transaction))
                attempt.lastSequence = transaction.lastSequence
            } catch let error as SQLError where error.kind == .lost || ServerSession.isFence(error) {
                throw error
            } catch {
                // An operation that refuses before it writes leaves nothing to take back.
                guard session.connection.writes == writesBefore, !(error is SQLError) else {
                    throw NotTogether(reason: error)
                }
                let fail = operation.fail
                attempt.reports.append { fail(error) }
            }
        }
        return attempt
    }

    /// Whether the commit whose answer was lost stands. The new session has the lock, so the old one is over.
    private func wasCommitted() throws -> Bool {
        let deadline = HostClock.monotonicMilliseconds + settings.doubtMs
        shared.withLock { $0.statistics.doubts += 1 }
        while true {
            do {
                try connectAgain(until: deadline)
                guard let head = try session.head(), head.leader == settings.leader else { throw leave(Self.deposed) }
                return head.batch == batch + 1
            } catch let error as SQLError where error.kind == .lost && HostClock.monotonicMilliseconds < deadline {
                continue
            } catch let error as StoreError {
                throw error
            } catch {
                throw leave(
                    "the server does not say whether the last commit stands: \((error as? ServerFault)?.reason ?? "\(error)")"
                )
            }
        }
    }

    private static let deposed = "another Ladle has taken over the database"

    private func connectAgain(until deadline: Int64) throws(ServerFault) {
        session.connection.close()
        do throws(ServerFault) {
            session = try ServerSession.open(settings, until: deadline)
            try checkCommits(LeaseTable(connection: session.tables), settings)
            shared.withLock { shared in
                shared.away = nil
                shared.statistics.reconnects += 1
            }
        } catch {
            if case .deposed = error { _ = leave(Self.deposed) }
            note(error)
            throw error
        }
    }

    /// Nothing more is written by this process.
    private func leave(_ reason: String) -> StoreError {
        if !hasLeft {
            hasLeft = true
            queue.close()
            settings.leave(reason)
        }
        return .unavailable(reason)
    }

    private func failed(_ fault: ServerFault) -> StoreError {
        note(fault)
        _ = noted(away(fault))
        return away(fault)
    }

    /// Counts the error if it is a fault of the database. An operation that refuses, or a row that is there already, is none.
    private func noted(_ error: any Error) -> any Error {
        let reason = (error as? NotTogether)?.reason ?? error
        let fault: StoreError? =
            switch reason {
            case let error as StoreError: error
            case let error as SQLError where error.kind != .constraint: StoreError(error)
            default: nil
            }
        if let fault {
            shared.withLock {
                $0.statistics.failures += 1
                $0.statistics.failing = fault
            }
        }
        return error
    }

    private func succeeded(_ operations: Int, upTo sequence: Int64) {
        retention.appended += Int(sequence - lastSequence)
        let first = lastSequence + 1
        lastSequence = sequence
        shared.withLock {
            $0.away = nil
            $0.statistics.committed(operations)
            if $0.oldest == 0, sequence >= first { $0.oldest = first }
        }
    }

    // MARK: Between bursts

    private func afterBurst() {
        guard retention.isDue else { return }
        retention.began()
        prune()
    }

    private nonisolated func prune() {
        Retention.prune(self, configuration) { [weak self] outcome in
            guard let self else { return }
            assumeIsolated { $0.retention.pruned() }
            // None at the time of the pruning; the first may have been written in the same commit.
            if let outcome, outcome.oldest > 0 { shared.withLock { $0.oldest = outcome.oldest } }
        }
    }
}

/// A server without commits that it had confirmed may serve nothing, not even reads, until the next leader has begun a new log.
private func checkCommits(_ table: LeaseTable, _ settings: ServerSettings) throws(ServerFault) {
    guard let seen = settings.seen?.newest else { return }
    do throws(SQLError) {
        guard let found = try table.witness(), seen.missing(in: found) > 0 else { return }
        settings.leave(ServerSession.loss)
    } catch {
        throw ServerSession.fault(of: error)
    }
    throw .away(ServerSession.loss)
}

private func away(_ fault: ServerFault) -> StoreError { .unavailable("the database is away: \(fault.reason)") }
