import Basics

/// Which entries stand in one line. Aborts and approval answers have a line of their own that overtakes.
struct LaneKey: Hashable, Comparable, Sendable {
    var session: String
    var isControl: Bool

    /// Control lanes first.
    static func < (left: LaneKey, right: LaneKey) -> Bool {
        left.isControl == right.isControl ? left.session < right.session : left.isControl
    }
}

/// Entries of one lane in order of acceptance.
struct LaneQueue: Sendable {
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
