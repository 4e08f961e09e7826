import Basics

/// One connection to a broker without its socket and clock: events and the time go in, events and bytes come out.
///
/// After each call the owner handles the events, writes `takeOutput()` and arms one timer for `nextDeadline`. Times are
/// milliseconds of a monotonic clock. A new connection is a new value: nothing in flight outlives the old one, and the
/// owner publishes again under new identifiers, which MQTT allows for QoS 1 (MQTT 5 §4.4).
package struct MQTTClient: Sendable {
    private enum Phase: Sendable, Equatable {
        /// Waits for the connection, whose opening has a deadline of its owner.
        case idle
        case connecting(deadline: Int64)
        case online
        case ended
    }

    private struct Subscribing: Sendable {
        let identifier: UInt16
        /// One for each subscription; nil where the broker decides.
        let refusals: [MQTTReason?]
        let deadline: Int64
    }

    private struct Unsubscribing: Sendable {
        let identifier: UInt16
        let deadline: Int64
    }

    private enum Limit {
        /// For CONNACK, SUBACK, UNSUBACK and the answer to a ping.
        static let answerMs: Int64 = 10_000
        /// For one packet from its first byte to its last.
        static let packetMs: Int64 = 60_000
        /// Without any PUBACK for this time, the broker stalls.
        static let stallMs: Int64 = 60_000
        /// How many unacknowledged messages of 3.1.1 are held. It cannot announce our receive maximum, and some brokers
        /// send a hundred at once.
        static let deliveries311 = 128
        static let textBytes = 200
    }

    package let settings: MQTTClientSettings
    /// Nil until CONNACK.
    package private(set) var limits: MQTTBrokerLimits?
    /// PUBACKs for messages that do not wait for one.
    package private(set) var unknownAcknowledgements = 0

    private let connection: UInt64
    private var phase = Phase.idle
    private var decoder: MQTTDecoder
    private var output: [UInt8] = []
    private var keepAlive: MQTTKeepAlive
    private var inFlight = MQTTInFlight()
    /// Deliveries that were not acknowledged, with their packet identifiers.
    private var deliveries: [UInt64: UInt16] = [:]
    private var deliveryNumber: UInt64 = 0
    private var subscribing: Subscribing?
    private var unsubscribing: Unsubscribing?
    private var packetDeadline: Int64?
    private var isStallTold = false

    /// - Parameter connection: another number for each connection. Then a late `acknowledge` does not hit a delivery of
    ///   the next connection.
    package init(_ settings: MQTTClientSettings, connection: UInt64) {
        self.settings = settings
        self.connection = connection
        decoder = MQTTDecoder(role: .client, version: settings.version, limit: settings.maximumIncomingPacket)
        keepAlive = MQTTKeepAlive(seconds: 0, answerTime: Limit.answerMs, now: 0)
    }

    package var isOnline: Bool { phase == .online }
    package var inFlightCount: Int { inFlight.count }
    package var isSubscribing: Bool { subscribing != nil }
    /// How many messages with QoS 1 can be published now.
    package var freeWindow: Int { isOnline ? (limits?.window ?? 0) - inFlight.count : 0 }

    /// When `tick` must be called at the latest.
    package var nextDeadline: Int64? {
        switch phase {
        case .idle, .ended: nil
        case .connecting(let deadline): deadline
        case .online:
            [
                subscribing?.deadline, unsubscribing?.deadline, packetDeadline, keepAlive.pingAt,
                keepAlive.answerDeadline, stallAt,
            ]
            .compactMap(\.self).min()
        }
    }

    /// The bytes to write since the last call.
    package mutating func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    // MARK: The connection

    /// The connection is open, with TLS where it is used.
    package mutating func opened(now: Int64) -> [MQTTEvent] {
        guard phase == .idle else { return [] }
        do throws(MQTTFormatError) {
            try write(.connect(settings.connect), now)
        } catch {
            return end(.unusableSettings(error))
        }
        phase = .connecting(deadline: now.later(Limit.answerMs))
        return []
    }

    /// The connection was closed or could not be opened.
    package mutating func closed() -> [MQTTEvent] { end(.closed) }

    package mutating func receive(_ bytes: Span<UInt8>, now: Int64) -> [MQTTEvent] {
        guard phase != .idle, phase != .ended, !bytes.isEmpty else { return [] }
        keepAlive.received(now: now)
        var packets: [MQTTPacket] = []
        var failure: MQTTError?
        do throws(MQTTError) {
            try decoder.receive(bytes, into: &packets)
        } catch {
            failure = error
        }
        var events: [MQTTEvent] = []
        for packet in packets where phase != .ended {
            do throws(MQTTError) {
                events += try take(packet, now)
            } catch {
                return events + broken(error, now)
            }
        }
        guard phase != .ended else { return events }
        if let failure { return events + broken(failure, now) }
        if !decoder.isInsidePacket {
            packetDeadline = nil
        } else if packetDeadline == nil || !packets.isEmpty {
            packetDeadline = now.later(Limit.packetMs)
        }
        return events + stall(now)
    }

    /// The time `nextDeadline` has come.
    package mutating func tick(now: Int64) -> [MQTTEvent] {
        switch phase {
        case .idle, .ended: return []
        case .connecting(let deadline): return deadline <= now ? end(.timedOut(.connack)) : []
        case .online: break
        }
        if let deadline = keepAlive.answerDeadline, deadline <= now { return end(.timedOut(.ping)) }
        if let deadline = subscribing?.deadline, deadline <= now { return end(.timedOut(.suback)) }
        if let deadline = unsubscribing?.deadline, deadline <= now { return end(.timedOut(.unsuback)) }
        if let deadline = packetDeadline, deadline <= now { return end(.timedOut(.packet)) }
        let events = stall(now)
        let asksForStall = stallAt.map { $0 <= now } ?? false
        let isPingDue = keepAlive.pingAt.map { $0 <= now } ?? false
        if asksForStall || isPingDue { ping(now) }
        return events
    }

    /// Ends the session in order: the broker then drops the will. A message to publish before it, such as the one that
    /// says offline, is not waited for. It goes with QoS 0 if the window is full, and not at all if the broker would
    /// refuse it.
    package mutating func stop(final message: MQTTMessage? = nil, now: Int64) -> [MQTTEvent] {
        guard phase != .idle, phase != .ended else { return end(.stopped) }
        if var message, isOnline {
            if freeWindow <= 0 { message.qos = .atMostOnce }
            _ = try? publish(message, token: 0, isLast: true, now)
        }
        try? write(.disconnect(MQTTDisconnect()), now)
        return end(.stopped)
    }

    // MARK: Messages

    /// Publishes, or refuses before anything is sent. QoS and RETAIN become less where the broker lacks them.
    /// - Returns: the QoS. With `atLeastOnce`, an `acknowledged` with the token follows unless the connection ends.
    @discardableResult
    package mutating func publish(
        _ message: MQTTMessage,
        token: UInt64,
        now: Int64
    ) throws(MQTTRefusal) -> MQTTQoS {
        try publish(message, token: token, isLast: false, now)
    }

    private mutating func publish(
        _ message: MQTTMessage,
        token: UInt64,
        isLast: Bool,
        _ now: Int64
    ) throws(MQTTRefusal) -> MQTTQoS {
        guard phase == .online, let limits else { throw .notConnected }
        guard isLast || output.count < settings.outputBytes else { throw .outputFull }
        var publish = MQTTPublish(message)
        if limits.maximumQoS == .atMostOnce { publish.message.qos = .atMostOnce }
        if !limits.isRetainAvailable { publish.message.retain = false }
        if publish.message.qos == .atLeastOnce {
            guard inFlight.count < limits.window else { throw .windowFull }
            publish.identifier = inFlight.next(except: usedIdentifiers)
        }
        do throws(MQTTFormatError) {
            try write(.publish(publish), now)
        } catch {
            if case .packetTooLarge(let bytes, let limit) = error { throw .tooLarge(bytes: bytes, limit: limit) }
            throw .unusable(error)
        }
        if let identifier = publish.identifier { inFlight.add(identifier, token: token, now: now) }
        return publish.message.qos
    }

    /// Tells the broker that a delivery is done. Unknown deliveries, and those of other connections, are ignored.
    /// - Parameter reason: 3.1.1 cannot transport it.
    package mutating func acknowledge(_ id: MQTTDelivery.ID, _ reason: MQTTReason = .success, now: Int64) {
        guard isOnline, id.connection == connection, let identifier = deliveries.removeValue(forKey: id.number) else {
            return
        }
        // PUBACK allows no other codes (§3.4.2.1).
        let allowed: Set<UInt8> = [0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99]
        let reason = allowed.contains(reason.code) ? reason : .implementationSpecific
        try? write(.puback(MQTTPuback(identifier, reason)), now)
    }

    // MARK: Packets of the broker

    private mutating func take(_ packet: MQTTPacket, _ now: Int64) throws(MQTTError) -> [MQTTEvent] {
        switch packet {
        case .connack(let connack):
            guard case .connecting = phase else { throw .unexpectedPacket(type: packet.type) }
            return accept(connack, now)
        case .disconnect(let disconnect):
            return end(.disconnected, disconnect.reason, disconnect.properties)
        default: guard isOnline else { throw .unexpectedPacket(type: packet.type) }
        }
        switch packet {
        case .publish(let publish): return try deliver(publish)
        case .puback(let puback):
            guard let token = inFlight.remove(puback.identifier, now: now) else {
                // The specification has an error for an unknown identifier only in the packets of QoS 2 (§4.3.3). For
                // PUBACK nothing depends on it, so it is counted.
                unknownAcknowledgements &+= 1
                return []
            }
            return [.acknowledged(token: token, puback.reason)]
        case .suback(let suback): return try subscribed(suback)
        case .unsuback(let unsuback):
            guard unsuback.identifier == unsubscribing?.identifier else { throw .wrongAnswer }
            // A refusal leaves a subscription whose messages nobody takes.
            unsubscribing = nil
            return []
        case .pingresp: return []
        default: throw .unexpectedPacket(type: packet.type)
        }
    }

    private mutating func accept(_ connack: MQTTConnack, _ now: Int64) -> [MQTTEvent] {
        guard connack.code == 0 else { return end(.refused, connack.reason, connack.properties) }
        // In the short form, also a success shows a broker that speaks 3.1.1 from now on.
        if connack.isShort { return end(.refused, .unsupportedVersion) }
        let limits = MQTTBrokerLimits(connack, settings)
        self.limits = limits
        phase = .online
        keepAlive = MQTTKeepAlive(seconds: limits.keepAliveSeconds, answerTime: Limit.answerMs, now: now)
        let connected = MQTTConnected(
            isSessionPresent: connack.isSessionPresent,
            clientID: connack.properties.text(.assignedClientIdentifier) ?? settings.clientID,
            limits: limits,
            text: Self.line(connack.properties.text(.reasonString) ?? "")
        )
        if connack.isSessionPresent { unsubscribe(now) }
        return [.connected(connected)] + subscribe(limits, now)
    }

    /// An earlier configuration may have asked for more.
    private mutating func unsubscribe(_ now: Int64) {
        guard !settings.unwantedFilters.isEmpty else { return }
        let identifier = inFlight.next(except: usedIdentifiers)
        let packet = MQTTPacket.unsubscribe(MQTTUnsubscribe(identifier, settings.unwantedFilters))
        do throws(MQTTFormatError) {
            try write(packet, now)
            unsubscribing = Unsubscribing(identifier: identifier, deadline: now.later(Limit.answerMs))
        } catch {
            // It is larger than the broker takes, and nothing depends on it.
        }
    }

    private var usedIdentifiers: [UInt16] { [subscribing?.identifier, unsubscribing?.identifier].compactMap(\.self) }

    /// Also in a session that the broker kept: it may have lost a subscription.
    private mutating func subscribe(_ limits: MQTTBrokerLimits, _ now: Int64) -> [MQTTEvent] {
        guard !settings.subscriptions.isEmpty else { return [] }
        var refusals = settings.subscriptions.map { subscription -> MQTTReason? in
            if !MQTTSubscription.isValidFilter(subscription.filter) { return .topicFilterInvalid }
            // A broker that has no wildcards would end the connection.
            return subscription.hasWildcard && !limits.areWildcardsAvailable ? .wildcardsNotSupported : nil
        }
        let asked = zip(settings.subscriptions, refusals).filter { $0.1 == nil }.map(\.0)
        if !asked.isEmpty {
            let identifier = inFlight.next(except: usedIdentifiers)
            do throws(MQTTFormatError) {
                try write(.subscribe(MQTTSubscribe(identifier, asked)), now)
                let deadline = now.later(Limit.answerMs)
                subscribing = Subscribing(identifier: identifier, refusals: refusals, deadline: deadline)
                return []
            } catch {
                refusals = refusals.map { $0 ?? .packetTooLarge }
            }
        }
        return [.subscribed(zip(settings.subscriptions, refusals).map { grant($0, $1) })]
    }

    private mutating func subscribed(_ suback: MQTTSuback) throws(MQTTError) -> [MQTTEvent] {
        guard let subscribing, suback.identifier == subscribing.identifier else { throw .wrongAnswer }
        guard suback.reasons.count == subscribing.refusals.count(where: { $0 == nil }) else { throw .wrongAnswer }
        self.subscribing = nil
        var reasons = suback.reasons.makeIterator()
        return [
            .subscribed(zip(settings.subscriptions, subscribing.refusals).map { grant($0, $1 ?? reasons.next()) })
        ]
    }

    private func grant(_ subscription: MQTTSubscription, _ reason: MQTTReason?) -> MQTTGrant {
        MQTTGrant(filter: subscription.filter, reason: reason ?? .unspecified)
    }

    private mutating func deliver(_ publish: MQTTPublish) throws(MQTTError) -> [MQTTEvent] {
        var delivery = MQTTDelivery(id: nil, message: publish.message, isDuplicate: publish.isDuplicate)
        if let identifier = publish.identifier {
            if deliveries.values.contains(identifier) {
                // Some brokers of 3.1.1 send again while the connection lasts; the acknowledgement is still to come.
                if settings.version == .v311, publish.isDuplicate { return [] }
                throw .identifierInUse(identifier)
            }
            let receiveMaximum = Int(max(settings.receiveMaximum, 1))
            let most = settings.version == .v5 ? receiveMaximum : max(receiveMaximum, Limit.deliveries311)
            guard deliveries.count < most else { throw .tooManyDeliveries }
            deliveryNumber &+= 1
            deliveries[deliveryNumber] = identifier
            delivery.id = MQTTDelivery.ID(connection: connection, number: deliveryNumber)
        }
        return [.received(delivery)]
    }

    // MARK: Waiting

    /// When the broker stalls unless an acknowledgement comes; nil while a ping finds out whether it lives.
    private var stallAt: Int64? {
        guard !isStallTold, keepAlive.answerDeadline == nil else { return nil }
        return inFlight.waitingSince?.later(Limit.stallMs)
    }

    /// A stall is told only if the broker said something since the wait began. Otherwise `tick` pings first.
    private mutating func stall(_ now: Int64) -> [MQTTEvent] {
        guard let stallAt, stallAt <= now, let since = inFlight.waitingSince, keepAlive.lastReceived > since else {
            return []
        }
        isStallTold = true
        return [.stalled]
    }

    private mutating func ping(_ now: Int64) {
        try? write(.pingreq, now)
        keepAlive.pinged(now: now)
    }

    // MARK: The end

    /// MQTT 5 tells the broker what was wrong; in 3.1.1 a DISCONNECT would only drop the will.
    private mutating func broken(_ error: MQTTError, _ now: Int64) -> [MQTTEvent] {
        if isOnline, settings.version == .v5 { try? write(.disconnect(MQTTDisconnect(error.reason)), now) }
        return end(.broken(error), error.reason)
    }

    private mutating func end(
        _ cause: MQTTEnd.Cause,
        _ reason: MQTTReason? = nil,
        _ properties: MQTTProperties = MQTTProperties()
    ) -> [MQTTEvent] {
        guard phase != .ended else { return [] }
        let end = MQTTEnd(
            cause: cause,
            reason: reason,
            text: Self.line(properties.text(.reasonString) ?? ""),
            serverReference: properties.text(.serverReference).map(Self.line),
            wasConnected: isOnline
        )
        phase = .ended
        inFlight = MQTTInFlight()
        deliveries = [:]
        (subscribing, unsubscribing) = (nil, nil)
        return [.ended(end)]
    }

    private mutating func write(_ packet: MQTTPacket, _ now: Int64) throws(MQTTFormatError) {
        let limit = limits?.maximumPacket ?? MQTTEncoder.maximumPacket
        try MQTTEncoder.append(packet, settings.version, limit: limit, to: &output)
        keepAlive.sent(now: now)
    }

    private static func line(_ text: String) -> String { Printable.line(text).cut(toBytes: Limit.textBytes) }
}
