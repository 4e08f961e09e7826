import Access
import Basics
import Commands
import Configuration
import Observability
import POSIX
import Store
import TLS
import Upstream

/// The device of the gateway and Ladle's own certificate, the same on all hosts of a database. They are in the state directory of the host that
/// leads, and sealed in the database.
struct SharedIdentity: Sendable {
    private static let keyBytes = 32
    private static let deviceTokens = "device-tokens.json"
    private static let names = [SavedState.deviceKeyName, deviceTokens, TLSSettings.ownName]

    private let seal: Seal

    /// Nil without a key: the identity is in this host's state directory alone.
    static func read(_ settings: Settings, _ places: SettingsPlaces) throws(StartFailure) -> SharedIdentity? {
        guard let path = settings.text(.clusterKeyFile).map(places.expanded) else { return nil }
        let text: String
        do throws(SecretFile.Fault) {
            text = try SecretFile.read(path).reveal()
        } catch {
            let hint = error.hint.map { " (\($0))" } ?? ""
            throw StartFailure(message: "cluster.keyFile: \(error.description)\(hint)", status: .configuration)
        }
        guard let key = Hex.decode(text), key.count == keyBytes else {
            throw StartFailure(
                message:
                    "cluster.keyFile: \(path) holds no key; to make one: ladle cluster key \(Printable.argument(path)).new",
                status: .configuration
            )
        }
        return SharedIdentity(seal: Seal(secret: key, purpose: "ladle secret 1"))
    }

    static func newKey() -> Secret { Secret(Hex.encode(SecureRandom.bytes(keyBytes))) }

    /// Refuses a start that could not use the identity in the database.
    static func check(_ identity: SharedIdentity?, against sealed: [String: [UInt8]]) throws(StartFailure) {
        guard !sealed.isEmpty else { return }
        guard let identity else {
            throw StartFailure(
                message:
                    "the device key in the database is sealed, and this host has no cluster.keyFile; copy the file from a host "
                    + "that has one, and start with --cluster-key-file FILE",
                status: .configuration
            )
        }
        for (name, bytes) in sealed { _ = try identity.open(bytes, name) }
    }

    private func open(_ bytes: [UInt8], _ name: String) throws(StartFailure) -> [UInt8] {
        guard let plain = seal.open(bytes, as: name) else {
            throw StartFailure(
                message:
                    "cluster.keyFile is another key than the one that sealed \(Printable.line(name)) in the database; copy the file "
                    + "from a host that has the right one, and start with --cluster-key-file FILE",
                status: .configuration
            )
        }
        return plain
    }

    /// Takes the identity out of the database into this directory. The first host with a key puts its own there.
    /// - Returns: whether it is this host's own that was put there.
    func adopt(_ store: ServerStore, in directory: String) async throws -> Bool {
        let sealed = try await store.secrets()
        if sealed[SavedState.deviceKeyName] == nil { _ = try SavedState.device(in: directory) }
        for name in Self.names {
            let file = PrivateFile("\(directory)/\(name)")
            if let bytes = sealed[name] {
                let plain = try open(bytes, name)
                if try file.read() != plain { try file.replace(with: plain) }
            } else if sealed[SavedState.deviceKeyName] == nil || name == TLSSettings.ownName {
                if let plain = try file.read() { try await store.keep(seal.seal(plain, as: name), as: name) }
            } else {
                // Tokens of another device.
                try? FileSystem.remove(file.path)
            }
        }
        return sealed[SavedState.deviceKeyName] == nil
    }

    /// The gateway has changed the tokens of the device.
    func keep(_ tokens: DeviceTokenStore, in store: ServerStore, _ log: Log) {
        let sealed = seal.seal(tokens.bytes, as: Self.deviceTokens)
        Task {
            do {
                try await store.keep(sealed, as: Self.deviceTokens)
            } catch {
                log.warning("link.tokenNotKept", ["error": .string("\(error)")])
            }
        }
    }
}
