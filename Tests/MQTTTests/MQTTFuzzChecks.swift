import MQTT

/// Properties that hold for any bytes. Shared by the fuzz driver and the tests that replay its findings.
enum MQTTCheck {
    /// The first byte chooses the check, the version and the cut; the rest is its input.
    static func problem(with bytes: [UInt8]) -> String? {
        guard let first = bytes.first else { return nil }
        let version: MQTTVersion = first & 1 == 0 ? .v5 : .v311
        let input = Array(bytes.dropFirst())
        switch first >> 1 & 3 {
        case 0: return decoderProblem(input, .client, version, cut: Int(first >> 3))
        case 1: return decoderProblem(input, .server, version, cut: Int(first >> 3))
        default:
            var machine = MQTTMachineCheck(version)
            return machine.problem(with: input)
        }
    }

    // MARK: The decoder

    private struct Outcome: Equatable {
        var packets: [MQTTPacket] = []
        var error: MQTTError?
    }

    private static let limit = 1_000

    private static func decoderProblem(
        _ input: [UInt8],
        _ role: MQTTDecoder.Role,
        _ version: MQTTVersion,
        cut: Int
    ) -> String? {
        let whole = decode(input, role, version, cuts: [])
        let cut = input.isEmpty ? 0 : cut % input.count
        if decode(input, role, version, cuts: [cut]) != whole { return "a cut at \(cut) changes the outcome" }
        if decode(input, role, version, cuts: Array(input.indices)) != whole { return "byte by byte differs" }
        var written = version
        for packet in whole.packets {
            if case .connect(let connect) = packet { written = connect.version }
            var bytes: [UInt8] = []
            do throws(MQTTFormatError) {
                try MQTTEncoder.append(packet, written, to: &bytes)
            } catch {
                return "a packet that was read cannot be written: \(error)"
            }
            let again = decode(bytes, role, written, cuts: [])
            if again.packets != [packet] { return "a packet changes: \(packet), \(again)" }
        }
        return nil
    }

    private static func decode(
        _ input: [UInt8],
        _ role: MQTTDecoder.Role,
        _ version: MQTTVersion,
        cuts: [Int]
    ) -> Outcome {
        var decoder = MQTTDecoder(role: role, version: version, limit: limit)
        var outcome = Outcome()
        var start = 0
        do throws(MQTTError) {
            for end in cuts + [input.count] {
                try decoder.receive(input.span.extracting(start..<end), into: &outcome.packets)
                start = end
            }
        } catch {
            outcome.error = error
        }
        return outcome
    }
}

/// Plays a broker, an owner and a clock out of bytes against one client machine.
struct MQTTMachineCheck {
    private static let window = 5
    private static let outputBytes = 4_096

    private let version: MQTTVersion
    private var client: MQTTClient
    private var reader: MQTTDecoder
    private var now: Int64 = 0
    private var token: UInt64 = 0
    private var deliveries: [MQTTDelivery.ID] = []
    /// The packet identifiers on the wire that were not acknowledged, by the token in the topic.
    private var inFlight: [String: UInt16] = [:]
    private var hasEnded = false
    private var found: String?

    init(_ version: MQTTVersion) {
        self.version = version
        var settings = MQTTClientSettings(clientID: "c")
        settings.version = version
        settings.window = Self.window
        settings.receiveMaximum = 4
        settings.outputBytes = Self.outputBytes
        settings.maximumIncomingPacket = 1_000
        settings.subscriptions = [MQTTSubscription("a/#"), MQTTSubscription("b")]
        client = MQTTClient(settings, connection: 1)
        reader = MQTTDecoder(role: .server, version: version, limit: 1 << 20)
    }

    mutating func problem(with script: [UInt8]) -> String? {
        handle(client.opened(now: now))
        var index = 0
        func next() -> UInt8 {
            guard index < script.count else { return 0 }
            defer { index += 1 }
            return script[index]
        }
        while index < script.count, found == nil {
            switch next() % 12 {
            case 0:
                let end = min(index + 1 + Int(next() % 32), script.count)
                if index < end { receive(Array(script[index..<end])) }
                index = max(end, index)
            case 1:
                var properties = MQTTProperties()
                properties.add(.receiveMaximum, .two(UInt16(next() % 8)))
                if next() & 1 == 1 { properties.add(.maximumPacketSize, .four(UInt32(next()))) }
                if next() & 1 == 1 { properties.add(.serverKeepAlive, .two(UInt16(next() % 4))) }
                send(.connack(MQTTConnack(properties: properties)))
            case 2: send(.suback(MQTTSuback(1, [MQTTReason(next()), MQTTReason(next())])))
            case 3:
                let identifier = UInt16(next() % 8) + 1
                send(.puback(MQTTPuback(identifier, MQTTReason(next()))))
            case 4:
                let message = MQTTMessage(topic: "a/b", payload: [next()])
                send(.publish(MQTTPublish(message, identifier: UInt16(next() % 8) + 1)))
            case 5: send(.pingresp)
            case 6, 7: publish(size: Int(next()), qos: next() & 1 == 0 ? .atLeastOnce : .atMostOnce)
            case 8:
                if let id = deliveries.popLast() { client.acknowledge(id, MQTTReason(next()), now: now) }
            case 9: tick(next())
            case 10: readOutput()
            default:
                if next() == 0 { handle(client.stop(final: MQTTMessage(topic: "s", payload: []), now: now)) }
            }
        }
        readOutput()
        return found
    }

    private mutating func tick(_ step: UInt8) {
        if step & 1 == 0, let deadline = client.nextDeadline {
            now = max(now, deadline)
        } else {
            now += Int64(step) * 50
        }
        handle(client.tick(now: now))
        if let deadline = client.nextDeadline, deadline <= now { found = "a deadline stays in the past" }
    }

    private mutating func publish(size: Int, qos: MQTTQoS) {
        token += 1
        let message = MQTTMessage(topic: "\(token)", payload: [UInt8](repeating: 0, count: size), qos: qos)
        _ = try? client.publish(message, token: token, now: now)
        if client.inFlightCount > Self.window { found = "more in flight than the window" }
    }

    private mutating func send(_ packet: MQTTPacket) {
        var bytes: [UInt8] = []
        try? MQTTEncoder.append(packet, version, to: &bytes)
        receive(bytes)
    }

    private mutating func receive(_ bytes: [UInt8]) {
        // The identifiers in flight are known only from the output.
        readOutput()
        handle(client.receive(bytes.span, now: now))
    }

    private mutating func handle(_ events: [MQTTEvent]) {
        for event in events {
            if hasEnded { found = "an event behind the end" }
            switch event {
            case .received(let delivery):
                if let id = delivery.id { deliveries.append(id) }
                if deliveries.count > 4, version == .v5 { found = "more deliveries than announced" }
            case .acknowledged(let token, _):
                if inFlight.removeValue(forKey: "\(token)") == nil { found = "an acknowledgement of nothing" }
            case .ended: hasEnded = true
            case .connected, .subscribed, .stalled: break
            }
        }
    }

    /// A broker must be able to read all of it.
    private mutating func readOutput() {
        let output = client.takeOutput()
        if output.count > Self.outputBytes + 2_000 { found = "more output than its limit" }
        var packets: [MQTTPacket] = []
        do throws(MQTTError) {
            try reader.receive(output.span, into: &packets)
        } catch {
            found = "the client wrote bytes that nobody can read: \(error)"
        }
        for packet in packets {
            guard case .publish(let publish) = packet, let identifier = publish.identifier else { continue }
            if inFlight.values.contains(identifier) { found = "identifier \(identifier) is used twice" }
            inFlight[publish.message.topic] = identifier
        }
    }
}
