/// Items ordered by time, in a binary heap; items of equal time keep the order of insertion. Items are not removed when
/// they become obsolete; the caller checks that when it takes one. `@inlinable`, so that each use in another target
/// compiles to its own code.
@usableFromInline
package struct DeadlineHeap<Item> {
    @usableFromInline
    struct Node {
        @usableFromInline let at: Int64
        @usableFromInline let number: UInt64
        @usableFromInline let item: Item

        @inlinable
        init(at: Int64, number: UInt64, item: Item) {
            self.at = at
            self.number = number
            self.item = item
        }

        @inlinable
        func isBefore(_ other: Node) -> Bool { at != other.at ? at < other.at : number < other.number }
    }

    @usableFromInline var nodes: [Node] = []
    @usableFromInline var inserted: UInt64 = 0

    @inlinable package init() {}

    @inlinable package var count: Int { nodes.count }
    @inlinable package var first: (at: Int64, item: Item)? { nodes.first.map { ($0.at, $0.item) } }

    @inlinable
    package mutating func insert(_ item: Item, at: Int64) {
        inserted += 1
        nodes.append(Node(at: at, number: inserted, item: item))
        var child = nodes.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard nodes[child].isBefore(nodes[parent]) else { return }
            nodes.swapAt(child, parent)
            child = parent
        }
    }

    @inlinable
    package mutating func removeFirst() {
        guard let last = nodes.popLast(), !nodes.isEmpty else { return }
        nodes[0] = last
        sink(0)
    }

    /// The earliest item that is due.
    @inlinable
    package mutating func popDue(_ now: Int64) -> Item? {
        guard let first = nodes.first, first.at <= now else { return nil }
        removeFirst()
        return first.item
    }

    @inlinable
    package mutating func keep(_ isWanted: (Item) -> Bool) {
        nodes.removeAll { !isWanted($0.item) }
        for index in stride(from: nodes.count / 2 - 1, through: 0, by: -1) { sink(index) }
    }

    @inlinable
    mutating func sink(_ start: Int) {
        var parent = start
        while true {
            let left = 2 * parent + 1
            guard left < nodes.count else { return }
            let right = left + 1
            let child = right < nodes.count && nodes[right].isBefore(nodes[left]) ? right : left
            guard nodes[child].isBefore(nodes[parent]) else { return }
            nodes.swapAt(child, parent)
            parent = child
        }
    }
}

extension DeadlineHeap: Sendable where Item: Sendable {}
extension DeadlineHeap.Node: Sendable where Item: Sendable {}
