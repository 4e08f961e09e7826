import Testing

@testable import MQTT

struct MQTTEncoderTests {
    private func bytes(_ packet: MQTTPacket, _ version: MQTTVersion = .v5) throws -> [UInt8] {
        var output: [UInt8] = []
        try MQTTEncoder.append(packet, version, to: &output)
        return output
    }

    private func text(_ text: String) -> [UInt8] { [0, UInt8(text.utf8.count)] + Array(text.utf8) }

    @Test func `CONNECT has the bytes of the specification in both versions`() throws {
        var settings = MQTTClientSettings(clientID: "c")
        settings.username = "u"
        settings.password = [1, 2]
        settings.sessionExpirySeconds = 30
        settings.maximumIncomingPacket = 0x10_0400
        settings.userProperties = [MQTTUserProperty("l", "1")]
        let offline = MQTTMessage(topic: "s", payload: Array("off".utf8), retain: true, contentType: "t", isText: true)
        settings.will = MQTTWill(offline, delaySeconds: 5)
        let v5: [UInt8] =
            text("MQTT") + [5, 0xEC, 0, 60]
            + [20, 0x11, 0, 0, 0, 30, 0x21, 0, 16, 0x27, 0, 0x10, 4, 0, 0x26] + text("l") + text("1")
            + text("c") + [11, 0x18, 0, 0, 0, 5, 1, 1, 3] + text("t") + text("s") + text("off")
            + text("u") + [0, 2, 1, 2]
        #expect(try bytes(.connect(settings.connect)) == [0x10, UInt8(v5.count)] + v5)
        settings.version = .v311
        settings.isCleanStart = true
        let v311: [UInt8] =
            text("MQTT") + [4, 0xEE, 0, 60] + text("c") + text("s") + text("off") + text("u") + [0, 2, 1, 2]
        #expect(try bytes(.connect(settings.connect), .v311) == [0x10, UInt8(v311.count)] + v311)
    }

    @Test func `each small packet has its known bytes`() throws {
        let message = MQTTMessage(topic: "a/b", payload: [9], qos: .atMostOnce)
        #expect(try bytes(.publish(MQTTPublish(message)), .v311) == [0x30, 6, 0, 3, 97, 47, 98, 9])
        #expect(try bytes(.publish(MQTTPublish(message))) == [0x30, 7, 0, 3, 97, 47, 98, 0, 9])
        var kept = MQTTMessage(topic: "a", payload: [], retain: true, expirySeconds: 300)
        let publish = MQTTPublish(kept, identifier: 0x0102, isDuplicate: true)
        #expect(try bytes(.publish(publish)) == [0x3B, 11, 0, 1, 97, 1, 2, 5, 2, 0, 0, 1, 44])
        #expect(try bytes(.publish(publish), .v311) == [0x3B, 5, 0, 1, 97, 1, 2])
        kept.topic = "a/#"
        #expect(throws: MQTTFormatError.invalidTopic) { try bytes(.publish(MQTTPublish(kept))) }
        #expect(try bytes(.puback(MQTTPuback(7))) == [0x40, 2, 0, 7])
        #expect(try bytes(.puback(MQTTPuback(7, .quotaExceeded))) == [0x40, 3, 0, 7, 0x97])
        #expect(try bytes(.puback(MQTTPuback(7, .quotaExceeded)), .v311) == [0x40, 2, 0, 7])
        #expect(try bytes(.pingreq) == [0xC0, 0])
        #expect(try bytes(.disconnect(MQTTDisconnect())) == [0xE0, 0])
        #expect(try bytes(.disconnect(MQTTDisconnect(.packetTooLarge))) == [0xE0, 1, 0x95])
        #expect(try bytes(.unsubscribe(MQTTUnsubscribe(3, ["a"]))) == [0xA2, 6, 0, 3, 0, 0, 1, 97])
    }

    @Test func `SUBSCRIBE has the options of MQTT 5, in 3 1 1 only the QoS, and wants good filters`() throws {
        let subscription = MQTTSubscription("p/+", noLocal: true, retainAsPublished: true, retainHandling: .none)
        let packet = MQTTPacket.subscribe(MQTTSubscribe(1, [subscription]))
        #expect(try bytes(packet) == [0x82, 9, 0, 1, 0, 0, 3, 112, 47, 43, 0x2D])
        #expect(try bytes(packet, .v311) == [0x82, 8, 0, 1, 0, 3, 112, 47, 43, 1])
        for filter in ["", "a/#/b", "a#", "a+", "+a/b", "a\0"] {
            #expect(throws: MQTTFormatError.invalidFilter) {
                try bytes(.subscribe(MQTTSubscribe(1, [MQTTSubscription(filter)])))
            }
        }
        for topic in ["", "a/+", "#", "a\0", String(repeating: "a", count: 65_536)] {
            #expect(!MQTTMessage.isValidTopic(topic))
        }
        #expect(MQTTMessage.isValidTopic("/a//b "))
        for filter in ["#", "+", "a/#", "+/+/b", "/", "$SYS/#"] { #expect(MQTTSubscription.isValidFilter(filter)) }
    }

    @Test func `the length takes one to four bytes`() throws {
        for (size, header) in [
            (124, [0x30, 0x7F]), (125, [0x30, 0x80, 1]), (16_380, [0x30, 0xFF, 0x7F]), (16_381, [0x30, 0x80, 0x80, 1]),
            (2_097_149, [0x30, 0x80, 0x80, 0x80, 1]),
        ] as [(Int, [UInt8])] {
            let message = MQTTMessage(topic: "a", payload: [UInt8](repeating: 1, count: size), qos: .atMostOnce)
            let packet = try bytes(.publish(MQTTPublish(message)), .v311)
            #expect(Array(packet.prefix(header.count)) == header)
            #expect(packet.count == header.count + 3 + size)
        }
    }

    @Test func `fields that do not fit are refused and leave the output alone`() throws {
        var output: [UInt8] = [1]
        let long = String(repeating: "a", count: 65_536)
        var settings = MQTTClientSettings(clientID: long)
        #expect(throws: MQTTFormatError.fieldTooLong) {
            try MQTTEncoder.append(.connect(settings.connect), .v5, to: &output)
        }
        settings = MQTTClientSettings(clientID: "a\0")
        #expect(throws: MQTTFormatError.textWithNUL) {
            try MQTTEncoder.append(.connect(settings.connect), .v5, to: &output)
        }
        settings = MQTTClientSettings(clientID: "a")
        settings.password = [1]
        settings.version = .v311
        #expect(throws: MQTTFormatError.passwordWithoutUsername) {
            try MQTTEncoder.append(.connect(settings.connect), .v311, to: &output)
        }
        let message = MQTTMessage(topic: "a", payload: [1, 2, 3], qos: .atMostOnce)
        #expect(throws: MQTTFormatError.packetTooLarge(bytes: 8, limit: 7)) {
            try MQTTEncoder.append(.publish(MQTTPublish(message)), .v311, limit: 7, to: &output)
        }
        #expect(output == [1])
    }
}
