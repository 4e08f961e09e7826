import Basics
import Broker
import EventLoops
import MQTT
import Store

/// The messages that the broker keeps for whoever comes: that Ladle is there, its device for Home Assistant, and the state topics. All are
/// published again over each connection, because a broker may have kept nothing, or something old.
final class BrokerShelf {
    /// The topics and entities of earlier processes, as the disk has them.
    struct Memory: Sendable {
        var announced: Set<String> = []
        var kept: Set<String> = []

        init(announced: [UInt8]?, kept: [UInt8]?) {
            (self.announced, self.kept) = (Self.names(announced), Self.names(kept))
        }

        private static func names(_ bytes: [UInt8]?) -> Set<String> {
            Set(String(decoding: bytes ?? [], as: UTF8.self).split(separator: "\n").map(String.init))
        }
    }

    static let space = "mqtt"
    static let keptName = "retained"
    /// Home Assistant has read of a device, and of its new topics.
    private static let homeMs: Int64 = 2_000

    private let settings: BrokerSettings
    private let feed: EventFeed
    private let board: BrokerBoard
    private let contact: BrokerContact
    private let sender: BrokerSender
    private var startedAt = Timestamp(milliseconds: 0)
    /// The values that the broker has, by topic.
    private var shown: [String: [UInt8]] = [:]
    /// The device as this connection was told of it.
    private var device: [UInt8] = []
    /// The broker had no room for all of the board.
    private var isOpen = false
    /// Keys of the entities that Home Assistant was told of, by this process and earlier ones.
    private var announced: Set<String> = []
    /// Topics of which the broker keeps a value, also of other settings.
    private var kept: Set<String> = []

    init(
        _ settings: BrokerSettings,
        feed: EventFeed,
        board: BrokerBoard,
        contact: BrokerContact,
        sender: BrokerSender
    ) {
        (self.settings, self.feed, self.board) = (settings, feed, board)
        (self.contact, self.sender) = (contact, sender)
    }

    func load(_ memory: Memory, on loop: isolated EventLoop) {
        startedAt = loop.wallClock
        (announced, kept) = (memory.announced, memory.kept)
        board.sawApprovals = announced.contains("approvals")
    }

    // MARK: The whole

    /// A new connection, or a Home Assistant that has just started.
    func begin(on loop: isolated EventLoop) {
        guard contact.isLinked else { return }
        (shown, device) = ([:], [])
        // A value that is kept would be shown beside one that is not.
        let old = removals(of: settings.retains ? [] : Set(ownTopics))
        sender.begin(with: old + announcement(on: loop) + [status], on: loop)
        note(settings.topics.status)
        show(on: loop)
        showAgain(on: loop)
    }

    func roomMade(on loop: isolated EventLoop) {
        if isOpen { show(on: loop) }
    }

    /// Publishes what has changed.
    func show(on loop: isolated EventLoop) {
        guard contact.isLinked else { return }
        isOpen = false
        // Before its topics change: an entity must not read what it does not know.
        sender.begin(with: announcement(on: loop), on: loop)
        for (topic, payload) in board.topics(on: loop) where shown[topic] != payload {
            // Nothing to take away from a broker that has nothing.
            if payload.isEmpty, !kept.contains(topic) { continue }
            guard contact.hasRoom else {
                isOpen = true
                return
            }
            sender.publish(.state(topic, payload, retain: settings.retains), on: loop)
            shown[topic] = payload
            if payload.isEmpty { forget(topic) } else { note(topic) }
        }
    }

    private var status: MQTTMessage {
        let status = BrokerStatus.online(version: settings.release, since: startedAt)
        return .state(settings.topics.status, status.payload, retain: settings.retains)
    }

    /// Publishes once Home Assistant has read of the device: it drops the state of an entity that it does not know yet, and where topics
    /// have other names now, it listens to the old ones until then.
    private func showAgain(on loop: isolated EventLoop) {
        let keepsNothing = settings.discovery != nil && (!settings.retains || !contact.keepsMessages)
        guard keepsNothing || !kept.isSubset(of: ownTopics) else { return }
        loop.after(milliseconds: Self.homeMs) { [weak self] in
            guard let self, self.contact.isLinked else { return }
            let old = self.removals(of: self.kept.subtracting(self.ownTopics))
            self.sender.begin(with: old + (keepsNothing ? [self.status] : []), on: loop)
            if keepsNothing { self.shown = [:] }
            self.show(on: loop)
        }
    }

    // MARK: The device

    /// The description of the device; nothing if it has not changed.
    private func announcement(on loop: isolated EventLoop) -> [MQTTMessage] {
        guard let name = settings.discovery else { return [] }
        let choices = board.choices
        let discovery = BrokerDiscovery(
            BrokerDiscovery.Settings(
                id: settings.deviceID,
                name: name,
                version: settings.release,
                topics: settings.topics,
                scopes: settings.scopes,
                session: settings.messageSession,
                text: settings.text,
                hasUsage: settings.showsUsage,
                hasApprovals: board.seesApprovals,
                sessions: choices.known
            )
        )
        // Entities of which nothing is known yet stay as Home Assistant has them.
        let unknown = Set(choices.unknown.map(BrokerDiscovery.keys(ofSession:)).flatMap { [$0.model, $0.thinking] })
        let payload = discovery.payload(tombstones: Array(announced.subtracting(unknown)))
        let keys = Set(discovery.keys).union(announced.intersection(unknown))
        if announced != keys {
            announced = keys
            save(keys, as: settings.discoveryPlace)
        }
        guard payload != device else { return [] }
        // The next payload has no tombstones, and need not be published for that.
        device = discovery.payload(tombstones: [])
        note(discovery.topic)
        return [.state(discovery.topic, payload, retain: settings.retains)]
    }

    // MARK: The topics

    private var ownTopics: [String] {
        let names = settings.topics
        let device = settings.discovery == nil ? [] : [names.discovery(settings.deviceID)]
        let usage = settings.showsUsage ? [names.usage] : []
        let states = [
            names.status, names.link, names.activity, names.reply, names.error, names.outbox, names.approvals,
        ]
        return device + usage + states + settings.shownSessions.map(names.session)
    }

    /// Empties those of these topics of which the broker keeps a value. Home Assistant forgets a device before its topics are empty.
    private func removals(of topics: Set<String>) -> [MQTTMessage] {
        let gone = kept.intersection(topics)
        guard !gone.isEmpty else { return [] }
        kept.subtract(gone)
        save(kept, as: Self.keptName)
        let device = settings.topics.discovery(settings.deviceID)
        return gone.sorted { ($0 == device ? 0 : 1, $0) < ($1 == device ? 0 : 1, $1) }.map { .removal(of: $0) }
    }

    /// The broker keeps a value of this topic. Ladle remembers it, to take it back once the topic has another name.
    private func note(_ topic: String) {
        guard settings.retains, kept.insert(topic).inserted else { return }
        save(kept, as: Self.keptName)
    }

    private func forget(_ topic: String) {
        kept.remove(topic)
        save(kept, as: Self.keptName)
    }

    private func save(_ names: Set<String>, as place: String) {
        let bytes = Array(names.sorted().joined(separator: "\n").utf8)
        feed.journal.cache { transaction in
            try transaction.values.set(bytes, space: Self.space, name: place, at: transaction.now)
        }
    }
}
