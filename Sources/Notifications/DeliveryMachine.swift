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

    private struct Lane: Sendable {
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

    private var lanes: [String: Lane] = [:]
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
        var lane = lanes[sink.id] ?? Lane(kind: sink.kind, perHour: sink.perHour, health: health)
        lane.ignoresQuiet = sink.quietHours == .ignore
        lane.ownWindow = sink.ownQuietHours.map { Lane.Window(hours: $0, zone: zone) }
        lane.perHour = sink.perHour
        lane.isEnabled = sink.isEnabled
        if lane.health != health { lane.notBefore = Timestamp(milliseconds: 0) }
        lane.health = health
        lanes[sink.id] = lane
        if !lane.isOpen { failAll(of: sink.id, "the sink is off") }
    }

    package mutating func remove(sink: String) {
        failAll(of: sink, "the sink was deleted")
        lanes[sink] = nil
    }

    package func health(of sink: String) -> SinkHealth? { lanes[sink]?.health }
    package var waitingCount: Int { lanes.values.reduce(0) { $0 + $1.waiting.count + ($1.inFlight == nil ? 0 : 1) } }

    // MARK: Input

    package mutating func add(_ deliveries: [SinkDelivery]) {
        for delivery in deliveries {
            // Taken out of the dictionary, so that its queue is changed in place.
            guard var lane = lanes.removeValue(forKey: delivery.sink) else {
                end(delivery, .failed, "the sink was deleted")
                continue
            }
            defer { lanes[delivery.sink] = lane }
            guard lane.isOpen else {
                end(delivery, .failed, "the sink is off")
                continue
            }
            let isKnown = lane.waiting.contains { $0.notification == delivery.notification }
            guard !isKnown, lane.inFlight?.delivery.notification != delivery.notification else { continue }
            if let key = delivery.collapseKey, delivery.purpose == .tell {
                for former in lane.waiting where former.collapseKey == key && former.purpose == .tell {
                    end(former, .dropped, "a newer one took its place")
                }
                lane.waiting.removeAll { $0.collapseKey == key && $0.purpose == .tell }
            }
            lane.keep(delivery)
            if lane.waiting.count > NotificationLimits.queue, let place = lane.leastPlace {
                end(lane.waiting.remove(at: place), .dropped, "too many wait for this sink")
                lane.health.lost()
                if lane.health.dropped == 1 { actions.append(.health(sink: delivery.sink, lane.health)) }
            }
        }
    }

    /// Drops the notifications of a subject that has ended.
    package mutating func ended(_ subject: Notification.Subject) {
        for id in lanes.keys {
            guard var lane = lanes[id] else { continue }
            for one in lane.waiting where one.subject == subject && one.purpose == .tell {
                if one.state == .held, hours(of: lane)?.mode == .digest { lane.hiddenCount += 1 }
                end(one, .dropped, "its subject has ended")
            }
            lane.waiting.removeAll { $0.subject == subject && $0.purpose == .tell }
            // A message being sent is removed again once it has arrived.
            if var sending = lane.inFlight, sending.delivery.subject == subject, sending.delivery.purpose == .tell {
                sending.delivery.error = Self.endedMark
                lane.inFlight = sending
            }
            lanes[id] = lane
        }
    }

    private static let endedMark = "its subject has ended"

    package mutating func answered(_ sink: String, _ outcome: Outcome, now: Timestamp) {
        guard var lane = lanes[sink], let sending = lane.inFlight else { return }
        lane.inFlight = nil
        var delivery = sending.delivery
        let hasEnded = delivery.error == Self.endedMark
        delivery.error = nil
        switch outcome {
        case .accepted(let status):
            let before = lane.health
            lane.health.succeeded(status, now: now)
            lanes[sink] = lane
            if before.state != lane.health.state || before.failures > 0 {
                actions.append(.health(sink: sink, lane.health))
            }
            delivery.status = status
            for other in sending.others { end(other, .sent, nil) }
            end(delivery, .sent, nil)
            if hasEnded, lane.kind == .ntfy { add([delivery.removal(now: now)]) }
        case .failed(let status, let error, let retryAfterMs):
            lane.health.failed(status, error, kind: lane.kind, now: now)
            let pause = max(min(max(retryAfterMs ?? 0, 0), Self.longestRetryAfterMs), lane.health.pauseMs)
            lane.notBefore = now.adding(milliseconds: pause)
            lanes[sink] = lane
            actions.append(.health(sink: sink, lane.health))
            delivery.status = status
            delivery.error = error
            // The other deliveries are tried separately; hidden ones are counted in the digest's next try.
            for other in sending.others { lanes[sink]?.keep(other) }
            lanes[sink]?.hiddenCount += sending.hiddenCount
            if lane.health.state == .disabled {
                end(delivery, .failed, error)
                failAll(of: sink, "the sink was disabled")
                actions.append(.disabled(sink: sink, reason: error))
            } else if hasEnded {
                end(delivery, .dropped, Self.endedMark)
            } else if let next = DeliverySchedule.next(
                lane.kind,
                after: delivery.attempts,
                from: delivery.startedAt ?? now,
                now: now,
                seed: delivery.notification + sink
            ) {
                delivery.dueAt = next
                delivery.state = sending.isDigest ? .held : .pending
                lanes[sink]?.keep(delivery)
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
        for id in lanes.keys.sorted() { step(id, quietEnd, now: now) }
        if !writes.isEmpty { actions.append(.write(writes)) }
        writes = []
        defer { actions = [] }
        return actions
    }

    private mutating func step(_ id: String, _ end: Timestamp?, now: Timestamp) {
        guard lanes[id]?.isOpen ?? false, var lane = lanes.removeValue(forKey: id) else { return }
        defer { lanes[id] = lane }
        let quietEnd = lane.ownWindow.map { $0.hours.end(at: now, $0.zone) } ?? (lane.ignoresQuiet ? nil : end)
        if quietEnd != nil || mutedUntil != nil || lane.needsSorting(now: now) { sort(&lane, quietEnd, now: now) }
        if let quietEnd { wake(at: quietEnd) }
        guard lane.inFlight == nil, !lane.waiting.isEmpty else { return }
        guard lane.notBefore <= now else { return wake(at: lane.notBefore) }
        guard let next = next(&lane, now: now) else { return }
        lane.inFlight = next
        actions.append(.send(next))
    }

    /// Holds, releases and drops deliveries by the clock.
    private mutating func sort(_ lane: inout Lane, _ quietEnd: Timestamp?, now: Timestamp) {
        var kept: [SinkDelivery] = []
        var released: [SinkDelivery] = []
        let hours = hours(of: lane)
        let mode = hours?.mode ?? .hold
        for var one in lane.waiting {
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
        lane.sorted(kept)
        if !released.isEmpty { release(released, mode, &lane, now: now) }
    }

    private func hours(of lane: Lane) -> QuietHours? { lane.ownWindow?.hours ?? quietHours }

    /// Handles the end of quiet hours: sends a digest, or the newest of each type and session.
    private mutating func release(_ held: [SinkDelivery], _ mode: QuietHours.Mode, _ lane: inout Lane, now: Timestamp) {
        let sorted = held.sorted { $0.at < $1.at }
        let isTold = held.count + lane.hiddenCount > 1 || held.contains { $0.hasExpired(at: now) }
        if mode == .digest, isTold, let lead = sorted.last {
            // The message being sent is answered first; these stay held until then.
            guard lane.inFlight == nil, lane.notBefore <= now, lead.dueAt <= now else {
                for one in held { lane.keep(one) }
                wake(at: max(lane.notBefore, lead.dueAt))
                return
            }
            var sending = Sending(delivery: lead, others: Array(sorted.dropLast()), isDigest: true)
            sending.hiddenCount = lane.hiddenCount
            sending.lostCount = lane.health.dropped
            lane.hiddenCount = 0
            begin(&sending, now: now)
            lane.inFlight = sending
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
            lane.keep(one)
        }
        lane.hiddenCount = 0
    }

    /// The most urgent due delivery; among equals the oldest.
    private mutating func next(_ lane: inout Lane, now: Timestamp) -> Sending? {
        var best: Int?
        for (place, one) in lane.waiting.enumerated() where one.state == .pending {
            guard one.dueAt <= now else {
                wake(at: one.dueAt)
                continue
            }
            guard let known = best.map({ lane.waiting[$0] }) else {
                best = place
                continue
            }
            if (known.priority, one.at) < (one.priority, known.at) { best = place }
        }
        guard let best else { return nil }
        let isUrgent = lane.waiting[best].priority >= Self.urgent
        guard isUrgent || take(&lane, now: now) else { return nil }
        var sending = Sending(delivery: lane.waiting.remove(at: best))
        sending.lostCount = lane.health.dropped
        if lane.isLimited, !isUrgent {
            lane.isLimited = false
            sending.others = lane.waiting.filter(isJoinable(now))
            lane.waiting.removeAll(where: isJoinable(now))
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
    private mutating func take(_ lane: inout Lane, now: Timestamp) -> Bool {
        let interval = Self.hourMs / Int64(lane.perHour)
        let from = min(max(lane.fullAt, now), now.adding(milliseconds: Self.hourMs))
        let free = from.adding(milliseconds: -(Int64(lane.perHour) - 1) * interval)
        guard free <= now else {
            lane.isLimited = true
            wake(at: free)
            return false
        }
        lane.fullAt = from.adding(milliseconds: interval)
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
        guard let waiting = lanes[sink]?.waiting else { return }
        lanes[sink]?.waiting = []
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
