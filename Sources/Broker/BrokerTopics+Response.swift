import Basics

/// The topic that a requester names for the answer (MQTT 5, section 4.10). Ladle writes there with its own rights, so
/// the requester gets no topic with a meaning to Home Assistant or to a Ladle.
extension BrokerTopics {
    private static let longestResponse = 1024

    /// - Parameter responsePrefix: the levels that the configuration allows for answers; nil allows all.
    package func allowsResponse(to topic: String, below responsePrefix: String? = nil) -> Bool {
        guard !topic.isEmpty, topic.utf8.count <= Self.longestResponse, topic.utf8.first != UInt8(ascii: "$"),
            topic.unicodeScalars.allSatisfy({ $0 != "+" && $0 != "#" && TopicLevel.isAllowed($0) }),
            !Self.isTopic(topic, at: discoveryPrefix)
        else { return false }
        if let responsePrefix, !Self.isTopic(topic, at: responsePrefix) { return false }
        guard Self.isTopic(topic, at: prefix) else { return true }
        // Below the prefix are the commands and states of this Ladle and of its neighbours.
        if Self.isTopic(topic, at: results) { return true }
        guard let responsePrefix, Self.isTopic(responsePrefix, at: prefix), !Self.isTopic(prefix, at: responsePrefix)
        else { return false }
        let levels = Self.levels(topic)
        return !Self.isTopic(topic, at: root) && !levels.contains("send") && !levels.contains("cmd")
    }

    /// Whether the topic is this one or below it.
    private static func isTopic(_ topic: String, at parent: String) -> Bool {
        let rest = topic.utf8.dropFirst(parent.utf8.count)
        return topic.utf8.starts(with: parent.utf8) && (rest.isEmpty || rest.first == UInt8(ascii: "/"))
    }
}
