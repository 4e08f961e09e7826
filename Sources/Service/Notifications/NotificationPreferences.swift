package import Basics
package import EventLoops
package import Notifications
import Observability
import Store

/// The rules, sinks, quiet hours and mute: from the configuration and the API, stored in the database.
package final class NotificationPreferences {
    private static let sinkSpace = "notification.sink"
    private static let ruleSpace = "notification.rule"
    private static let settingSpace = "notification"

    package let settings: NotificationSettings
    private let gateway: any GatewayCalls
    private let feed: EventFeed
    private let events: ServiceEvents
    private let timeZones: TimeZones
    private let deliveries: NotificationDeliveries
    private let log: Log
    private var sinkTable: [String: NotificationSink] = [:]
    /// The time zones of sinks with quiet hours of their own.
    private var sinkZones: [String: TimeZoneTable] = [:]
    private var ruleTable: [String: NotificationRule] = [NotificationRule.standardID: .standard]
    package private(set) var quietHours: QuietHours
    package private(set) var mutedUntil: Timestamp?

    init(
        settings: NotificationSettings,
        gateway: any GatewayCalls,
        feed: EventFeed,
        events: ServiceEvents,
        timeZones: TimeZones,
        deliveries: NotificationDeliveries,
        log: Log
    ) {
        self.settings = settings
        self.gateway = gateway
        self.feed = feed
        self.events = events
        self.timeZones = timeZones
        self.deliveries = deliveries
        self.log = log
        quietHours = QuietHours(timeZone: settings.timeZone)
    }

    // MARK: Starting

    /// Loads the settings and the unsent deliveries of an earlier process.
    /// - Parameter completion: called when rules and sinks are known. Nothing is sent before the windows of quiet hours
    ///   are known too.
    func load(on loop: isolated EventLoop, completion: @escaping () -> Void) {
        let limit = NotificationLimits.queue * NotificationLimits.sinks
        feed.readSaved("notifications", on: loop) { tables in
            Saved(
                sinks: try tables.values.all(space: Self.sinkSpace).map(\.value.bytes),
                rules: try tables.values.all(space: Self.ruleSpace).map(\.value.bytes),
                healths: try tables.values.all(space: NotificationDeliveries.healthSpace)
                    .map { ($0.name, $0.value.bytes) },
                quietHours: try tables.values.get(space: Self.settingSpace, name: "quietHours")?.bytes,
                mute: try tables.values.get(space: Self.settingSpace, name: "mute")?.bytes,
                open: try tables.notifications.open(limit: limit).compactMap { row in
                    Notification(kept: row.body).flatMap { SinkDelivery($0, row.delivery) }
                }
            )
        } failed: { _ in
        } completion: { [weak self] saved in
            self?.take(saved, on: loop, completion)
        }
    }

    private struct Saved: Sendable {
        var sinks: [[UInt8]]
        var rules: [[UInt8]]
        var healths: [(String, [UInt8])]
        var quietHours: [UInt8]?
        var mute: [UInt8]?
        var open: [SinkDelivery]
    }

    private func take(_ saved: Saved, on loop: isolated EventLoop, _ completion: () -> Void) {
        let healths = Dictionary(saved.healths.map { ($0.0, SinkHealth(kept: $0.1)) }) { first, _ in first }
        let sinks = settings.sinks + saved.sinks.compactMap { NotificationSink(kept: $0) }
        for sink in sinks { use(sink, (healths[sink.id] ?? nil) ?? SinkHealth(), on: loop) }
        for rule in saved.rules.compactMap({ NotificationRule(kept: $0) }) { ruleTable[rule.id] = rule }
        if let kept = saved.quietHours.flatMap({ QuietHours(kept: $0) }) { quietHours = kept }
        mutedUntil = saved.mute.flatMap { Timestamp(rfc3339: String(decoding: $0, as: UTF8.self)) }
        deliveries.mute(until: mutedUntil)
        completion()
        loop.start { [self] in
            await useZone(on: loop)
            for sink in sinks { await useZone(of: sink, on: loop) }
            deliveries.begin(with: saved.open, on: loop)
        }
    }

    private func useZone(on loop: isolated EventLoop) async {
        let wanted = quietHours
        let zone = await timeZones.find(wanted.timeZone, on: loop)
        guard wanted == quietHours else { return }
        if zone == nil, wanted.isEnabled {
            log.warning("notifications.noTimeZone", ["timeZone": .string(wanted.timeZone)])
        }
        deliveries.set(wanted, zone ?? .utc)
    }

    private func useZone(of sink: NotificationSink, on loop: isolated EventLoop) async {
        guard let name = sink.ownQuietHours?.timeZone else { return }
        let zone = await timeZones.find(name, on: loop)
        if zone == nil { log.warning("notifications.noTimeZone", ["timeZone": .string(name)]) }
        guard sinkTable[sink.id] == sink else { return }
        sinkZones[sink.id] = zone
        use(sink, deliveries.health(of: sink.id), on: loop)
    }

    // MARK: Sinks

    package var sinks: [NotificationSink] { sinkTable.values.sorted { $0.id < $1.id } }
    package func sink(_ id: String) -> NotificationSink? { sinkTable[id] ?? sinkTable.values.first { $0.name == id } }

    /// The reason why callers may not use this address, judged by its text alone.
    package func refusal(of url: SinkURL) -> AddressPolicy.Refusal? {
        settings.addresses(beside: gateway)?.refusal(of: url)
    }

    /// Saves a sink. It takes effect at once, and is rolled back if the disk fails.
    /// - Returns: false if this host lacks the time zone of its quiet hours.
    package func save(
        _ sink: NotificationSink,
        isEnabledAnew: Bool = false,
        on loop: isolated EventLoop
    ) async throws -> Bool {
        var zone: TimeZoneTable?
        if let name = sink.ownQuietHours?.timeZone {
            zone = await timeZones.find(name, on: loop)
            guard zone != nil else { return false }
        }
        let (former, formerZone) = (sinkTable[sink.id], sinkZones[sink.id])
        sinkZones[sink.id] = zone
        let health = isEnabledAnew ? SinkHealth() : deliveries.health(of: sink.id)
        use(sink, health, on: loop)
        defer { deliveries.step(on: loop) }
        let (id, bytes, kept) = (sink.id, sink.kept, health.kept)
        do {
            try await feed.commit(on: loop) { transaction in
                try transaction.values.set(bytes, space: Self.sinkSpace, name: id, at: transaction.now)
                try transaction.values.set(
                    kept,
                    space: NotificationDeliveries.healthSpace,
                    name: id,
                    at: transaction.now
                )
            }
        } catch {
            sinkZones[id] = formerZone
            if let former { use(former, health, on: loop) } else { forget(id, on: loop) }
            throw error
        }
        return true
    }

    /// Enables a sink that was disabled after failures.
    package func restart(_ sink: NotificationSink, on loop: isolated EventLoop) {
        sinkTable[sink.id] = sink
        deliveries.restart(sink, zone: zone(of: sink), on: loop)
    }

    package func delete(sink id: String, on loop: isolated EventLoop) async throws {
        defer { deliveries.step(on: loop) }
        try await feed.commit(on: loop) { transaction in
            try transaction.values.remove(space: Self.sinkSpace, name: id)
            try transaction.values.remove(space: NotificationDeliveries.healthSpace, name: id)
        }
        forget(id, on: loop)
    }

    private func use(_ sink: NotificationSink, _ health: SinkHealth, on loop: isolated EventLoop) {
        sinkTable[sink.id] = sink
        deliveries.set(sink, health, zone: zone(of: sink), on: loop)
    }

    private func zone(of sink: NotificationSink) -> TimeZoneTable { sinkZones[sink.id] ?? .utc }

    private func forget(_ sink: String, on loop: isolated EventLoop) {
        sinkTable[sink] = nil
        sinkZones[sink] = nil
        deliveries.remove(sink: sink, on: loop)
    }

    // MARK: Rules

    /// The rules in the order in which they take sinks: the standard rule comes last.
    package var rules: [NotificationRule] {
        ruleTable.values.sorted { left, right in
            let standard = NotificationRule.standardID
            if (left.id == standard) != (right.id == standard) { return right.id == standard }
            return left.id < right.id
        }
    }

    package func rule(_ id: String) -> NotificationRule? { ruleTable[id] }

    package func save(_ rule: NotificationRule, on loop: isolated EventLoop) async throws {
        let former = ruleTable[rule.id]
        use(rule, rule.id, on: loop)
        let bytes = rule.kept
        do {
            try await feed.commit(on: loop) { transaction in
                try transaction.values.set(bytes, space: Self.ruleSpace, name: rule.id, at: transaction.now)
            }
        } catch {
            use(former, rule.id, on: loop)
            throw error
        }
    }

    package func delete(rule id: String, on loop: isolated EventLoop) async throws {
        try await feed.commit(on: loop) { transaction in
            try transaction.values.remove(space: Self.ruleSpace, name: id)
        }
        use(nil, id, on: loop)
    }

    private func use(_ rule: NotificationRule?, _ id: String, on loop: isolated EventLoop) {
        ruleTable[id] = rule
        events.notify(.sinksChanged, on: loop)
    }

    // MARK: Quiet hours and mute

    /// - Returns: false if this host does not have the time zone.
    package func save(_ hours: QuietHours, on loop: isolated EventLoop) async throws -> Bool {
        guard let zone = await timeZones.find(hours.timeZone, on: loop) else { return false }
        let bytes = hours.kept
        try await feed.commit(on: loop) { transaction in
            try transaction.values.set(bytes, space: Self.settingSpace, name: "quietHours", at: transaction.now)
        }
        quietHours = hours
        deliveries.set(hours, zone)
        events.changed()
        deliveries.step(on: loop)
        return true
    }

    /// - Parameter until: nil ends the mute.
    package func mute(until: Timestamp?, on loop: isolated EventLoop) async throws {
        let bytes = until.map { Array($0.rfc3339.utf8) }
        try await feed.commit(on: loop) { transaction in
            if let bytes {
                try transaction.values.set(bytes, space: Self.settingSpace, name: "mute", at: transaction.now)
            } else {
                try transaction.values.remove(space: Self.settingSpace, name: "mute")
            }
        }
        mutedUntil = until
        deliveries.mute(until: until)
        events.changed()
        deliveries.step(on: loop)
    }
}
