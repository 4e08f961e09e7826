/// Identifies one armed timer of a loop.
package struct TimerID: Hashable, Sendable {
    fileprivate let place: Int
    fileprivate let number: UInt64
}

/// Deadlines in a binary heap, with the work stored beside it. A cancelled timer's heap entry stays until it is due or
/// until dead entries outnumber live ones.
package struct TimerQueue<Work> {
    private struct Entry {
        let deadline: UInt64
        let id: TimerID
    }

    /// `number` is 0 if the place is free.
    private struct Place {
        var number: UInt64 = 0
        var work: Work?
    }

    private var heap: [Entry] = []
    private var places: [Place] = []
    private var freePlaces: [Int] = []
    private var last: UInt64 = 0

    package init() {}

    var isEmpty: Bool { count == 0 }
    var count: Int { places.count - freePlaces.count }

    /// The earliest deadline of a timer that was not cancelled.
    package mutating func nextDeadline() -> UInt64? {
        while let first = heap.first {
            if isArmed(first.id) { return first.deadline }
            removeFirst()
        }
        return nil
    }

    package mutating func add(deadline: UInt64, _ item: Work) -> TimerID {
        last += 1
        let place = freePlaces.popLast() ?? places.count
        if place == places.count { places.append(Place()) }
        let id = TimerID(place: place, number: last)
        places[place] = Place(number: last, work: item)
        heap.append(Entry(deadline: deadline, id: id))
        siftUp(heap.count - 1)
        return id
    }

    mutating func cancel(_ id: TimerID) {
        _ = take(id)
        if heap.count > 64, heap.count > count * 2 { rebuild() }
    }

    /// The work of the earliest timer, if it is due.
    package mutating func popDue(now: UInt64) -> Work? {
        while let first = heap.first, first.deadline <= now {
            removeFirst()
            if let item = take(first.id) { return item }
        }
        return nil
    }

    private func isArmed(_ id: TimerID) -> Bool { places[id.place].number == id.number }

    private mutating func take(_ id: TimerID) -> Work? {
        guard isArmed(id) else { return nil }
        let work = places[id.place].work
        places[id.place] = Place()
        freePlaces.append(id.place)
        return work
    }

    private static func isBefore(_ left: Entry, _ right: Entry) -> Bool {
        left.deadline != right.deadline ? left.deadline < right.deadline : left.id.number < right.id.number
    }

    private mutating func removeFirst() {
        let moved = heap.removeLast()
        guard !heap.isEmpty else { return }
        heap[0] = moved
        siftDown(0)
    }

    private mutating func siftUp(_ start: Int) {
        var place = start
        while place > 0 {
            let parent = (place - 1) / 2
            guard Self.isBefore(heap[place], heap[parent]) else { return }
            heap.swapAt(place, parent)
            place = parent
        }
    }

    private mutating func siftDown(_ start: Int) {
        var place = start
        while true {
            var smallest = place
            for child in [2 * place + 1, 2 * place + 2] where child < heap.count {
                if Self.isBefore(heap[child], heap[smallest]) { smallest = child }
            }
            guard smallest != place else { return }
            heap.swapAt(place, smallest)
            place = smallest
        }
    }

    private mutating func rebuild() {
        let places = places
        heap.removeAll { places[$0.id.place].number != $0.id.number }
        heap.sort(by: Self.isBefore)
    }
}
