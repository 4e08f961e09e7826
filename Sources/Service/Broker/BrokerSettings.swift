package import Basics
package import Broker
package import EventStream
package import MQTT
package import Outbound
package import TLS

/// The configuration of the connection to an MQTT broker, checked.
package struct BrokerSettings: Sendable {
    /// Read before each connection, so that a new password or certificate needs no restart.
    package struct Secrets: Sendable {
        package var password: [UInt8]?
        /// Nil without TLS.
        package var trust: TLSTrust?
        package var identity: TLSIdentity?

        package init(password: [UInt8]? = nil, trust: TLSTrust? = nil, identity: TLSIdentity? = nil) {
            (self.password, self.trust, self.identity) = (password, trust, identity)
        }
    }

    /// The reason why a file of a secret is of no use, for people.
    package struct SecretsFault: Error, Sendable {
        package let text: String

        package init(_ text: String) { self.text = text }
    }

    package typealias SecretsReader =
        @Sendable (_ completion: @escaping @Sendable (Result<Secrets, SecretsFault>) -> Void) -> Void

    package var address: BrokerAddress
    package var username: String?
    package var secrets: SecretsReader = { $0(.success(Secrets())) }
    /// Makes a connection, or a test's.
    package var connect: @Sendable (BrokerTarget, MQTTClient, any BrokerConnectionHandler) -> any BrokerLine = {
        BrokerConnection($0, $1, $2)
    }
    package var clientID: String
    package var topics: BrokerTopics
    /// Nil tries 5 first.
    package var version: MQTTVersion?
    package var scopes: BrokerScopes = .read
    /// Nil means all.
    package var sessions: SessionSet?
    /// Sessions with a topic of their own.
    package var shownSessions: [String] = []
    /// Nil publishes no events.
    package var events: EventFilter? = .everything
    package var text = BrokerText.short
    package var retains = true
    /// Publishes what the agent has used of its subscriptions, which the gateway is asked for every five minutes.
    package var showsUsage = false
    /// The name of the device in Home Assistant; nil for no device.
    package var discovery: String?
    /// The device's id there, for ever.
    package var deviceID: String
    package var keepAliveSeconds: UInt16 = 60
    package var sessionExpirySeconds: UInt32?
    package var window = 64
    package var responsePrefix: String?
    package var maxAgeMilliseconds: Int64 = 600_000
    /// Ladle's own version.
    package var release: String

    /// The session that gets texts without one; nil for the main session, if it may be written to.
    package var messageSession: String?

    /// The way to the broker, with secrets that were just read.
    package func target(_ secrets: Secrets) -> BrokerTarget {
        BrokerTarget(
            host: address.host,
            port: address.port,
            path: address.path,
            trust: secrets.trust,
            identity: secrets.identity
        )
    }

    /// Names this broker and topic on disk: another one begins anew.
    var place: String { FNV1a.name("\(address.host):\(address.port)\(address.path ?? "") \(topics.root)".utf8) }
    var discoveryPlace: String { place + ".discovery" }

    package init(
        address: BrokerAddress,
        clientID: String,
        deviceID: String,
        topics: BrokerTopics,
        release: String
    ) {
        self.deviceID = deviceID
        (self.address, self.clientID, self.topics, self.release) = (address, clientID, topics, release)
    }
}
