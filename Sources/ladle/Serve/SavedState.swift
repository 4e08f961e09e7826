import Access
import Basics
import Commands
import Configuration
import EventStream
import Gateway
import Observability
import POSIX
import Runs
import Service
import Store
import TLS
import Upstream

/// The state that earlier processes left on the disk, read before anything is served.
struct SavedState: Sendable {
    let lastEvent: EventID
    let sessionDefaults: SessionDefaults
    let tokens: [TokenRecord]
    /// Ids of token rows that are damaged or of a later version. They open nothing.
    let unreadableTokens: [String]
    /// The file with the token that the first start makes; nil at every later start.
    let newTokenPath: String?
    let device: DeviceIdentity
    /// The tokens that the gateway has issued to this device.
    let deviceTokens: DeviceTokenStore
    let deviceTokenFile: PrivateFile

    /// The first start makes the device key, and a token with scope `admin` in a file that only the owner can read.
    /// - Parameter isFollower: the tokens are those of the leader.
    init(_ store: any ServedStore, in directory: StateDirectory, isFollower: Bool = false) async throws {
        lastEvent = try await store.read { try $0.events.bounds().newest }
        sessionDefaults = try await SessionDefaults.kept(in: store)
        (tokens, unreadableTokens, newTokenPath) =
            isFollower ? ([], [], nil) : try await Self.tokens(store, directory.path)
        device = try Self.device(in: directory.path)
        deviceTokenFile = Self.deviceTokenFile(in: directory.path)
        deviceTokens = try deviceTokenFile.read().flatMap { try? DeviceTokenStore(parsing: $0) } ?? DeviceTokenStore()
    }

    static let deviceKeyName = "device-key"

    static func deviceKey(in directory: String) -> String { "\(directory)/\(deviceKeyName)" }

    static func deviceTokenFile(in directory: String) -> PrivateFile { PrivateFile(directory + "/device-tokens.json") }

    /// Without its key the device is another one for the gateway, so a damaged file is left to a person: another start
    /// would find it the same.
    static func device(in directory: String) throws -> DeviceIdentity {
        do throws(DeviceIdentity.Problem) {
            return try DeviceIdentity.loadOrCreate(at: deviceKey(in: directory))
        } catch {
            guard case .damaged(let path) = error else { throw error }
            let place = Printable.argument(path)
            throw StartFailure(message: "\(error). Run: mv -i \(place) \(place).damaged", status: .configuration)
        }
    }

    private static func tokens(
        _ store: any ServedStore,
        _ directory: String
    ) async throws -> (records: [TokenRecord], unreadable: [String], newTokenPath: String?) {
        let rows = try await store.read { try $0.tokens.rows() }
        var records: [TokenRecord] = []
        var unreadable: [String] = []
        for row in rows {
            switch row {
            case .token(let record): records.append(record)
            case .unsealed(let record):
                records.append(record)
                if case .ok = store.health { try await store.commit { try $0.tokens.save(record) } }
            case .unreadable(let id): unreadable.append(id)
            }
        }
        let path = directory + "/admin-token"
        guard rows.isEmpty, case .ok = store.health, !FileSystem.exists(path) else {
            return (records, unreadable, nil)
        }
        let now = Timestamp(milliseconds: HostClock.wallMilliseconds)
        let token = try NewToken(name: "admin (made at first start)", scopes: .admin, now: now)
        let (record, secret) = TokenRecord.issue(token, now: now, random: SecureRandom.bytes(10))
        try await store.commit { try $0.tokens.save(record) }
        // The row is written first: a file with an unknown token would be worse than a token without a file.
        try SecretFile.create(path, secret)
        return ([record], [], path)
    }
}

extension StateDirectory {
    /// Makes the directory if there is none, and locks it.
    static func open(_ path: String) throws(StartFailure) -> StateDirectory {
        do throws(StateDirectoryError) {
            return try StateDirectory(path: path)
        } catch {
            throw StartFailure(message: "\(error)", status: error.isPermission ? .noPermission : .temporary)
        }
    }

    /// Takes the directory for a command that changes it while no server runs.
    static func take(_ path: String) throws(CommandFailure) -> StateDirectory {
        do throws(StateDirectoryError) {
            return try StateDirectory(path: path)
        } catch {
            if case .inUse = error {
                throw CommandFailure(.temporary, "STATE_IN_USE", "\(error)", hint: "stop ladle serve first")
            }
            throw CommandFailure(
                error.isPermission ? .noPermission : .temporary,
                "STATE_UNUSABLE",
                "\(error)",
                hint: "ladle doctor --state \(Printable.argument(path))"
            )
        }
    }

    /// Refuses a start whose state is somewhere else than it says.
    func checkPlace(of database: DatabaseConfiguration?) throws(StartFailure) {
        let hasFile = FileSystem.mayExist(databasePath)
        if let database, hasFile {
            throw StartFailure(
                message: "database.url is set, and \(databasePath) is there too; to take it along: "
                    + "ladle migrate \(Printable.argument(path)) \(Printable.argument(database.url))",
                status: .configuration
            )
        }
        guard database == nil, !hasFile, FileSystem.exists(databasePath + ServerMove.ending) else { return }
        throw StartFailure(
            message:
                "the state was moved to a server, and \(databasePath)\(ServerMove.ending) is what it was before; start with "
                + "--database postgresql://…, or take it back: ladle migrate postgresql://… \(Printable.argument(path))",
            status: .configuration
        )
    }

    /// This host in the lease. A copy of the directory on the same machine is another host, since the lock of this one does not hold it back.
    func leaseHost() throws(SystemError) -> Lease.Host {
        let file = PrivateFile(path + "/host-id")
        if try file.read() == nil { try file.create(Array(Hex.encode(SecureRandom.bytes(8)).utf8)) }
        let id = String(decoding: try file.read() ?? [], as: UTF8.self)
        return Lease.Host(
            id: "\(id) \(try FileSystem.facts(path).identity)",
            boot: HostClock.boot ?? Hex.encode(SecureRandom.bytes(8))
        )
    }

    func openStore(_ settings: Settings) throws(StoreError) -> (StateStore, StoreOpening) {
        try StateStore.open(storeConfiguration(settings))
    }

    func storeConfiguration(_ settings: Settings) -> StoreConfiguration {
        var configuration = StoreConfiguration(
            directory: self,
            clock: { Timestamp(milliseconds: HostClock.wallMilliseconds) },
            makeEpoch: { EventEpoch.make(random: .random(in: 0 ... .max)) }
        )
        configuration.keepEvents = Int(settings.int(.eventsKeep))
        configuration.keepEventsMs = settings.int(.eventsKeepFor)
        return configuration
    }
}
