import EventLoops
import MQTT
import Outbound
import Testing

/// An MQTT broker in memory. It speaks through the codec, and a test decides what it takes, acknowledges and forgets.
///
/// Unchecked: a test makes it before its loop, and from then on only that loop uses it.
final class MemoryBroker: @unchecked Sendable {
    /// Nobody answers at the address.
    var isAway = false
    /// It takes connections and says nothing.
    var isMute = false
    /// It closes the connection at the packets for which this is true, without a word.
    var closesAt: (MQTTPacket) -> Bool = { _ in false }
    /// The code of CONNACK; 0 lets the client in.
    var connack: UInt8 = 0
    /// Properties of CONNACK.
    var limits = MQTTProperties()
    /// Acknowledges at once; else `acknowledgeAll` does.
    var acknowledges = true
    /// Codes of PUBACK by topic.
    var refusals: [String: MQTTReason] = [:]
    /// The largest payload that it takes without having announced it.
    var largestPayload = Int.max
    private(set) var published: [MQTTMessage] = []
    private(set) var connects: [MQTTConnect] = []
    private(set) var subscriptions: [MQTTSubscription] = []
    private(set) var acknowledged: [MQTTReason] = []
    private(set) var hasFarewell = false
    fileprivate var unacknowledged: [UInt16] = []
    private weak var line: MemoryLine?
    private var lastIdentifier: UInt16 = 0

    func connect(_ client: MQTTClient, _ handler: any BrokerConnectionHandler) -> any BrokerLine {
        let line = MemoryLine(client, handler, self)
        self.line = line
        return line
    }

    // MARK: Looking

    /// The payloads of a topic as texts.
    func texts(_ topic: String) -> [String] {
        published.filter { $0.topic == topic }.map { String(decoding: $0.payload, as: UTF8.self) }
    }

    func last(_ topic: String) -> String? { texts(topic).last }

    /// The events in the order in which they came.
    var events: [MQTTMessage] { published.filter { $0.topic.contains("/events/") } }

    func forget() { published = [] }

    // MARK: Acting

    /// The broker dies, or the network.
    func kill(on loop: isolated EventLoop) {
        unacknowledged = []
        line?.die(on: loop)
    }

    func acknowledgeAll(on loop: isolated EventLoop) {
        let identifiers = unacknowledged
        unacknowledged = []
        line?.say(identifiers.map { .puback(MQTTPuback($0, .success)) }, on: loop)
    }

    /// A message of another client.
    func deliver(_ message: MQTTMessage, isDuplicate: Bool = false, on loop: isolated EventLoop) {
        lastIdentifier += 1
        let publish = MQTTPublish(message, identifier: lastIdentifier, isDuplicate: isDuplicate)
        line?.say([.publish(publish)], on: loop)
    }

    func disconnect(_ reason: MQTTReason, on loop: isolated EventLoop) {
        line?.say([.disconnect(MQTTDisconnect(reason))], on: loop)
    }

    // MARK: Hearing

    fileprivate func answers(to packet: MQTTPacket) -> [MQTTPacket] {
        switch packet {
        case .connect(let connect):
            connects.append(connect)
            return isMute ? [] : [.connack(MQTTConnack(isSessionPresent: false, code: connack, properties: limits))]
        case .subscribe(let subscribe):
            subscriptions = subscribe.subscriptions
            return [.suback(MQTTSuback(subscribe.identifier, subscribe.subscriptions.map { _ in MQTTReason(1) }))]
        case .publish(let publish):
            published.append(publish.message)
            guard let identifier = publish.identifier else { return [] }
            let isLarge = publish.message.payload.count > largestPayload
            if let refusal = isLarge ? .packetTooLarge : refusals[publish.message.topic] {
                return [.puback(MQTTPuback(identifier, refusal))]
            }
            guard acknowledges else {
                unacknowledged.append(identifier)
                return []
            }
            return [.puback(MQTTPuback(identifier, .success))]
        case .puback(let puback):
            acknowledged.append(puback.reason)
            return []
        case .pingreq: return [.pingresp]
        case .disconnect:
            hasFarewell = true
            return []
        default: return []
        }
    }
}

/// One connection to the broker.
private final class MemoryLine: BrokerLine {
    private var client: MQTTClient
    private weak var handler: (any BrokerConnectionHandler)?
    private let broker: MemoryBroker
    private var decoder: MQTTDecoder
    private var isOver = false
    private var isPumping = false

    init(_ client: MQTTClient, _ handler: any BrokerConnectionHandler, _ broker: MemoryBroker) {
        (self.client, self.handler, self.broker) = (client, handler, broker)
        decoder = MQTTDecoder(role: .server, version: client.settings.version, limit: MQTTEncoder.maximumPacket)
    }

    var limits: MQTTBrokerLimits? { client.limits }
    var hasRoom: Bool { !isOver && client.freeWindow > 0 }
    var isSubscribing: Bool { client.isSubscribing }

    func open(on loop: isolated EventLoop) {
        loop.after(milliseconds: 0) {
            guard !self.isOver else { return }
            if self.broker.isAway {
                self.isOver = true
                self.handler?.brokerUnreachable(.network("connection refused"), on: loop)
            } else {
                self.report(self.client.opened(now: Self.time(loop)), on: loop)
            }
        }
    }

    func publish(_ message: MQTTMessage, token: UInt64, on loop: isolated EventLoop) throws(MQTTRefusal) -> MQTTQoS {
        let qos = try client.publish(message, token: token, now: Self.time(loop))
        // In a later turn, as over a socket.
        loop.after(milliseconds: 0) { self.pump(on: loop) }
        return qos
    }

    func acknowledge(_ delivery: MQTTDelivery.ID, _ reason: MQTTReason, on loop: isolated EventLoop) {
        client.acknowledge(delivery, reason, now: Self.time(loop))
        loop.after(milliseconds: 0) { self.pump(on: loop) }
    }

    func close(final message: MQTTMessage?, on loop: isolated EventLoop) {
        guard !isOver else { return }
        handler = nil
        _ = client.stop(final: message, now: Self.time(loop))
        pump(on: loop)
        isOver = true
    }

    func die(on loop: isolated EventLoop) {
        guard !isOver else { return }
        report(client.closed(), on: loop)
    }

    func say(_ packets: [MQTTPacket], on loop: isolated EventLoop) {
        guard !isOver else { return }
        var bytes: [UInt8] = []
        for packet in packets {
            do throws(MQTTFormatError) {
                try MQTTEncoder.append(packet, client.settings.version, to: &bytes)
            } catch {
                Issue.record("\(error)")
            }
        }
        report(client.receive(bytes.span, now: Self.time(loop)), on: loop)
    }

    private func report(_ events: [MQTTEvent], on loop: isolated EventLoop) {
        pump(on: loop)
        for event in events where !isOver {
            if case .ended = event { isOver = true }
            handler?.brokerReported(event, on: loop)
        }
    }

    /// Hands what the client wrote to the broker, and its answers back.
    private func pump(on loop: isolated EventLoop) {
        guard !isOver, !isPumping else { return }
        isPumping = true
        var packets: [MQTTPacket] = []
        do throws(MQTTError) {
            let bytes = client.takeOutput()
            try decoder.receive(bytes.span, into: &packets)
        } catch {
            Issue.record("\(error)")
        }
        let taken = packets.prefix { !broker.closesAt($0) }
        let answers = taken.flatMap { broker.answers(to: $0) }
        isPumping = false
        if taken.count < packets.count {
            say(answers, on: loop)
            loop.after(milliseconds: 0) { self.die(on: loop) }
            return
        }
        if !answers.isEmpty { say(answers, on: loop) }
    }

    private static func time(_ loop: isolated EventLoop) -> Int64 { Int64(loop.now / 1_000_000) }
}
