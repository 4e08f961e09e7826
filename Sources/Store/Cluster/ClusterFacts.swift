package import Basics
package import Postgres
import SQL

/// The hosts on one database, for `ladle cluster`.
package struct ClusterFacts: Sendable {
    package struct Lead: Sendable {
        package let name: String
        package let term: Int64
        package let since: Timestamp
        /// The time after which another host takes the lease of a silent leader.
        package let waitMs: Int64
    }

    package struct Host: Sendable {
        package let name: String
        package let version: String
        /// Since it wrote its row, which it does every five seconds.
        package let silentMs: Int64
        package let leads: Bool

        /// Whether it is there, as far as the rows tell.
        package var isFresh: Bool { silentMs < 15_000 }
    }

    /// Nil while nobody leads.
    package let lead: Lead?
    /// The leader first.
    package let hosts: [Host]

    /// Nil where no Ladle has made tables yet.
    package static func read(_ place: PostgresPlace) throws(ServerFault) -> ClusterFacts? {
        try with(place) { table throws(SQLError) in ClusterFacts(lead: try table.lead(), hosts: try table.hosts()) }
    }

    /// Asks the leader of this term to step down.
    package static func ask(term: Int64, _ place: PostgresPlace) throws(ServerFault) {
        _ = try with(place) { table throws(SQLError) in
            try table.ask(term: term)
            return try table.connection.changes()
        }
    }

    /// Tells the leader, or the next one, that the database was restored from a backup.
    /// - Returns: false where no Ladle has made tables yet.
    package static func noteRestore(_ place: PostgresPlace) throws(ServerFault) -> Bool {
        try with(place) { table throws(SQLError) in
            try table.noteRestore()
            return try table.connection.changes()
        } ?? 0 > 0
    }

    private static func with<Value>(
        _ place: PostgresPlace,
        _ body: (LeaseTable) throws(SQLError) -> Value
    ) throws(ServerFault) -> Value? {
        let connection = try ServerSession.connect(place)
        defer { connection.close() }
        let tables = SQLConnection(connection)
        do throws(SQLError) {
            let isMade = try tables.first("SELECT to_regclass('lease') IS NOT NULL") { row in row.bool(0) }
            return isMade == true ? try body(LeaseTable(connection: tables)) : nil
        } catch {
            throw ServerSession.fault(of: error)
        }
    }
}
