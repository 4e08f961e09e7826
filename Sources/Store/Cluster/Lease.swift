/// Which host leads, as one of the hosts on a database knows it.
///
/// The leader moves a number in a row, the beat, each W/6. The others look at the row; one that saw the same beat for W takes the lease, by
/// a statement that succeeds only if no further beat was written. The leader acts until 2W/3 after it sent the last beat that was confirmed:
/// it sent it before the others saw it, so its time is over W/3 before anybody's can begin. Every host measures with its own boot clock, and
/// only intervals; no clock is compared with another one.
package struct Lease: Sendable {
    /// A host, in one run of its machine. Together they are new after a restart of the machine, which ends all processes on it.
    package struct Host: Equatable, Sendable {
        let id: String
        let boot: String

        package init(id: String, boot: String) {
            self.id = id
            self.boot = boot
        }
    }

    /// The row that all hosts look at.
    struct Row: Equatable, Sendable {
        var term: Int64
        var beat: Int64
        /// Nil once the leader has resigned.
        var holder: Host?
        /// W of the holder, in milliseconds.
        var waitMs: Int64
        /// False after a failover to another server, which may lack what the one before had confirmed.
        var isSameServer = true
    }

    enum State: Equatable, Sendable {
        /// The row that was seen last, with the time since which its beat is unchanged.
        case following(Row?, since: Int64)
        /// - Parameter until: the end of the permit.
        case leading(term: Int64, until: Int64)
        /// The permit has ended and nobody is known to have taken the lease. A confirmed beat renews it.
        case suspended(term: Int64)
        /// Another host has the lease.
        case deposed
    }

    enum Action: Equatable, Sendable {
        case wait(until: Int64)
        case look
        /// Write the next term where this row still stands.
        case take(Row)
        case beat(term: Int64)
        /// Nothing more is to be done.
        case end
    }

    let host: Host
    /// W, in milliseconds.
    let waitMs: Int64
    private(set) var state = State.following(nil, since: 0)
    /// Whether the leader has beaten since this host looks.
    private(set) var hasSeenBeats = false
    private var due: Int64 = .min
    private var taking: Row?

    init(_ host: Host, waitMs: Int64) {
        self.host = host
        self.waitMs = waitMs
    }

    var beatMs: Int64 { waitMs / 6 }
    var permitMs: Int64 { waitMs * 2 / 3 }
    /// Often enough that a resignation is noticed at once.
    var lookMs: Int64 { min(waitMs / 12, 250) }

    /// The end of the right to act, on the boot clock.
    var permit: Int64 {
        if case .leading(_, let until) = state { until } else { 0 }
    }

    mutating func next(at now: Int64) -> Action {
        if case .leading(let term, let until) = state, now >= until {
            state = .suspended(term: term)
            due = now
        }
        switch state {
        case .following:
            guard now >= due else { return .wait(until: due) }
            return taking.map { .take($0) } ?? .look
        case .leading(let term, let until):
            return now >= due ? .beat(term: term) : .wait(until: min(due, until))
        case .suspended(let term):
            return now >= due ? .beat(term: term) : .wait(until: due)
        case .deposed:
            return .end
        }
    }

    /// - Parameter now: the time after the answer. The beat was sent before that.
    mutating func looked(_ row: Row, at now: Int64) {
        guard case .following(let last, var since) = state else { return }
        if last?.term != row.term || last?.beat != row.beat { since = now }
        hasSeenBeats = last?.term == row.term && (hasSeenBeats || last?.beat != row.beat)
        state = .following(row, since: since)
        let end = since + max(waitMs, row.waitMs)
        if mayTake(row) || now >= end {
            taking = row
            due = now
        } else {
            taking = nil
            due = min(now + lookMs, end)
        }
    }

    /// Whether nobody need be waited for. The lock on the state directory proves that an earlier process of this host is over.
    func mayTake(_ row: Row) -> Bool { row.holder == nil || (row.holder == host && row.isSameServer) }

    /// - Parameters:
    ///   - isDone: whether the row still stood.
    ///   - sent: the time before the statement was sent.
    mutating func took(_ isDone: Bool, sent: Int64) {
        guard case .following(_, let since) = state, let row = taking else { return }
        taking = nil
        due = sent
        state = .following(row, since: since)
        guard isDone else { return }
        state = .leading(term: row.term + 1, until: sent + permitMs)
        due = sent + beatMs
    }

    /// - Parameters:
    ///   - isDone: whether the lease was still this host's.
    ///   - sent: the time before the statement was sent.
    mutating func beaten(_ isDone: Bool, sent: Int64) {
        switch state {
        case .leading(let term, _), .suspended(let term):
            state = isDone ? .leading(term: term, until: sent + permitMs) : .deposed
            due = sent + beatMs
        case .following, .deposed: break
        }
    }

    /// A statement had no answer, and may have been carried out or not.
    mutating func failed(at now: Int64) {
        taking = nil
        due = now + lookMs
    }
}
