import Access
package import Basics
package import EventLoops
import Gateway
package import JSONBytes
package import Notifications
import Observability
import Runs
import Store
import TLS

/// Notifications: rules and sinks, and the sending. Events become notifications in their own transactions, by the book; the delivery
/// machine decides what is sent when, and this class sends it.
package final class NotificationService {
    /// An approval's buttons are made once for all tries.
    private static let mostButtons = 64
    /// A state that the disk did not take is written again so much later.
    private static let writeAgainMs: Int64 = 5_000
    /// The wall clock may be set, so that a long wait is looked at in between.
    private static let longestWaitMs: Int64 = 60_000
    /// Notes of scripts.
    private static let notes = TokenBucket(burst: 10, perMinute: 10)

    private static let sinkSpace = "notification.sink"
    private static let healthSpace = "notification.health"
    private static let ruleSpace = "notification.rule"
    private static let settingSpace = "notification"

    package let settings: NotificationSettings
    private unowned let gateway: any GatewayCalls
    private let feed: EventFeed
    private let events: ServiceEvents
    private let approvals: ApprovalService
    private let links: ApprovalLinks
    private let sessionModel: SessionModel
    private let timeZones: TimeZones
    private let transport: any SinkTransport
    private let policy: AddressPolicy?
    private let log: Log
    private var machine = DeliveryMachine()
    private var watch: LinkWatch?
    private var storage: StorageWatch?
    /// The last word of the link before the settings were read.
    private var earlyLink: LinkStatus?
    private var tested: Set<String> = []
    /// Of the sinks that have quiet hours of their own.
    private var sinkZones: [String: TimeZoneTable] = [:]
    private var timer: TimerID?
    private var sinkTable: [String: NotificationSink] = [:]
    private var ruleTable: [String: NotificationRule] = [NotificationRule.standardID: .standard]
    private var book: NotificationBook?
    package private(set) var quietHours: QuietHours
    package private(set) var mutedUntil: Timestamp?
    private var isLoaded = false
    private var buttons: [String: [SinkMessage.Button]] = [:]
    private var reminders: [String: TimerID] = [:]
    private var unwritten: [String: SinkDelivery] = [:]
    private var isWritingAgain = false
    private var noteBucket = NotificationService.notes
    /// Since the start: what was made by type, and how deliveries ended by sink.
    package private(set) var made: [NotificationType: UInt64] = [:]
    package private(set) var results: [String: [SinkDelivery.State: UInt64]] = [:]
    /// Whether somebody watches messages on an event stream.
    package var isWatched: () -> Bool = { false }

    init(
        settings: NotificationSettings,
        gateway: any GatewayCalls,
        feed: EventFeed,
        events: ServiceEvents,
        approvals: ApprovalService,
        links: ApprovalLinks,
        sessionModel: SessionModel,
        timeZones: TimeZones,
        transport: any SinkTransport,
        freeBytes: @escaping @Sendable () -> UInt64?,
        log: Log
    ) {
        self.settings = settings
        self.gateway = gateway
        self.feed = feed
        self.events = events
        self.approvals = approvals
        self.links = links
        self.sessionModel = sessionModel
        self.timeZones = timeZones
        self.transport = transport
        self.log = log
        policy = settings.allowed ?? (try? AddressPolicy())
        quietHours = QuietHours(timeZone: settings.timeZone)
        watch = LinkWatch(self)
        storage = StorageWatch(self, freeBytes: freeBytes)
    }

    // MARK: Starting

    /// Takes up the settings and what an earlier process left to be sent.
    func load(on loop: isolated EventLoop) {
        let limit = NotificationLimits.queue * NotificationLimits.sinks
        feed.readSaved("notifications", on: loop) { tables in
            Saved(
                sinks: try tables.values.all(space: Self.sinkSpace).map(\.value.bytes),
                rules: try tables.values.all(space: Self.ruleSpace).map(\.value.bytes),
                healths: try tables.values.all(space: Self.healthSpace).map { ($0.name, $0.value.bytes) },
                quietHours: try tables.values.get(space: Self.settingSpace, name: "quietHours")?.bytes,
                mute: try tables.values.get(space: Self.settingSpace, name: "mute")?.bytes,
                open: try tables.notifications.open(limit: limit).compactMap { row in
                    Notification(kept: row.body).flatMap { SinkDelivery($0, row.delivery) }
                }
            )
        } failed: { _ in
        } completion: { [weak self] saved in
            self?.take(saved, on: loop)
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

    private func take(_ saved: Saved, on loop: isolated EventLoop) {
        let healths = Dictionary(saved.healths.map { ($0.0, SinkHealth(kept: $0.1)) }) { first, _ in first }
        let sinks = settings.sinks + saved.sinks.compactMap { NotificationSink(kept: $0) }
        for sink in sinks {
            sinkTable[sink.id] = sink
            machine.set(sink, (healths[sink.id] ?? nil) ?? SinkHealth())
        }
        for rule in saved.rules.compactMap({ NotificationRule(kept: $0) }) { ruleTable[rule.id] = rule }
        if let kept = saved.quietHours.flatMap({ QuietHours(kept: $0) }) { quietHours = kept }
        mutedUntil = saved.mute.flatMap { Timestamp(rfc3339: String(decoding: $0, as: UTF8.self)) }
        machine.mute(until: mutedUntil)
        isLoaded = true
        feed.notifications = self
        if let earlyLink { linkChanged(earlyLink, on: loop) }
        earlyLink = nil
        storage?.changed(on: loop)
        for approval in approvals.waiting(on: loop) { remind(of: approval, on: loop) }
        useZone(on: loop) { [self] in useZones(of: sinks[...], for: saved.open, on: loop) }
    }

    private func begin(with open: [SinkDelivery], on loop: isolated EventLoop) {
        machine.add(open)
        step(on: loop)
    }

    private func useZones(
        of rest: ArraySlice<NotificationSink>,
        for open: [SinkDelivery],
        on loop: isolated EventLoop
    ) {
        guard let sink = rest.first else { return begin(with: open, on: loop) }
        guard let name = sink.ownQuietHours?.timeZone else {
            return useZones(of: rest.dropFirst(), for: open, on: loop)
        }
        timeZones.find(name, on: loop) { [self] zone in
            use(zone, named: name, of: sink)
            useZones(of: rest.dropFirst(), for: open, on: loop)
        }
    }

    private func use(_ zone: TimeZoneTable?, named name: String, of sink: NotificationSink) {
        if zone == nil { log.warning("notifications.noTimeZone", ["timeZone": .string(name)]) }
        guard sinkTable[sink.id] == sink else { return }
        sinkZones[sink.id] = zone
        machine.set(sink, health(of: sink.id), zone: zone ?? .utc)
    }

    /// Nothing is sent before the window of the night is known.
    private func useZone(on loop: isolated EventLoop, then go: @escaping () -> Void) {
        let wanted = quietHours
        timeZones.find(wanted.timeZone, on: loop) { [self] zone in
            guard wanted == quietHours else { return go() }
            if zone == nil, wanted.isEnabled {
                log.warning("notifications.noTimeZone", ["timeZone": .string(wanted.timeZone)])
            }
            machine.set(wanted, zone ?? .utc)
            go()
        }
    }

    var currentBook: NotificationBook {
        let rules: [NotificationRule]
        let places: [NotificationBook.Place]
        if let book {
            (rules, places) = (book.rules, book.sinks)
        } else {
            rules = self.rules.filter(\.isEnabled)
            places = sinks.map { sink in
                NotificationBook.Place(id: sink.id, kind: sink.kind, isOpen: isOpen(sink))
            }
        }
        let isWatched = rules.contains { $0.unlessWatching == true } && isWatched()
        let current = NotificationBook(
            rules: rules,
            sinks: places,
            isWatched: isWatched,
            skewMs: gateway.clockSkewMs
        )
        book = current
        return current
    }

    private func isOpen(_ sink: NotificationSink) -> Bool {
        sink.isEnabled && machine.health(of: sink.id)?.state != .disabled
    }

    // MARK: Reading

    /// In the order in which they take sinks: the standard rule comes last.
    package var rules: [NotificationRule] {
        ruleTable.values.sorted { left, right in
            let standard = NotificationRule.standardID
            if (left.id == standard) != (right.id == standard) { return right.id == standard }
            return left.id < right.id
        }
    }

    package func rule(_ id: String) -> NotificationRule? { ruleTable[id] }
    package var sinks: [NotificationSink] { sinkTable.values.sorted { $0.id < $1.id } }
    package func sink(_ id: String) -> NotificationSink? { sinkTable[id] ?? sinkTable.values.first { $0.name == id } }
    package func health(of sink: String) -> SinkHealth { machine.health(of: sink) ?? SinkHealth() }
    /// Somebody would hear of it, so that it is worth looking for.
    package func wants(_ type: NotificationType) -> Bool {
        currentBook.sinks.contains(where: \.isOpen)
            && currentBook.rules.contains { $0.types.contains(where: type.matches) }
    }

    /// The sinks at a glance.
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
        func names(_ state: SinkHealth.State) -> [String] {
            sinks.filter { health(of: $0.id).state == state }.map(\.name)
        }
        return Summary(
            sinks: sinkTable.count,
            failing: names(.failing),
            disabled: names(.disabled),
            waiting: machine.waitingCount
        )
    }

    package struct Page: Sendable {
        package let notifications: [(notification: Notification, deliveries: [ShownDelivery])]
        package let hasMore: Bool
    }

    /// The newest first; nil where `before` is none of them.
    package func page(
        state: SinkDelivery.State?,
        sessions: Set<String>?,
        before: String?,
        limit: Int,
        on loop: isolated EventLoop,
        completion: @escaping (Result<Page?, any Error>) -> Void
    ) {
        feed.read(on: loop) { tables -> Page? in
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
        } completion: {
            completion($0)
        }
    }

    // MARK: Settings

    /// Used at once; given back where the disk does not take it. Gives false where this host does not have the time zone of
    /// its quiet hours.
    package func save(
        _ sink: NotificationSink,
        isEnabledAnew: Bool = false,
        on loop: isolated EventLoop,
        completion: @escaping (Result<Bool, any Error>) -> Void
    ) {
        guard let name = sink.ownQuietHours?.timeZone else {
            return commit(sink, isEnabledAnew: isEnabledAnew, on: loop, completion: completion)
        }
        timeZones.find(name, on: loop) { [self] zone in
            guard let zone else { return completion(.success(false)) }
            sinkZones[sink.id] = zone
            commit(sink, isEnabledAnew: isEnabledAnew, on: loop, completion: completion)
        }
    }

    private func commit(
        _ sink: NotificationSink,
        isEnabledAnew: Bool,
        on loop: isolated EventLoop,
        completion: @escaping (Result<Bool, any Error>) -> Void
    ) {
        let former = sinkTable[sink.id]
        let health = isEnabledAnew ? SinkHealth() : health(of: sink.id)
        use(sink, health, on: loop)
        let (id, bytes, kept) = (sink.id, sink.kept, health.kept)
        feed.commit(on: loop) { transaction in
            try transaction.values.set(bytes, space: Self.sinkSpace, name: id, at: transaction.now)
            try transaction.values.set(kept, space: Self.healthSpace, name: id, at: transaction.now)
        } completion: { [self] (result: Result<Void, any Error>) in
            if case .failure = result {
                if let former { use(former, health, on: loop) } else { forget(sink.id, on: loop) }
            }
            completion(result.map { true })
            step(on: loop)
        }
    }

    /// A sink that its failures have disabled is tried again.
    package func restart(_ sink: NotificationSink, on loop: isolated EventLoop) {
        use(sink, SinkHealth(), on: loop)
        keep(SinkHealth(), of: sink.id, on: loop)
        step(on: loop)
    }

    /// Why a caller may not name this address, as far as its text tells.
    package func refusal(of url: SinkURL) -> AddressPolicy.Refusal? { policy?.refusal(of: url) }

    private func use(_ sink: NotificationSink, _ health: SinkHealth, on loop: isolated EventLoop) {
        sinkTable[sink.id] = sink
        machine.set(sink, health, zone: sinkZones[sink.id] ?? .utc)
        changed(on: loop)
    }

    private func forget(_ sink: String, on loop: isolated EventLoop) {
        sinkTable[sink] = nil
        results[sink] = nil
        sinkZones[sink] = nil
        machine.remove(sink: sink)
        changed(on: loop)
    }

    private func changed(on loop: isolated EventLoop) {
        book = nil
        events.changed()
        storage?.changed(on: loop)
    }

    package func delete(
        sink id: String,
        on loop: isolated EventLoop,
        completion: @escaping (Result<Void, any Error>) -> Void
    ) {
        feed.commit(on: loop) { transaction in
            try transaction.values.remove(space: Self.sinkSpace, name: id)
            try transaction.values.remove(space: Self.healthSpace, name: id)
        } completion: { [self] result in
            if case .success = result { forget(id, on: loop) }
            completion(result)
            step(on: loop)
        }
    }

    package func save(
        _ rule: NotificationRule,
        on loop: isolated EventLoop,
        completion: @escaping (Result<Void, any Error>) -> Void
    ) {
        let former = ruleTable[rule.id]
        ruleTable[rule.id] = rule
        changed(on: loop)
        let bytes = rule.kept
        feed.commit(on: loop) { transaction in
            try transaction.values.set(bytes, space: Self.ruleSpace, name: rule.id, at: transaction.now)
        } completion: { [self] result in
            if case .failure = result {
                ruleTable[rule.id] = former
                changed(on: loop)
            }
            completion(result)
        }
    }

    package func delete(
        rule id: String,
        on loop: isolated EventLoop,
        completion: @escaping (Result<Void, any Error>) -> Void
    ) {
        feed.commit(on: loop) { transaction in
            try transaction.values.remove(space: Self.ruleSpace, name: id)
        } completion: { [self] result in
            if case .success = result {
                ruleTable[id] = nil
                changed(on: loop)
            }
            completion(result)
        }
    }

    /// Gives false where this host does not have the time zone.
    package func save(
        _ hours: QuietHours,
        on loop: isolated EventLoop,
        completion: @escaping (Result<Bool, any Error>) -> Void
    ) {
        timeZones.find(hours.timeZone, on: loop) { [self] zone in
            guard let zone else { return completion(.success(false)) }
            commit(hours, zone, on: loop, completion: completion)
        }
    }

    private func commit(
        _ hours: QuietHours,
        _ zone: TimeZoneTable,
        on loop: isolated EventLoop,
        completion: @escaping (Result<Bool, any Error>) -> Void
    ) {
        let bytes = hours.kept
        feed.commit(on: loop) { transaction in
            try transaction.values.set(bytes, space: Self.settingSpace, name: "quietHours", at: transaction.now)
        } completion: { [self] (result: Result<Void, any Error>) in
            if case .success = result {
                quietHours = hours
                machine.set(hours, zone)
                changed(on: loop)
                step(on: loop)
            }
            completion(result.map { true })
        }
    }

    /// - Parameter until: nil ends it.
    package func mute(
        until: Timestamp?,
        on loop: isolated EventLoop,
        completion: @escaping (Result<Void, any Error>) -> Void
    ) {
        let bytes = until.map { Array($0.rfc3339.utf8) }
        feed.commit(on: loop) { transaction in
            if let bytes {
                try transaction.values.set(bytes, space: Self.settingSpace, name: "mute", at: transaction.now)
            } else {
                try transaction.values.remove(space: Self.settingSpace, name: "mute")
            }
        } completion: { [self] result in
            if case .success = result {
                mutedUntil = until
                machine.mute(until: until)
                changed(on: loop)
                step(on: loop)
            }
            completion(result)
        }
    }

    // MARK: Events

    func linkChanged(_ status: LinkStatus, on loop: isolated EventLoop) {
        if isLoaded { watch?.changed(status, on: loop) } else { earlyLink = status }
    }

    func received(_ event: GatewayEvent, on loop: isolated EventLoop) {
        if case .shutdown(let expectedMs) = event.payload { watch?.restarts(inMs: expectedMs, on: loop) }
    }

    /// The database took nothing.
    func storeFailed(_ fault: StoreError, on loop: isolated EventLoop) {
        if fault == .storageFull { storage?.isFull(on: loop) }
    }

    func published(_ event: StreamEvent, on loop: isolated EventLoop) {
        guard isLoaded else { return }
        storage?.written(on: loop)
        switch event.type {
        case "approval":
            for (id, timer) in reminders where approvals.approval(id, on: loop)?.isPending != true {
                loop.cancel(timer)
                reminders[id] = nil
            }
            for approval in approvals.waiting(on: loop) { remind(of: approval, on: loop) }
        case "usage":
            for occasion in Occasion.usage(at: loop.wallClock, event.data) { tell(occasion, on: loop) }
        default: break
        }
    }

    /// Something that is no event of its own.
    func tell(_ occasion: Occasion, on loop: isolated EventLoop, failed: @escaping () -> Void = {}) {
        change(on: loop, failed: failed) { book, transaction, changes in
            try book.create(occasion, in: &transaction, &changes)
        }
    }

    private func change(
        on loop: isolated EventLoop,
        failed: @escaping () -> Void = {},
        _ body:
            @escaping @Sendable (NotificationBook, inout StoreTransaction, inout NotificationBook.Changes) throws ->
            Void
    ) {
        guard isLoaded else { return }
        let book = currentBook
        feed.commit(on: loop) { transaction in
            var changes = NotificationBook.Changes()
            try body(book, &transaction, &changes)
            return changes
        } completion: { [self] result in
            if case .success(let changes) = result { take(changes, on: loop) } else { failed() }
        }
    }

    // MARK: The link and the disk

    private static let linkMatter = Notification.Matter(.link, "gateway")

    /// Told once until the link is back, also by the next process.
    func tellOfLink(_ type: NotificationType, _ text: String, on loop: isolated EventLoop) {
        let now = loop.wallClock
        var occasion = Occasion(type, source: "link/\(now.milliseconds)/\(type.rawValue)", at: now, text: text)
        occasion.matter = Self.linkMatter
        let told = occasion
        change(on: loop) { book, transaction, changes in
            // A link that is refused is also offline.
            let former = type == .linkOffline ? nil : type.rawValue
            guard try !transaction.notifications.isOpen(matter: Self.linkMatter.key, type: former) else { return }
            try book.create(told, in: &transaction, &changes)
        }
    }

    func linkIsBack(on loop: isolated EventLoop) {
        let now = loop.wallClock
        let back = Occasion(.linkOnline, source: "link/\(now.milliseconds)/online", at: now)
        change(on: loop) { book, transaction, changes in
            guard try book.end(Self.linkMatter, in: &transaction, &changes) else { return }
            changes.ended.append(Self.linkMatter)
            try book.create(back, in: &transaction, &changes)
        }
    }

    func readBeside<Value: Sendable>(
        _ body: @escaping @Sendable () -> Value,
        on loop: isolated EventLoop,
        completion: @escaping (Value?) -> Void
    ) {
        feed.read(on: loop) { _ in
            body()
        } completion: {
            completion(try? $0.get())
        }
    }

    func tellOfStorage(_ text: String, on loop: isolated EventLoop) {
        let now = loop.wallClock
        let day = CivilDate(daysSinceEpoch: now.milliseconds.dividedDown(by: 86_400_000)).iso
        let occasion = Occasion(.storageLow, source: "storage/\(day)", at: now, text: text)
        tell(occasion, on: loop) { [self] in sayUnkept(occasion, on: loop) }
    }

    /// A disk that is full keeps no notification of it. So it is sent once and as well as may be.
    private func sayUnkept(_ occasion: Occasion, on loop: isolated EventLoop) {
        let id = UUIDv7.make(milliseconds: occasion.at.milliseconds, random: SecureRandom.bytes(10))
        let one = Notification(id: id, type: occasion.type, at: occasion.at, title: occasion.title, text: occasion.text)
        let open = Set(currentBook.sinks.filter(\.isOpen).map(\.id))
        var chosen: Set<String> = []
        for rule in currentBook.rules where rule.matches(occasion, isWatched: false) {
            chosen.formUnion(rule.sinks.isEmpty ? open : open.intersection(rule.sinks))
        }
        for sink in sinks where chosen.contains(sink.id) {
            let message = SinkMessage(one, for: sink, sessionTitle: nil, base: settings.publicURL)
            send(message, to: sink, on: loop) { _ in }
        }
    }

    /// Once more when half of a long life is over.
    private func remind(of approval: Approval, on loop: isolated EventLoop) {
        let life = approval.expiresAt.milliseconds - approval.createdAt.milliseconds
        guard approval.isPending, life >= NotificationLimits.reminderLifeMs, reminders[approval.id] == nil else {
            return
        }
        let half = approval.createdAt.milliseconds + life / 2
        let wait = half - approvals.gatewayTime(on: loop).milliseconds
        guard wait > 0 else { return }
        let id = approval.id
        reminders[id] = loop.after(milliseconds: wait) { [weak self] in
            guard let self else { return }
            guard let approval = self.approvals.approval(id, on: loop), approval.isPending else { return }
            var writer = JSONWriter()
            writer.object { $0.member("approval", approval) }
            let reading = Occasion.read("approval", id: "", at: loop.wallClock, writer.bytes)
            guard var occasion = reading.occasion else { return }
            occasion.source += "/reminder"
            occasion.isReminder = true
            occasion.expiresAt = occasion.expiresAt?.adding(milliseconds: -self.gateway.clockSkewMs)
            self.tell(occasion, on: loop)
        }
    }

    /// What a transaction brought, now durable.
    func take(_ changes: NotificationBook.Changes, on loop: isolated EventLoop) {
        for type in changes.created { made[type, default: 0] += 1 }
        for matter in changes.ended {
            machine.ended(matter)
            if matter.kind == .approval { buttons[matter.id] = nil }
        }
        machine.add(changes.deliveries)
        step(on: loop)
    }

    // MARK: Notes and tests

    package enum NoteResult {
        case made(Notification, sinks: [String])
        case tooMany(retryAfterMs: Int64)
    }

    /// Says something in the name of a script.
    /// - Parameter sinks: ids; nil for all that are open.
    package func note(
        _ note: Notification,
        sinks wanted: [String]?,
        on loop: isolated EventLoop,
        completion: @escaping (Result<NoteResult, any Error>) -> Void
    ) {
        // Its sinks are not known yet.
        guard isLoaded else { return completion(.failure(StoreError.unavailable("the sinks are still being read"))) }
        guard noteBucket.take(now: loop.now) else { return completion(.success(.tooMany(retryAfterMs: 6_000))) }
        let book = currentBook
        let sinks = book.sinks.filter { $0.isOpen && wanted?.contains($0.id) ?? true }.map(\.id)
        let dueAt = loop.wallClock
        feed.commit(on: loop) { transaction in
            var changes = NotificationBook.Changes()
            try book.insert(
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

    package func isTesting(_ sink: String) -> Bool { tested.contains(sink) }

    /// Sends a message at once, past rules and quiet hours. One of each sink at a time: a sink may take long to answer.
    package func test(
        _ sink: NotificationSink,
        on loop: isolated EventLoop,
        completion: @escaping (DeliveryMachine.Outcome) -> Void
    ) {
        tested.insert(sink.id)
        let id = UUIDv7.make(milliseconds: loop.wallClock.milliseconds, random: SecureRandom.bytes(10))
        let one = Notification(id: id, type: .test, at: loop.wallClock, title: "Ladle", text: "This is a test.")
        let message = SinkMessage(one, for: sink, sessionTitle: nil, base: settings.publicURL)
        send(message, to: sink, on: loop) { [self] outcome in
            tested.remove(sink.id)
            completion(outcome)
        }
    }

    /// Sends anew to the sinks that did not get it. Gives nil where there is no such notification, else how many sinks.
    package func retry(
        _ id: String,
        on loop: isolated EventLoop,
        completion: @escaping (Result<Int?, any Error>) -> Void
    ) {
        let open = Set(currentBook.sinks.filter(\.isOpen).map(\.id))
        feed.commit(on: loop) { transaction -> [SinkDelivery]? in
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
        } completion: { [self] result in
            if case .success(let again?) = result {
                machine.add(again)
                step(on: loop)
            }
            completion(result.map { $0?.count })
        }
    }

    // MARK: Sending

    private func step(on loop: isolated EventLoop) {
        for action in machine.step(now: loop.wallClock) {
            switch action {
            case .send(let sending): send(sending, on: loop)
            case .write(let deliveries): write(deliveries, on: loop)
            case .health(let sink, let health): keep(health, of: sink, on: loop)
            case .disabled(let sink, let reason): disabled(sink, reason, on: loop)
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

    private func send(_ sending: DeliveryMachine.Sending, on loop: isolated EventLoop) {
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
        let lead = sending.delivery
        // It was too old meanwhile, or its sink is gone.
        guard let one = found.first ?? nil, let sink = sinkTable[lead.sink] else {
            return answered(lead.sink, .accepted(status: nil), on: loop)
        }
        var message = SinkMessage(
            one,
            for: sink,
            sessionTitle: one.session.flatMap { sessionModel.title(of: $0) },
            base: settings.publicURL
        )
        message.others = found.dropFirst().compactMap(\.self)
        if sending.isDigest { message.digestAt = loop.wallClock }
        message.hiddenCount = sending.hiddenCount
        message.lostCount = sending.lostCount
        if lead.purpose == .remove { return remove(message, sink, on: loop) }
        let plain = message
        makeButtons(one, for: sink, on: loop) { [self] buttons in deliver(plain, buttons, to: sink, on: loop) }
    }

    private func deliver(
        _ message: SinkMessage,
        _ buttons: [SinkMessage.Button],
        to sink: NotificationSink,
        on loop: isolated EventLoop
    ) {
        var message = message
        message.buttons = buttons
        send(message, to: sink, on: loop) { [self] outcome in answered(sink.id, outcome, on: loop) }
    }

    private func send(
        _ message: SinkMessage,
        to sink: NotificationSink,
        on loop: isolated EventLoop,
        _ completion: @escaping (DeliveryMachine.Outcome) -> Void
    ) {
        if let command = message.command(now: loop.wallClock, environment: settings.environment) {
            return transport.run(command, on: loop) { [log] outcome, output in
                if !output.isEmpty {
                    let text = Printable.line(String(decoding: output, as: UTF8.self))
                    log.info("notifications.command", ["sink": .string(sink.name), "output": .string(text)])
                }
                completion(outcome)
            }
        }
        guard let request = message.request(now: loop.wallClock, { HMAC.sha256(key: $0, $1) }), let policy else {
            return completion(.failed(status: nil, error: "the sink has no address", retryAfterMs: nil))
        }
        transport.send(request, allowed: policy, on: loop, completion: completion)
    }

    /// A server that does not know the request keeps the message: nothing to repeat.
    private func remove(_ message: SinkMessage, _ sink: NotificationSink, on loop: isolated EventLoop) {
        guard let request = message.removal(), let policy else {
            return answered(sink.id, .accepted(status: nil), on: loop)
        }
        transport.send(request, allowed: policy, on: loop) { [self] outcome in
            var outcome = outcome
            if case .failed(let status?, _, _) = outcome, [400, 404, 405, 410].contains(status) {
                outcome = .accepted(status: status)
            }
            answered(sink.id, outcome, on: loop)
        }
    }

    private func answered(_ sink: String, _ outcome: DeliveryMachine.Outcome, on loop: isolated EventLoop) {
        machine.answered(sink, outcome, now: loop.wallClock)
        step(on: loop)
    }

    /// One-tap links for an approval that still waits. Nobody allows what the message does not show.
    private func makeButtons(
        _ one: Notification,
        for sink: NotificationSink,
        on loop: isolated EventLoop,
        then use: @escaping ([SinkMessage.Button]) -> Void
    ) {
        guard settings.hasApprovalLinks, let base = settings.publicURL, sink.kind == .ntfy,
            let matter = one.matter, matter.kind == .approval, let decisions = one.approval?.decisions,
            let approval = approvals.approval(matter.id, on: loop), approval.isPending
        else { return use([]) }
        let all = [("Allow once", Approval.Decision.allowOnce), ("Deny", .deny)]
        let offered = all.filter { decisions.contains($0.1.rawValue) && approval.decisions.contains($0.1) }
        func shown(_ made: [SinkMessage.Button]) -> [SinkMessage.Button] {
            sink.detail == .detailed ? made : made.filter { $0.label == "Deny" }
        }
        if let known = buttons[matter.id] { return use(shown(known)) }
        makeLinks(approval, offered[...], base, [], on: loop) { [self] made in
            if buttons.count >= Self.mostButtons { buttons = [:] }
            buttons[matter.id] = made
            use(shown(made))
        }
    }

    private func makeLinks(
        _ approval: Approval,
        _ rest: ArraySlice<(String, Approval.Decision)>,
        _ base: String,
        _ made: [SinkMessage.Button],
        on loop: isolated EventLoop,
        then use: @escaping ([SinkMessage.Button]) -> Void
    ) {
        guard let (label, decision) = rest.first else { return use(made) }
        links.make(approval, decision, by: "notification", token: nil, on: loop) { [self] result in
            var all = made
            if case .success(.made(let secret)) = result {
                all.append(SinkMessage.Button(label: label, url: "\(base)/v1/act/\(secret.reveal())"))
            }
            makeLinks(approval, rest.dropFirst(), base, all, on: loop, then: use)
        }
    }

    // MARK: Writing

    /// A state is a fact: it is written until the disk takes it. What is lost with the process is sent again, under the same id.
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
        if health.failures == 1 || health.state != .ok, let name = sinkTable[sink]?.name {
            log.warning(
                "notifications.failed",
                [
                    "sink": .string(name), "state": .string(health.state.rawValue),
                    "error": .string(health.lastError ?? ""),
                ]
            )
        }
        changed(on: loop)
        let bytes = health.kept
        feed.commit(on: loop) { transaction in
            try transaction.values.set(bytes, space: Self.healthSpace, name: sink, at: transaction.now)
        } completion: { _ in
        }
    }

    /// The other sinks tell of it. Each time one sink less is open, so that this ends.
    private func disabled(_ sink: String, _ reason: String, on loop: isolated EventLoop) {
        changed(on: loop)
        guard let name = sinkTable[sink]?.name else { return }
        let now = loop.wallClock
        var occasion = Occasion(
            .sinkDisabled,
            source: "sink/\(sink)/\(now.milliseconds)",
            at: now,
            text: "\(name): \(reason). To use it again: PATCH /v1/notifications/sinks/\(sink) {\"enabled\":true}"
        )
        occasion.matter = Notification.Matter(.sink, sink)
        tell(occasion, on: loop)
    }
}
