/// The bodies of the packets (MQTT 5 §3).
extension MQTTReader {
    /// `first` was checked: its type and its flags are allowed.
    mutating func packet(_ first: UInt8, _ version: MQTTVersion) throws(MQTTError) -> MQTTPacket {
        switch first >> 4 {
        case 1: .connect(try connect())
        case 2: .connack(try connack(version))
        case 3: .publish(try publish(first & 0x0F, version))
        case 4: .puback(try puback(version))
        case 8: .subscribe(try subscribe(version))
        case 9: .suback(try suback(version))
        case 10: .unsubscribe(try unsubscribe(version))
        case 11: .unsuback(try unsuback(version))
        case 12: .pingreq
        case 13: .pingresp
        default: .disconnect(try disconnect(version))
        }
    }

    private mutating func connect() throws(MQTTError) -> MQTTConnect {
        guard try text() == "MQTT" else { throw .wrongProtocol }
        let level = try byte()
        guard let version = MQTTVersion(rawValue: level) else { throw .protocolLevel(level) }
        let flags = try byte()
        guard flags & 1 == 0 else { throw .reservedBits }
        let keepAlive = try two()
        let properties = version == .v5 ? try self.properties(in: .connect) : MQTTProperties()
        var connect = MQTTConnect(
            version: version,
            clientID: try text(),
            isCleanStart: flags & 2 != 0,
            keepAliveSeconds: keepAlive
        )
        connect.properties = properties
        if flags & 4 != 0 {
            guard let qos = MQTTQoS(rawValue: flags >> 3 & 3) else { throw flags & 8 == 0 ? .qosTwo : .invalidQoS }
            connect.will = try will(qos, retain: flags & 0x20 != 0, version)
        } else {
            guard flags & 0x38 == 0 else { throw .reservedBits }
        }
        if flags & 0x80 != 0 { connect.username = try text() }
        if flags & 0x40 != 0 {
            guard version == .v5 || connect.username != nil else { throw .reservedBits }
            connect.password = try binary()
        }
        return connect
    }

    private mutating func will(
        _ qos: MQTTQoS,
        retain: Bool,
        _ version: MQTTVersion
    ) throws(MQTTError) -> MQTTWill {
        let properties = version == .v5 ? try self.properties(in: .will) : MQTTProperties()
        let topic = try self.topic()
        let payload = try binary()
        let message = MQTTMessage(topic: topic, payload: payload, qos: qos, retain: retain, properties: properties)
        return MQTTWill(message, delaySeconds: properties.number(.willDelay) ?? 0)
    }

    private mutating func connack(_ version: MQTTVersion) throws(MQTTError) -> MQTTConnack {
        let flags = try byte()
        guard flags & 0xFE == 0 else { throw .reservedBits }
        var connack = MQTTConnack(isSessionPresent: flags == 1, code: try byte())
        guard version == .v5 else { return connack }
        connack.isShort = isAtEnd
        if !isAtEnd { connack.properties = try properties(in: .connack) }
        return connack
    }

    private mutating func publish(_ flags: UInt8, _ version: MQTTVersion) throws(MQTTError) -> MQTTPublish {
        guard let qos = MQTTQoS(rawValue: flags >> 1 & 3) else { throw .invalidQoS }
        // An empty topic has a meaning beside a topic alias only, so the properties decide about it.
        let topic = try text()
        let identifier = qos == .atLeastOnce ? try self.identifier() : nil
        let properties = version == .v5 ? try self.properties(in: .publish) : MQTTProperties()
        guard properties.number(.topicAlias) == nil else { throw .topicAlias }
        guard MQTTMessage.isValidTopic(topic) else { throw .invalidTopic }
        let message = MQTTMessage(
            topic: topic,
            payload: rest(),
            qos: qos,
            retain: flags & 1 != 0,
            properties: properties
        )
        return MQTTPublish(message, identifier: identifier, isDuplicate: flags & 8 != 0)
    }

    private mutating func topic() throws(MQTTError) -> String {
        let topic = try text()
        guard MQTTMessage.isValidTopic(topic) else { throw .invalidTopic }
        return topic
    }

    /// The reason and the properties may be left out (§3.4.2.1).
    private mutating func puback(_ version: MQTTVersion) throws(MQTTError) -> MQTTPuback {
        var puback = MQTTPuback(try identifier())
        guard version == .v5, !isAtEnd else { return puback }
        puback.reason = MQTTReason(try byte())
        if !isAtEnd { puback.properties = try properties(in: .puback) }
        return puback
    }

    private mutating func subscribe(_ version: MQTTVersion) throws(MQTTError) -> MQTTSubscribe {
        var subscribe = MQTTSubscribe(try identifier(), [])
        if version == .v5 { subscribe.properties = try properties(in: .subscribe) }
        repeat {
            subscribe.subscriptions.append(try MQTTSubscription(try text(), options: try byte(), version))
        } while !isAtEnd
        return subscribe
    }

    private mutating func unsubscribe(_ version: MQTTVersion) throws(MQTTError) -> MQTTUnsubscribe {
        var unsubscribe = MQTTUnsubscribe(try identifier(), [])
        if version == .v5 { unsubscribe.properties = try properties(in: .unsubscribe) }
        repeat {
            let filter = try text()
            guard MQTTSubscription.isValidFilter(filter) else { throw .invalidTopic }
            unsubscribe.filters.append(filter)
        } while !isAtEnd
        return unsubscribe
    }

    private mutating func suback(_ version: MQTTVersion) throws(MQTTError) -> MQTTSuback {
        var suback = MQTTSuback(try identifier(), [])
        if version == .v5 { suback.properties = try properties(in: .suback) }
        suback.reasons = rest().map { MQTTReason($0) }
        guard !suback.reasons.isEmpty else { throw .noReasonCodes }
        return suback
    }

    private mutating func unsuback(_ version: MQTTVersion) throws(MQTTError) -> MQTTSuback {
        var unsuback = MQTTSuback(try identifier(), [])
        guard version == .v5 else { return unsuback }
        unsuback.properties = try properties(in: .unsuback)
        unsuback.reasons = rest().map { MQTTReason($0) }
        guard !unsuback.reasons.isEmpty else { throw .noReasonCodes }
        return unsuback
    }

    /// Nothing, only the reason, or both (§3.14.2).
    private mutating func disconnect(_ version: MQTTVersion) throws(MQTTError) -> MQTTDisconnect {
        var disconnect = MQTTDisconnect()
        guard version == .v5, !isAtEnd else { return disconnect }
        disconnect.reason = MQTTReason(try byte())
        if !isAtEnd { disconnect.properties = try properties(in: .disconnect) }
        return disconnect
    }
}
