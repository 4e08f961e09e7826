/// The wishes of one client for its connections. The broker may grant less; see `MQTTBrokerLimits`.
package struct MQTTClientSettings: Sendable {
    package var version = MQTTVersion.v5
    package var clientID: String
    package var username: String?
    package var password: [UInt8]?
    /// 0 turns it off, unless the broker asks for it. Then a dead connection is noticed only through messages.
    package var keepAliveSeconds: UInt16 = 60
    /// MQTT 5: how long the broker keeps the session after the end of the connection.
    package var sessionExpirySeconds: UInt32 = 0
    package var isCleanStart = false
    package var will: MQTTWill?
    /// MQTT 5: how many messages with QoS 1 the broker may send before we acknowledge one.
    package var receiveMaximum: UInt16 = 16
    /// The largest packet that we read, header included. 3.1.1 cannot announce it.
    package var maximumIncomingPacket = (1 << 20) + (1 << 10)
    /// How many messages with QoS 1 we send at most before one is acknowledged.
    package var window = 64
    package var subscriptions: [MQTTSubscription] = []
    /// Filters that a session kept by the broker may still have.
    package var unwantedFilters: [String] = []
    /// MQTT 5: in CONNECT.
    package var userProperties: [MQTTUserProperty] = []
    /// 3.1.1: the largest packet that we send, because such a broker cannot say it.
    package var assumedMaximumPacket = 256 << 10
    /// While more bytes than this wait in the output, nothing is published.
    package var outputBytes = 1 << 20

    package init(clientID: String) { self.clientID = clientID }

    var connect: MQTTConnect {
        var connect = MQTTConnect(
            version: version,
            clientID: clientID,
            isCleanStart: isCleanStart,
            keepAliveSeconds: keepAliveSeconds
        )
        connect.will = will
        connect.username = username
        connect.password = password
        guard version == .v5 else { return connect }
        if sessionExpirySeconds > 0 { connect.properties.add(.sessionExpiry, .four(sessionExpirySeconds)) }
        connect.properties.add(.receiveMaximum, .two(max(receiveMaximum, 1)))
        let maximumPacket = UInt32(clamping: min(max(maximumIncomingPacket, 2), MQTTEncoder.maximumPacket))
        connect.properties.add(.maximumPacketSize, .four(maximumPacket))
        connect.properties.add(userProperties)
        return connect
    }
}
