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
package final class BrokerService: ServiceEventReceiver, BrokerContactOwner, BrokerPublisherOwner {
    package struct Counters: Sendable, Equatable {
        package var connections: UInt64 = 0
        package var published: UInt64 = 0
        package var acknowledged: UInt64 = 0
        package var refused: UInt64 = 0
        package var dropped: UInt64 = 0
        package var lag = 0
    }

    /// A message that the broker has not acknowledged.
    private struct Pending {
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

    private static let space = "mqtt"
    private static let keptName = "retained"
    /// Home automation keeps each change of a state for days, so there is at most one a second.
    private static let boardMs: Int64 = 1_000
    private static let lookMs: Int64 = 5_000
    private static let homeMs: Int64 = 2_000
    private static let deniedNs: UInt64 = 600_000_000_000
    private static let mostDenied = 64
    /// Bytes of results and moments that wait.
    private static let mostWaitingBytes = 1 << 20
    private static let momentSeconds: UInt32 = 300
    private static let resultSeconds: UInt32 = 600
    private static let eventSeconds: UInt32 = 7 * 86_400
    /// No broker is known that takes less.
    private static let smallEvent = 4 << 10
    /// Marks tokens that are no sequence numbers of events.
    private static let ownToken: UInt64 = 1 << 63

    package let settings: BrokerSettings
    private let feed: EventFeed
    private let board: BrokerBoard
    private let contact: BrokerContact
    private let publisher: BrokerPublisher?
    package weak var commands: (any BrokerCommandTaker)?

    /// The values that the broker has, by topic.
    private var shown: [String: [UInt8]] = [:]
    private var boardTimer: TimerID?
    private var lookTimer: TimerID?
    /// The broker had no room for all of the board.
    private var isBoardOpen = false
    private var startedAt = Timestamp(milliseconds: 0)
    private var lastToken: UInt64 = 0
    private var unacknowledged: [UInt64: Pending] = [:]
    /// Topics that the broker does not let Ladle write to, and until when they are left out.
    private var denied: [String: UInt64] = [:]
    /// Results and moments, the oldest first, and before them what a new connection begins with.
    private var waiting: ArraySlice<Waiting> = []
    private var waitingBytes = 0
    /// Keys of the entities that Home Assistant was told of, by this process and earlier ones.
    private var announced: Set<String> = []
    /// Topics of which the broker keeps a value, also of other settings.
    private var kept: Set<String> = []
    private var isStopped = false
    private var tallies = Counters()

    init(_ settings: BrokerSettings, feed: EventFeed, reader: EventReader, board: BrokerBoard, log: Log) {
        (self.settings, self.feed, self.board) = (settings, feed, board)
        let farewell = Self.retained(
            settings.topics.status,
            BrokerStatus.offline(version: settings.release).payload,
            settings
        )
        contact = BrokerContact(settings, farewell: farewell, log: log)
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
        var counters = tallies
        counters.connections = contact.connections
        counters.lag = publisher?.lagEvents ?? 0
        return counters
    }

    // MARK: Life

    /// Connects once the disk has told what the broker has.
    func start(on loop: isolated EventLoop) {
        startedAt = loop.wallClock
        contact.condition.since = startedAt
        contact.owner = self
        publisher?.owner = self
        let place = settings.discoveryPlace
        feed.readSaved("mqtt", on: loop) { tables in
            (
                try tables.values.get(space: Self.space, name: place)?.bytes,
                try tables.values.get(space: Self.space, name: Self.keptName)?.bytes,
                try RunArchive.lastReply(in: tables)
            )
        } failed: { _ in
        } completion: { [weak self] (keys, kept, reply) in
            guard let self else { return }
            self.announced = Self.names(keys)
            self.kept = Self.names(kept)
            self.board.sawApprovals = self.announced.contains("approvals")
            if let reply { self.board.load(reply) }
            guard let publisher = self.publisher else { return self.contact.open(on: loop) }
            publisher.load(on: loop) { self.contact.open(on: loop) }
        }
    }

    private static func names(_ bytes: [UInt8]?) -> Set<String> {
        Set(String(decoding: bytes ?? [], as: UTF8.self).split(separator: "\n").map(String.init))
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
            board.loadApprovals(on: loop)
            announceChanges(on: loop)
            changed(on: loop)
        case .entryAccepted, .sessionsListed, .runBegan: changed(on: loop)
        default: break
        }
    }

    func linked(on loop: isolated EventLoop) {
        (unacknowledged, denied) = ([:], [:])
        begin(on: loop)
        publisher?.connected(on: loop)
        look(on: loop)
    }

    /// Some states settle without an event: lists that the gateway is asked for, what ends with time alone.
    private func look(on loop: isolated EventLoop) {
        guard lookTimer == nil, contact.isLinked else { return }
        lookTimer = loop.after(milliseconds: Self.lookMs) { [weak self] in
            guard let self else { return }
            self.lookTimer = nil
            self.showBoard(on: loop)
            self.look(on: loop)
        }
    }

    func unlinked(on loop: isolated EventLoop) {
        unacknowledged = [:]
        publisher?.disconnected(on: loop)
    }

    func hasRoom(on loop: isolated EventLoop) {
        flush(on: loop)
        if isBoardOpen { showBoard(on: loop) }
        publisher?.proceed(on: loop)
    }

    func acknowledged(_ token: UInt64, _ reason: MQTTReason, on loop: isolated EventLoop) {
        guard let pending = unacknowledged.removeValue(forKey: token) else { return }
        if !reason.isFailure {
            tallies.acknowledged += 1
        } else if reason.kind == .quota || reason.kind == .unavailable {
            // The event is published again over the next connection.
            let detail = "The broker takes no more messages for the moment (\(reason.words))."
            return contact.giveUp(BrokerFault("MQTT_BUSY", detail), on: loop)
        } else if reason.kind == .tooLarge, let stub = pending.stub {
            say(Self.message(pending.topic, stub, seconds: Self.eventSeconds), on: loop)
            flush(on: loop)
        } else {
            refused(pending.topic, reason, on: loop)
        }
        if token & Self.ownToken == 0 { publisher?.ended(token, on: loop) }
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
            hint: "give Ladle's user the right to write below \(settings.topics.root)/ at the broker",
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

    func received(_ delivery: MQTTDelivery, on loop: isolated EventLoop) {
        if delivery.message.topic == settings.topics.discoveryStatus {
            if let id = delivery.id { contact.acknowledge(id, .success, on: loop) }
            guard delivery.message.payload == Array("online".utf8) else { return }
            // Home Assistant has started. Devices that all answer at once would flood it.
            loop.after(milliseconds: .random(in: 1_000...5_000)) { [weak self] in self?.begin(on: loop) }
            return
        }
        if let commands { return commands.take(delivery, on: loop) }
        if let id = delivery.id { acknowledge(id, .unspecified, on: loop) }
    }

    // MARK: Commands

    package func acknowledge(_ delivery: MQTTDelivery.ID, _ reason: MQTTReason, on loop: isolated EventLoop) {
        contact.acknowledge(delivery, reason, on: loop)
    }

    /// A message could not be written to disk, so it is not acknowledged.
    package func couldNotKeep(on loop: isolated EventLoop) {
        let detail = "A message could not be written to disk. The broker keeps it until the next connection."
        flush(on: loop)
        contact.giveUp(BrokerFault("MQTT_NOT_KEPT", detail, hint: "ladle doctor"), on: loop)
    }

    package func answer(_ address: ResultAddress, _ payload: [UInt8], on loop: isolated EventLoop) {
        var message = Self.message(address.topic, payload, seconds: Self.resultSeconds)
        message.correlationData = address.correlation
        enqueue(message, on: loop)
    }

    // MARK: State

    /// Publishes that Ladle is there, the device, and all state: a broker may have kept nothing, or something old.
    private func begin(on loop: isolated EventLoop) {
        guard contact.isLinked else { return }
        shown = [:]
        // Each is put before what waits already, so the last comes first: removals, the device, and that Ladle is there.
        sayStatus(on: loop)
        announce(on: loop)
        tidy(on: loop)
        flush(on: loop)
        showBoard(on: loop)
        showAgain(on: loop)
    }

    private func sayStatus(on loop: isolated EventLoop) {
        let status = BrokerStatus.online(version: settings.release, since: startedAt)
        say(Self.retained(settings.topics.status, status.payload, settings), on: loop)
        note(kept: settings.topics.status, on: loop)
    }

    /// A broker that keeps nothing gives Home Assistant only what comes after it has read of the device.
    private func showAgain(on loop: isolated EventLoop) {
        guard settings.discovery != nil, !settings.retains || !contact.keepsMessages else { return }
        loop.after(milliseconds: Self.homeMs) { [weak self] in
            guard let self, self.contact.isLinked else { return }
            self.shown = [:]
            self.sayStatus(on: loop)
            self.flush(on: loop)
            self.showBoard(on: loop)
        }
    }

    /// Tells Home Assistant of the device.
    private func announce(on loop: isolated EventLoop) {
        guard let name = settings.discovery else { return }
        let discovery = BrokerDiscovery(
            BrokerDiscovery.Settings(
                id: settings.deviceID,
                name: name,
                version: settings.release,
                topics: settings.topics,
                scopes: settings.scopes,
                session: settings.messageSession,
                text: settings.text,
                hasApprovals: board.seesApprovals
            )
        )
        let keys = Set(discovery.keys)
        say(Self.retained(discovery.topic, discovery.payload(tombstones: Array(announced)), settings), on: loop)
        note(kept: discovery.topic, on: loop)
        guard announced != keys else { return }
        announced = keys
        save(keys, as: settings.discoveryPlace, on: loop)
    }

    /// Another scope of the link gives the device other entities.
    private func announceChanges(on loop: isolated EventLoop) {
        guard settings.discovery != nil, contact.isLinked, announced.contains("approvals") != board.seesApprovals else {
            return
        }
        announce(on: loop)
        flush(on: loop)
    }

    /// The broker keeps a value of this topic. Ladle remembers it, to take it back once the topic has another name.
    private func note(kept topic: String, on loop: isolated EventLoop) {
        guard settings.retains, kept.insert(topic).inserted else { return }
        save(kept, as: Self.keptName, on: loop)
    }

    /// Empties topics that other settings had filled.
    private func tidy(on loop: isolated EventLoop) {
        let wanted = settings.retains ? Set(ownTopics) : []
        let gone = kept.subtracting(wanted)
        guard !gone.isEmpty else { return }
        // The last comes first: Home Assistant forgets the device before its topics are empty.
        let device = settings.topics.discovery(settings.deviceID)
        for topic in gone.sorted(by: { ($0 == device ? 1 : 0, $0) < ($1 == device ? 1 : 0, $1) }) {
            say(MQTTMessage(topic: topic, payload: [], retain: true), on: loop)
        }
        kept.formIntersection(wanted)
        save(kept, as: Self.keptName, on: loop)
    }

    private var ownTopics: [String] {
        let names = settings.topics
        let device = settings.discovery == nil ? [] : [names.discovery(settings.deviceID)]
        let states = [
            names.status, names.link, names.activity, names.reply, names.error, names.outbox, names.approvals,
        ]
        return device + states + settings.shownSessions.map(names.session)
    }

    private func save(_ names: Set<String>, as place: String, on loop: isolated EventLoop) {
        let bytes = Array(names.sorted().joined(separator: "\n").utf8)
        feed.journal.cache { transaction in
            try transaction.values.set(bytes, space: Self.space, name: place, at: transaction.now)
        }
    }

    /// The first change after a pause is published at once, and those of the next second at its end.
    private func changed(on loop: isolated EventLoop) {
        guard boardTimer == nil, contact.isLinked else { return }
        showBoard(on: loop)
        boardTimer = loop.after(milliseconds: Self.boardMs) { [weak self] in
            guard let self else { return }
            self.boardTimer = nil
            self.showBoard(on: loop)
        }
    }

    private func showBoard(on loop: isolated EventLoop) {
        guard contact.isLinked else { return }
        isBoardOpen = false
        for (topic, payload) in board.topics(on: loop) where shown[topic] != payload {
            guard contact.hasRoom else {
                isBoardOpen = true
                return
            }
            publish(Self.retained(topic, payload, settings), on: loop)
            shown[topic] = payload
            note(kept: topic, on: loop)
        }
    }

    private static func retained(_ topic: String, _ payload: [UInt8], _ settings: BrokerSettings) -> MQTTMessage {
        MQTTMessage(
            topic: topic,
            payload: payload,
            retain: settings.retains,
            contentType: "application/json",
            isText: true
        )
    }

    private static func message(_ topic: String, _ payload: [UInt8], seconds: UInt32) -> MQTTMessage {
        MQTTMessage(
            topic: topic,
            payload: payload,
            expirySeconds: seconds,
            contentType: "application/json",
            isText: true
        )
    }

    // MARK: Moments and results

    /// A moment for Home Assistant.
    private func tell(_ topic: String, _ payload: [UInt8], on loop: isolated EventLoop) {
        guard settings.discovery != nil else { return }
        enqueue(Self.message(topic, payload, seconds: Self.momentSeconds), on: loop)
    }

    private func enqueue(_ message: MQTTMessage, on loop: isolated EventLoop) {
        waiting.append(Waiting(message, on: loop))
        waitingBytes += message.payload.count
        while waitingBytes > Self.mostWaitingBytes, waiting.count > 1 {
            waitingBytes -= waiting.removeFirst().message.payload.count
            tallies.dropped += 1
        }
        flush(on: loop)
    }

    /// Puts a message before all others that wait.
    private func say(_ message: MQTTMessage, on loop: isolated EventLoop) {
        waiting.insert(Waiting(message, on: loop), at: waiting.startIndex)
        waitingBytes += message.payload.count
    }

    private func flush(on loop: isolated EventLoop) {
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
    private func publish(_ message: MQTTMessage, on loop: isolated EventLoop) {
        lastToken += 1
        _ = send(message, token: Self.ownToken | lastToken, on: loop)
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
            unacknowledged[token] = Pending(topic: message.topic, stub: stub)
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
        var message = Self.message(
            settings.topics.event(event.type),
            shape.payload(limit: contact.largestPayload),
            seconds: Self.eventSeconds
        )
        message.userProperties = [MQTTUserProperty("ladle-id", id.text)]
        let stub = message.payload.count > Self.smallEvent ? shape.stub : nil
        return send(message, stub: stub, token: token, on: loop)
    }

    func lostPlace(_ bounds: EventLogBounds, requested: EventID?, on loop: isolated EventLoop) {
        let payload = BrokerEvent.reset(
            at: loop.wallClock,
            requested: requested?.text,
            oldest: bounds.oldest?.text,
            newest: bounds.newest.text
        )
        enqueue(Self.message(settings.topics.eventsReset, payload, seconds: Self.eventSeconds), on: loop)
    }
}
