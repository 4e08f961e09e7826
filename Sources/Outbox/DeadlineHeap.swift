/// A binary heap of times. Items are not removed when they lose their meaning; the taker checks whether one still has one.
struct DeadlineHeap<Item: Sendable>: Sendable {
    private var nodes: [(at: Int64, item: Item)] = []

    var count: Int { nodes.count }
    var next: Int64? { nodes.first?.at }

    mutating func insert(_ item: Item, at: Int64) {
        nodes.append((at, item))
        var child = nodes.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard nodes[child].at < nodes[parent].at else { return }
            nodes.swapAt(child, parent)
            child = parent
        }
    }

    /// The earliest item that is due.
    mutating func popDue(_ now: Int64) -> Item? {
        guard let first = nodes.first, first.at <= now else { return nil }
        let last = nodes.removeLast()
        if !nodes.isEmpty {
            nodes[0] = last
            sink(0)
        }
        return first.item
    }

    mutating func keep(_ isWanted: (Item) -> Bool) {
        nodes.removeAll { !isWanted($0.item) }
        for index in stride(from: nodes.count / 2 - 1, through: 0, by: -1) { sink(index) }
    }

    private mutating func sink(_ start: Int) {
        var parent = start
        while true {
            let left = 2 * parent + 1
            guard left < nodes.count else { return }
            let right = left + 1
            let child = right < nodes.count && nodes[right].at < nodes[left].at ? right : left
            guard nodes[child].at < nodes[parent].at else { return }
            nodes.swapAt(child, parent)
            parent = child
        }
    }
}
