import Basics
import Commands
import Configuration
import Store

/// `ladle cluster` where the hosts share a database.
enum ClusterDatabase {
    /// Nil where the settings name no database.
    static func hosts(_ settings: Settings) throws(CommandFailure) -> DatabaseHosts? {
        try asking(settings) { database throws(ServerFault) in
            let facts = try ClusterFacts.read(database.place)
            return DatabaseHosts(
                leader: facts?.lead.map {
                    DatabaseHosts.Leader(name: $0.name, term: $0.term, since: $0.since, takeoverMs: $0.waitMs)
                },
                hosts: facts?.hosts.map {
                    DatabaseHosts.Host(
                        name: $0.name,
                        version: $0.version,
                        silentMs: $0.silentMs,
                        leads: $0.leads,
                        isFresh: $0.isFresh
                    )
                } ?? []
            )
        }
    }

    static func askToResign(_ settings: Settings, _ leader: DatabaseHosts.Leader) throws(CommandFailure) {
        _ = try asking(settings) { database throws(ServerFault) in
            try ClusterFacts.ask(term: leader.term, database.place)
        }
    }

    private static func asking<Value>(
        _ settings: Settings,
        _ body: (DatabaseConfiguration) throws(ServerFault) -> Value
    ) throws(CommandFailure) -> Value? {
        let database: DatabaseConfiguration?
        do throws(StartFailure) {
            database = try DatabaseConfiguration.read(settings)
        } catch {
            throw CommandFailure(error.status, "DATABASE", error.message)
        }
        guard let database else { return nil }
        do throws(ServerFault) {
            return try body(database)
        } catch {
            let failure = DatabaseConfiguration.failure(error, url: database.url)
            throw CommandFailure(failure.status, "DATABASE", failure.message)
        }
    }
}
