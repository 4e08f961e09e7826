import Basics
import POSIX
package import Postgres
import SQL

/// The state of a database on a server, for `ladle doctor`.
package struct ServerFacts: Sendable {
    /// Such as 150018 for 15.18.
    package let version: Int
    package let isEncrypted: Bool
    /// The host whose Ladle used the database last; nil for a new one.
    package let host: String?
    /// Whether a Ladle uses it now.
    package let isInUse: Bool
    /// Whether a commit waits for a second server.
    package let hasStandby: Bool
    package let roundTripMs: Int64

    /// Takes nothing and writes nothing.
    package static func read(_ place: PostgresPlace) throws(ServerFault) -> ServerFacts {
        let connection = try ServerSession.connect(place)
        defer { connection.close() }
        let tables = SQLConnection(connection)
        do throws(SQLError) {
            let began = HostClock.monotonicMilliseconds
            _ = try tables.first("SELECT 1") { row in row.int(0) }
            let roundTripMs = HostClock.monotonicMilliseconds - began
            let isMade = try tables.first(ServerSession.tablesExist) { row in row.bool(0) } ?? false
            let head = isMade ? try tables.first("SELECT format, host FROM head") { ($0.int64(0), $0.string(1)) } : nil
            if let format = head?.0, format > ServerSchema.format { throw ServerSession.newer(format) }
            let (isInUse, hasStandby) =
                try tables.first(
                    "SELECT EXISTS (SELECT 1 FROM \(ServerSession.writers)), current_setting('synchronous_standby_names') <> ''"
                ) { ($0.bool(0), $0.bool(1)) } ?? (false, false)
            return ServerFacts(
                version: connection.serverVersion,
                isEncrypted: connection.isEncrypted,
                host: head?.1,
                isInUse: isInUse,
                hasStandby: hasStandby,
                roundTripMs: roundTripMs
            )
        } catch {
            throw ServerSession.fault(of: error)
        }
    }
}
