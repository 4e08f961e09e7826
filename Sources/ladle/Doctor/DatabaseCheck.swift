import Basics
import Commands
import Configuration
import Store

/// Checks the server that keeps the state.
enum DatabaseCheck {
    /// None where the state is in a file.
    static func findings(_ settings: Settings) -> [Finding] {
        guard let database = try? DatabaseConfiguration.read(settings) else { return [] }
        let url = Printable.line(database.url)
        do throws(ServerFault) {
            let facts = try ServerFacts.read(database.place)
            let way = "\(facts.isEncrypted ? "TLS" : "no TLS"), \(facts.roundTripMs) ms a round trip"
            let use =
                facts.host.map { "\(facts.isInUse ? "in use by" : "last used by") \(Printable.line($0))" } ?? "new"
            let version = "PostgreSQL \(facts.version / 10_000).\(facts.version % 10_000)"
            let loss =
                facts.hasStandby ? "" : "; no synchronous standby: the messages accepted last are lost with its disk"
            return [.fine("database", "\(url): \(version), \(way), \(use)\(loss)")]
        } catch {
            let failure = DatabaseConfiguration.failure(error, url: database.url)
            return [.wrong("database", failure.message, hint(for: error), failure.status)]
        }
    }

    private static func hint(for fault: ServerFault) -> String? {
        switch fault {
        case .noLibrary: "sudo apt install libpq5"
        case .away: "pg_isready"
        case .unfit, .foreign, .inUse, .deposed, .storage: nil
        }
    }
}
