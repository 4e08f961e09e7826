package import EventLoops
import Gateway
import JSONBytes
import Ledger
import Notifications
import Store

/// The devices that act as the gateway's nodes. No release reports reliably when one comes or goes, so while a client
/// follows the event the list is requested regularly and compared with the last one.
package final class NodeService {
    enum Reason: String, Sendable {
        case connected, disconnected, changed
    }

    /// The nodes, sorted by name.
    package typealias List = ShownList<Node>

    /// Clients that read within this time share one call.
    private static let lifeMs: UInt64 = 2_000
    private static let betweenLooksMs: UInt64 = 30_000
    /// A random addition, so that many bridges do not call one gateway at the same moments.
    private static let longestJitterMs: UInt64 = 15_000
    /// Connections come in groups, and a node is listed a moment after it connects.
    private static let presenceWaitMs: Int64 = 500

    private unowned let gateway: any GatewayCalls
    private let feed: EventFeed
    private let events: ServiceEvents
    private let audience: Audience
    package let policy: NodePolicy
    private var jitter: UInt64
    private var rows: [String: Node] = [:]
    private let list: KeptList<Node>
    private var isLooking = false
    private var isLookingSoon = false

    init(
        gateway: any GatewayCalls,
        feed: EventFeed,
        events: ServiceEvents,
        audience: Audience,
        policy: NodePolicy,
        seed: UInt64
    ) {
        self.gateway = gateway
        self.feed = feed
        list = KeptList("nodes", feed: feed)
        self.events = events
        self.audience = audience
        self.policy = policy
        jitter = seed
    }

    // MARK: The link

    func linkOpened(on loop: isolated EventLoop) {
        if list.restart() || isFollowed { follow(on: loop) }
    }

    func received(_ event: GatewayEvent, on loop: isolated EventLoop) {
        switch event.payload {
        case .presence:
            list.expire()
            events.changed()
            if isFollowed { lookSoon(on: loop) }
        // A notification rule needs the event even without a stream; the gateway's tick serves as the clock.
        case .tick: if !isLooking, isFollowed { follow(on: loop) }
        default: break
        }
    }

    // MARK: Following

    private var isFollowed: Bool { audience.sees("node") || audience.isTold(of: .nodeOffline) }

    /// Starts regular looks for a stream that shows the event.
    package func follow(on loop: isolated EventLoop) {
        lookLater(on: loop)
        guard !list.isFresh(forMs: Self.lifeMs, on: loop), gateway.obstacle(to: .nodes) == nil, !list.isAsking else {
            return
        }
        ask(on: loop)
    }

    private func lookLater(on loop: isolated EventLoop) {
        guard !isLooking else { return }
        isLooking = true
        // Knuth's MMIX generator; only its upper bits are good.
        jitter = jitter &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let wait = Self.betweenLooksMs + (jitter >> 33) % Self.longestJitterMs
        loop.after(milliseconds: Int64(wait)) { [weak self] in
            guard let self else { return }
            self.isLooking = false
            self.list.expire()
            if self.isFollowed { self.follow(on: loop) }
        }
    }

    private func lookSoon(on loop: isolated EventLoop) {
        guard !isLookingSoon else { return }
        isLookingSoon = true
        loop.after(milliseconds: Self.presenceWaitMs) { [weak self] in
            guard let self else { return }
            self.isLookingSoon = false
            self.list.expire()
            self.follow(on: loop)
        }
    }

    // MARK: Reading

    /// - Parameter mayBeKept: an earlier list will do if the gateway takes long.
    package func read(
        refresh: Bool = false,
        mayBeKept: Bool = true,
        on loop: isolated EventLoop,
        completion: @escaping (Result<List, ServiceFault>) -> Void
    ) {
        list.read(
            sorted,
            forMs: Self.lifeMs,
            refresh: refresh,
            mayBeKept: mayBeKept,
            over: gateway,
            needing: .nodes,
            on: loop,
            ask: { ask(on: loop) },
            completion: completion
        )
    }

    private var sorted: [Node] { rows.values.sorted { ($0.name, $0.id) < ($1.name, $1.id) } }

    private func ask(on loop: isolated EventLoop) {
        let number = list.ask()
        gateway.control(NodeList(), needing: .nodes, on: loop) { [weak self] result in
            guard let self, self.list.isLast(number) else { return }
            switch result {
            case .success(let listed): self.listed(listed, on: loop)
            case .failure(let fault): self.list.failed(fault, on: loop)
            }
        }
    }

    private func listed(_ listed: [NodeRow], on loop: isolated EventLoop) {
        let before = rows
        rows = Dictionary(listed.map { ($0.id, Node($0, before: before[$0.id], policy)) }) { first, _ in first }
        let isFirst = !list.wasListed
        _ = list.listed(on: loop)
        let isNew = list.keep(sorted, now: loop.wallClock)
        if isNew { events.changed() }
        if !isFirst { compare(before, on: loop) }
        list.answer(sorted)
    }

    // MARK: The event

    private func compare(_ before: [String: Node], on loop: isolated EventLoop) {
        for node in sorted {
            guard let last = before[node.id] else {
                publish(node.state == .connected ? .connected : .changed, node, on: loop)
                continue
            }
            if node.isSame(as: last) { continue }
            switch (last.state == .connected, node.state == .connected) {
            case (false, true): publish(.connected, node, on: loop)
            case (true, false): publish(.disconnected, node, on: loop)
            default: publish(.changed, node, on: loop)
            }
        }
        for (id, last) in before.sorted(by: { $0.key < $1.key }) where rows[id] == nil {
            publish(last.state == .connected ? .disconnected : .changed, last.gone, on: loop)
        }
    }

    private func publish(_ reason: Reason, _ node: Node, on loop: isolated EventLoop) {
        events.changed()
        feed.publish("node", of: NodeNews(reason: reason, node: node), on: loop) { object in
            object.member("reason", reason.rawValue)
            object.key("node")
            node.write(to: &object)
        }
    }
}
