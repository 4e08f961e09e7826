import Basics
import Broker
import EventLoops
import EventStream
import MQTT
import Store

/// Writes messages to the broker, and keeps those few that wait for room: results of commands, moments for Home Assistant, and what a
/// connection begins with. Events wait in the log instead.
final class BrokerSender: BrokerPublisherOwner {
    /// A message that the broker has not acknowledged.
    private struct Pending {
        let number: UInt64
        let topic: String
        /// Stands for a large event that the broker turns out not to take.
        let stub: [UInt8]?
    }

    /// A message that waits for room.
    private struct Waiting {
        var message: MQTTMessage
        let until: Timestamp

        init(_ message: MQTTMessage, on loop: isolated EventLoop) {
            self.message = message
            until = loop.wallClock.adding(milliseconds: Int64(message.expirySeconds ?? 0) * 1000)
        }
    }

    private static let deniedNs: UInt64 = 600_000_000_000
    private static let mostDenied = 64
    /// Bytes of results and moments that wait.
    private static let mostWaitingBytes = 1 << 20
    private static let eventSeconds: UInt32 = 7 * 86_400
    /// No broker is known that takes less.
    private static let smallEvent = 4 << 10
    /// Marks tokens that are no sequence numbers of events.
    private static let ownToken: UInt64 = 1 << 63

    private let topics: BrokerTopics
    private let contact: BrokerContact
    private var lastToken: UInt64 = 0
    private var sent: UInt64 = 0
    private var unacknowledged: [UInt64: Pending] = [:]
    /// Topics that the broker does not let Ladle write to, and until when they are left out.
    private var denied: [String: UInt64] = [:]
    /// The oldest first, and before them what a new connection begins with.
    private var waiting: ArraySlice<Waiting> = []
    private var waitingBytes = 0
    private(set) var tallies = BrokerService.Counters()

    init(_ topics: BrokerTopics, _ contact: BrokerContact) { (self.topics, self.contact) = (topics, contact) }

    func linked() { (unacknowledged, denied) = ([:], [:]) }

    /// - Returns: the topic of the oldest message that the broker has not acknowledged.
    func unlinked() -> String? {
        defer { unacknowledged = [:] }
        return unacknowledged.values.min { $0.number < $1.number }?.topic
    }

    // MARK: What waits

    /// Puts a message behind all others that wait. Where they are too many, the oldest go.
    func enqueue(_ message: MQTTMessage, on loop: isolated EventLoop) {
        waiting.append(Waiting(message, on: loop))
        waitingBytes += message.payload.count
        while waitingBytes > Self.mostWaitingBytes, waiting.count > 1 {
            waitingBytes -= waiting.removeFirst().message.payload.count
            tallies.dropped += 1
        }
        flush(on: loop)
    }

    /// Puts messages before all others that wait, in their order.
    func begin(with messages: [MQTTMessage], on loop: isolated EventLoop) {
        waiting.insert(contentsOf: messages.map { Waiting($0, on: loop) }, at: waiting.startIndex)
        for message in messages { waitingBytes += message.payload.count }
        flush(on: loop)
    }

    func flush(on loop: isolated EventLoop) {
        while contact.hasRoom, var next = waiting.popFirst() {
            waitingBytes -= next.message.payload.count
            if next.message.expirySeconds != nil {
                let left = (next.until.milliseconds - loop.wallClock.milliseconds) / 1000
                guard left > 0 else {
                    tallies.dropped += 1
                    continue
                }
                next.message.expirySeconds = UInt32(clamping: left)
            }
            publish(next.message, on: loop)
        }
    }

    // MARK: Publishing

    /// For a broker that has room.
    func publish(_ message: MQTTMessage, on loop: isolated EventLoop) {
        lastToken += 1
        _ = send(message, token: Self.ownToken | lastToken, on: loop)
    }

    /// An event of the log. `previous` is the one that was published before it.
    func publish(
        _ event: StreamEvent,
        after previous: EventID?,
        token: UInt64,
        on loop: isolated EventLoop
    ) -> BrokerPublisher.Outcome {
        guard contact.hasRoom else { return .full }
        guard let id = event.id else { return .over }
        let shape = BrokerEvent(
            type: event.type,
            id: id.text,
            prev: previous?.text,
            at: loop.wallClock,
            data: event.data
        )
        let payload = shape.payload(limit: contact.largestPayload)
        var message = MQTTMessage.moment(topics.event(event.type), payload, seconds: Self.eventSeconds)
        message.userProperties = [MQTTUserProperty("ladle-id", id.text)]
        return send(message, stub: payload.count > Self.smallEvent ? shape.stub : nil, token: token, on: loop)
    }

    func lostPlace(_ bounds: EventLogBounds, requested: EventID?, on loop: isolated EventLoop) {
        let payload = BrokerEvent.reset(
            at: loop.wallClock,
            requested: requested?.text,
            oldest: bounds.oldest?.text,
            newest: bounds.newest.text
        )
        enqueue(.moment(topics.eventsReset, payload, seconds: Self.eventSeconds), on: loop)
    }

    private func send(
        _ message: MQTTMessage,
        stub: [UInt8]? = nil,
        token: UInt64,
        on loop: isolated EventLoop
    ) -> BrokerPublisher.Outcome {
        if isDenied(message.topic, on: loop) { return .over }
        do throws(MQTTRefusal) {
            let qos = try contact.publish(message, token: token, on: loop)
            tallies.published += 1
            guard qos == .atLeastOnce else { return .over }
            sent += 1
            unacknowledged[token] = Pending(number: sent, topic: message.topic, stub: stub)
            return .sent
        } catch {
            switch error {
            case .notConnected, .windowFull, .outputFull: return .full
            case .tooLarge(_, let limit):
                tallies.dropped += 1
                contact.degrade(
                    "MQTT_PACKET_LIMIT",
                    "The broker takes packets of at most \(limit) bytes, so messages for \(message.topic) are left out.",
                    hint: "raise the broker's limit to 128 KiB or more",
                    on: loop
                )
                return .over
            case .unusable:
                tallies.dropped += 1
                return .over
            }
        }
    }

    // MARK: Answers

    /// - Returns: the token of an event that is over: the broker has it, or will never take it.
    func acknowledged(_ token: UInt64, _ reason: MQTTReason, on loop: isolated EventLoop) -> UInt64? {
        guard let pending = unacknowledged.removeValue(forKey: token) else { return nil }
        if !reason.isFailure {
            tallies.acknowledged += 1
        } else if reason.kind == .quota || reason.kind == .unavailable {
            // The event is published again over the next connection.
            let detail = "The broker takes no more messages for the moment (\(reason.words))."
            contact.giveUp(BrokerFault("MQTT_BUSY", detail), on: loop)
            return nil
        } else if reason.kind == .tooLarge, let stub = pending.stub {
            begin(with: [.moment(pending.topic, stub, seconds: Self.eventSeconds)], on: loop)
        } else {
            refused(pending.topic, reason, on: loop)
        }
        return token & Self.ownToken == 0 ? token : nil
    }

    /// The message is over: it would be refused again.
    private func refused(_ topic: String, _ reason: MQTTReason, on loop: isolated EventLoop) {
        tallies.refused += 1
        let isDenied = reason.kind == .authentication
        if isDenied, denied.count < Self.mostDenied { denied[topic] = loop.now + Self.deniedNs }
        contact.degrade(
            isDenied ? "MQTT_PUBLISH_DENIED" : "MQTT_PUBLISH_REFUSED",
            isDenied
                ? "The broker does not let Ladle write to \(topic) (\(reason.words)). Messages for it are left out for ten minutes."
                : "The broker did not take a message for \(topic) (\(reason.words)).",
            hint: "give Ladle's user the right to write below \(topics.root)/ at the broker",
            on: loop
        )
    }

    private func isDenied(_ topic: String, on loop: isolated EventLoop) -> Bool {
        guard let until = denied[topic] else { return false }
        if until > loop.now { return true }
        denied[topic] = nil
        if denied.isEmpty { contact.recover(on: loop) }
        return false
    }
}
