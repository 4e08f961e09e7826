/// Where the result of a command goes, and what the requester knows it by.
package struct ResultAddress: Sendable, Equatable {
    /// The response topic, else `results`.
    package let topic: String
    /// The correlation data, which the result repeats.
    package let correlation: [UInt8]?
    /// The `id` of the command's JSON, which the result repeats.
    package let id: String?

    package init(topic: String, correlation: [UInt8]? = nil, id: String? = nil) {
        self.topic = topic
        self.correlation = correlation
        self.id = id
    }
}
