import Testing

@testable import MQTT

struct MQTTDecoderTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var bytes: [UInt8]
        var packets: [MQTTPacket] = []
        var error: MQTTError?
        var version = MQTTVersion.v5
        var role = MQTTDecoder.Role.client
        var testDescription: String { name }
    }

    static func publish(_ count: Int) -> Case {
        let payload = [UInt8](repeating: 7, count: count)
        var bytes: [UInt8] = []
        let packet = MQTTPacket.publish(MQTTPublish(MQTTMessage(topic: "t", payload: payload), identifier: 9))
        try? MQTTEncoder.append(packet, .v5, to: &bytes)
        return Case(name: "payload of \(count)", bytes: bytes, packets: [packet])
    }

    static let answers: [Case] = [
        Case(
            name: "CONNACK with properties",
            bytes: [0x20, 14, 1, 0, 11, 0x22, 0, 10, 0x27, 0, 0, 0x10, 0, 0x21, 0, 20],
            packets: [
                .connack(
                    MQTTConnack(
                        isSessionPresent: true,
                        properties: MQTTProperties([
                            (.topicAliasMaximum, .two(10)), (.maximumPacketSize, .four(4096)),
                            (.receiveMaximum, .two(20)),
                        ])
                    )
                )
            ]
        ),
        Case(
            name: "CONNACK in the form of 3.1.1",
            bytes: [0x20, 2, 0, 1],
            packets: [.connack(MQTTConnack(code: 1, isShort: true))]
        ),
        Case(
            name: "CONNACK of 3.1.1",
            bytes: [0x20, 2, 1, 0],
            packets: [.connack(MQTTConnack(isSessionPresent: true))],
            version: .v311
        ),
        Case(
            name: "PUBACK in three forms",
            bytes: [0x40, 2, 0, 1, 0x40, 3, 0, 2, 0x10, 0x40, 4, 0, 3, 0x87, 0],
            packets: [
                .puback(MQTTPuback(1)), .puback(MQTTPuback(2, .noMatchingSubscribers)),
                .puback(MQTTPuback(3, .notAuthorized)),
            ]
        ),
        Case(
            name: "SUBACK, UNSUBACK and PINGRESP",
            bytes: [0x90, 5, 0, 1, 0, 1, 0x80, 0xB0, 4, 0, 2, 0, 0x11, 0xD0, 0],
            packets: [
                .suback(MQTTSuback(1, [MQTTReason(1), .unspecified])), .unsuback(MQTTSuback(2, [MQTTReason(0x11)])),
                .pingresp,
            ]
        ),
        Case(
            name: "UNSUBACK of 3.1.1",
            bytes: [0xB0, 2, 0, 2],
            packets: [.unsuback(MQTTSuback(2, []))],
            version: .v311
        ),
        Case(
            name: "DISCONNECT of length 0, 1 and 2",
            bytes: [0xE0, 0, 0xE0, 1, 0x8E, 0xE0, 2, 0x8B, 0],
            packets: [
                .disconnect(MQTTDisconnect()), .disconnect(MQTTDisconnect(.sessionTakenOver)),
                .disconnect(MQTTDisconnect(MQTTReason(0x8B))),
            ]
        ),
        publish(0), publish(121), publish(122), publish(300),
    ]

    /// A message to topic `t` with QoS 1, identifier 1 and these properties.
    static func message(_ properties: [UInt8]) -> [UInt8] {
        [0x32, UInt8(6 + properties.count), 0, 1, 116, 0, 1, UInt8(properties.count)] + properties
    }

    static let broken: [Case] = [
        Case(name: "TLS alert", bytes: [0x15, 3, 3, 0, 2], error: .unexpectedPacket(type: 1)),
        Case(
            name: "TLS hello to a server",
            bytes: [0x16, 3, 1, 2, 0],
            error: .wrongFlags(type: 1, flags: 6),
            role: .server
        ),
        Case(name: "HTTP", bytes: Array("HTTP/1.1 400".utf8), error: .wrongFlags(type: 4, flags: 8)),
        Case(name: "AUTH", bytes: [0xF0, 0], error: .unexpectedPacket(type: 15)),
        Case(name: "PUBREC", bytes: [0x50, 2, 0, 1], error: .unexpectedPacket(type: 5)),
        Case(name: "type 0", bytes: [0, 0], error: .unexpectedPacket(type: 0)),
        Case(name: "DISCONNECT in 3.1.1", bytes: [0xE0, 0], error: .unexpectedPacket(type: 14), version: .v311),
        Case(name: "PINGRESP with flags", bytes: [0xD1, 0], error: .wrongFlags(type: 13, flags: 1)),
        Case(name: "PINGRESP with a body", bytes: [0xD0, 1, 0], error: .bytesBehindPacket),
        Case(name: "QoS 2", bytes: [0x34, 0], error: .qosTwo),
        Case(name: "QoS 3", bytes: [0x36, 0], error: .invalidQoS),
        Case(name: "DUP with QoS 0", bytes: [0x38, 0], error: .invalidQoS),
        Case(name: "a fifth byte of length", bytes: [0x30, 0x80, 0x80, 0x80, 0x80, 1], error: .malformedLength),
        Case(name: "a length in more bytes than needed", bytes: [0x30, 0x85, 0], error: .malformedLength),
        Case(
            name: "a length above the limit",
            bytes: [0x30, 0xFF, 0xFF, 0xFF, 0x7F],
            error: .packetTooLarge(bytes: MQTTEncoder.maximumPacket, limit: 1_000)
        ),
        Case(name: "a topic longer than the packet", bytes: [0x30, 4, 0xFF, 0xFF, 97, 98], error: .truncated),
        Case(name: "properties longer than the packet", bytes: [0x30, 4, 0, 1, 97, 5], error: .truncated),
        Case(name: "a property cut by its list", bytes: message([2, 0, 0]), error: .truncated),
        Case(name: "identifier 0", bytes: [0x32, 6, 0, 1, 97, 0, 0, 0], error: .zeroIdentifier),
        Case(name: "an empty topic", bytes: [0x30, 3, 0, 0, 0], error: .invalidTopic),
        Case(name: "a topic with a wildcard", bytes: [0x30, 4, 0, 1, 0x23, 0], error: .invalidTopic),
        Case(name: "a topic with U+0000", bytes: [0x30, 4, 0, 1, 0, 0], error: .invalidText),
        Case(name: "a surrogate", bytes: [0x30, 6, 0, 3, 0xED, 0xA0, 0x80, 0], error: .invalidText),
        Case(name: "an unknown property", bytes: message([0x7F, 0]), error: .unknownProperty(0x7F)),
        Case(name: "a property of two bytes", bytes: message([0x80, 2]), error: .unknownProperty(0x100)),
        Case(
            name: "a property of another packet",
            bytes: message([0x21, 0, 9]),
            error: .unknownProperty(0x21)
        ),
        Case(name: "a property twice", bytes: message([1, 1, 1, 1]), error: .repeatedProperty(1)),
        Case(name: "payload format 2", bytes: message([1, 2]), error: .propertyValue(1)),
        Case(name: "subscription 0", bytes: message([0x0B, 0]), error: .propertyValue(0x0B)),
        Case(name: "a topic alias", bytes: message([0x23, 0, 1]), error: .topicAlias),
        Case(name: "CONNACK with reserved flags", bytes: [0x20, 3, 2, 0, 0], error: .reservedBits),
        Case(name: "CONNACK of one byte", bytes: [0x20, 1, 0], error: .truncated),
        Case(name: "SUBACK without codes", bytes: [0x90, 3, 0, 1, 0], error: .noReasonCodes),
        Case(
            name: "PUBACK of 3.1.1 with a code",
            bytes: [0x40, 3, 0, 1, 0],
            error: .bytesBehindPacket,
            version: .v311
        ),
        Case(name: "SUBSCRIBE without filters", bytes: [0x82, 3, 0, 1, 0], error: .truncated, role: .server),
        Case(
            name: "an unknown level",
            bytes: [0x10, 7, 0, 4, 77, 81, 84, 84, 6],
            error: .protocolLevel(6),
            role: .server
        ),
    ]

    @Test(arguments: answers + broken)
    func `each case decodes the same whole, byte by byte and at every cut`(_ test: Case) {
        let whole = Pieces(test, cuts: [])
        #expect(whole.packets == test.packets)
        #expect(whole.error == test.error)
        #expect(Pieces(test, cuts: Array(test.bytes.indices)) == whole)
        for cut in test.bytes.indices { #expect(Pieces(test, cuts: [cut]) == whole) }
    }

    @Test func `errors have the codes of the specification`() {
        #expect(MQTTError.repeatedProperty(1).reason == .protocolError)
        #expect(MQTTError.unknownProperty(0x7F).reason == .malformedPacket)
        #expect(MQTTError.wrongFlags(type: 13, flags: 1).reason == .malformedPacket)
        #expect(MQTTError.packetTooLarge(bytes: 2, limit: 1).reason.code == 0x95)
        #expect(MQTTError.topicAlias.reason.code == 0x94)
        #expect(MQTTError.tooManyDeliveries.reason.code == 0x93)
    }

    @Test func `the properties of a message reach it, and subscriptions may repeat`() {
        let properties: [UInt8] =
            [1, 1, 2, 0, 0, 0, 9, 3, 0, 1, 99, 8, 0, 1, 114, 9, 0, 2, 0, 255]
            + [0x0B, 1, 0x0B, 2, 0x26, 0, 1, 107, 0, 1, 118, 0x26, 0, 1, 107, 0, 0]
        let test = Case(name: "", bytes: Self.message(properties))
        let expected = MQTTMessage(
            topic: "t",
            payload: [],
            expirySeconds: 9,
            contentType: "c",
            isText: true,
            responseTopic: "r",
            correlationData: [0, 255],
            userProperties: [MQTTUserProperty("k", "v"), MQTTUserProperty("k", "")]
        )
        #expect(Pieces(test, cuts: []).packets == [.publish(MQTTPublish(expected, identifier: 1))])
    }

    @Test func `a declared size holds no memory before its bytes, and after an error nothing is read`() {
        var decoder = MQTTDecoder(role: .client, version: .v5, limit: 1 << 20)
        var packets: [MQTTPacket] = []
        #expect(throws: Never.self) { try decoder.receive([0x30, 0xF0, 0xFF, 0x3F, 0, 1].span, into: &packets) }
        #expect(decoder.heldBytes == 2)
        #expect(decoder.isInsidePacket)
        decoder = MQTTDecoder(role: .client, version: .v5, limit: 1 << 20)
        #expect(throws: MQTTError.malformedLength) {
            try decoder.receive([0xD0, 0, 0x30, 0x80, 0].span, into: &packets)
        }
        #expect(packets == [.pingresp])
        #expect(throws: MQTTError.malformedLength) { try decoder.receive([0xD0, 0].span, into: &packets) }
        #expect(packets == [.pingresp])
    }

    private struct Pieces: Equatable {
        var packets: [MQTTPacket] = []
        var error: MQTTError?

        init(_ test: Case, cuts: [Int]) {
            var decoder = MQTTDecoder(role: test.role, version: test.version, limit: 1_000)
            var start = 0
            do throws(MQTTError) {
                for end in cuts + [test.bytes.count] {
                    try decoder.receive(test.bytes.span.extracting(start..<end), into: &packets)
                    start = end
                }
            } catch {
                self.error = error
            }
        }
    }
}
