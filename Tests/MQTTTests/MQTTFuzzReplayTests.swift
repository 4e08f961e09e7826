import Testing

@testable import MQTT

/// The fuzz checks over random packets and mutated bytes, so that every build runs them a little; findings of the
/// fuzzer become cases here.
struct MQTTFuzzReplayTests {
    private struct Random {
        var state: UInt64

        mutating func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }

        mutating func flips() -> Bool { next(2) == 0 }
        mutating func bytes(_ most: Int) -> [UInt8] { (0..<next(most + 1)).map { _ in UInt8(next(256)) } }
        mutating func text() -> String {
            String((0..<(1 + next(6))).map { _ in ["a", "é", "🪶", "/", " ", "\u{FEFF}", "$"][next(7)] }.joined())
        }

        mutating func message() -> MQTTMessage {
            var message = MQTTMessage(topic: text(), payload: bytes(300), qos: flips() ? .atLeastOnce : .atMostOnce)
            message.retain = flips()
            if flips() { message.expirySeconds = UInt32(next(1 << 30)) }
            if flips() { message.contentType = text() }
            if flips() { message.isText = flips() }
            if flips() { message.responseTopic = text() }
            if flips() { message.correlationData = bytes(40) }
            if flips() { message.userProperties = [MQTTUserProperty(text(), text()), MQTTUserProperty("", text())] }
            return message
        }

        /// Any properties that may stand in the packet, in any order.
        mutating func properties(_ place: MQTTPropertyName.Place) -> MQTTProperties {
            var properties = MQTTProperties()
            for name in MQTTPropertyName.allCases where name.mayAppear(in: place) && flips() {
                switch name.kind {
                case .byte: properties.add(name, .byte(UInt8(next(2))))
                case .two: properties.add(name, .two(UInt16(next(65_536))))
                case .four: properties.add(name, .four(UInt32(next(1 << 31))))
                case .variable: properties.add(name, .variable(UInt32(1 + next(268_435_455))))
                case .text: properties.add(name, .text(text()))
                case .bytes: properties.add(name, .bytes(bytes(20)))
                case .pair: properties.add([MQTTUserProperty(text(), ""), MQTTUserProperty(text(), text())])
                }
            }
            return properties
        }

        mutating func identifier() -> UInt16 { UInt16(1 + next(65_535)) }
        mutating func reasons() -> [MQTTReason] { (0..<(1 + next(5))).map { _ in MQTTReason(UInt8(next(256))) } }

        mutating func connect() -> MQTTConnect {
            var connect = MQTTConnect(
                version: .v5,
                clientID: text(),
                isCleanStart: flips(),
                keepAliveSeconds: UInt16(next(65_536))
            )
            if flips() { connect.will = MQTTWill(message(), delaySeconds: UInt32(next(100))) }
            if flips() { connect.username = text() }
            if flips() { connect.password = bytes(30) }
            connect.properties = properties(.connect)
            return connect
        }

        mutating func packet() -> (MQTTPacket, MQTTDecoder.Role) {
            switch next(11) {
            case 0: return (.connect(connect()), .server)
            case 1:
                let connack = MQTTConnack(
                    isSessionPresent: flips(),
                    code: UInt8(next(256)),
                    properties: properties(.connack)
                )
                return (.connack(connack), .client)
            case 2: return (.puback(MQTTPuback(identifier(), reasons()[0], properties: properties(.puback))), .client)
            case 3:
                let subscription = MQTTSubscription(
                    "a/+/#",
                    noLocal: flips(),
                    retainAsPublished: flips(),
                    retainHandling: flips() ? .none : .ifNew
                )
                let all = [subscription, MQTTSubscription("é", qos: .atMostOnce)]
                return (.subscribe(MQTTSubscribe(identifier(), all, properties: properties(.subscribe))), .server)
            case 4: return (.suback(MQTTSuback(identifier(), reasons(), properties: properties(.suback))), .client)
            case 5:
                let properties = properties(.unsubscribe)
                return (.unsubscribe(MQTTUnsubscribe(identifier(), ["a", "#"], properties: properties)), .server)
            case 6: return (.unsuback(MQTTSuback(identifier(), reasons(), properties: properties(.unsuback))), .client)
            case 7: return (.pingreq, .server)
            case 8: return (.pingresp, .client)
            case 9: return (.disconnect(MQTTDisconnect(reasons()[0], properties: properties(.disconnect))), .client)
            default:
                let message = message()
                let identifier = message.qos == .atLeastOnce ? identifier() : nil
                let isDuplicate = identifier != nil && flips()
                return (.publish(MQTTPublish(message, identifier: identifier, isDuplicate: isDuplicate)), .client)
            }
        }
    }

    @Test func `every packet is read as it was written`() throws {
        var random = Random(state: 1)
        for _ in 0..<3_000 {
            let (packet, role) = random.packet()
            var bytes: [UInt8] = []
            try MQTTEncoder.append(packet, .v5, to: &bytes)
            var decoder = MQTTDecoder(role: role, version: .v5, limit: 1 << 20)
            var packets: [MQTTPacket] = []
            try decoder.receive(bytes.span, into: &packets)
            #expect(packets == [packet])
        }
    }

    @Test func `mutated packets never break a rule`() throws {
        var random = Random(state: 2)
        for _ in 0..<3_000 {
            let (packet, role) = random.packet()
            var bytes: [UInt8] = [UInt8(random.next(32) << 3) | (role == .server ? 2 : 0) | UInt8(random.next(2))]
            try MQTTEncoder.append(packet, bytes[0] & 1 == 0 ? .v5 : .v311, to: &bytes)
            for _ in 0...random.next(3) { bytes[1 + random.next(bytes.count - 1)] = UInt8(random.next(256)) }
            #expect(MQTTCheck.problem(with: bytes) == nil)
        }
    }

    @Test(arguments: [MQTTVersion.v5, .v311])
    func `a broker of random bytes never breaks the machine`(_ version: MQTTVersion) {
        var random = Random(state: 3)
        for _ in 0..<2_000 {
            var machine = MQTTMachineCheck(version)
            // Most scripts begin with a CONNACK, because little happens before it.
            let start: [UInt8] = random.next(8) == 0 ? [] : [1, UInt8(random.next(8)), 0, 0, 0, 2, 1, 1]
            let script = start + (0..<random.next(200)).map { _ in UInt8(random.next(256)) }
            let problem = machine.problem(with: script)
            #expect(problem == nil)
        }
    }
}
