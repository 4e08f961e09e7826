import Basics

/// Names a queue. Each session has one for its messages, and a control queue for aborts, which overtake the messages.
struct QueueKey: Hashable, Comparable, Sendable {
    var session: String
    var isControl: Bool

    static func == (left: QueueKey, right: QueueKey) -> Bool {
        left.isControl == right.isControl && left.session.isSameText(as: right.session)
    }

    /// Control queues sort first.
    static func < (left: QueueKey, right: QueueKey) -> Bool {
        left.isControl == right.isControl
            ? left.session.utf8.lexicographicallyPrecedes(right.session.utf8) : left.isControl
    }
}

/// The entries of one queue in order of acceptance.
struct SessionQueue: Sendable {
    private(set) var places: [(ordinal: Int64, id: String)] = []

    var isEmpty: Bool { places.isEmpty }

    mutating func insert(_ id: String, ordinal: Int64) {
        let index = firstIndex(notBelow: ordinal)
        if index < places.count, places[index].ordinal == ordinal { return }
        places.insert((ordinal, id), at: index)
    }

    mutating func remove(ordinal: Int64) {
        let index = firstIndex(notBelow: ordinal)
        if index < places.count, places[index].ordinal == ordinal { places.remove(at: index) }
    }

    private func firstIndex(notBelow ordinal: Int64) -> Int {
        places.partitioningIndex { $0.ordinal >= ordinal }
    }
}

/// The queues of all sessions, their entries on the wire, and the order in which the dispatcher visits them.
struct SessionQueues: Sendable {
    /// The most sessions that may send at the same time.
    private let parallel: Int
    private var queues: [QueueKey: SessionQueue] = [:]
    /// Entries between the decision to send and the outcome.
    private var onWire: [String: QueueKey] = [:]
    /// Queues that changed since the dispatcher visited them.
    private var changed = UniqueQueue<QueueKey>()
    /// Queues held back only by the limit of sessions that send at the same time.
    private var overLimit = UniqueQueue<QueueKey>()

    init(parallel: Int) {
        self.parallel = parallel
    }

    var isEmpty: Bool { queues.isEmpty }
    var keys: some Sequence<QueueKey> { queues.keys }

    func places(in key: QueueKey) -> [(ordinal: Int64, id: String)] { queues[key]?.places ?? [] }

    mutating func insert(_ id: String, ordinal: Int64, into key: QueueKey) {
        queues[key, default: SessionQueue()].insert(id, ordinal: ordinal)
        changed.append(key)
    }

    mutating func remove(ordinal: Int64, from key: QueueKey) {
        queues[key]?.remove(ordinal: ordinal)
        if queues[key]?.isEmpty == true { queues[key] = nil }
        changed.append(key)
    }

    mutating func markChanged(_ key: QueueKey) { changed.append(key) }

    mutating func markAllChanged() {
        for key in queues.keys.sorted() { changed.append(key) }
    }

    // MARK: The wire

    func isOnWire(_ key: QueueKey) -> Bool { onWire.values.contains(key) }

    mutating func enterWire(_ id: String, _ key: QueueKey) { onWire[id] = key }

    /// False if the limit of sending sessions is reached; the queue is visited again once one of them has finished.
    mutating func takeRoomOnWire(_ id: String, _ key: QueueKey) -> Bool {
        guard onWire.count < parallel else {
            overLimit.append(key)
            return false
        }
        enterWire(id, key)
        return true
    }

    mutating func leaveWire(_ id: String) { onWire[id] = nil }

    mutating func forgetOverLimit() { overLimit.removeAll() }

    /// The next queue to visit.
    mutating func next() -> QueueKey? {
        if let key = changed.popFirst() { return key }
        return onWire.count < parallel ? overLimit.popFirst() : nil
    }
}

/// First in, first out, each element at most once.
struct UniqueQueue<Element: Hashable & Sendable>: Sendable {
    private var elements: [Element] = []
    private var head = 0
    private var members: Set<Element> = []

    mutating func append(_ element: Element) {
        guard members.insert(element).inserted else { return }
        elements.append(element)
    }

    mutating func popFirst() -> Element? {
        while head < elements.count {
            let element = elements[head]
            head += 1
            if head > 1_024, head * 2 > elements.count {
                elements.removeFirst(head)
                head = 0
            }
            if members.remove(element) != nil { return element }
        }
        elements.removeAll(keepingCapacity: true)
        head = 0
        return nil
    }

    mutating func removeAll() {
        elements.removeAll()
        members.removeAll()
        head = 0
    }
}
