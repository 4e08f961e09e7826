/// A name and a value that a sender adds to a packet (MQTT 5 §3.3.2.3.7).
package struct MQTTUserProperty: Sendable, Equatable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// One application message. 3.1.1 transports only topic, payload, QoS and RETAIN; the other fields are then lost.
package struct MQTTMessage: Sendable, Equatable {
    package var topic: String
    package var payload: [UInt8]
    package var qos: MQTTQoS
    package var retain: Bool
    package var expirySeconds: UInt32?
    package var contentType: String?
    /// Whether the payload is declared to be UTF-8; nil without a declaration. The decoder does not check it.
    package var isText: Bool?
    /// As the sender wrote it. Check it with `isValidTopic` before publishing to it.
    package var responseTopic: String?
    package var correlationData: [UInt8]?
    package var userProperties: [MQTTUserProperty]

    package init(
        topic: String,
        payload: [UInt8],
        qos: MQTTQoS = .atLeastOnce,
        retain: Bool = false,
        expirySeconds: UInt32? = nil,
        contentType: String? = nil,
        isText: Bool? = nil,
        responseTopic: String? = nil,
        correlationData: [UInt8]? = nil,
        userProperties: [MQTTUserProperty] = []
    ) {
        self.topic = topic
        self.payload = payload
        self.qos = qos
        self.retain = retain
        self.expirySeconds = expirySeconds
        self.contentType = contentType
        self.isText = isText
        self.responseTopic = responseTopic
        self.correlationData = correlationData
        self.userProperties = userProperties
    }

    /// Whether a message may be published to this topic (§4.7): not empty, at most 65,535 bytes, no wildcard, no
    /// U+0000.
    package static func isValidTopic(_ topic: String) -> Bool {
        let bytes = topic.utf8
        return (1...0xFFFF).contains(bytes.count)
            && !bytes.contains { $0 == 0 || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "#") }
    }
}

extension MQTTMessage {
    init(topic: String, payload: [UInt8], qos: MQTTQoS, retain: Bool, properties: MQTTProperties) {
        self.init(
            topic: topic,
            payload: payload,
            qos: qos,
            retain: retain,
            expirySeconds: properties.number(.messageExpiry),
            contentType: properties.text(.contentType),
            isText: properties.number(.payloadFormat).map { $0 == 1 },
            responseTopic: properties.text(.responseTopic),
            correlationData: properties.bytes(.correlationData),
            userProperties: properties.userProperties
        )
    }

    var properties: MQTTProperties {
        var properties = MQTTProperties()
        if let isText { properties.add(.payloadFormat, .byte(isText ? 1 : 0)) }
        if let expirySeconds { properties.add(.messageExpiry, .four(expirySeconds)) }
        if let contentType { properties.add(.contentType, .text(contentType)) }
        if let responseTopic { properties.add(.responseTopic, .text(responseTopic)) }
        if let correlationData { properties.add(.correlationData, .bytes(correlationData)) }
        properties.add(userProperties)
        return properties
    }
}
