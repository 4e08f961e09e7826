import Basics
import EventStream
import POSIX
import Postgres
import SQL

/// The one session in which this host writes. It holds a lock that the server gives to one session alone, and gives back when that
/// session is over: whoever has it knows that no earlier commit is still under way.
final class ServerSession {
    /// The first number of Ladle's locks, "Ladl"; the second names the schema.
    static let lock = 0x4c61_646c
    /// Between two attempts to connect or to get the lock.
    private static let pauseMs = 100
    private static let oldestServer: Int64 = 140_000
    private static let schema = "ladle"

    let connection: PostgresConnection
    let tables: SQLConnection

    private init(_ connection: PostgresConnection) {
        self.connection = connection
        tables = SQLConnection(connection)
    }

    // MARK: Opening

    /// Connects and takes the lock, if need be waiting until then for the server or for the end of an earlier session.
    /// - Parameter endsOthers: whether a session that has the lock is ended, where `head` says that this process leads.
    static func open(
        _ settings: ServerSettings,
        until deadline: Int64,
        endsOthers: Bool = false
    ) throws(ServerFault) -> ServerSession {
        try waiting(until: deadline) { () throws(ServerFault) in
            let session = ServerSession(try connect(settings.place))
            if try session.takeLock() { return session }
            defer { session.connection.close() }
            if endsOthers { try session.endOthers(as: settings.leader) }
            try session.checkLeader(settings.leader)
            throw .inUse(by: try session.lastHost() ?? "another host")
        }
    }

    /// Tries again until then what may succeed later: a server that is away, a database that is in use.
    static func waiting<Value>(
        until deadline: Int64,
        _ attempt: () throws(ServerFault) -> Value
    ) throws(ServerFault) -> Value {
        while true {
            do throws(ServerFault) {
                return try attempt()
            } catch {
                guard error.mayPass, HostClock.monotonicMilliseconds < deadline else { throw error }
            }
            HostClock.sleep(milliseconds: pauseMs)
        }
    }

    /// A connection that reads and writes only what is durable, in Ladle's schema.
    static func connect(_ place: PostgresPlace) throws(ServerFault) -> PostgresConnection {
        do throws(SQLError) {
            let connection = try PostgresConnection(place)
            for statement in [
                "SET lock_timeout = '2s'", "SET idle_in_transaction_session_timeout = '5s'",
                "SET statement_timeout = 0",
                "SET tcp_keepalives_idle = 5", "SET tcp_keepalives_interval = 2", "SET tcp_keepalives_count = 3",
                "SET client_min_messages = warning",
                // A stronger setting of the server stays.
                "SELECT set_config('synchronous_commit', 'on', false) "
                    + "WHERE current_setting('synchronous_commit') IN ('off', 'local')",
                "SELECT set_config('search_path', '\(schema)', false) "
                    + "WHERE current_setting('search_path') = '\"$user\", public'",
            ] { try connection.run(statement) }
            var unfit: String?
            try connection.rows(
                "SELECT current_setting('server_version_num')::bigint, current_setting('fsync'), "
                    + "current_setting('full_page_writes'), pg_is_in_recovery(), current_setting('search_path')",
                values: []
            ) { row in
                unfit = Self.unfitness(row)
                return false
            }
            if let unfit { throw Unfit(reason: unfit).error }
            return connection
        } catch {
            throw fault(of: error)
        }
    }

    /// The reason why this server cannot keep the state; nil if it can.
    private static func unfitness(_ row: PostgresRow) -> String? {
        if row.int64(0) < oldestServer { return "PostgreSQL 14 or newer is needed, this is \(row.int64(0) / 10_000)" }
        if row.string(1) != "on" { return "the server has fsync = off: it would lose accepted messages" }
        if row.string(2) != "on" { return "the server has full_page_writes = off: a crash could damage it" }
        if row.int64(3) != 0 { return "this server is a standby, which takes no writes" }
        // The lock that keeps a second Ladle out has the name of the schema.
        if row.string(4).contains(",") {
            return "search_path names several schemas, \(row.string(4)), and must name one"
        }
        return nil
    }

    private struct Unfit {
        static let code = "unfit"
        let reason: String
        var error: SQLError { SQLError(.other, code: Self.code, message: reason) }
    }

    static func fault(of error: SQLError) -> ServerFault {
        if error.code == PostgresLibrary.missing { return .noLibrary(error.message) }
        if error.code == Unfit.code { return .unfit(error.message) }
        if error.code == foreign { return .foreign(error.message) }
        switch error.kind {
        case .lost, .cannotOpen: return .away(error.message)
        default: return .storage(StoreError(error))
        }
    }

    private func takeLock() throws(ServerFault) -> Bool {
        try asking { () throws(SQLError) in
            try tables.first("SELECT pg_try_advisory_lock(\(Self.lock), hashtext(current_setting('search_path')))") {
                row in
                row.bool(0)
            } ?? false
        }
    }

    /// The rows of the sessions that have the lock.
    static let writers =
        "pg_locks WHERE locktype = 'advisory' AND granted AND classid = \(lock)::bigint::oid "
        + "AND objid = (hashtext(current_setting('search_path'))::bigint & 4294967295)::oid "
        + "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"

    private func endOthers(as leader: Int64) throws(ServerFault) {
        try asking { () throws(SQLError) in
            _ = try tables.first(
                "SELECT count(pg_terminate_backend(pid)) FROM head, \(Self.writers) AND leader = ?",
                leader
            ) { row in row.int64(0) }
        }
    }

    func hasTables() throws(SQLError) -> Bool {
        try tables.first(Self.tablesExist) { row in row.bool(0) } ?? false
    }

    static let tablesExist = "SELECT to_regclass('head') IS NOT NULL"

    private func lastHost() throws(ServerFault) -> String? {
        try asking { () throws(SQLError) in
            guard try hasTables() else { return nil }
            return try tables.first("SELECT host FROM head") { row in row.string(0) }
        }
    }

    private func asking<Value>(_ body: () throws(SQLError) -> Value) throws(ServerFault) -> Value {
        do throws(SQLError) { return try body() } catch { throw Self.fault(of: error) }
    }

    // MARK: Taking over

    struct Head {
        var leader: Int64
        var batch: Int64
    }

    func head() throws(SQLError) -> Head? {
        try tables.first("SELECT leader, batch FROM head") { row in Head(leader: row.int64(0), batch: row.int64(1)) }
    }

    /// Makes the tables where there are none, and adds those that an older version lacked.
    /// - Parameter log: gives a new log its epoch.
    /// - Returns: whether the tables are new.
    static func prepare(
        _ settings: ServerSettings,
        until deadline: Int64,
        log: (EventTable) throws(SQLError) -> Void
    ) throws(ServerFault) -> Bool {
        let connection = try waiting(until: deadline) { () throws(ServerFault) in try connect(settings.place) }
        let session = ServerSession(connection)
        defer { connection.close() }
        if try session.isCurrent() { return false }
        // Another host may be making them. An older version has the lock as long as it serves, and knows no lease.
        try waiting(until: deadline) { () throws(ServerFault) in
            guard try !session.takeLock() else { return }
            throw .inUse(by: try session.lastHost() ?? "another host")
        }
        if try session.isCurrent() { return false }
        return try session.asking { () throws(SQLError) in
            let isNew = try !session.hasTables()
            try connection.begin()
            if isNew {
                try session.createTables()
                try log(EventTable(session.tables))
            } else {
                let format = try session.tables.first("SELECT format FROM head") { row in row.int64(0) } ?? 1
                for statement in ServerSchema.additions(since: format) { try connection.run(statement) }
                if format < 2 { try session.createLease() }
                try connection.run("UPDATE head SET format = \(ServerSchema.format)")
            }
            try connection.commit()
            return isNew
        }
    }

    /// Whether the tables are there, in the form that this program writes.
    private func isCurrent() throws(ServerFault) -> Bool {
        guard try asking({ () throws(SQLError) in try hasTables() }) else { return false }
        let format = try asking { () throws(SQLError) in try tables.first("SELECT format FROM head") { $0.int64(0) } }
        guard let format else { throw .foreign(Self.moved) }
        guard format <= ServerSchema.format else { throw Self.fault(of: Self.newer(format)) }
        return format == ServerSchema.format
    }

    /// The last commit and the bounds of the log, of the process that leads.
    func adopt(_ leader: Int64) throws(ServerFault) -> (witness: ServerWitness, bounds: EventLogBounds) {
        let found = try asking { () throws(SQLError) in
            guard let witness = try LeaseTable(connection: tables).witness() else {
                return nil as (ServerWitness, EventLogBounds)?
            }
            return (witness, try EventTable(tables).bounds())
        }
        guard let found else { throw .foreign(Self.moved) }
        try checkLeader(leader)
        return found
    }

    /// - Parameter leader: 0 for a process that does not lead.
    func checkLeader(_ leader: Int64) throws(ServerFault) {
        guard leader != 0, let head = try asking({ () throws(SQLError) in try head() }), head.leader != leader else {
            return
        }
        throw .deposed(by: try lastHost() ?? "another host")
    }

    func createTables() throws(SQLError) {
        // One name, quoted where it has to be.
        let path = try tables.first(
            "SELECT current_setting('search_path') WHERE to_regnamespace(current_setting('search_path')) IS NULL"
        ) { row in row.string(0) }
        if let path { try connection.run("CREATE SCHEMA \(path)") }
        for statement in ServerSchema.statements { try connection.run(statement) }
        try tables.run(
            "INSERT INTO head(\"only\", term, leader, batch, format, host, made) VALUES(1, 0, 0, 0, ?, '', ?)",
            ServerSchema.format,
            Int64.random(in: 0 ... .max)
        )
        try createLease()
    }

    private func createLease() throws(SQLError) {
        try connection.run("INSERT INTO lease SELECT 1, term, 0, NULL, NULL, 0, 0, 0, 0, 0 FROM head")
    }

    static let loss = "the database lacks commits that it had confirmed"
    static let moved = "its state was moved to a file, and these tables are no longer in use"

    static func newer(_ format: Int64) -> SQLError {
        SQLError(
            .other,
            code: foreign,
            message: "its tables are of a newer version (\(format), this program knows \(ServerSchema.format))"
        )
    }
    private static let foreign = "foreign"

    // MARK: Writing

    /// Moves `head` to this number, before anything else is touched. Where another process leads, the server refuses it.
    func begin(_ batch: Int64, leader: Int64) throws(SQLError) {
        try connection.begin()
        try tables.run(Self.fence, leader, batch, batch - 1)
    }

    private static let fence = "UPDATE head SET batch = CASE WHEN leader = ?1 AND batch = ?3 THEN ?2 END"

    /// Whether the error says that another process leads.
    static func isFence(_ error: SQLError) -> Bool { error.kind == .constraint && error.sql == fence }
}
