package import EventStream
package import Service

/// The newest durable events, in memory, so that streams which come back need no disk and no leader.
package struct RecentEvents {
    private static let most = 8_192
    private static let mostBytes = 8 << 20

    /// Everything behind this position is here.
    package private(set) var floor: EventID
    private var events: [StreamEvent] = []
    /// The first index of `events` that still counts.
    private var start = 0
    private var bytes = 0

    package init(after floor: EventID) {
        self.floor = floor
    }

    package var last: EventID { events.last?.id ?? floor }
    package var count: Int { events.count - start }

    /// - Parameter event: durable, and newer than all before it.
    package mutating func append(_ event: StreamEvent) {
        guard event.id?.epoch == floor.epoch, event.id?.sequence ?? 0 > last.sequence else { return }
        events.append(event)
        bytes += event.data.count
        while count > 1, count > Self.most || bytes > Self.mostBytes {
            bytes -= events[start].data.count
            floor = events[start].id ?? floor
            start += 1
        }
        // In bulk: moving the rest for each event would cost more than the events.
        if start >= Self.most {
            events.removeFirst(start)
            start = 0
        }
    }

    package func has(after cursor: EventID) -> Bool {
        cursor.epoch == floor.epoch && (floor.sequence...last.sequence).contains(cursor.sequence)
    }

    /// The events after a cursor that `has`, as a page of the log would have them.
    package func page(after cursor: EventID, filter: EventFilter, limit: Int, bytes: Int) -> EventReader.Page {
        var page: [StreamEvent] = []
        var size = 0
        var next = cursor
        for event in events[firstIndex(after: cursor)...] {
            guard page.count < limit, size < bytes else {
                return EventReader.Page(events: page, next: next, isEnd: false)
            }
            next = event.id ?? next
            guard filter.admits(type: event.type, session: event.session, run: event.run) else { continue }
            page.append(event)
            size += event.data.count
        }
        return EventReader.Page(events: page, next: next, isEnd: true)
    }

    private func firstIndex(after cursor: EventID) -> Int {
        var (low, high) = (start, events.count)
        while low < high {
            let middle = (low + high) / 2
            if events[middle].id?.sequence ?? 0 <= cursor.sequence { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
