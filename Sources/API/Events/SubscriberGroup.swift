import Server

/// Subscribers that get the same bytes.
final class SubscriberGroup {
    struct Key: Hashable {
        let plan: StreamPlan
        /// The framing on the wire; nil if every stream has its own.
        let form: SharedBytesTarget.Form?
        /// The number of a stream with an event limit. It shares with no other stream, because it ends earlier than
        /// others would.
        let alone: UInt64?
    }

    let key: Key
    /// The hub drops the group when its last stream ends.
    let hub: EventHub
    /// Subscribers with no waiting bytes, and at the same indices their targets if the group has a form.
    private(set) var members: [Subscriber] = []
    private(set) var targets: [any StreamTarget] = []
    private(set) var behind: [Subscriber] = []
    private(set) var replaying: [Subscriber] = []
    /// The number of events left before the stream ends; nil without a limit.
    var remaining: Int?
    /// The bytes of this turn's events.
    var batch: [UInt8] = []

    init(_ key: Key, in hub: EventHub, remaining: Int?) {
        self.key = key
        self.hub = hub
        self.remaining = remaining
    }

    var plan: StreamPlan { key.plan }
    var isEmpty: Bool { members.isEmpty && behind.isEmpty && replaying.isEmpty }
    var all: [Subscriber] { members + behind + replaying }

    /// Adds a new subscriber, moves one between the lists, or removes it.
    func place(_ subscriber: Subscriber, as standing: Subscriber.Standing) {
        leave(subscriber)
        subscriber.standing = standing
        switch standing {
        case .replaying: Self.append(subscriber, to: &replaying)
        case .behind: Self.append(subscriber, to: &behind)
        case .over: break
        case .caughtUp:
            if key.form != nil {
                guard let target = subscriber.exchange.directTarget?.target else { return }
                targets.append(target)
            }
            Self.append(subscriber, to: &members)
        }
    }

    private func leave(_ subscriber: Subscriber) {
        switch subscriber.standing {
        case .replaying: Self.take(subscriber, from: &replaying)
        case .behind: Self.take(subscriber, from: &behind)
        case .over: break
        case .caughtUp:
            guard Self.take(subscriber, from: &members), key.form != nil else { return }
            targets.swapAt(Int(subscriber.place), targets.count - 1)
            targets.removeLast()
        }
    }

    private static func append(_ subscriber: Subscriber, to list: inout [Subscriber]) {
        subscriber.place = UInt32(truncatingIfNeeded: list.count)
        list.append(subscriber)
    }

    /// Removes a subscriber by moving the last one into its place.
    @discardableResult
    private static func take(_ subscriber: Subscriber, from list: inout [Subscriber]) -> Bool {
        let place = Int(subscriber.place)
        guard place < list.count, list[place] === subscriber else { return false }
        let last = list.removeLast()
        if last !== subscriber {
            list[place] = last
            last.place = UInt32(truncatingIfNeeded: place)
        }
        return true
    }
}
