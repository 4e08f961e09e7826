/// Writes packets of both sides.
package enum MQTTEncoder {
    /// The largest packet that has a valid length.
    package static let maximumPacket = MQTTLength.maximum + 5

    /// Appends the packet. If it throws, `output` is unchanged.
    /// - Parameter limit: the largest packet that the peer reads, header included.
    package static func append(
        _ packet: MQTTPacket,
        _ version: MQTTVersion,
        limit: Int = maximumPacket,
        to output: inout [UInt8]
    ) throws(MQTTFormatError) {
        if case .publish(let publish) = packet { return try append(publish, version, limit, to: &output) }
        var body = MQTTWriter()
        var flags: UInt8 = 0
        switch packet {
        case .connect(let packet): try body.connect(packet)
        case .connack(let packet):
            body.byte(packet.isSessionPresent ? 1 : 0)
            body.byte(packet.code)
            if version == .v5, !packet.isShort { try body.properties(packet.properties) }
        case .publish: break
        case .puback(let packet):
            body.two(packet.identifier)
            try body.reason(packet.reason, packet.properties, version)
        case .subscribe(let packet):
            flags = 2
            try body.subscribe(packet, version)
        case .unsubscribe(let packet):
            flags = 2
            guard !packet.filters.isEmpty else { throw .noFilters }
            body.two(packet.identifier)
            if version == .v5 { try body.properties(packet.properties) }
            for filter in packet.filters { try body.filter(filter) }
        case .suback(let packet):
            body.two(packet.identifier)
            if version == .v5 { try body.properties(packet.properties) }
            for reason in packet.reasons { body.byte(reason.code) }
        case .unsuback(let packet):
            body.two(packet.identifier)
            if version == .v5 {
                try body.properties(packet.properties)
                for reason in packet.reasons { body.byte(reason.code) }
            }
        case .pingreq, .pingresp: break
        case .disconnect(let packet): try body.reason(packet.reason, packet.properties, version)
        }
        try check(body.bytes.count, limit)
        output.append(packet.type << 4 | flags)
        MQTTWriter.variable(body.bytes.count, to: &output)
        output += body.bytes
    }

    /// The payload is copied once, from the message to the output.
    private static func append(
        _ publish: MQTTPublish,
        _ version: MQTTVersion,
        _ limit: Int,
        to output: inout [UInt8]
    ) throws(MQTTFormatError) {
        let message = publish.message
        guard MQTTMessage.isValidTopic(message.topic) else { throw .invalidTopic }
        var head = MQTTWriter()
        try head.text(message.topic)
        if message.qos == .atLeastOnce { head.two(publish.identifier ?? 0) }
        if version == .v5 { try head.properties(message.properties) }
        let size = head.bytes.count + message.payload.count
        let total = try check(size, limit)
        output.reserveCapacity(output.count + total)
        let isDuplicate = publish.isDuplicate && message.qos == .atLeastOnce
        output.append(0x30 | (isDuplicate ? 8 : 0) | message.qos.rawValue << 1 | (message.retain ? 1 : 0))
        MQTTWriter.variable(size, to: &output)
        output += head.bytes
        output += message.payload
    }

    @discardableResult
    private static func check(_ size: Int, _ limit: Int) throws(MQTTFormatError) -> Int {
        let total = 1 + MQTTLength.width(size) + size
        guard size <= MQTTLength.maximum, total <= limit else { throw .packetTooLarge(bytes: total, limit: limit) }
        return total
    }
}

extension MQTTWriter {
    fileprivate mutating func connect(_ packet: MQTTConnect) throws(MQTTFormatError) {
        let version = packet.version
        guard packet.password == nil || packet.username != nil || version == .v5 else { throw .passwordWithoutUsername }
        try text("MQTT")
        byte(version.rawValue)
        var flags: UInt8 = packet.isCleanStart ? 0x02 : 0
        if let message = packet.will?.message {
            flags |= 0x04 | message.qos.rawValue << 3 | (message.retain ? 0x20 : 0)
        }
        if packet.password != nil { flags |= 0x40 }
        if packet.username != nil { flags |= 0x80 }
        byte(flags)
        two(packet.keepAliveSeconds)
        if version == .v5 { try properties(packet.properties) }
        try text(packet.clientID)
        if let will = packet.will {
            guard MQTTMessage.isValidTopic(will.message.topic) else { throw .invalidTopic }
            if version == .v5 {
                var properties = MQTTProperties()
                if will.delaySeconds > 0 { properties.add(.willDelay, .four(will.delaySeconds)) }
                for entry in will.message.properties.entries { properties.add(entry.name, entry.value) }
                try self.properties(properties)
            }
            try text(will.message.topic)
            try binary(will.message.payload)
        }
        if let username = packet.username { try text(username) }
        if let password = packet.password { try binary(password) }
    }

    fileprivate mutating func subscribe(
        _ packet: MQTTSubscribe,
        _ version: MQTTVersion
    ) throws(MQTTFormatError) {
        guard !packet.subscriptions.isEmpty else { throw .noFilters }
        two(packet.identifier)
        if version == .v5 { try properties(packet.properties) }
        for subscription in packet.subscriptions {
            try filter(subscription.filter)
            byte(subscription.options(version))
        }
    }

    fileprivate mutating func filter(_ filter: String) throws(MQTTFormatError) {
        guard MQTTSubscription.isValidFilter(filter) else { throw .invalidFilter }
        try text(filter)
    }

    /// The end of PUBACK and DISCONNECT: success without properties is left out (§3.4.2.1, §3.14.2.1), and so are
    /// absent properties. 3.1.1 has neither.
    fileprivate mutating func reason(
        _ reason: MQTTReason,
        _ properties: MQTTProperties,
        _ version: MQTTVersion
    ) throws(MQTTFormatError) {
        guard version == .v5, reason != .success || !properties.entries.isEmpty else { return }
        byte(reason.code)
        if !properties.entries.isEmpty { try self.properties(properties) }
    }
}
