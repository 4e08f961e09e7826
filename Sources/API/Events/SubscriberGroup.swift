import Server

/// Subscribers that get the very same bytes.
final class SubscriberGroup {
    struct Key: Hashable {
        let plan: StreamPlan
        /// On the wire; nil where every stream has its own.
        let form: SharedBytesTarget.Form?
        /// A counted stream is alone: it ends in the middle of what others get.
        let alone: UInt64?
    }

    let key: Key
    /// Drops the group when its last stream ends.
    let hub: EventHub
    /// Subscribers with nothing waiting, and at the same places their targets, when the group has a form.
    private(set) var members: [Subscriber] = []
    private(set) var targets: [any StreamTarget] = []
    private(set) var behind: [Subscriber] = []
    private(set) var replaying: [Subscriber] = []
    /// Events still to come before the stream ends by itself; nil without end.
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

    /// Takes a new one in, moves one between the lists, or lets it go.
    func place(_ subscriber: Subscriber, as standing: Subscriber.Standing) {
        leave(subscriber)
        subscriber.standing = standing
        switch standing {
        case .replaying: Self.append(subscriber, to: &replaying)
        case .behind: Self.append(subscriber, to: &behind)
        case .over: break
        case .caughtUp:
            if key.form != nil {
                guard let target = subscriber.exchange.outlet?.target else { return }
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

    /// The last one takes the place of the one that goes.
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
