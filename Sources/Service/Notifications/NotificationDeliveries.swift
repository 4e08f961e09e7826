import Basics
package import EventLoops
package import Notifications
import Observability
import Store
import TLS

/// Sends notifications: the delivery machine decides what is sent to which sink and when; this class carries it out and
/// stores each state.
package final class NotificationDeliveries {
    static let healthSpace = "notification.health"
    /// The delay before a failed write of a delivery state is repeated.
    private static let writeAgainMs: Int64 = 5_000
    /// The wall clock may be set, so long waits are checked in between.
    private static let longestWaitMs: Int64 = 60_000

    private let feed: EventFeed
    private let events: ServiceEvents
    private let sender: SinkSender
    private let log: Log
    private var machine = DeliveryMachine()
    private var sinks: [String: NotificationSink] = [:]
    private var tested: Set<String> = []
    private var timer: TimerID?
    private var unwritten: [String: SinkDelivery] = [:]
    private var isWritingAgain = false
    /// The windows of quiet hours are known, so notifications may be sent.
    private var hasBegun = false
    /// The results of deliveries since the start, by sink.
    private(set) var results: [String: [SinkDelivery.State: UInt64]] = [:]

    init(feed: EventFeed, events: ServiceEvents, sender: SinkSender, log: Log) {
        self.feed = feed
        self.events = events
        self.sender = sender
        self.log = log
    }

    // MARK: Sinks and hours

    package func health(of sink: String) -> SinkHealth { machine.health(of: sink) ?? SinkHealth() }
    var waitingCount: Int { machine.waitingCount }

    /// - Parameter zone: the time zone of the sink's own quiet hours.
    func set(_ sink: NotificationSink, _ health: SinkHealth, zone: TimeZoneTable, on loop: isolated EventLoop) {
        sinks[sink.id] = sink
        machine.set(sink, health, zone: zone)
        events.notify(.sinksChanged, on: loop)
    }

    func remove(sink: String, on loop: isolated EventLoop) {
        sinks[sink] = nil
        results[sink] = nil
        machine.remove(sink: sink)
        events.notify(.sinksChanged, on: loop)
    }

    func set(_ hours: QuietHours, _ zone: TimeZoneTable) { machine.set(hours, zone) }

    func mute(until: Timestamp?) { machine.mute(until: until) }

    /// Forgets the failures of a sink: it is tried again at once.
    func restart(_ sink: NotificationSink, zone: TimeZoneTable, on loop: isolated EventLoop) {
        set(sink, SinkHealth(), zone: zone, on: loop)
        keep(SinkHealth(), of: sink.id, on: loop)
        step(on: loop)
    }

    // MARK: Deliveries

    /// The windows of quiet hours are known.
    /// - Parameter deliveries: what an earlier process left unsent.
    func begin(with deliveries: [SinkDelivery], on loop: isolated EventLoop) {
        hasBegun = true
        add(deliveries, on: loop)
    }

    func add(_ deliveries: [SinkDelivery], on loop: isolated EventLoop) {
        machine.add(deliveries)
        step(on: loop)
    }

    /// Drops the notifications of a subject that has ended.
    func ended(_ subject: Notification.Subject) {
        machine.ended(subject)
        sender.ended(subject)
    }

    /// Sends again to the sinks that did not get the notification. Nil if it does not exist, else the number of sinks.
    package func retry(_ id: String, on loop: isolated EventLoop) async throws -> Int? {
        let open = Set(sinks.values.filter(isOpen).map(\.id))
        let again = try await feed.commit(on: loop) { transaction -> [SinkDelivery]? in
            guard let row = try transaction.notifications.notification(id: id), let one = Notification(kept: row.body)
            else { return nil }
            let deliveries = try transaction.notifications.deliveries(of: id).compactMap { SinkDelivery(one, $0) }
            var again: [SinkDelivery] = []
            for var one in deliveries where (one.state == .failed || one.state == .dropped) && open.contains(one.sink) {
                one.restart(now: transaction.now)
                try transaction.notifications.save(StoredDelivery(one, at: transaction.now))
                again.append(one)
            }
            return again
        }
        if let again { add(again, on: loop) }
        return again?.count
    }

    /// Whether the sink is enabled, and was not disabled after failures.
    func isOpen(_ sink: NotificationSink) -> Bool {
        sink.isEnabled && machine.health(of: sink.id)?.state != .disabled
    }

    func step(on loop: isolated EventLoop) {
        guard hasBegun else { return }
        for action in machine.step(now: loop.wallClock) {
            switch action {
            case .send(let sending): begin(sending, on: loop)
            case .write(let deliveries): write(deliveries, on: loop)
            case .health(let sink, let health): keep(health, of: sink, on: loop)
            case .disabled(let id, let reason):
                if let sink = sinks[id] { events.notify(.sinkDisabled(sink, reason: reason), on: loop) }
            }
        }
        if let timer { loop.cancel(timer) }
        timer = nil
        guard let at = machine.wakeAt else { return }
        let wait = min(max(at.milliseconds - loop.wallClock.milliseconds, 1), Self.longestWaitMs)
        timer = loop.after(milliseconds: wait) { [weak self] in
            self?.timer = nil
            self?.step(on: loop)
        }
    }

    private func begin(_ sending: DeliveryMachine.Sending, on loop: isolated EventLoop) {
        let ids = [sending.delivery.notification] + sending.others.map(\.notification)
        feed.read(on: loop) { tables in
            try ids.map { id in try tables.notifications.notification(id: id).flatMap { Notification(kept: $0.body) } }
        } completion: { [self] (result: Result<[Notification?], any Error>) in
            switch result {
            case .success(let found): send(sending, found, on: loop)
            case .failure:
                let error = "the database cannot be read"
                answered(sending.delivery.sink, .failed(status: nil, error: error, retryAfterMs: nil), on: loop)
            }
        }
    }

    private func send(_ sending: DeliveryMachine.Sending, _ found: [Notification?], on loop: isolated EventLoop) {
        let id = sending.delivery.sink
        // The notification became too old meanwhile, or its sink is gone.
        guard let one = found.first ?? nil, let sink = sinks[id] else {
            return answered(id, .accepted(status: nil), on: loop)
        }
        let others = found.dropFirst().compactMap(\.self)
        sender.send(sending, one, others, to: sink, on: loop) { [self] outcome in answered(id, outcome, on: loop) }
    }

    private func answered(_ sink: String, _ outcome: DeliveryMachine.Outcome, on loop: isolated EventLoop) {
        machine.answered(sink, outcome, now: loop.wallClock)
        step(on: loop)
    }

    // MARK: Tests

    package func isTesting(_ sink: String) -> Bool { tested.contains(sink) }

    /// Sends a test message at once, past rules and quiet hours. One at a time per sink, since a sink may take long to
    /// answer.
    package func test(
        _ sink: NotificationSink,
        on loop: isolated EventLoop,
        completion: @escaping (DeliveryMachine.Outcome) -> Void
    ) {
        tested.insert(sink.id)
        let id = UUIDv7.make(milliseconds: loop.wallClock.milliseconds, random: SecureRandom.bytes(10))
        let one = Notification(id: id, type: .test, at: loop.wallClock, title: "Ladle", text: "This is a test.")
        sender.sendAlone(one, to: sink, on: loop) { [self] outcome in
            tested.remove(sink.id)
            completion(outcome)
        }
    }

    /// Sends a notification that the disk did not store, once, to these sinks.
    func sendUnkept(_ one: Notification, to ids: Set<String>, on loop: isolated EventLoop) {
        for sink in sinks.values.sorted(by: { $0.id < $1.id }) where ids.contains(sink.id) {
            sender.sendAlone(one, to: sink, on: loop) { _ in }
        }
    }

    // MARK: Writing

    /// Writes delivery states, retried until the disk takes them. A delivery whose state is lost with the process is
    /// sent again under the same id.
    private func write(_ deliveries: [SinkDelivery], on loop: isolated EventLoop) {
        let now = loop.wallClock
        for one in deliveries where !one.state.isOpen && one.purpose == .tell {
            results[one.sink, default: [:]][one.state, default: 0] += 1
        }
        feed.commit(cost: 256 * deliveries.count, on: loop) { transaction in
            for one in deliveries { try transaction.notifications.save(StoredDelivery(one, at: now)) }
        } completion: { [self] (result: Result<Void, any Error>) in
            if case .failure = result { writeAgain(deliveries, on: loop) }
        }
    }

    private func writeAgain(_ deliveries: [SinkDelivery], on loop: isolated EventLoop) {
        for one in deliveries { unwritten["\(one.notification) \(one.sink)"] = one }
        guard !isWritingAgain else { return }
        isWritingAgain = true
        _ = loop.after(milliseconds: Self.writeAgainMs) { [weak self] in
            guard let self else { return }
            self.isWritingAgain = false
            let again = Array(self.unwritten.values)
            self.unwritten = [:]
            self.write(again, on: loop)
        }
    }

    private func keep(_ health: SinkHealth, of sink: String, on loop: isolated EventLoop) {
        if health.failures == 1 || health.state != .ok, let name = sinks[sink]?.name {
            log.warning(
                "notifications.failed",
                [
                    "sink": .string(name), "state": .string(health.state.rawValue),
                    "error": .string(health.lastError ?? ""),
                ]
            )
        }
        events.notify(.sinksChanged, on: loop)
        let bytes = health.kept
        feed.commit(on: loop) { transaction in
            try transaction.values.set(bytes, space: Self.healthSpace, name: sink, at: transaction.now)
        } completion: { _ in
        }
    }
}
