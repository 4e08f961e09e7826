import Basics
package import EventLoops
package import Notifications
import Store
import TLS

/// Makes notifications by its ruleset: from the events of a transaction, from subjects without an event, and
/// for scripts.
package final class NotificationMaker {
    private static let notes = TokenBucket(burst: 10, perMinute: 10)

    private unowned let gateway: any GatewayCalls
    private let feed: EventFeed
    private let audience: Audience
    private let preferences: NotificationPreferences
    private let deliveries: NotificationDeliveries
    private var noteBucket = NotificationMaker.notes
    private var isReady = false
    private var kept: NotificationRuleset?
    /// The notifications made since the start, by type.
    private(set) var made: [NotificationType: UInt64] = [:]

    init(
        gateway: any GatewayCalls,
        feed: EventFeed,
        audience: Audience,
        preferences: NotificationPreferences,
        deliveries: NotificationDeliveries
    ) {
        self.gateway = gateway
        self.feed = feed
        self.audience = audience
        self.preferences = preferences
        self.deliveries = deliveries
    }

    /// Called when rules and sinks are known: from then on events become notifications.
    func begin() {
        isReady = true
        sinksChanged()
        feed.maker = self
    }

    // MARK: The ruleset

    func ruleset(on loop: isolated EventLoop) -> NotificationRuleset {
        var ruleset = ruleset
        ruleset.skewMs = gateway.clockSkewMs(on: loop)
        return ruleset
    }

    private var ruleset: NotificationRuleset {
        var ruleset =
            kept
            ?? NotificationRuleset(
                rules: preferences.rules.filter(\.isEnabled),
                sinks: preferences.sinks.map { sink in
                    NotificationRuleset.Place(id: sink.id, kind: sink.kind, isOpen: deliveries.isOpen(sink))
                }
            )
        ruleset.isWatched = ruleset.asksForWatchers && audience.names("message")
        kept = ruleset
        return ruleset
    }

    /// Called when a rule, a sink, or the state of a sink has changed.
    func sinksChanged() {
        kept = nil
        guard isReady else { return }
        audience.rulesTake(Set(NotificationType.allCases.filter(ruleset.tells(of:))))
    }

    // MARK: Making

    /// Notifies of something that has no event of its own.
    func tell(_ occasion: Occasion, on loop: isolated EventLoop, failed: @escaping () -> Void = {}) {
        change(on: loop, failed: failed) { ruleset, transaction, changes in
            try ruleset.create(occasion, in: &transaction, &changes)
        }
    }

    /// Runs an operation on the ruleset in a transaction of its own.
    func change(
        on loop: isolated EventLoop,
        failed: @escaping () -> Void = {},
        _ body:
            @escaping @Sendable (NotificationRuleset, inout StoreTransaction, inout NotificationRuleset.Changes) throws
            ->
            Void
    ) {
        guard isReady else { return }
        let ruleset = ruleset(on: loop)
        feed.commit(on: loop) { transaction in
            var changes = NotificationRuleset.Changes()
            try body(ruleset, &transaction, &changes)
            return changes
        } completion: { [self] result in
            if case .success(let changes) = result { take(changes, on: loop) } else { failed() }
        }
    }

    /// Sends a notification that the disk cannot store: once, without retries.
    func sendUnkept(_ occasion: Occasion, on loop: isolated EventLoop) {
        let id = UUIDv7.make(milliseconds: occasion.at.milliseconds, random: SecureRandom.bytes(10))
        let one = Notification(id: id, type: occasion.type, at: occasion.at, title: occasion.title, text: occasion.text)
        let ruleset = ruleset(on: loop)
        let open = ruleset.openSinks
        var chosen: Set<String> = []
        for rule in ruleset.rules where rule.matches(occasion, isWatched: false) {
            chosen.formUnion(rule.sinks.isEmpty ? open : open.intersection(rule.sinks))
        }
        deliveries.sendUnkept(one, to: chosen, on: loop)
    }

    /// Takes over the durable results of a transaction.
    func take(_ changes: NotificationRuleset.Changes, on loop: isolated EventLoop) {
        for type in changes.created { made[type, default: 0] += 1 }
        for subject in changes.ended { deliveries.ended(subject) }
        deliveries.add(changes.deliveries, on: loop)
    }

    // MARK: Notes of scripts

    package enum NoteResult {
        case made(Notification, sinks: [String])
        case tooMany(retryAfterMs: Int64)
    }

    /// Sends a note for a script.
    /// - Parameter sinks: ids; nil for all open sinks.
    package func note(
        _ note: Notification,
        sinks wanted: [String]?,
        on loop: isolated EventLoop,
        completion: @escaping (Result<NoteResult, any Error>) -> Void
    ) {
        guard isReady else { return completion(.failure(StoreError.unavailable("the sinks are still being read"))) }
        guard noteBucket.take(now: loop.now) else { return completion(.success(.tooMany(retryAfterMs: 6_000))) }
        let ruleset = ruleset(on: loop)
        let sinks = ruleset.sinks.filter { $0.isOpen && wanted?.contains($0.id) ?? true }.map(\.id)
        let dueAt = loop.wallClock
        feed.commit(on: loop) { transaction in
            var changes = NotificationRuleset.Changes()
            try ruleset.insert(
                note,
                source: "note/\(note.id)",
                sinks: sinks,
                dueAt: dueAt,
                in: &transaction,
                &changes
            )
            return changes
        } completion: { [self] result in
            if case .success(let changes) = result { take(changes, on: loop) }
            completion(result.map { _ in .made(note, sinks: sinks) })
        }
    }
}
