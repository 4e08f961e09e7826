/// The packets of a session with QoS 0 and 1, as values (MQTT 5 §3).
package enum MQTTPacket: Sendable, Equatable {
    case connect(MQTTConnect)
    case connack(MQTTConnack)
    case publish(MQTTPublish)
    case puback(MQTTPuback)
    case subscribe(MQTTSubscribe)
    case suback(MQTTSuback)
    case unsubscribe(MQTTUnsubscribe)
    case unsuback(MQTTSuback)
    case pingreq
    case pingresp
    case disconnect(MQTTDisconnect)

    package var type: UInt8 {
        switch self {
        case .connect: 1
        case .connack: 2
        case .publish: 3
        case .puback: 4
        case .subscribe: 8
        case .suback: 9
        case .unsubscribe: 10
        case .unsuback: 11
        case .pingreq: 12
        case .pingresp: 13
        case .disconnect: 14
        }
    }
}

/// The message that the broker publishes when the client is gone without a word.
package struct MQTTWill: Sendable, Equatable {
    package var message: MQTTMessage
    /// MQTT 5: the time after the end of the connection in which a reconnect cancels the will.
    package var delaySeconds: UInt32

    package init(_ message: MQTTMessage, delaySeconds: UInt32 = 0) {
        self.message = message
        self.delaySeconds = delaySeconds
    }
}

package struct MQTTConnect: Sendable, Equatable {
    package var version: MQTTVersion
    package var clientID: String
    package var isCleanStart: Bool
    package var keepAliveSeconds: UInt16
    package var will: MQTTWill?
    package var username: String?
    package var password: [UInt8]?
    package var properties = MQTTProperties()

    package init(version: MQTTVersion, clientID: String, isCleanStart: Bool, keepAliveSeconds: UInt16) {
        self.version = version
        self.clientID = clientID
        self.isCleanStart = isCleanStart
        self.keepAliveSeconds = keepAliveSeconds
    }
}

package struct MQTTConnack: Sendable, Equatable {
    package var isSessionPresent: Bool
    /// As on the wire.
    package var code: UInt8
    package var properties: MQTTProperties
    /// A server that knows no MQTT 5 answers in the form of 3.1.1, which ends behind the code.
    package var isShort: Bool

    package init(
        isSessionPresent: Bool = false,
        code: UInt8 = 0,
        properties: MQTTProperties = MQTTProperties(),
        isShort: Bool = false
    ) {
        self.isSessionPresent = isSessionPresent
        self.code = code
        self.properties = properties
        self.isShort = isShort
    }

    package var reason: MQTTReason { MQTTReason(connack: code) }
}

package struct MQTTPublish: Sendable, Equatable {
    package var message: MQTTMessage
    /// Nil with QoS 0, which needs none.
    package var identifier: UInt16?
    package var isDuplicate: Bool

    package init(_ message: MQTTMessage, identifier: UInt16? = nil, isDuplicate: Bool = false) {
        self.message = message
        self.identifier = identifier
        self.isDuplicate = isDuplicate
    }
}

package struct MQTTPuback: Sendable, Equatable {
    package var identifier: UInt16
    /// Always success in 3.1.1.
    package var reason: MQTTReason
    package var properties: MQTTProperties

    package init(_ identifier: UInt16, _ reason: MQTTReason = .success, properties: MQTTProperties = MQTTProperties()) {
        self.identifier = identifier
        self.reason = reason
        self.properties = properties
    }
}

package struct MQTTSubscribe: Sendable, Equatable {
    package var identifier: UInt16
    package var subscriptions: [MQTTSubscription]
    package var properties: MQTTProperties

    package init(
        _ identifier: UInt16,
        _ subscriptions: [MQTTSubscription],
        properties: MQTTProperties = MQTTProperties()
    ) {
        self.identifier = identifier
        self.subscriptions = subscriptions
        self.properties = properties
    }
}

package struct MQTTUnsubscribe: Sendable, Equatable {
    package var identifier: UInt16
    package var filters: [String]
    package var properties: MQTTProperties

    package init(_ identifier: UInt16, _ filters: [String], properties: MQTTProperties = MQTTProperties()) {
        self.identifier = identifier
        self.filters = filters
        self.properties = properties
    }
}

/// SUBACK or UNSUBACK. The UNSUBACK of 3.1.1 has no codes.
package struct MQTTSuback: Sendable, Equatable {
    package var identifier: UInt16
    package var reasons: [MQTTReason]
    package var properties: MQTTProperties

    package init(_ identifier: UInt16, _ reasons: [MQTTReason], properties: MQTTProperties = MQTTProperties()) {
        self.identifier = identifier
        self.reasons = reasons
        self.properties = properties
    }
}

package struct MQTTDisconnect: Sendable, Equatable {
    package var reason: MQTTReason
    package var properties: MQTTProperties

    package init(_ reason: MQTTReason = .success, properties: MQTTProperties = MQTTProperties()) {
        self.reason = reason
        self.properties = properties
    }
}
