import Access
import Basics
import Commands
import Configuration
import JSONBytes
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

    static func noteRestore(_ settings: Settings) throws(CommandFailure) -> Bool? {
        try asking(settings) { database throws(ServerFault) in try ClusterFacts.noteRestore(database.place) }
    }

    /// `ladle cluster key FILE`.
    static func makeKey(_ command: ParsedCommand) throws(CommandFailure) -> ExitCode {
        let path = command.arguments[0]
        do throws(SecretFile.Fault) {
            try SecretFile.create(path, SharedIdentity.newKey())
        } catch {
            throw CommandFailure(.noPermission, "NOT_WRITTEN", error.description)
        }
        if Program.json(command) {
            Program.say { writer in writer.object { $0.member("file", path) } }
        } else {
            Console.say(
                "The key is in \(path). Copy it to each host, mode 0600, and start each, the one that leads first, with"
            )
            Console.say("ladle serve --database URL --cluster-key-file \(Printable.argument(path))")
        }
        return .ok
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
