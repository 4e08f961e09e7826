import Basics

/// Identifies one armed timer of a loop.
package struct TimerID: Hashable, Sendable {
    fileprivate let place: Int
    fileprivate let number: UInt64
}

/// The deadlines of timers, with the work stored beside them. A cancelled timer's heap entry stays until it is due or
/// until dead entries outnumber live ones.
package struct TimerQueue<Work> {
    /// `number` is 0 if the place is free.
    private struct Place {
        var number: UInt64 = 0
        var work: Work?
    }

    private var heap = DeadlineHeap<TimerID>()
    private var places: [Place] = []
    private var freePlaces: [Int] = []
    private var last: UInt64 = 0

    package init() {}

    var isEmpty: Bool { count == 0 }
    var count: Int { places.count - freePlaces.count }

    /// The earliest deadline of a timer that was not cancelled.
    package mutating func nextDeadline() -> UInt64? {
        while let first = heap.first {
            if isArmed(first.item) { return UInt64(first.at) }
            heap.removeFirst()
        }
        return nil
    }

    package mutating func add(deadline: UInt64, _ item: Work) -> TimerID {
        last += 1
        let place = freePlaces.popLast() ?? places.count
        if place == places.count { places.append(Place()) }
        let id = TimerID(place: place, number: last)
        places[place] = Place(number: last, work: item)
        heap.insert(id, at: Int64(clamping: deadline))
        return id
    }

    mutating func cancel(_ id: TimerID) {
        _ = take(id)
        guard heap.count > 64, heap.count > count * 2 else { return }
        let places = places
        heap.keep { places[$0.place].number == $0.number }
    }

    /// The work of the earliest timer, if it is due.
    package mutating func popDue(now: UInt64) -> Work? {
        while let id = heap.popDue(Int64(clamping: now)) {
            if let item = take(id) { return item }
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
}
