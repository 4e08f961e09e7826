import API
import Access
import Basics
import Broker
import Commands
import Configuration
import EventStream
import Gateway
import MQTT
import POSIX
import Service
import TLS
import Upstream

/// The settings `mqtt.*`, checked. The files of secrets are read before each connection.
struct BrokerConfiguration: Sendable {
    private static let longestClientID = 64
    /// Events without these lie in the log.
    private static let durable = [
        "run.started", "run.step", "run.ended", "run.corrected", "message", "outbox", "approval", "question",
        "automation",
        "node", "device", "notification", "pairing", "identity", "profile", "session",
    ]

    private static let usual = ["run.started", "run.ended", "message", "outbox", "approval", "session"]

    private let settings: Settings
    private let address: BrokerAddress
    private let topics: BrokerTopics
    private let scopes: BrokerScopes
    private let events: EventFilter?
    private let files: BrokerFiles

    /// Nil without an address.
    init?(_ settings: Settings, _ places: SettingsPlaces) throws(StartFailure) {
        guard let url = settings.text(.mqttURL) else { return nil }
        self.settings = settings
        func failure(_ key: ConfigurationKey, _ detail: String) -> StartFailure {
            StartFailure(message: "\(key.name): \(detail)", status: .configuration)
        }
        do throws(BrokerAddress.Problem) { address = try BrokerAddress(url) } catch {
            throw failure(.mqttURL, "\(error)")
        }
        if !address.isTLS, GatewayURL.hostClass(of: address.host) == .other, !settings.bool(.insecureLAN) {
            throw failure(
                .mqttURL,
                "\(address.host) is neither this machine nor in the tailnet, and \(address.scheme):// would send messages and password "
                    + "readable; write \(address.path == nil ? "mqtts" : "wss")://, or set insecureLan"
            )
        }
        let name = settings.text(.mqttName) ?? BrokerTopics.defaultName(host: HostName.current)
        let prefix = settings.text(.mqttPrefix) ?? "ladle"
        let home = settings.text(.mqttDiscoveryPrefix) ?? "homeassistant"
        do throws(TopicProblem) {
            try BrokerTopics.check(name)
        } catch {
            throw failure(.mqttName, "\(error)")
        }
        do throws(TopicProblem) {
            topics = try BrokerTopics(prefix: prefix, name: name, discoveryPrefix: home)
            if let text = settings.text(.mqttResponsePrefix) { try BrokerTopics.check(text) }
        } catch {
            throw failure(.mqttPrefix, "a part of the topics is not usable: \(error)")
        }
        do throws(BrokerScopes.Problem) {
            scopes = try BrokerScopes(names: settings.list(.mqttScopes))
        } catch {
            throw failure(.mqttScopes, "\(error)")
        }
        let types = settings.isSet(.mqttEvents) ? settings.list(.mqttEvents) : Self.usual
        do throws(EventFilterError) {
            events =
                types == ["none"] || types.isEmpty
                ? nil
                : try EventFilter(types: types.joined(separator: ","), session: nil, run: nil, known: Self.durable)
        } catch {
            throw failure(.mqttEvents, error.text)
        }
        if let id = settings.text(.mqttClientID), id.isEmpty || id.utf8.count > Self.longestClientID {
            throw failure(.mqttClientID, "a client id has 1 to \(Self.longestClientID) bytes")
        }
        files = try BrokerFiles(settings, places, isTLS: address.isTLS)
        do throws(BrokerSettings.SecretsFault) { _ = try files.read() } catch { throw failure(.mqttURL, error.text) }
    }

    /// - Parameters:
    ///   - key: the public key of this installation, from which the client id is made.
    ///   - defaults: the meaning of short session keys.
    func settings(for key: [UInt8], _ defaults: SessionDefaults = .standard) -> BrokerSettings {
        let id = Hex.encode(Digest.sha256(Array("ladle mqtt".utf8) + key).prefix(8))
        var broker = BrokerSettings(
            address: address,
            clientID: settings.text(.mqttClientID) ?? "ladle\(id)",
            deviceID: "ladle_\(id.prefix(8))",
            topics: topics,
            release: Version.text
        )
        broker.username = settings.text(.mqttUsername)
        broker.secrets = { [files] completion in
            BackgroundWork.run {
                do throws(BrokerSettings.SecretsFault) {
                    completion(.success(try files.read()))
                } catch {
                    completion(.failure(error))
                }
            }
        }
        switch settings.text(.mqttVersion) {
        case "5": broker.version = .v5
        case "3.1.1": broker.version = .v311
        default: broker.version = nil
        }
        broker.scopes = scopes
        let sessions = settings.list(.mqttSessions)
        let named = sessions.filter { $0 != "*" }.map { (try? defaults.canonical($0))?.text ?? $0 }
        broker.shownSessions = named
        if !sessions.contains("*") {
            broker.sessions = SessionSet(named)
            let main = (try? defaults.canonical("main"))?.text ?? ""
            if !named.contains(main) { broker.messageSession = named.first }
        }
        broker.events = events
        broker.text = settings.text(.mqttText).flatMap(BrokerText.init(rawValue:)) ?? .short
        broker.retains = settings.bool(.mqttRetain)
        broker.showsUsage = settings.bool(.mqttUsage)
        if settings.bool(.mqttDiscovery) {
            broker.discovery = settings.text(.mqttDiscoveryName) ?? "Ladle"
        }
        broker.keepAliveSeconds = UInt16(clamping: settings.int(.mqttKeepAlive) / 1000)
        if settings.isSet(.mqttSessionExpiry) {
            broker.sessionExpirySeconds = UInt32(clamping: settings.int(.mqttSessionExpiry) / 1000)
        }
        broker.window = Int(settings.int(.mqttWindow))
        broker.responsePrefix = settings.text(.mqttResponsePrefix)
        broker.maxAgeMilliseconds = settings.int(.mqttMaxAge)
        return broker
    }
}

/// The files of the broker's password and certificates.
private struct BrokerFiles: Sendable {
    private let password: String?
    private let authorities: String?
    private let certificate: String?
    private let key: String?
    private let pin: [UInt8]?
    private let isTLS: Bool

    init(_ settings: Settings, _ places: SettingsPlaces, isTLS: Bool) throws(StartFailure) {
        func path(_ key: ConfigurationKey) -> String? { settings.text(key).map(places.expanded) }
        (password, authorities) = (path(.mqttPasswordFile), path(.mqttCA))
        (certificate, key) = (path(.mqttCertificate), path(.mqttKey))
        self.isTLS = isTLS
        guard (certificate == nil) == (key == nil) else {
            throw StartFailure(message: "mqtt.cert and mqtt.key belong together", status: .configuration)
        }
        let isForTLS = authorities != nil || certificate != nil || settings.text(.mqttPin) != nil
        guard isTLS || !isForTLS else {
            throw StartFailure(
                message: "mqtt.url: certificates and pins need mqtts:// or wss://",
                status: .configuration
            )
        }
        pin = try settings.text(.mqttPin).map { text throws(StartFailure) in
            guard let bytes = Hex.decode(text.lowercased().filter { $0 != ":" }), bytes.count == 32 else {
                throw StartFailure(
                    message: "mqtt.pin: a pin is a SHA-256 of 64 hexadecimal digits",
                    status: .configuration
                )
            }
            return bytes
        }
    }

    func read() throws(BrokerSettings.SecretsFault) -> BrokerSettings.Secrets {
        var secrets = BrokerSettings.Secrets(
            password: try password.map { path throws(BrokerSettings.SecretsFault) in
                Array(try secret(path).utf8)
            }
        )
        guard isTLS else { return secrets }
        if let pin {
            secrets.trust = .pin(sha256: pin)
        } else if let authorities {
            secrets.trust = .authorities(pem: try file(authorities))
        } else {
            secrets.trust = .system
        }
        if let certificate, let key {
            let (chain, key) = (try file(certificate), try secret(key))
            do throws(TLSError) {
                secrets.identity = try TLSIdentity(chainPEM: chain, keyPEM: Array(key.utf8))
            } catch {
                throw BrokerSettings.SecretsFault("mqtt.cert and mqtt.key make no certificate: \(error)")
            }
        }
        return secrets
    }

    private func secret(_ path: String) throws(BrokerSettings.SecretsFault) -> String {
        do throws(SecretFile.Fault) {
            return try SecretFile.read(path).reveal()
        } catch {
            throw BrokerSettings.SecretsFault(error.description + (error.hint.map { " (\($0))" } ?? ""))
        }
    }

    private func file(_ path: String) throws(BrokerSettings.SecretsFault) -> [UInt8] {
        do throws(SystemError) {
            return try FileSystem.read(path, limit: 1 << 20).bytes
        } catch {
            throw BrokerSettings.SecretsFault("\(path) cannot be read: \(error.reason)")
        }
    }
}
