import Access
import Basics
import Commands
import Configuration
import POSIX
import Postgres
import Store

/// The settings `database.*`, checked: the server that keeps the state.
struct DatabaseConfiguration: Sendable {
    /// The URL, which holds no secret.
    let url: String
    let place: PostgresPlace
    let host: String
    let patienceMs: Int64
    /// The time after which another host takes over from a silent leader.
    let takeoverMs: Int64
    /// Nil for one host, whose identity is in its state directory alone, and where nothing is served.
    var identity: SharedIdentity?

    /// Nil where the state is in a file.
    static func read(_ settings: Settings) throws(StartFailure) -> DatabaseConfiguration? {
        guard let url = settings.text(.databaseURL) else { return nil }
        return try read(url, settings)
    }

    static func read(_ url: String, _ settings: Settings) throws(StartFailure) -> DatabaseConfiguration {
        func failure(_ key: ConfigurationKey, _ detail: String) -> StartFailure {
            StartFailure(message: "\(key.name): \(detail)", status: .configuration)
        }
        guard let parts = DatabaseURL(url) else {
            throw failure(.databaseURL, "this is no URL such as postgresql://ladle@db.example/ladle")
        }
        for key in [ConfigurationKey.demo, .followURL] where settings.isSet(key) {
            throw failure(
                key,
                "the demo and a follower keep nothing on a server; leave out either this or database.url"
            )
        }
        let host = try FollowConfiguration.hostName(settings)
        var place = PostgresPlace()
        // The URL comes later, so its words win over these.
        place.set("application_name", "ladle/\(host)")
        place.set("target_session_attrs", "read-write")
        place.set("keepalives_idle", "5")
        place.set("keepalives_interval", "2")
        place.set("keepalives_count", "3")
        place.set("tcp_user_timeout", "5000")
        if parts.leavesMachine, !settings.bool(.databaseInsecure) {
            guard parts.mode == nil || parts.mode == "verify-full" else {
                throw failure(
                    .databaseURL,
                    "the server is on another machine, and sslmode=\(parts.mode ?? "") does not check who it is; write "
                        + "sslmode=verify-full, or set database.insecure"
                )
            }
            place.set("sslmode", "verify-full")
            if let authorities = Self.authorities { place.set("sslrootcert", authorities) }
        }
        place.set("dbname", url)
        if let path = settings.text(.databasePasswordFile) {
            do throws(SecretFile.Fault) {
                place.set("password", try SecretFile.read(path).reveal())
            } catch {
                throw failure(.databasePasswordFile, error.description + (error.hint.map { " (\($0))" } ?? ""))
            }
        }
        return DatabaseConfiguration(
            url: url,
            place: place,
            host: host,
            patienceMs: settings.int(.databasePatience),
            takeoverMs: settings.int(.clusterTakeover)
        )
    }

    /// The authorities that this system trusts, where it keeps them in one file.
    private static var authorities: String? {
        ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"].first(
            where: FileSystem.exists
        )
    }

    /// - Parameters:
    ///   - leader: the mark of the lease; 0 for a process that does not lead.
    ///   - leave: called when the process must end and start anew.
    func settings(leader: Int64 = 0, leave: @escaping @Sendable (String) -> Void = { _ in }) -> ServerSettings {
        ServerSettings(place: place, host: host, patienceMs: patienceMs, leader: leader, leave: leave)
    }

    func lease(in directory: StateDirectory, _ seen: SeenCommits) throws(SystemError) -> LeaseSettings {
        LeaseSettings(
            place: place,
            host: try directory.leaseHost(),
            name: host,
            version: Version.text,
            waitMs: takeoverMs,
            hasKey: identity != nil,
            seen: seen
        )
    }

    /// The message for the person who starts Ladle where the server cannot be used.
    static func failure(_ fault: ServerFault, url: String) -> StartFailure {
        let title = "the database \(Printable.line(url)) cannot be used: \(Printable.line(fault.reason))"
        return switch fault {
        case .noLibrary: StartFailure(message: "\(title); on Debian: apt install libpq5", status: .configuration)
        case .unfit, .foreign: StartFailure(message: title, status: .configuration)
        case .away: StartFailure(message: "\(title); more: ladle doctor", status: .temporary)
        case .inUse, .deposed, .storage: StartFailure(message: title, status: .temporary)
        }
    }
}
