import Basics
import Postgres
import SQL

/// The rows by which the hosts on one database agree who leads: each method is one statement, so a host that stands still holds no lock.
struct LeaseTable {
    /// The timeline counts the failovers of the server. It is 0 in the row of a lease that nobody has taken yet.
    private static let timeline =
        "('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint"
    /// Times are shown to people. By them is decided only whether a host was there within the last minute, and is asked after a failover.
    private static let now = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

    /// Whether the server confirms a commit only once a second one has it.
    private static let isSynchronous = "(current_setting('synchronous_standby_names') <> '')::int"

    /// The name by which commits are counted.
    private static let log = "event_log.epoch || '.' || head.made"

    let connection: SQLConnection

    struct Look {
        let row: Lease.Row
        /// The host that has the lease, or had it last.
        let leader: LeaseLeader
        let format: Int64
        let witness: ServerWitness
        /// Whether the leader's last beat was confirmed by a second server.
        let isSynchronous: Bool
    }

    /// Nil once the state was moved to a file.
    func look() throws(SQLError) -> Look? {
        try connection.first(
            "SELECT lease.term, beat, holder, boot, wait_ms, lease.timeline = \(Self.timeline), head.host, format, "
                + "coalesce(has_key, 1), \(Self.log), head.batch, synchronous "
                + "FROM head CROSS JOIN event_log CROSS JOIN lease LEFT JOIN host ON id = holder"
        ) { row in
            let holder = row.optionalString(2).map { Lease.Host(id: $0, boot: row.string(3)) }
            return Look(
                row: Lease.Row(
                    term: row.int64(0),
                    beat: row.int64(1),
                    holder: holder,
                    waitMs: row.int64(4),
                    isSameServer: row.bool(5)
                ),
                leader: LeaseLeader(name: row.string(6), hasKey: row.bool(8)),
                format: row.int64(7),
                witness: ServerWitness(log: row.string(9), batch: row.int64(10)),
                isSynchronous: row.bool(11)
            )
        }
    }

    /// Writes the next term where this row still stands, and moves `head`, so that no commit of an earlier leader succeeds after it. A commit
    /// that is under way is waited for.
    /// - Parameter mark: the mark by which `head` knows the leader.
    /// - Returns: whether the row still stood.
    func take(_ row: Lease.Row, for host: Lease.Host, name: String, waitMs: Int64, mark: Int64) throws(SQLError) -> Bool
    {
        try connection.first(
            "WITH taken AS (UPDATE lease SET term = term + 1, beat = 0, holder = ?1, boot = ?2, wait_ms = ?3, "
                + "timeline = \(Self.timeline), synchronous = \(Self.isSynchronous), since = \(Self.now) WHERE term = ?4 AND beat = ?5 RETURNING term) "
                + "UPDATE head SET term = taken.term, leader = ?6, host = ?7 FROM taken RETURNING head.term",
            host.id,
            host.boot,
            waitMs,
            row.term,
            row.beat,
            mark,
            name
        ) { row in row.int64(0) } != nil
    }

    /// Ends the session that holds back a takeover of this row: its leader stands still inside a transaction.
    func endWriter(behind row: Lease.Row) throws(SQLError) {
        _ = try connection.first(
            "SELECT count(pg_terminate_backend(pid)) FROM lease, \(ServerSession.writers) AND term = ? AND beat = ?",
            row.term,
            row.beat
        ) { row in row.int64(0) }
    }

    struct Beat {
        /// Somebody has asked this leader to step down.
        let isAsked: Bool
        /// A host has seen commits that the database lacks.
        let hasLoss: Bool
    }

    /// - Returns: nil if another host has the lease.
    func beat(_ term: Int64, of host: Lease.Host) throws(SQLError) -> Beat? {
        try connection.first(
            "UPDATE lease SET beat = beat + 1, synchronous = \(Self.isSynchronous) WHERE term = ? AND holder = ? AND boot = ? "
                + "RETURNING asked_term = term, EXISTS (SELECT 1 FROM host, event_log, head "
                + "WHERE host.log = \(Self.log) AND host.batch > head.batch)",
            term,
            host.id,
            host.boot
        ) { row in Beat(isAsked: row.bool(0), hasLoss: row.bool(1)) }
    }

    /// The next host that looks at the row may take it at once.
    func resign(_ term: Int64, of host: Lease.Host) throws(SQLError) {
        try connection.run(
            "UPDATE lease SET holder = NULL, boot = NULL WHERE term = ? AND holder = ? AND boot = ?",
            term,
            host.id,
            host.boot
        )
    }

    // MARK: Hosts

    func write(_ host: Lease.Host, _ settings: LeaseSettings) throws(SQLError) {
        let seen = settings.seen.newest
        try connection.run(
            "INSERT INTO host VALUES(?, ?, ?, \(Self.now), ?, ?, ?, \(Self.timeline)) ON CONFLICT(id) DO UPDATE SET "
                + "name = excluded.name, version = excluded.version, updated_at = excluded.updated_at, "
                + "has_key = excluded.has_key, log = excluded.log, batch = excluded.batch, timeline = excluded.timeline",
            host.id,
            settings.name,
            settings.version,
            settings.hasKey,
            seen?.log ?? "",
            seen?.batch ?? 0
        )
    }

    func forget(_ host: Lease.Host) throws(SQLError) {
        try connection.run("DELETE FROM host WHERE id = ?", host.id)
    }

    /// Hosts that have been silent for a week will not come back under the same id.
    func forgetSilent() throws(SQLError) {
        try connection.run("DELETE FROM host WHERE updated_at < \(Self.now) - 604800000")
    }

    // MARK: Commits

    /// The state of the database; nil once it was moved to a file.
    func witness() throws(SQLError) -> ServerWitness? {
        try connection.first("SELECT \(Self.log), batch FROM event_log, head") { row in
            ServerWitness(log: row.string(0), batch: row.int64(1))
        }
    }

    /// The newest commit that a host knows of.
    struct Witnessed {
        let id: String
        let name: String
        let witness: ServerWitness
        /// The host was there within the last minute, and has not yet written its row on this server.
        let isAwaited: Bool
    }

    func witnesses() throws(SQLError) -> [Witnessed] {
        try connection.all(
            "SELECT id, name, log, batch, timeline <> \(Self.timeline) AND updated_at > \(Self.now) - 60000 FROM host ORDER BY id"
        ) { row in
            Witnessed(
                id: row.string(0),
                name: row.string(1),
                witness: ServerWitness(log: row.string(2), batch: row.int64(3)),
                isAwaited: row.bool(4)
            )
        }
    }

    /// The row of no host, by which a person says that commits are missing which no host saw.
    static let restored = "restored"

    func noteRestore() throws(SQLError) {
        try connection.run(
            "INSERT INTO host SELECT '\(Self.restored)', '', '', \(Self.now), 1, \(Self.log), head.batch + 1, \(Self.timeline) "
                + "FROM head, event_log ON CONFLICT(id) DO UPDATE SET log = excluded.log, batch = excluded.batch"
        )
    }

    func forgetRestore() throws(SQLError) { try connection.run("DELETE FROM host WHERE id = '\(Self.restored)'") }

    // MARK: For people

    func hosts() throws(SQLError) -> [ClusterFacts.Host] {
        try connection.all(
            "SELECT name, version, \(Self.now) - updated_at, id IS NOT DISTINCT FROM (SELECT holder FROM lease) FROM host "
                + "WHERE id <> '\(Self.restored)' ORDER BY 4 DESC, name, id"
        ) { row in
            ClusterFacts.Host(
                name: row.string(0),
                version: row.string(1),
                silentMs: row.int64(2),
                leads: row.bool(3)
            )
        }
    }

    func lead() throws(SQLError) -> ClusterFacts.Lead? {
        try connection.first(
            "SELECT head.host, lease.term, since, wait_ms FROM lease, head WHERE holder IS NOT NULL"
        ) { row in
            ClusterFacts.Lead(
                name: row.string(0),
                term: row.int64(1),
                since: Timestamp(milliseconds: row.int64(2)),
                waitMs: row.int64(3)
            )
        }
    }

    /// Asks the leader of this term to step down, which it sees with its next beat.
    func ask(term: Int64) throws(SQLError) {
        try connection.run("UPDATE lease SET asked_term = term WHERE term = ?", term)
    }
}
