import Basics
import EventLoops
import Gateway
import JSONBytes
import Ledger
import Store

/// Devices that wait for the gateway's operator: to connect, or as nodes to use what they declare. Ladle counts and
/// reports them; approval stays on the gateway's host, because it grants rights there.
package final class DevicePairing {
    enum Reason: String, Sendable {
        case requested, approved, rejected
        /// The request no longer waits, for whatever reason.
        case ended
    }

    /// A gateway drops a request after five minutes without an event.
    private static let lookAgainMs: Int64 = 60_000
    private static let space = "gateway"
    private static let name = "pairing"

    private unowned let gateway: any GatewayCalls
    private let feed: EventFeed
    private let events: ServiceEvents
    /// The waiting requests by id; nil if the link may not see them, or the gateway is away.
    private var waiting: [String: DeviceRequest]?
    /// The gateway did not answer the last look, so that `waiting` may be out of date.
    private var hasFailed = false
    /// The ids of requests already reported, even by an earlier process; nil before the first look.
    private var told: Set<String>?
    private var asked = 0
    private var isAsking = false
    /// An event arrived that the requested list may not include.
    private var isOutdated = false
    private var isLooking = false

    init(gateway: any GatewayCalls, feed: EventFeed, events: ServiceEvents) {
        self.gateway = gateway
        self.feed = feed
        self.events = events
    }

    /// The number of waiting requests; nil if unknown.
    package var pendingCount: Int? { hasFailed ? nil : waiting?.count }

    func load(on loop: isolated EventLoop) {
        feed.readSaved(Self.name, on: loop) { tables in
            try tables.values.get(space: Self.space, name: Self.name)?.bytes
        } failed: { _ in
        } completion: { [weak self] bytes in
            guard let self, let bytes, self.told == nil else { return }
            self.told = Set(String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init))
        }
    }

    // MARK: The link

    func linkLost() { forget() }

    func linkOpened(_ hello: Hello, on loop: isolated EventLoop) {
        forget()
        guard Scopes.covers(hello.scopes, Scopes.pairing) else { return }
        ask(on: loop)
    }

    func framesLost(on loop: isolated EventLoop) {
        if waiting != nil { ask(on: loop) }
    }

    private func forget() {
        asked += 1
        isAsking = false
        if waiting != nil { events.changed() }
        waiting = nil
        hasFailed = false
    }

    private func ask(on loop: isolated EventLoop) {
        asked += 1
        let number = asked
        isOutdated = false
        guard gateway.profile?.listsDeviceRequests == true else { return }
        isAsking = true
        gateway.call(DevicePairList(), on: loop) { [weak self] devices in
            guard let self, number == self.asked else { return }
            guard case .success(let devices) = devices else { return self.failed(on: loop) }
            self.askNodes(devices, number, on: loop)
        }
    }

    private func askNodes(_ devices: [DeviceRequest], _ number: Int, on loop: isolated EventLoop) {
        guard gateway.profile?.listsNodeRequests == true else { return listed(devices, on: loop) }
        gateway.call(NodePairList(), on: loop) { [weak self] nodes in
            guard let self, number == self.asked else { return }
            guard case .success(let nodes) = nodes else { return self.failed(on: loop) }
            self.listed(devices + nodes, on: loop)
        }
    }

    private func failed(on loop: isolated EventLoop) {
        isAsking = false
        hasFailed = true
        events.changed()
        lookLater(on: loop)
    }

    private func listed(_ requests: [DeviceRequest], on loop: isolated EventLoop) {
        isAsking = false
        if isOutdated, gateway.isOnline { return ask(on: loop) }
        let now = Dictionary(requests.filter { !$0.isSilent }.map { ($0.id, $0) }) { first, _ in first }
        let before = waiting ?? [:]
        waiting = now
        hasFailed = false
        events.changed()
        if let told {
            for (id, request) in before.sorted(by: { $0.key < $1.key }) where now[id] == nil {
                publish(.ended, request, on: loop)
            }
            for (id, request) in now.sorted(by: { $0.key < $1.key }) where !told.contains(id) {
                publish(.requested, request, on: loop)
            }
        }
        // Requests older than the very first look are counted, but not reported.
        keep(Set(now.keys), now: loop.wallClock)
        lookLater(on: loop)
    }

    private func lookLater(on loop: isolated EventLoop) {
        guard !isLooking, hasFailed || waiting?.isEmpty == false else { return }
        isLooking = true
        loop.after(milliseconds: Self.lookAgainMs) { [weak self] in
            guard let self else { return }
            self.isLooking = false
            if self.hasFailed || self.waiting?.isEmpty == false, self.gateway.isOnline { self.ask(on: loop) }
        }
    }

    // MARK: Events

    func received(_ event: GatewayEvent, on loop: isolated EventLoop) {
        guard case .pairing(let event) = event.payload, let id = event.requestId else { return }
        if isAsking { isOutdated = true }
        guard let count = waiting?.count else { return }
        if let request = event.request {
            guard !request.isSilent, count < GatewayLimits.pairingRequests,
                waiting?.updateValue(request, forKey: id) == nil, told?.contains(id) != true
            else {
                return
            }
            publish(.requested, request, on: loop)
        } else if let request = waiting?.removeValue(forKey: id) {
            publish(Self.reason(event.decision), request, on: loop)
        }
        keep(Set(waiting?.keys.map { $0 } ?? []), now: loop.wallClock)
        lookLater(on: loop)
    }

    private static func reason(_ decision: String?) -> Reason {
        switch decision {
        case "approved": .approved
        case "rejected": .rejected
        default: .ended
        }
    }

    private func publish(_ reason: Reason, _ request: DeviceRequest, on loop: isolated EventLoop) {
        events.changed()
        let count = waiting?.count ?? 0
        feed.publish("device", of: DeviceNews(reason: reason, request: request), on: loop) { object in
            object.member("reason", reason.rawValue)
            object.object("device") { request.write(to: &$0) }
            object.member("pending", count)
        }
    }

    private func keep(_ ids: Set<String>, now: Timestamp) {
        guard told != ids else { return }
        told = ids
        let bytes = Array(ids.sorted().joined(separator: "\n").utf8)
        feed.journal.cache(cost: bytes.count) { transaction in
            try transaction.values.set(bytes, space: Self.space, name: Self.name, at: now)
        }
    }
}

extension DeviceRequest {
    /// In bytes, per text shown.
    private static let longestText = 512

    var shownName: String? { name.map { $0.shown(bytes: Self.longestText) } }

    /// The command that the operator types on the gateway's host.
    var hint: String { "openclaw \(kind == .node ? "nodes" : "devices") approve \(Printable.argument(id))" }

    fileprivate func write(to object: inout JSONWriter) {
        object.member("id", id)
        object.member("kind", kind.rawValue)
        object.member("device", device)
        object.member("name", shownName)
        object.member("platform", platform)
        object.array("roles", of: roles)
        object.array("scopes", of: scopes)
        object.member("repair", isRepair ? true : nil)
        object.member("requestedAt", at)
        object.member("hint", hint)
    }
}
