package import Basics

/// Decides what is sent to which sink and when: one message per sink at a time, retries, quiet hours, mute, limits. It
/// receives the time and the answers, and returns the actions to take. A message is sent at least once, under one id.
package struct DeliveryMachine: Sendable {
    package enum Outcome: Sendable, Equatable {
        case accepted(status: Int?)
        case failed(status: Int?, error: String, retryAfterMs: Int64?)
    }

    package struct Sending: Sendable, Equatable {
        package var delivery: SinkDelivery
        /// Further deliveries that the message covers.
        package var others: [SinkDelivery] = []
        package var isDigest = false
        /// In a digest: the number of deliveries that became obsolete.
        package var hiddenCount = 0
        /// The number of deliveries that found no room in the queue since the sink's last accepted message.
        package var lostCount = 0
    }

    package enum Action: Sendable, Equatable {
        case send(Sending)
        /// Write these deliveries in their current state.
        case write([SinkDelivery])
        case health(sink: String, SinkHealth)
        case disabled(sink: String, reason: String)
    }

    private struct SinkQueue: Sendable {
        /// A sink's own window with its time zone.
        struct Window: Sendable {
            let hours: QuietHours
            let zone: TimeZoneTable
        }

        var kind: NotificationSink.Kind
        var ignoresQuiet = false
        var ownWindow: Window?
        var perHour: Int
        var isEnabled: Bool
        var health: SinkHealth
        var waiting: [SinkDelivery] = []
        var inFlight: Sending?
        var notBefore = Timestamp(milliseconds: 0)
        /// The time at which a whole hour's messages may be sent again.
        var fullAt = Timestamp(milliseconds: 0)
        /// The limit was reached, so the next message covers all that wait.
        var isLimited = false
        var hiddenCount = 0
        /// Whether a waiting delivery is held; with `firstExpiry` this tells when the clock matters.
        private var hasHeld = false
        private var firstExpiry: Timestamp?

        init(kind: NotificationSink.Kind, perHour: Int, health: SinkHealth) {
            self.kind = kind
            self.perHour = perHour
            isEnabled = true
            self.health = health
        }

        mutating func keep(_ one: SinkDelivery) {
            waiting.append(one)
            note(one)
        }

        /// Replaces the waiting deliveries.
        mutating func sorted(_ all: [SinkDelivery]) {
            (hasHeld, firstExpiry) = (false, nil)
            waiting = all
            for one in all { note(one) }
        }

        private mutating func note(_ one: SinkDelivery) {
            if one.state == .held { hasHeld = true }
            if let expiry = one.expiresAt { firstExpiry = min(firstExpiry ?? expiry, expiry) }
        }

        /// Whether the waiting deliveries must be sorted: with a dead sink, a thousand of them are not walked for each
        /// new one.
        func needsSorting(now: Timestamp) -> Bool { hasHeld || firstExpiry.map { $0 <= now } ?? false }

        /// The index of the oldest delivery with the lowest priority.
        var leastPlace: Int? {
            guard var least = waiting.indices.first else { return nil }
            for place in waiting.indices.dropFirst() {
                let (priority, known) = (waiting[place].priority, waiting[least].priority)
                if priority < known || priority == known && waiting[place].at < waiting[least].at { least = place }
            }
            return least
        }

        var isOpen: Bool { isEnabled && health.state != .disabled }
    }

    /// The longest wait that a sink may request.
    private static let longestRetryAfterMs: Int64 = 3_600_000
    private static let hourMs: Int64 = 3_600_000
    /// The priority that is never muted, limited or joined.
    private static let urgent = 5

    private var queues: [String: SinkQueue] = [:]
    private var actions: [Action] = []
    private var writes: [SinkDelivery] = []
    private var quietHours: QuietHours?
    private var zone = TimeZoneTable.utc
    private var mutedUntil: Timestamp?
    /// The time at which `step` must be called.
    package private(set) var wakeAt: Timestamp?
    /// Counts since the start, by final state.
    package private(set) var results: [SinkDelivery.State: UInt64] = [:]

    package init() {}

    // MARK: Settings

    package mutating func set(_ quietHours: QuietHours?, _ zone: TimeZoneTable) {
        self.quietHours = quietHours
        self.zone = zone
    }

    package mutating func mute(until: Timestamp?) { mutedUntil = until }

    /// Adds a sink or takes its new settings.
    /// - Parameter zone: the time zone of the sink's own quiet hours.
    package mutating func set(_ sink: NotificationSink, _ health: SinkHealth, zone: TimeZoneTable = .utc) {
        var queue = queues[sink.id] ?? SinkQueue(kind: sink.kind, perHour: sink.perHour, health: health)
        queue.ignoresQuiet = sink.quietHours == .ignore
        queue.ownWindow = sink.ownQuietHours.map { SinkQueue.Window(hours: $0, zone: zone) }
        queue.perHour = sink.perHour
        queue.isEnabled = sink.isEnabled
        if queue.health != health { queue.notBefore = Timestamp(milliseconds: 0) }
        queue.health = health
        queues[sink.id] = queue
        if !queue.isOpen { failAll(of: sink.id, "the sink is off") }
    }

    package mutating func remove(sink: String) {
        failAll(of: sink, "the sink was deleted")
        queues[sink] = nil
    }

    package func health(of sink: String) -> SinkHealth? { queues[sink]?.health }
    package var waitingCount: Int { queues.values.reduce(0) { $0 + $1.waiting.count + ($1.inFlight == nil ? 0 : 1) } }

    // MARK: Input

    package mutating func add(_ deliveries: [SinkDelivery]) {
        for delivery in deliveries {
            // Taken out of the dictionary, so that its queue is changed in place.
            guard var queue = queues.removeValue(forKey: delivery.sink) else {
                end(delivery, .failed, "the sink was deleted")
                continue
            }
            defer { queues[delivery.sink] = queue }
            guard queue.isOpen else {
                end(delivery, .failed, "the sink is off")
                continue
            }
            let isKnown = queue.waiting.contains { $0.notification == delivery.notification }
            guard !isKnown, queue.inFlight?.delivery.notification != delivery.notification else { continue }
            if let key = delivery.collapseKey, delivery.purpose == .tell {
                for former in queue.waiting where former.collapseKey == key && former.purpose == .tell {
                    end(former, .dropped, "a newer one took its place")
                }
                queue.waiting.removeAll { $0.collapseKey == key && $0.purpose == .tell }
            }
            queue.keep(delivery)
            if queue.waiting.count > NotificationLimits.queue, let place = queue.leastPlace {
                end(queue.waiting.remove(at: place), .dropped, "too many wait for this sink")
                queue.health.lost()
                if queue.health.dropped == 1 { actions.append(.health(sink: delivery.sink, queue.health)) }
            }
        }
    }

    /// Drops the notifications of a subject that has ended.
    package mutating func ended(_ subject: Notification.Subject) {
        for id in queues.keys {
            guard var queue = queues[id] else { continue }
            for one in queue.waiting where one.subject == subject && one.purpose == .tell {
                if one.state == .held, hours(of: queue)?.mode == .digest { queue.hiddenCount += 1 }
                end(one, .dropped, "its subject has ended")
            }
            queue.waiting.removeAll { $0.subject == subject && $0.purpose == .tell }
            // A message being sent is removed again once it has arrived.
            if var sending = queue.inFlight, sending.delivery.subject == subject, sending.delivery.purpose == .tell {
                sending.delivery.error = Self.endedMark
                queue.inFlight = sending
            }
            queues[id] = queue
        }
    }

    private static let endedMark = "its subject has ended"

    package mutating func answered(_ sink: String, _ outcome: Outcome, now: Timestamp) {
        guard var queue = queues[sink], let sending = queue.inFlight else { return }
        queue.inFlight = nil
        var delivery = sending.delivery
        let hasEnded = delivery.error == Self.endedMark
        delivery.error = nil
        switch outcome {
        case .accepted(let status):
            let before = queue.health
            queue.health.succeeded(status, now: now)
            queues[sink] = queue
            if before.state != queue.health.state || before.failures > 0 {
                actions.append(.health(sink: sink, queue.health))
            }
            delivery.status = status
            for other in sending.others { end(other, .sent, nil) }
            end(delivery, .sent, nil)
            if hasEnded, queue.kind == .ntfy { add([delivery.removal(now: now)]) }
        case .failed(let status, let error, let retryAfterMs):
            queue.health.failed(status, error, kind: queue.kind, now: now)
            let pause = max(min(max(retryAfterMs ?? 0, 0), Self.longestRetryAfterMs), queue.health.pauseMs)
            queue.notBefore = now.adding(milliseconds: pause)
            queues[sink] = queue
            actions.append(.health(sink: sink, queue.health))
            delivery.status = status
            delivery.error = error
            // The other deliveries are tried separately; hidden ones are counted in the digest's next try.
            for other in sending.others { queues[sink]?.keep(other) }
            queues[sink]?.hiddenCount += sending.hiddenCount
            if queue.health.state == .disabled {
                end(delivery, .failed, error)
                failAll(of: sink, "the sink was disabled")
                actions.append(.disabled(sink: sink, reason: error))
            } else if hasEnded {
                end(delivery, .dropped, Self.endedMark)
            } else if let next = DeliverySchedule.next(
                queue.kind,
                after: delivery.attempts,
                from: delivery.startedAt ?? now,
                now: now,
                seed: delivery.notification + sink
            ) {
                delivery.dueAt = next
                delivery.state = sending.isDigest ? .held : .pending
                queues[sink]?.keep(delivery)
                writes.append(delivery)
            } else if delivery.purpose == .remove {
                // The notification was sent; failing to remove it is not counted as a failure.
                end(delivery, .sent, nil)
            } else {
                end(delivery, .failed, error)
            }
        }
    }

    // MARK: Output

    /// The actions that are due now.
    package mutating func step(now: Timestamp) -> [Action] {
        wakeAt = nil
        if let until = mutedUntil {
            if until <= now { mutedUntil = nil } else { wake(at: until) }
        }
        let quietEnd = quietHours?.end(at: now, zone)
        for id in queues.keys.sorted() { step(id, quietEnd, now: now) }
        if !writes.isEmpty { actions.append(.write(writes)) }
        writes = []
        defer { actions = [] }
        return actions
    }

    private mutating func step(_ id: String, _ end: Timestamp?, now: Timestamp) {
        guard queues[id]?.isOpen ?? false, var queue = queues.removeValue(forKey: id) else { return }
        defer { queues[id] = queue }
        let quietEnd = queue.ownWindow.map { $0.hours.end(at: now, $0.zone) } ?? (queue.ignoresQuiet ? nil : end)
        if quietEnd != nil || mutedUntil != nil || queue.needsSorting(now: now) { sort(&queue, quietEnd, now: now) }
        if let quietEnd { wake(at: quietEnd) }
        guard queue.inFlight == nil, !queue.waiting.isEmpty else { return }
        guard queue.notBefore <= now else { return wake(at: queue.notBefore) }
        guard let next = next(&queue, now: now) else { return }
        queue.inFlight = next
        actions.append(.send(next))
    }

    /// Holds, releases and drops deliveries by the clock.
    private mutating func sort(_ queue: inout SinkQueue, _ quietEnd: Timestamp?, now: Timestamp) {
        var kept: [SinkDelivery] = []
        var released: [SinkDelivery] = []
        let hours = hours(of: queue)
        let mode = hours?.mode ?? .hold
        for var one in queue.waiting {
            if one.purpose == .remove {
                kept.append(one)
            } else if one.hasExpired(at: now), one.state != .held || mode != .digest {
                self.end(one, .dropped, "it has expired")
            } else if let until = mutedUntil, now < until, one.priority < Self.urgent, one.dueAt <= now {
                self.end(one, .dropped, "muted")
            } else if quietEnd != nil, one.dueAt <= now, !one.ignoresQuiet,
                !(hours?.admits(one.type, priority: one.priority) ?? true)
            {
                if mode == .drop {
                    self.end(one, .dropped, "quiet hours")
                    continue
                }
                if one.state != .held {
                    one.state = .held
                    writes.append(one)
                }
                kept.append(one)
            } else if one.state == .held {
                released.append(one)
            } else {
                kept.append(one)
            }
        }
        queue.sorted(kept)
        if !released.isEmpty { release(released, mode, &queue, now: now) }
    }

    private func hours(of queue: SinkQueue) -> QuietHours? { queue.ownWindow?.hours ?? quietHours }

    /// Handles the end of quiet hours: sends a digest, or the newest of each type and session.
    private mutating func release(
        _ held: [SinkDelivery],
        _ mode: QuietHours.Mode,
        _ queue: inout SinkQueue,
        now: Timestamp
    ) {
        let sorted = held.sorted { $0.at < $1.at }
        let isTold = held.count + queue.hiddenCount > 1 || held.contains { $0.hasExpired(at: now) }
        if mode == .digest, isTold, let lead = sorted.last {
            // The message being sent is answered first; these stay held until then.
            guard queue.inFlight == nil, queue.notBefore <= now, lead.dueAt <= now else {
                for one in held { queue.keep(one) }
                wake(at: max(queue.notBefore, lead.dueAt))
                return
            }
            var sending = Sending(delivery: lead, others: Array(sorted.dropLast()), isDigest: true)
            sending.hiddenCount = queue.hiddenCount
            sending.lostCount = queue.health.dropped
            queue.hiddenCount = 0
            begin(&sending, now: now)
            queue.inFlight = sending
            actions.append(.send(sending))
            return
        }
        var newest: [String: SinkDelivery] = [:]
        for one in sorted {
            let key = "\(one.type.rawValue) \(one.session ?? "") \(one.subject.map { "\($0.kind) \($0.id)" } ?? "")"
            let group = one.subject.map { $0.kind == .approval || $0.kind == .question } ?? false
            // Each approval and each question is a group of its own.
            let name = group ? key : "\(one.type.rawValue) \(one.session ?? "")"
            if let former = newest[name] { end(former, .dropped, "a newer one took its place") }
            newest[name] = one
        }
        for var one in newest.values.sorted(by: { $0.at < $1.at }) {
            one.state = .pending
            writes.append(one)
            queue.keep(one)
        }
        queue.hiddenCount = 0
    }

    /// The most urgent due delivery; among equals the oldest.
    private mutating func next(_ queue: inout SinkQueue, now: Timestamp) -> Sending? {
        var best: Int?
        for (place, one) in queue.waiting.enumerated() where one.state == .pending {
            guard one.dueAt <= now else {
                wake(at: one.dueAt)
                continue
            }
            guard let known = best.map({ queue.waiting[$0] }) else {
                best = place
                continue
            }
            if (known.priority, one.at) < (one.priority, known.at) { best = place }
        }
        guard let best else { return nil }
        let isUrgent = queue.waiting[best].priority >= Self.urgent
        guard isUrgent || take(&queue, now: now) else { return nil }
        var sending = Sending(delivery: queue.waiting.remove(at: best))
        sending.lostCount = queue.health.dropped
        if queue.isLimited, !isUrgent {
            queue.isLimited = false
            sending.others = queue.waiting.filter(isJoinable(now))
            queue.waiting.removeAll(where: isJoinable(now))
        }
        begin(&sending, now: now)
        return sending
    }

    private func isJoinable(_ now: Timestamp) -> (SinkDelivery) -> Bool {
        { $0.state == .pending && $0.dueAt <= now && $0.priority < Self.urgent && $0.purpose == .tell }
    }

    private func begin(_ sending: inout Sending, now: Timestamp) {
        sending.delivery.attempts += 1
        sending.delivery.startedAt = sending.delivery.startedAt ?? now
    }

    /// Takes one from a bucket that fills in an hour. A clock that was set back blocks it for an hour at most.
    private mutating func take(_ queue: inout SinkQueue, now: Timestamp) -> Bool {
        let interval = Self.hourMs / Int64(queue.perHour)
        let from = min(max(queue.fullAt, now), now.adding(milliseconds: Self.hourMs))
        let free = from.adding(milliseconds: -(Int64(queue.perHour) - 1) * interval)
        guard free <= now else {
            queue.isLimited = true
            wake(at: free)
            return false
        }
        queue.fullAt = from.adding(milliseconds: interval)
        return true
    }

    private mutating func wake(at time: Timestamp) { wakeAt = min(wakeAt ?? time, time) }

    private mutating func end(_ delivery: SinkDelivery, _ state: SinkDelivery.State, _ error: String?) {
        var delivery = delivery
        delivery.state = state
        delivery.error = error
        writes.append(delivery)
        if delivery.purpose == .tell { results[state, default: 0] += 1 }
    }

    private mutating func failAll(of sink: String, _ reason: String) {
        guard let waiting = queues[sink]?.waiting else { return }
        queues[sink]?.waiting = []
        for one in waiting { end(one, one.purpose == .remove ? .sent : .failed, reason) }
    }
}

extension SinkDelivery {
    /// The delivery that removes the same message.
    package func removal(now: Timestamp) -> SinkDelivery {
        var copy = self
        copy.purpose = .remove
        copy.state = .pending
        copy.attempts = 0
        copy.dueAt = now
        copy.startedAt = nil
        copy.status = nil
        return copy
    }
}
