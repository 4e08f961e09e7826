import Testing

@testable import MQTT

/// A client machine and a broker that the test plays, on a clock that the test moves.
struct MQTTScript {
    var client: MQTTClient
    var now: Int64 = 1_000_000
    private var reader: MQTTDecoder
    private let version: MQTTVersion

    init(_ settings: MQTTClientSettings, connection: UInt64 = 1) {
        client = MQTTClient(settings, connection: connection)
        version = settings.version
        reader = MQTTDecoder(role: .server, version: settings.version, limit: 8 << 20)
    }

    static func settings(
        _ version: MQTTVersion = .v5,
        _ change: (inout MQTTClientSettings) -> Void = { _ in }
    ) -> MQTTClientSettings {
        var settings = MQTTClientSettings(clientID: "ladle1")
        settings.version = version
        change(&settings)
        return settings
    }

    /// A script behind its CONNACK.
    static func online(
        _ version: MQTTVersion = .v5,
        _ properties: [(MQTTPropertyName, MQTTProperties.Value)] = [],
        _ change: (inout MQTTClientSettings) -> Void = { _ in }
    ) -> MQTTScript {
        var script = MQTTScript(settings(version, change))
        _ = script.client.opened(now: script.now)
        _ = script.sent()
        _ = script.broker(.connack(MQTTConnack(properties: MQTTProperties(properties))))
        return script
    }

    /// The packets that the client wrote since the last call.
    mutating func sent() -> [MQTTPacket] {
        var packets: [MQTTPacket] = []
        let output = client.takeOutput()
        do throws(MQTTError) {
            try reader.receive(output.span, into: &packets)
        } catch {
            Issue.record("the client wrote bytes that nobody can read: \(error)")
        }
        #expect(!reader.isInsidePacket)
        return packets
    }

    /// The broker sends a packet.
    mutating func broker(_ packet: MQTTPacket) -> [MQTTEvent] {
        var bytes: [UInt8] = []
        do throws(MQTTFormatError) {
            try MQTTEncoder.append(packet, version, to: &bytes)
        } catch {
            Issue.record("\(error)")
        }
        return raw(bytes)
    }

    mutating func raw(_ bytes: [UInt8]) -> [MQTTEvent] { client.receive(bytes.span, now: now) }

    /// Moves the clock in the steps that the client asks for. Returns the events with their times from now.
    mutating func pass(seconds: Int64) -> [MQTTEvent] {
        let end = now + seconds * 1000
        var events: [MQTTEvent] = []
        while let deadline = client.nextDeadline, deadline <= end {
            now = max(now, deadline)
            events += client.tick(now: now)
            if let next = client.nextDeadline, next <= now {
                Issue.record("a deadline stays in the past")
                break
            }
        }
        now = end
        return events
    }

    mutating func publish(_ text: String = "x", _ token: UInt64 = 1, qos: MQTTQoS = .atLeastOnce) throws(MQTTRefusal) {
        try client.publish(MQTTMessage(topic: "a/b", payload: Array(text.utf8), qos: qos), token: token, now: now)
    }
}

extension MQTTProperties {
    init(_ list: [(MQTTPropertyName, Value)]) {
        self.init()
        for (name, value) in list { add(name, value) }
    }
}

extension [MQTTEvent] {
    var end: MQTTEnd? {
        if case .ended(let end) = last { end } else { nil }
    }
}

extension [MQTTPacket] {
    /// The identifiers of the messages with QoS 1.
    var publishIdentifiers: [UInt16] {
        compactMap { if case .publish(let publish) = $0 { publish.identifier } else { nil } }
    }
}
