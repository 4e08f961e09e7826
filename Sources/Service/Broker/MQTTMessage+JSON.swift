import MQTT

extension MQTTMessage {
    /// A state that the broker keeps.
    static func state(_ topic: String, _ payload: [UInt8], retain: Bool) -> MQTTMessage {
        MQTTMessage(topic: topic, payload: payload, retain: retain, contentType: "application/json", isText: true)
    }

    /// Something that has happened, and is of no use after so many seconds.
    static func moment(_ topic: String, _ payload: [UInt8], seconds: UInt32) -> MQTTMessage {
        MQTTMessage(
            topic: topic,
            payload: payload,
            expirySeconds: seconds,
            contentType: "application/json",
            isText: true
        )
    }

    /// Makes the broker forget what it keeps of a topic.
    static func removal(of topic: String) -> MQTTMessage { MQTTMessage(topic: topic, payload: [], retain: true) }
}
