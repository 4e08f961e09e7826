/// A version of the protocol. The raw value is the protocol level in CONNECT (MQTT 5 §3.1.2.2).
package enum MQTTVersion: UInt8, Sendable {
    case v311 = 4
    case v5 = 5
}

/// How often a message is delivered. Exactly once (2) is not supported: nothing is published with it, and subscriptions
/// ask for 1 at most.
package enum MQTTQoS: UInt8, Sendable {
    case atMostOnce = 0
    case atLeastOnce = 1
}
