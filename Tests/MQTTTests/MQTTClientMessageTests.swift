import Testing

@testable import MQTT

struct MQTTClientMessageTests {
    @Test func `the window is the smaller one, and acknowledgements may come in any order`() throws {
        var script = MQTTScript.online(.v5, [(.receiveMaximum, .two(3))])
        for token in 10...12 { try script.publish("x", UInt64(token)) }
        #expect(throws: MQTTRefusal.windowFull) { try script.publish() }
        try script.publish("needs no window", qos: .atMostOnce)
        let identifiers = script.sent().publishIdentifiers
        #expect(identifiers == [1, 2, 3])
        #expect(script.broker(.puback(MQTTPuback(3))) == [.acknowledged(token: 12, .success)])
        #expect(script.broker(.puback(MQTTPuback(1, .quotaExceeded))) == [.acknowledged(token: 10, .quotaExceeded)])
        #expect(script.client.freeWindow == 2)
        // Twice, and one that was never sent.
        #expect(script.broker(.puback(MQTTPuback(3))).isEmpty)
        #expect(script.broker(.puback(MQTTPuback(999))).isEmpty)
        #expect(script.client.unknownAcknowledgements == 2)
        #expect(script.client.isOnline)
    }

    @Test func `a receive maximum of one lets one message out at a time`() throws {
        var script = MQTTScript.online(.v5, [(.receiveMaximum, .two(1))])
        for round in 1...3 as ClosedRange<UInt16> {
            try script.publish("x", UInt64(round))
            #expect(throws: MQTTRefusal.windowFull) { try script.publish() }
            #expect(script.broker(.puback(MQTTPuback(round))) == [.acknowledged(token: UInt64(round), .success)])
        }
    }

    @Test func `an identifier is not used again before its acknowledgement`() {
        var inFlight = MQTTInFlight()
        #expect(inFlight.next(except: []) == 1)
        inFlight.add(1, token: 7, now: 0)
        var seen: Set<UInt16> = []
        for round in 0..<70_000 {
            let identifier = inFlight.next(except: [500])
            inFlight.add(identifier, token: 0, now: 0)
            seen.insert(identifier)
            if round >= 60 { _ = inFlight.remove(identifier, now: 0) }
        }
        #expect(seen.count == 65_533)
        #expect(seen.isDisjoint(with: [0, 1, 500]))
        #expect(inFlight.count == 61)
        #expect(inFlight.remove(1, now: 0) == 7)
    }

    @Test func `a packet above the broker's maximum is not sent`() throws {
        let properties: [(MQTTPropertyName, MQTTProperties.Value)] = [(.maximumPacketSize, .four(20))]
        var script = MQTTScript.online(.v5, properties)
        try script.publish("1234567890")
        #expect(throws: MQTTRefusal.tooLarge(bytes: 21, limit: 20)) { try script.publish("12345678901") }
        #expect(script.client.inFlightCount == 1)
        #expect(script.sent().count == 1)
        script = MQTTScript(MQTTScript.settings { $0.subscriptions = [MQTTSubscription("a/long/filter/of/a/topic")] })
        _ = script.client.opened(now: script.now)
        let connack = MQTTConnack(properties: MQTTProperties(properties))
        let grant = MQTTGrant(filter: "a/long/filter/of/a/topic", reason: .packetTooLarge)
        #expect(script.broker(.connack(connack)).last == .subscribed([grant]))
        script = .online(.v311) { $0.assumedMaximumPacket = 20 }
        #expect(throws: MQTTRefusal.tooLarge(bytes: 21, limit: 20)) { try script.publish("123456789012") }
    }

    @Test func `values outside their range are clamped`() {
        let absurd: [(MQTTPropertyName, MQTTProperties.Value)] = [
            (.maximumPacketSize, .four(.max)), (.receiveMaximum, .two(0)), (.maximumQoS, .byte(9)),
            (.retainAvailable, .byte(7)),
        ]
        let limits = MQTTScript.online(.v5, absurd).client.limits
        #expect(limits?.maximumPacket == MQTTEncoder.maximumPacket)
        #expect(limits?.window == 1)
        #expect(limits?.maximumQoS == .atLeastOnce)
        #expect(limits?.isRetainAvailable == true)
        #expect(MQTTScript.online(.v5, [(.maximumPacketSize, .four(0))]).client.limits?.maximumPacket == 268_435_460)
    }

    @Test func `QoS, RETAIN and wildcards are used only where the broker has them`() throws {
        let lacking: [(MQTTPropertyName, MQTTProperties.Value)] = [
            (.maximumQoS, .byte(0)), (.retainAvailable, .byte(0)), (.wildcardAvailable, .byte(0)),
        ]
        let wished = [MQTTSubscription("a/#"), MQTTSubscription("b"), MQTTSubscription("c#")]
        var script = MQTTScript.online(.v5, lacking) { $0.subscriptions = wished }
        #expect(script.sent() == [.subscribe(MQTTSubscribe(1, [wished[1]]))])
        let grants = [
            MQTTGrant(filter: "a/#", reason: .wildcardsNotSupported), MQTTGrant(filter: "b", reason: .success),
            MQTTGrant(filter: "c#", reason: .topicFilterInvalid),
        ]
        #expect(script.broker(.suback(MQTTSuback(1, [.success]))) == [.subscribed(grants)])
        let kept = MQTTMessage(topic: "a", payload: [1], retain: true)
        #expect(try script.client.publish(kept, token: 1, now: script.now) == .atMostOnce)
        #expect(script.sent() == [.publish(MQTTPublish(MQTTMessage(topic: "a", payload: [1], qos: .atMostOnce)))])
        #expect(script.client.inFlightCount == 0)
    }

    @Test func `output that nobody takes refuses more messages`() throws {
        var script = MQTTScript.online { $0.outputBytes = 100 }
        try script.publish(String(repeating: "x", count: 200), qos: .atMostOnce)
        #expect(throws: MQTTRefusal.outputFull) { try script.publish(qos: .atMostOnce) }
        _ = script.sent()
        try script.publish(qos: .atMostOnce)
    }

    @Test func `a message that cannot be written is refused and the connection lives`() throws {
        var script = MQTTScript.online()
        let bad = MQTTMessage(topic: "a/+", payload: [])
        #expect(throws: MQTTRefusal.unusable(.invalidTopic)) {
            try script.client.publish(bad, token: 1, now: script.now)
        }
        #expect(script.client.inFlightCount == 0)
        #expect(script.sent().isEmpty)
    }

    private func publish(_ identifier: UInt16?, isDuplicate: Bool = false) -> MQTTPacket {
        let qos: MQTTQoS = identifier == nil ? .atMostOnce : .atLeastOnce
        return .publish(
            MQTTPublish(
                MQTTMessage(topic: "c", payload: [1], qos: qos),
                identifier: identifier,
                isDuplicate: isDuplicate
            )
        )
    }

    private func delivery(_ events: [MQTTEvent]) -> MQTTDelivery? {
        if case .received(let delivery) = events.first { delivery } else { nil }
    }

    @Test(arguments: [MQTTVersion.v5, .v311])
    func `a delivery is acknowledged once, when its owner is done`(_ version: MQTTVersion) throws {
        var script = MQTTScript.online(version)
        #expect(delivery(script.broker(publish(nil)))?.id == nil)
        let first = try #require(delivery(script.broker(publish(5)))?.id)
        let second = try #require(delivery(script.broker(publish(6, isDuplicate: true))))
        #expect(second.isDuplicate)
        #expect(script.sent().isEmpty)
        script.client.acknowledge(try #require(second.id), .quotaExceeded, now: script.now)
        script.client.acknowledge(first, now: script.now)
        script.client.acknowledge(first, now: script.now)
        let reason: MQTTReason = version == .v5 ? .quotaExceeded : .success
        #expect(script.sent() == [.puback(MQTTPuback(6, reason)), .puback(MQTTPuback(5))])
    }

    @Test func `a late acknowledgement does not touch the next connection`() throws {
        var old = MQTTScript.online()
        let id = try #require(delivery(old.broker(publish(5)))?.id)
        var next = MQTTScript(MQTTScript.settings(), connection: 2)
        _ = next.client.opened(now: next.now)
        _ = next.broker(.connack(MQTTConnack()))
        _ = next.broker(publish(5))
        _ = next.sent()
        next.client.acknowledge(id, now: next.now)
        #expect(next.sent().isEmpty)
    }

    @Test func `a broker that exceeds our receive maximum is told so`() {
        var script = MQTTScript.online { $0.receiveMaximum = 2 }
        _ = script.broker(publish(1))
        _ = script.broker(publish(2))
        #expect(script.broker(publish(3)).end?.cause == .broken(.tooManyDeliveries))
        #expect(script.sent() == [.disconnect(MQTTDisconnect(.receiveMaximumExceeded))])
    }

    @Test func `an identifier in use is an error in 5, and an early repetition in 3 1 1`() {
        var script = MQTTScript.online()
        _ = script.broker(publish(1))
        #expect(script.broker(publish(1, isDuplicate: true)).end?.cause == .broken(.identifierInUse(1)))
        script = .online(.v311)
        _ = script.broker(publish(1))
        #expect(script.broker(publish(1, isDuplicate: true)).isEmpty)
        #expect(script.broker(publish(1)).end?.cause == .broken(.identifierInUse(1)))
    }
}
