package import Access
package import Basics
package import EventLoops
import Gateway
package import JSONBytes
package import Notifications
import Observability
import Runs
import Store

/// Notifications to people: watches the link, the disk, approvals and sinks for subjects to report, and reads the
/// history.
package final class NotificationService {
    private let feed: EventFeed
    private let preferences: NotificationPreferences
    private let deliveries: NotificationDeliveries
    private let maker: NotificationMaker
    private let link: LinkWatch
    private let storage: StorageWatch
    private let reminders: ApprovalReminders

    init(
        gateway: any GatewayCalls,
        feed: EventFeed,
        audience: Audience,
        approvals: ApprovalService,
        preferences: NotificationPreferences,
        deliveries: NotificationDeliveries,
        maker: NotificationMaker,
        freeBytes: @escaping @Sendable () -> UInt64?
    ) {
        self.feed = feed
        self.preferences = preferences
        self.deliveries = deliveries
        self.maker = maker
        link = LinkWatch(maker)
        storage = StorageWatch(feed: feed, audience: audience, maker: maker, freeBytes: freeBytes)
        reminders = ApprovalReminders(gateway: gateway, approvals: approvals, maker: maker)
    }

    func load(on loop: isolated EventLoop) {
        preferences.load(on: loop) { [self] in
            maker.begin()
            link.begin(on: loop)
            storage.begin(on: loop)
            reminders.changed(on: loop)
        }
    }

    // MARK: Events

    func linkChanged(_ status: LinkStatus, on loop: isolated EventLoop) { link.changed(status, on: loop) }

    func received(_ event: GatewayEvent, on loop: isolated EventLoop) {
        if case .shutdown(let expectedMs) = event.payload { link.restarts(inMs: expectedMs, on: loop) }
    }

    /// Reports that the database failed to write.
    func storeFailed(_ fault: StoreError, on loop: isolated EventLoop) {
        if fault == .storageFull { storage.writeFailed(on: loop) }
    }

    func published(_ event: StreamEvent, on loop: isolated EventLoop) {
        storage.written(on: loop)
        switch event.matter {
        case is Approval: reminders.changed(on: loop)
        case let news as UsageNews:
            for occasion in news.occasions(at: loop.wallClock) { maker.tell(occasion, on: loop) }
        default: break
        }
    }

    func sinksChanged(on loop: isolated EventLoop) {
        maker.sinksChanged()
        storage.changed(on: loop)
    }

    /// Reports a disabled sink to the others. Each time one sink fewer is open, so this ends.
    func sinkDisabled(_ sink: NotificationSink, reason: String, on loop: isolated EventLoop) {
        let now = loop.wallClock
        var occasion = Occasion(
            .sinkDisabled,
            source: "sink/\(sink.id)/\(now.milliseconds)",
            at: now,
            text:
                "\(sink.name): \(reason). To use it again: PATCH /v1/notifications/sinks/\(sink.id) {\"enabled\":true}"
        )
        occasion.subject = Notification.Subject(.sink, sink.id)
        maker.tell(occasion, on: loop)
    }

    /// Notifies that a device asks for a token. The device chose its name itself, so its address is shown too.
    package func pairingRequested(_ request: PairingRequest, on loop: isolated EventLoop) {
        var occasion = Occasion(
            .pairingRequested,
            source: "pairing/\(request.code)",
            at: loop.wallClock,
            text: "\(request.name) from \(request.from) asks for \(request.scopes.names.joined(separator: ", ")). "
                + "To let it in: ladle clients approve \(request.code)"
        )
        occasion.expiresAt = request.expiresAt
        maker.tell(occasion, on: loop)
    }

    // MARK: Reading

    /// A summary of the sinks.
    package struct Summary: Equatable, JSONWritable {
        let sinks: Int
        let failing: [String]
        let disabled: [String]
        let waiting: Int

        package func write(to writer: inout JSONWriter) {
            writer.object { object in
                object.member("sinks", sinks)
                object.array("failing", of: failing)
                object.array("disabled", of: disabled)
                object.member("waiting", waiting)
            }
        }
    }

    package var summary: Summary {
        let sinks = preferences.sinks
        func names(_ state: SinkHealth.State) -> [String] {
            sinks.filter { deliveries.health(of: $0.id).state == state }.map(\.name)
        }
        return Summary(
            sinks: sinks.count,
            failing: names(.failing),
            disabled: names(.disabled),
            waiting: deliveries.waitingCount
        )
    }

    package struct Page: Sendable {
        package let notifications: [(notification: Notification, deliveries: [ShownDelivery])]
        package let hasMore: Bool
    }

    /// The newest first; nil if `before` is not one of them.
    package func page(
        state: SinkDelivery.State?,
        sessions: SessionSet?,
        before: String?,
        limit: Int,
        on loop: isolated EventLoop
    ) async throws -> Page? {
        try await feed.read(on: loop) { tables -> Page? in
            let found = try tables.notifications.page(
                state: state?.rawValue,
                sessions: sessions,
                before: before,
                limit: limit
            )
            guard let found else { return nil }
            return Page(
                notifications: try found.rows.compactMap { row in
                    guard let one = Notification(kept: row.body) else { return nil }
                    return (one, try tables.notifications.deliveries(of: one.id).map(ShownDelivery.init))
                },
                hasMore: found.isMore
            )
        }
    }
}
