import Access
import EventLog
import Exchanges

/// Subscribers that get the very same bytes.
final class SubscriberGroup {
    struct Key: Hashable {
        let types: [String]
        let session: String?
        let run: String?
        let format: StreamFormat
        /// On the wire; nil where every stream has its own.
        let form: StreamOutlet.Form?
        let sessions: Set<String>?
        /// A counted stream is alone: it may have to end in the middle of a batch.
        let alone: UInt64?
    }

    let key: Key
    let filter: EventFilter
    let caller: Caller
    /// Those with nothing waiting, and at the same places where their bytes go, when the group has a form.
    private(set) var members: [Subscriber] = []
    private(set) var targets: [any StreamTarget] = []
    /// Those whose events wait in a backlog.
    private(set) var behind: [Subscriber] = []
    /// What this turn's events become on the wire.
    var batch: [UInt8] = []

    init(key: Key, first: Subscriber) {
        self.key = key
        filter = first.filter
        caller = first.caller
    }

    var isEmpty: Bool { members.isEmpty && behind.isEmpty }

    func add(_ subscriber: Subscriber) {
        subscriber.group = self
        if subscriber.isBehind {
            subscriber.place = behind.count
            behind.append(subscriber)
            return
        }
        if key.form != nil {
            guard let target = subscriber.exchange.outlet?.target else { return }
            targets.append(target)
        }
        subscriber.place = members.count
        members.append(subscriber)
    }

    func remove(_ subscriber: Subscriber) {
        guard subscriber.group === self else { return }
        subscriber.group = nil
        if subscriber.isBehind {
            Self.take(subscriber, from: &behind)
        } else if Self.take(subscriber, from: &members), key.form != nil {
            targets.swapAt(subscriber.place, targets.count - 1)
            targets.removeLast()
        }
    }

    func fallBehind(_ subscriber: Subscriber) {
        move(subscriber, isBehind: true)
    }

    func catchUp(_ subscriber: Subscriber) {
        move(subscriber, isBehind: false)
    }

    private func move(_ subscriber: Subscriber, isBehind: Bool) {
        guard subscriber.group === self, subscriber.isBehind != isBehind else { return }
        remove(subscriber)
        subscriber.isBehind = isBehind
        add(subscriber)
    }

    /// The last one takes the place of the one that goes.
    @discardableResult
    private static func take(_ subscriber: Subscriber, from list: inout [Subscriber]) -> Bool {
        let place = subscriber.place
        guard place < list.count, list[place] === subscriber else { return false }
        let last = list.removeLast()
        if last !== subscriber {
            list[place] = last
            last.place = place
        }
        return true
    }
}
