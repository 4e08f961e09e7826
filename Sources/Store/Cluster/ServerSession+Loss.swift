import Basics
import EventStream
import POSIX
import Postgres
import SQL

/// A failover to another server, as the host that takes the lease after it finds it.
package struct Failover: Equatable, Sendable {
    /// Whether the leader's commits were confirmed only once a second server had them.
    let wasSynchronous: Bool
}

/// Commits that the server had confirmed and does not have: it is another one since a failover, or was restored.
extension ServerSession {
    /// The time in which a host that is there writes its row on a server that is new to it.
    private static let answerMs: Int64 = 2_000

    /// The reason to take commits for lost; nil if this server has all that any host saw.
    func loss(after failover: Failover?, seen: ServerWitness?) throws(SQLError) -> String? {
        let table = LeaseTable(connection: tables)
        var hosts = try table.witnesses()
        let deadline = HostClock.monotonicMilliseconds + Self.answerMs
        while failover != nil, hosts.contains(where: \.isAwaited), HostClock.monotonicMilliseconds < deadline {
            HostClock.sleep(milliseconds: 100)
            hosts = try table.witnesses()
        }
        guard let found = try table.witness() else { return nil }
        if let row = hosts.first(where: { $0.id == LeaseTable.restored }), row.witness.missing(in: found) > 0 {
            return "it was restored from a backup"
        }
        let missing = ([seen] + hosts.map(\.witness)).compactMap { $0?.missing(in: found) }.max() ?? 0
        if missing > 0 { return "it lacks \(missing) commit\(missing == 1 ? "" : "s") that had been confirmed" }
        guard failover?.wasSynchronous == false, let silent = hosts.first(where: \.isAwaited) else { return nil }
        return
            "it took the place of a server that confirmed commits without a synchronous standby, and \(silent.name), "
            + "which may have seen more of them, does not answer"
    }

    /// Begins a new log, so that no id that a client holds names another event, and doubts each message that waits: it may have been sent.
    func beginNewLog(
        _ epoch: EventEpoch,
        at now: Timestamp,
        leader: Int64
    ) throws(SQLError) {
        try begin((try head()?.batch ?? 0) + 1, leader: leader)
        for statement in [
            "DELETE FROM event", "DELETE FROM event_log", "DELETE FROM event_session", "DELETE FROM said",
            "UPDATE run SET unanswered_since = NULL WHERE unanswered_since IS NOT NULL",
        ] { try connection.run(statement) }
        try LeaseTable(connection: tables).forgetRestore()
        try EventTable(tables).createLog(epoch: epoch, at: now)
        try tables.run(
            "UPDATE outbox SET state = 'sending', first_dispatch_at = coalesce(first_dispatch_at, created_at), "
                + "version = version + 1 WHERE state IN ('queued', 'retrying') AND coalesce(not_before, 0) <= ?",
            now.milliseconds
        )
        try connection.commit()
    }
}
