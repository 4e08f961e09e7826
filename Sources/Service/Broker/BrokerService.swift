import Basics
package import Broker
package import EventLoops
import EventStream
package import MQTT
import Observability
import Outbox
import Runs
import Store

/// Carries out the commands that come from the broker.
package protocol BrokerCommandTaker: AnyObject {
    func take(_ delivery: MQTTDelivery, on loop: isolated EventLoop)
}

/// Publishes state and events to an MQTT broker, and hands its commands on. A broker that is away costs no memory: events wait in the log,
/// and state is published in full after each connection.
package final class BrokerService: ServiceEventReceiver, BrokerContactOwner {
    package struct Counters: Sendable, Equatable {
        package var connections: UInt64 = 0
        package var published: UInt64 = 0
        package var acknowledged: UInt64 = 0
        package var refused: UInt64 = 0
        package var dropped: UInt64 = 0
        package var lag = 0
    }

    /// Home automation keeps each change of a state for days, so there is at most one a second.
    private static let boardMs: Int64 = 1_000
    private static let lookMs: Int64 = 5_000
    private static let momentSeconds: UInt32 = 300
    private static let resultSeconds: UInt32 = 600

    package let settings: BrokerSettings
    private let feed: EventFeed
    private let board: BrokerBoard
    private let contact: BrokerContact
    private let sender: BrokerSender
    private let shelf: BrokerShelf
    private let publisher: BrokerPublisher?
    package weak var commands: (any BrokerCommandTaker)?
    private var boardTimer: TimerID?
    private var lookTimer: TimerID?
    private var isStopped = false

    init(_ settings: BrokerSettings, feed: EventFeed, reader: EventReader, board: BrokerBoard, log: Log) {
        (self.settings, self.feed, self.board) = (settings, feed, board)
        let offline = BrokerStatus.offline(version: settings.release).payload
        let farewell = MQTTMessage.state(settings.topics.status, offline, retain: settings.retains)
        contact = BrokerContact(settings, farewell: farewell, log: log)
        sender = BrokerSender(settings.topics, contact)
        shelf = BrokerShelf(settings, feed: feed, board: board, contact: contact, sender: sender)
        publisher = settings.events.map { filter in
            BrokerPublisher(reader, feed: feed, filter: filter, sessions: settings.sessions, name: settings.place)
        }
    }

    package func condition(on loop: isolated EventLoop) -> BrokerCondition {
        var condition = contact.condition
        condition.lag = (publisher?.lagEvents ?? 0, publisher?.lagSeconds(on: loop) ?? 0)
        return condition
    }

    package var counters: Counters {
        var counters = sender.tallies
        counters.connections = contact.connections
        counters.lag = publisher?.lagEvents ?? 0
        return counters
    }

    // MARK: Life

    /// Connects once the disk has told what the broker has.
    func start(on loop: isolated EventLoop) {
        contact.condition.since = loop.wallClock
        contact.owner = self
        publisher?.owner = sender
        let (space, place, kept) = (BrokerShelf.space, settings.discoveryPlace, BrokerShelf.keptName)
        feed.readSaved("mqtt", on: loop) { tables in
            (
                BrokerShelf.Memory(
                    announced: try tables.values.get(space: space, name: place)?.bytes,
                    kept: try tables.values.get(space: space, name: kept)?.bytes
                ),
                try RunArchive.lastReply(in: tables)
            )
        } failed: { _ in
        } completion: { [weak self] (memory, reply) in
            guard let self else { return }
            self.shelf.load(memory, on: loop)
            if let reply { self.board.load(reply) }
            guard let publisher = self.publisher else { return self.contact.open(on: loop) }
            publisher.load(on: loop) { self.contact.open(on: loop) }
        }
    }

    /// Secrets may have changed.
    package func retryNow(on loop: isolated EventLoop) {
        if !isStopped { contact.retryNow(on: loop) }
    }

    package func stop(on loop: isolated EventLoop) {
        isStopped = true
        publisher?.save(on: loop)
        contact.stop(on: loop)
    }

    // MARK: The connection

    func linked(on loop: isolated EventLoop) {
        sender.linked()
        shelf.begin(on: loop)
        publisher?.connected(on: loop)
        look(on: loop)
    }

    func unlinked(on loop: isolated EventLoop) -> String? {
        publisher?.disconnected(on: loop)
        return sender.unlinked()
    }

    func roomMade(on loop: isolated EventLoop) {
        sender.flush(on: loop)
        shelf.roomMade(on: loop)
        publisher?.proceed(on: loop)
    }

    func acknowledged(_ token: UInt64, _ reason: MQTTReason, on loop: isolated EventLoop) {
        if let event = sender.acknowledged(token, reason, on: loop) { publisher?.ended(event, on: loop) }
    }

    // MARK: What happens

    package func receive(_ event: ServiceEvent, on loop: isolated EventLoop) {
        switch event {
        case .published(let event):
            guard event.id != nil else { return }
            if let run = board.published(event, on: loop) {
                tell(settings.topics.haRun, run.payload(settings.text), on: loop)
            }
            if event.type == "approval" {
                for change in board.approvalChanges(event, on: loop) {
                    tell(settings.topics.haApproval, change.payload, on: loop)
                }
            }
            publisher?.grew(by: event, on: loop)
            changed(on: loop)
        case .runEnded(let run): board.runEnded(run)
        case .entryChanged(let entry):
            board.entryChanged(entry, on: loop)
            changed(on: loop)
        case .linkChanged(let status):
            board.linkChanged(status)
            changed(on: loop)
        case .linkOpened:
            board.linkOpened(on: loop)
            changed(on: loop)
        case .entryAccepted, .sessionsListed, .runBegan: changed(on: loop)
        default: break
        }
    }

    /// A moment for Home Assistant.
    private func tell(_ topic: String, _ payload: [UInt8], on loop: isolated EventLoop) {
        guard settings.discovery != nil else { return }
        sender.enqueue(.moment(topic, payload, seconds: Self.momentSeconds), on: loop)
    }

    /// The first change after a pause is published at once, and those of the next second at its end.
    private func changed(on loop: isolated EventLoop) {
        guard boardTimer == nil, contact.isLinked else { return }
        shelf.show(on: loop)
        boardTimer = loop.after(milliseconds: Self.boardMs) { [weak self] in
            guard let self else { return }
            self.boardTimer = nil
            self.shelf.show(on: loop)
        }
    }

    /// Some states settle without an event: lists that the gateway is asked for, what ends with time alone.
    private func look(on loop: isolated EventLoop) {
        guard lookTimer == nil, contact.isLinked else { return }
        board.ask(on: loop)
        lookTimer = loop.after(milliseconds: Self.lookMs) { [weak self] in
            guard let self else { return }
            self.lookTimer = nil
            self.shelf.show(on: loop)
            self.look(on: loop)
        }
    }

    // MARK: Commands

    func received(_ delivery: MQTTDelivery, on loop: isolated EventLoop) {
        if delivery.message.topic == settings.topics.discoveryStatus {
            if let id = delivery.id { contact.acknowledge(id, .success, on: loop) }
            guard delivery.message.payload == Array("online".utf8) else { return }
            // Home Assistant has started. Devices that all answer at once would flood it.
            loop.after(milliseconds: .random(in: 1_000...5_000)) { [weak self] in self?.shelf.begin(on: loop) }
            return
        }
        if let commands { return commands.take(delivery, on: loop) }
        if let id = delivery.id { acknowledge(id, .unspecified, on: loop) }
    }

    package func acknowledge(_ delivery: MQTTDelivery.ID, _ reason: MQTTReason, on loop: isolated EventLoop) {
        contact.acknowledge(delivery, reason, on: loop)
    }

    /// A message could not be written to disk, so it is not acknowledged.
    package func couldNotKeep(on loop: isolated EventLoop) {
        let detail = "A message could not be written to disk. The broker keeps it until the next connection."
        sender.flush(on: loop)
        contact.giveUp(BrokerFault("MQTT_NOT_KEPT", detail, hint: "ladle doctor"), on: loop)
    }

    package func answer(_ address: ResultAddress, _ payload: [UInt8], on loop: isolated EventLoop) {
        var message = MQTTMessage.moment(address.topic, payload, seconds: Self.resultSeconds)
        message.correlationData = address.correlation
        sender.enqueue(message, on: loop)
    }
}
