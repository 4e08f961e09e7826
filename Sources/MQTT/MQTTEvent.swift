/// A result of the client machine. The events come in order.
package enum MQTTEvent: Sendable, Equatable {
    case connected(MQTTConnected)
    /// One grant for each subscription of the settings, in their order.
    case subscribed([MQTTGrant])
    /// The broker has decided about a message with QoS 1. A failure ends the message as well: it is not sent again.
    case acknowledged(token: UInt64, MQTTReason)
    case received(MQTTDelivery)
    /// The broker answers but has acknowledged no message for a minute; reported once in a connection.
    case stalled
    /// The last event. Write the output that is left, then close the connection.
    case ended(MQTTEnd)
}

package struct MQTTConnected: Sendable, Equatable {
    package var isSessionPresent: Bool
    /// The client id that the broker assigned, else our own.
    package var clientID: String
    package var limits: MQTTBrokerLimits
    /// The reason string of the broker, as one short line; often empty.
    package var text: String
}

package struct MQTTGrant: Sendable, Equatable {
    package var filter: String
    /// The granted QoS, or why the subscription does not exist.
    package var reason: MQTTReason
    package var isGranted: Bool { !reason.isFailure }
}

/// A message for us.
package struct MQTTDelivery: Sendable, Equatable {
    /// Names one delivery among those of all connections that have different numbers.
    package struct ID: Sendable, Hashable {
        let connection: UInt64
        let number: UInt64
    }

    /// Nil with QoS 0, which needs no acknowledgement.
    package var id: ID?
    package var message: MQTTMessage
    /// The broker may have delivered it before.
    package var isDuplicate: Bool
}

/// The reason why a message is not published. Nothing was sent.
package enum MQTTRefusal: Error, Equatable, Sendable {
    case notConnected
    /// Wait for an `acknowledged`.
    case windowFull
    /// Wait until the output was taken.
    case outputFull
    case tooLarge(bytes: Int, limit: Int)
    case unusable(MQTTFormatError)
}

/// The end of a connection.
package struct MQTTEnd: Sendable, Equatable {
    package enum Cause: Sendable, Equatable {
        /// `stop` was called.
        case stopped
        /// CONNACK with a failure.
        case refused
        /// DISCONNECT of the broker.
        case disconnected
        /// The connection closed without a word.
        case closed
        /// The broker broke the protocol.
        case broken(MQTTError)
        case timedOut(Wait)
        /// CONNECT cannot be written with these settings.
        case unusableSettings(MQTTFormatError)
    }

    /// An answer that did not come in time.
    package enum Wait: Sendable {
        case connack
        case suback
        case unsuback
        case ping
        /// The rest of a packet.
        case packet
    }

    package var cause: Cause
    /// The code that the broker gave, or that its error has.
    package var reason: MQTTReason?
    /// The reason string of the broker, as one short line; often empty.
    package var text: String
    /// The server that the broker names instead, as one short line.
    package var serverReference: String?
    /// Whether a CONNACK without failure came before.
    package var wasConnected: Bool

    /// Whether the broker does not know this version of the protocol.
    package var isVersionRefused: Bool { cause == .refused && reason?.kind == .version }
}
