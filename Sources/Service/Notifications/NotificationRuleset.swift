import Basics
import EventStream
import JSONBytes
import Notifications
import Store
import TLS

/// A snapshot of the rules and sinks. Used inside an event's transaction: its notifications become durable with it, and
/// each rule reports each subject once.
struct NotificationRuleset: Sendable {
    struct Place: Sendable {
        let id: String
        let kind: NotificationSink.Kind
        /// Whether the sink is enabled, and was not disabled after failures.
        let isOpen: Bool
    }

    /// The results of a transaction, passed to the delivery machine once they are durable.
    struct Changes: Sendable {
        var deliveries: [SinkDelivery] = []
        var ended: [Notification.Subject] = []
        var created: [NotificationType] = []

        var isEmpty: Bool { deliveries.isEmpty && ended.isEmpty && created.isEmpty }
    }

    /// The rules in order: the first that matches takes a sink.
    let rules: [NotificationRule]
    let sinks: [Place]
    /// Whether a client is watching messages on an event stream.
    var isWatched = false
    /// How far the gateway's clock, which dates the ends of approvals, is ahead of ours.
    var skewMs: Int64 = 0

    var asksForWatchers: Bool { rules.contains { $0.unlessWatching == true } }
    var openSinks: Set<String> { Set(sinks.filter(\.isOpen).map(\.id)) }

    /// Whether any sink would get this type, so that it is worth watching for.
    func tells(of type: NotificationType) -> Bool {
        sinks.contains(where: \.isOpen) && rules.contains { $0.types.contains(where: type.matches) }
    }

    /// Turns the events that a transaction has appended into notifications.
    func note(_ events: ArraySlice<StoredEvent>, in transaction: inout StoreTransaction) throws -> Changes {
        var changes = Changes()
        for event in events {
            let reading = Occasion.Reading(event)
            if let subject = reading.ended, try end(subject, in: &transaction, &changes) {
                changes.ended.append(subject)
            }
            if var occasion = reading.occasion {
                occasion.expiresAt = occasion.expiresAt?.adding(milliseconds: -skewMs)
                try create(occasion, in: &transaction, &changes)
            }
        }
        return changes
    }

    // MARK: Making

    func create(_ occasion: Occasion, in transaction: inout StoreTransaction, _ changes: inout Changes) throws {
        if let subject = occasion.subject, subject.kind == .run || subject.kind == .outbox,
            try transaction.notifications.isEcho(subject.id)
        {
            return
        }
        var free = openSinks
        var wasTold = false
        for rule in rules where rule.matches(occasion, isWatched: isWatched) {
            let won = rule.sinks.isEmpty ? free : free.intersection(rule.sinks)
            // A subject without any sink still gets its event.
            guard !won.isEmpty || !wasTold else { continue }
            free.subtract(won)
            wasTold = true
            let cooldown = rule.cooldown(of: occasion.type)
            if cooldown > 0,
                let last = try transaction.notifications.last(
                    rule: rule.id,
                    type: occasion.type.rawValue,
                    session: occasion.session
                ), last.milliseconds <= occasion.at.milliseconds,
                occasion.at.milliseconds - last.milliseconds < cooldown
            {
                continue
            }
            let one = notification(occasion, by: rule)
            let due = occasion.at.adding(milliseconds: rule.delay(of: occasion.type))
            try insert(one, source: occasion.source, sinks: won.sorted(), dueAt: due, in: &transaction, &changes)
        }
    }

    private func notification(_ occasion: Occasion, by rule: NotificationRule) -> Notification {
        var one = Notification(
            id: UUIDv7.make(milliseconds: occasion.at.milliseconds, random: SecureRandom.bytes(10)),
            type: occasion.type,
            at: occasion.at,
            title: occasion.title,
            text: occasion.text
        )
        one.priority = rule.priority ?? occasion.type.priority
        one.session = occasion.session
        one.agent = occasion.agent
        one.runID = occasion.runID
        one.subject = occasion.subject
        one.approval = occasion.approval
        one.expiresAt = occasion.expiresAt
        one.rule = rule.id
        one.ignoresQuiet = rule.quietHours == .ignore
        one.isReminder = occasion.isReminder
        switch rule.collapse {
        case .session: one.collapseKey = "\(rule.id) session \(occasion.session ?? "")"
        case .type: one.collapseKey = "\(rule.id) type \(occasion.type.rawValue)"
        case .some(.none), nil: break
        }
        return one
    }

    /// Writes the row, event and deliveries of one notification, unless it exists already.
    @discardableResult
    func insert(
        _ one: Notification,
        source: String,
        sinks: [String],
        dueAt: Timestamp,
        in transaction: inout StoreTransaction,
        _ changes: inout Changes
    ) throws -> Bool {
        let row = StoredNotification(
            id: one.id,
            source: source,
            rule: one.rule ?? "",
            type: one.type.rawValue,
            session: one.session,
            subject: one.subject?.key,
            at: one.at,
            body: one.kept
        )
        guard try transaction.notifications.insert(row) else { return false }
        let deliveries = sinks.map { SinkDelivery(one, sink: $0, dueAt: dueAt) }
        for delivery in deliveries { try transaction.notifications.save(StoredDelivery(delivery, at: one.at)) }
        var writer = JSONWriter(capacity: 768)
        writer.object { object in
            object.member("type", "notification")
            object.member("at", one.at)
            object.member("session", one.session)
            object.member("runId", one.runID)
            object.object("notification") { one.writeMembers(to: &$0) }
        }
        try transaction.append(
            EventDraft(type: "notification", at: one.at, session: one.session, run: one.runID, body: writer.bytes)
        )
        changes.deliveries += deliveries
        changes.created.append(one.type)
        return true
    }

    // MARK: Ending

    /// Ends a subject. Sent messages about it are removed at services that can. False if no notification was sent.
    func end(
        _ subject: Notification.Subject,
        in transaction: inout StoreTransaction,
        _ changes: inout Changes
    ) throws -> Bool {
        let ids = try transaction.notifications.end(subject: subject.key)
        guard !ids.isEmpty else { return false }
        guard subject.kind == .approval || subject.kind == .question else { return true }
        let canRemove = Set(sinks.filter { $0.kind == .ntfy }.map(\.id))
        for id in ids {
            let sent = try transaction.notifications.deliveries(of: id).filter { row in
                row.state == SinkDelivery.State.sent.rawValue && canRemove.contains(row.sink)
                    && row.purpose == SinkDelivery.Purpose.tell.rawValue
            }
            guard !sent.isEmpty, let row = try transaction.notifications.notification(id: id),
                let one = Notification(kept: row.body)
            else { continue }
            for row in sent {
                let removal = SinkDelivery(one, row)?.removal(now: transaction.now)
                guard let removal else { continue }
                try transaction.notifications.save(StoredDelivery(removal, at: transaction.now))
                changes.deliveries.append(removal)
            }
        }
        return true
    }
}

extension Notification.Subject {
    var key: String { "\(kind.rawValue)/\(id)" }
}

extension StoredDelivery {
    init(_ delivery: SinkDelivery, at time: Timestamp) {
        self.init(
            notification: delivery.notification,
            sink: delivery.sink,
            purpose: delivery.purpose.rawValue,
            state: delivery.state.rawValue,
            attempts: delivery.attempts,
            dueAt: delivery.dueAt,
            startedAt: delivery.startedAt,
            updatedAt: time,
            status: delivery.status,
            error: delivery.error
        )
    }
}

extension SinkDelivery {
    init?(_ notification: Notification, _ row: StoredDelivery) {
        guard let state = State(rawValue: row.state), let purpose = Purpose(rawValue: row.purpose) else { return nil }
        self.init(notification, sink: row.sink, dueAt: row.dueAt)
        self.state = state
        self.purpose = purpose
        attempts = row.attempts
        startedAt = row.startedAt
        status = row.status
        error = row.error
    }
}
