/// The limits of the broker for one connection, as its CONNACK gives them (MQTT 5 §3.2.2.3).
///
/// Brokers in use send values outside the allowed range. They are clamped, because a client that refuses them can never
/// connect.
package struct MQTTBrokerLimits: Sendable, Equatable {
    /// How many messages with QoS 1 may wait for an acknowledgement.
    package let window: Int
    /// The largest packet that the broker reads, header included.
    package let maximumPacket: Int
    package let maximumQoS: MQTTQoS
    package let isRetainAvailable: Bool
    let areWildcardsAvailable: Bool
    /// Zero if there is no keep alive.
    package let keepAliveSeconds: UInt16

    init(_ connack: MQTTConnack, _ settings: MQTTClientSettings) {
        let properties = connack.properties
        let receiveMaximum = properties.number(.receiveMaximum).map { Int(max($0, 1)) } ?? 0xFFFF
        // A window of all identifiers would leave none for SUBSCRIBE.
        window = min(receiveMaximum, min(max(settings.window, 1), 0x8000))
        if settings.version == .v311 {
            maximumPacket = min(max(settings.assumedMaximumPacket, 2), MQTTEncoder.maximumPacket)
        } else {
            let announced = properties.number(.maximumPacketSize).flatMap { $0 == 0 ? nil : Int($0) }
            maximumPacket = min(announced ?? .max, MQTTEncoder.maximumPacket)
        }
        maximumQoS = properties.number(.maximumQoS) == 0 ? .atMostOnce : .atLeastOnce
        isRetainAvailable = properties.number(.retainAvailable) != 0
        areWildcardsAvailable = properties.number(.wildcardAvailable) != 0
        // More pings than asked for are allowed. A broker that asks for none must not make us blind for its death.
        let wanted = properties.number(.serverKeepAlive).map { UInt16(clamping: $0) } ?? settings.keepAliveSeconds
        let own = settings.keepAliveSeconds
        keepAliveSeconds = wanted == 0 ? own : own == 0 ? wanted : min(own, wanted)
    }
}
