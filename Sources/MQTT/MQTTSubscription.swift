/// One filter of a SUBSCRIBE packet with its options (MQTT 5 §3.8.3.1). 3.1.1 knows only the QoS.
package struct MQTTSubscription: Sendable, Equatable {
    /// Which retained messages the broker sends for the subscription.
    package enum RetainHandling: UInt8, Sendable {
        case all = 0
        /// All of them, but only if the subscription is new.
        case ifNew = 1
        case none = 2
    }

    package var filter: String
    package var qos: MQTTQoS
    /// Our own messages do not come back to us.
    package var noLocal: Bool
    /// Messages keep the RETAIN flag that the publisher gave them.
    package var retainAsPublished: Bool
    package var retainHandling: RetainHandling

    package init(
        _ filter: String,
        qos: MQTTQoS = .atLeastOnce,
        noLocal: Bool = false,
        retainAsPublished: Bool = false,
        retainHandling: RetainHandling = .all
    ) {
        self.filter = filter
        self.qos = qos
        self.noLocal = noLocal
        self.retainAsPublished = retainAsPublished
        self.retainHandling = retainHandling
    }

    /// Whether a topic filter is well formed (§4.7.1): `+` fills a level alone, `#` fills the last one.
    package static func isValidFilter(_ filter: String) -> Bool {
        guard (1...0xFFFF).contains(filter.utf8.count), !filter.utf8.contains(0) else { return false }
        let levels = filter.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for (index, level) in levels.enumerated() where level.count > 1 || index < levels.count - 1 {
            if level.contains(UInt8(ascii: "#")) { return false }
            if level.count > 1, level.contains(UInt8(ascii: "+")) { return false }
        }
        return true
    }

    var hasWildcard: Bool { filter.utf8.contains { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "#") } }

    func options(_ version: MQTTVersion) -> UInt8 {
        guard version == .v5 else { return qos.rawValue }
        return qos.rawValue | (noLocal ? 4 : 0) | (retainAsPublished ? 8 : 0) | retainHandling.rawValue << 4
    }

    init(_ filter: String, options: UInt8, _ version: MQTTVersion) throws(MQTTError) {
        guard Self.isValidFilter(filter) else { throw .invalidTopic }
        guard options & (version == .v5 ? 0xC0 : 0xFC) == 0 else { throw .reservedBits }
        guard let handling = RetainHandling(rawValue: options >> 4) else { throw .reservedBits }
        guard let qos = MQTTQoS(rawValue: options & 3) else { throw options & 3 == 2 ? .qosTwo : .invalidQoS }
        self.init(
            filter,
            qos: qos,
            noLocal: options & 4 != 0,
            retainAsPublished: options & 8 != 0,
            retainHandling: handling
        )
    }
}
