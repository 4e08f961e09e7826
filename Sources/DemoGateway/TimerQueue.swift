/// Work to be done at moments, in order of time and then of arrival. A binary heap: a burst re-arms itself thousands of
/// times a second.
struct TimerQueue {
    private struct Entry {
        var at: UInt64
        var order: UInt64
        var work: (GatewayModel) -> Void

        func isBefore(_ other: Entry) -> Bool { (at, order) < (other.at, other.order) }
    }

    private var heap: [Entry] = []
    private var arrivals: UInt64 = 0

    var first: UInt64? { heap.first?.at }

    mutating func add(at moment: UInt64, _ work: @escaping (GatewayModel) -> Void) {
        arrivals += 1
        heap.append(Entry(at: moment, order: arrivals, work: work))
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].isBefore(heap[parent]) else { break }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    mutating func take(dueBy moment: UInt64) -> ((GatewayModel) -> Void)? {
        guard let top = heap.first, top.at <= moment else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            sink()
        }
        return top.work
    }

    private mutating func sink() {
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && heap[child].isBefore(heap[least])
            {
                least = child
            }
            guard least != parent else { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
