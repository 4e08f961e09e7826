import Dispatch
package import POSIX
package import Postgres
import SQL

/// Looks at the lease, takes it and renews it, on a queue and a connection of its own, so that no slow commit and no busy loop delays a
/// beat. `Lease` makes all decisions.
package actor LeaseKeeper {
    package enum Change: Equatable, Sendable {
        /// Another host has the lease. Whether it is alive shows with its next beat.
        case waits(for: LeaseLeader, isAlive: Bool)
        /// The database does not answer a host that waits.
        case away(reason: String)
        case back
        /// This host leads.
        case leads(Lead)
        /// The permit has ended: nothing is sent until `resumed`.
        case suspended
        case resumed
        /// Another host leads, and this process must end.
        case deposed
        /// A host has seen commits that the database lacks. This process must end, and the next leader begins a new log.
        case hasLoss
        /// A person asks this leader to step down.
        case askedToResign
        /// The database cannot be used, and not by waiting either.
        case failed(ServerFault)
    }

    package struct Lead: Equatable, Sendable {
        /// The mark by which `head` knows this process.
        package let mark: Int64
        /// The name of the host that led before; empty where none did.
        package let last: String
        /// The server is another one than the last leader's.
        package let failover: Failover?
    }

    /// The state that was reported last.
    private enum Shown: Equatable {
        case nothing, waiting(for: LeaseLeader, isAlive: Bool), leading, suspended, deposed
    }

    /// The pause after which a host writes again that it is there.
    private static let hostRowMs: Int64 = 5_000

    package nonisolated let permit: Permit
    private nonisolated let executor = StoreExecutor(label: "ladle.lease")
    private let settings: LeaseSettings
    private let report: @Sendable (Change) -> Void
    private var lease: Lease
    private var connection: PostgresConnection?
    private var leader = LeaseLeader(name: "", hasKey: false)
    /// Whether the leader's commits were confirmed by a second server.
    private var isSynchronous = false
    /// Statements without an answer, in a row. After the first one the connection may just have been cut.
    private var failures = 0
    private var lead = Lead(mark: 0, last: "", failover: nil)
    private var shown = Shown.nothing
    private var isAsked = false
    /// The store was opened for this leader, who has begun a new log if the database lacked commits.
    private var isOpen = false
    private var hostRowDue: Int64 = .min
    private var hasEnded = false

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    /// - Parameter report: called on the keeper's queue.
    package init(_ settings: LeaseSettings, report: @escaping @Sendable (Change) -> Void) {
        self.settings = settings
        self.report = report
        lease = Lease(settings.host, waitMs: settings.waitMs)
        permit = Permit(marginMs: settings.waitMs / 3)
    }

    package nonisolated func start() { again(afterMs: 0) }

    /// From now on the database has all that a host has seen.
    package func opened() { isOpen = true }

    /// Returns once the queue has finished the statement under way.
    package func answer() {}

    /// Gives the lease up, if it is this host's, and does nothing more. The next host may act from now on.
    package func resign() {
        guard !hasEnded else { return }
        end()
        defer { connection?.close() }
        guard let table = try? connected() else { return }
        switch lease.state {
        case .leading(let term, _), .suspended(let term): try? table.resign(term, of: lease.host)
        case .following, .deposed: break
        }
        try? table.forget(lease.host)
        _ = try? table.connection.changes()
    }

    private func end() {
        hasEnded = true
        permit.limit(to: 0)
    }

    // MARK: On the queue

    private nonisolated func again(afterMs milliseconds: Int64) {
        executor.queue.asyncAfter(deadline: .now() + DispatchTimeInterval.milliseconds(Int(milliseconds))) {
            self.assumeIsolated { $0.step() }
        }
    }

    private func step() {
        guard !hasEnded else { return }
        let now = HostClock.bootMilliseconds
        let action = lease.next(at: now)
        show()
        switch action {
        case .end: end()
        case .wait(let until): again(afterMs: until - now)
        case .look, .take, .beat:
            perform(action)
            show()
            again(afterMs: 0)
        }
    }

    /// Tells of a new state.
    private func show() {
        guard !hasEnded else { return }
        permit.limit(to: lease.permit)
        let (now, last) = (seen, shown)
        guard now != last else { return }
        shown = now
        switch now {
        case .nothing: break
        case .waiting(let leader, let isAlive): report(.waits(for: leader, isAlive: isAlive))
        case .leading: report(last == .suspended ? .resumed : .leads(lead))
        case .suspended: report(.suspended)
        case .deposed: report(.deposed)
        }
    }

    private var seen: Shown {
        switch lease.state {
        case .following(let row, _):
            row.map { lease.mayTake($0) ? shown : .waiting(for: leader, isAlive: lease.hasSeenBeats) } ?? shown
        case .leading: .leading
        case .suspended: .suspended
        case .deposed: .deposed
        }
    }

    private func perform(_ action: Lease.Action) {
        do throws(ServerFault) {
            let table = try connected()
            do throws(SQLError) {
                try perform(action, table)
                answered()
            } catch {
                if case .take(let row) = action, error.kind == .busy { try? table.endWriter(behind: row) }
                throw ServerSession.fault(of: error)
            }
        } catch {
            lease.failed(at: HostClock.bootMilliseconds)
            if connection?.isLost == true { connection = nil }
            switch error {
            case .away, .inUse, .deposed, .storage: unanswered(error)
            case .noLibrary, .unfit, .foreign: fail(error)
            }
        }
    }

    private func answered() {
        if failures > 1, isWaiting { report(.back) }
        failures = 0
    }

    private func unanswered(_ fault: ServerFault) {
        failures += 1
        if failures == 2, isWaiting { report(.away(reason: fault.reason)) }
    }

    private var isWaiting: Bool { if case .following = lease.state { true } else { false } }

    private func fail(_ fault: ServerFault) {
        end()
        report(.failed(fault))
    }

    private func perform(_ action: Lease.Action, _ table: LeaseTable) throws(SQLError) {
        let sent = HostClock.bootMilliseconds
        switch action {
        case .look:
            guard let look = try table.look() else { return fail(.foreign(ServerSession.moved)) }
            if look.format > ServerSchema.format {
                return fail(ServerSession.fault(of: ServerSession.newer(look.format)))
            }
            (leader, isSynchronous) = (look.leader, look.isSynchronous)
            settings.seen.saw(look.witness)
            lease.looked(look.row, at: HostClock.bootMilliseconds)
        case .take(let row):
            let mark = Int64.random(in: 1 ... .max)
            let isDone = try table.take(
                row,
                for: lease.host,
                name: settings.name,
                waitMs: lease.waitMs,
                mark: mark
            )
            lease.took(isDone, sent: sent)
            if isDone {
                let failover = row.isSameServer ? nil : Failover(wasSynchronous: isSynchronous)
                lead = Lead(mark: mark, last: leader.name, failover: failover)
                try table.forgetSilent()
            }
        case .beat(let term):
            let answer = try table.beat(term, of: lease.host)
            lease.beaten(answer != nil, sent: sent)
            if isOpen, answer?.hasLoss == true { report(.hasLoss) }
            if answer?.isAsked == true, !isAsked {
                isAsked = true
                report(.askedToResign)
            }
        case .wait, .end: break
        }
        guard sent >= hostRowDue else { return }
        hostRowDue = sent + Self.hostRowMs
        try table.write(lease.host, settings)
        _ = try table.connection.changes()
    }

    private func connected() throws(ServerFault) -> LeaseTable {
        if let connection, !connection.isLost { return LeaseTable(connection: SQLConnection(connection)) }
        var place = settings.place
        // A statement that hangs must not hide the end of the permit.
        place.answerMs = max(1_000, lease.waitMs / 4)
        place.connectMs = place.answerMs
        let made = try ServerSession.connect(place)
        do throws(SQLError) { try made.run("SET lock_timeout = '500ms'") } catch {
            throw ServerSession.fault(of: error)
        }
        connection = made
        // Another server may have taken the place of the last one, and lack what this host has seen.
        hostRowDue = .min
        return LeaseTable(connection: SQLConnection(made))
    }
}

/// The host that has the lease, or had it last.
package struct LeaseLeader: Equatable, Sendable {
    package let name: String
    /// Whether it has the key of all hosts, and so seals its identity in the database. True while it has not said so.
    package let hasKey: Bool
}

/// The host that asks for the lease.
package struct LeaseSettings: Sendable {
    package var place: PostgresPlace
    package var host: Lease.Host
    package var name: String
    package var version: String
    /// The time after which a silent leader is taken for dead.
    package var waitMs: Int64
    /// Whether it has the key of all hosts.
    package var hasKey: Bool
    package var seen: SeenCommits

    package init(
        place: PostgresPlace,
        host: Lease.Host,
        name: String,
        version: String,
        waitMs: Int64,
        hasKey: Bool,
        seen: SeenCommits
    ) {
        self.place = place
        self.host = host
        self.name = name
        self.version = version
        self.waitMs = waitMs
        self.hasKey = hasKey
        self.seen = seen
    }
}
