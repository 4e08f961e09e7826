/// A message that the broker delivered. Over MQTT 3.1.1 it has no properties.
package struct BrokerMessage: Sendable, Equatable {
    package struct Property: Sendable, Equatable {
        package let name: String
        package let value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package var topic: String
    package var payload: [UInt8]
    package var isRetained: Bool
    /// The broker has sent it before and got no acknowledgement.
    package var isDuplicate: Bool
    package var correlation: [UInt8]?
    package var responseTopic: String?
    package var properties: [Property]
    /// The seconds that are left of its time.
    package var expiry: UInt32?

    package init(
        topic: String,
        payload: [UInt8],
        isRetained: Bool = false,
        isDuplicate: Bool = false,
        correlation: [UInt8]? = nil,
        responseTopic: String? = nil,
        properties: [Property] = [],
        expiry: UInt32? = nil
    ) {
        self.topic = topic
        self.payload = payload
        self.isRetained = isRetained
        self.isDuplicate = isDuplicate
        self.correlation = correlation
        self.responseTopic = responseTopic
        self.properties = properties
        self.expiry = expiry
    }

    func property(_ name: String) -> String? { properties.first { $0.name == name }?.value }
}
