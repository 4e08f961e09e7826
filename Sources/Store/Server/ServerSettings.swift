package import Basics
package import Postgres

/// The server that keeps the state, and how long it may be away.
package struct ServerSettings: Sendable {
    package var place: PostgresPlace
    /// The name of this host.
    package var host: String
    /// How long operations wait for a server that is away before they fail.
    package var patienceMs: Int64
    /// How long the outcome of a commit may be unknown before the process ends.
    var doubtMs: Int64 = 30_000
    /// Random, new each time that the lease is taken: the mark by which `head` knows this process. 0 for one that does not lead.
    package var leader: Int64
    /// The server has changed since the last leader wrote.
    package var failover: Failover?
    /// Nil for a process that does not lead.
    package var seen: SeenCommits?
    /// Called when this process must end, because what it has in memory may not be what the server has. The next start reads everything anew.
    package var leave: @Sendable (String) -> Void

    package init(
        place: PostgresPlace,
        host: String,
        patienceMs: Int64,
        leader: Int64,
        leave: @escaping @Sendable (String) -> Void
    ) {
        self.place = place
        self.host = host
        self.patienceMs = patienceMs
        self.leader = leader
        self.leave = leave
    }
}

/// The reason why the database on a server cannot be used.
package enum ServerFault: Error, Equatable, Sendable {
    case noLibrary(String)
    /// The server cannot be reached now, or refuses this user.
    case away(String)
    /// Another Ladle, on the host of this name, uses the database.
    case inUse(by: String)
    /// The lease that this process had is that of the host of this name.
    case deposed(by: String)
    /// The server could lose what it has confirmed, or is too old.
    case unfit(String)
    /// A later version of the program, or another one, made the tables.
    case foreign(String)
    case storage(StoreError)

    /// Whether another try may succeed without anybody's doing.
    var mayPass: Bool {
        switch self {
        case .away, .inUse: true
        case .noLibrary, .deposed, .unfit, .foreign, .storage: false
        }
    }

    /// The end of a sentence about the database.
    package var reason: String {
        switch self {
        case .noLibrary(let reason): "libpq is needed for it, and cannot be loaded: \(reason)"
        case .away(let reason): "the server does not take the connection: \(reason)"
        case .inUse(let host): "a Ladle on \(host) uses it; one database has one Ladle"
        case .deposed(let host): "\(host) leads now"
        case .unfit(let reason), .foreign(let reason): reason
        case .storage(let error): error.detail
        }
    }
}
