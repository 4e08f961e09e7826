/// Events waiting for the application. Taking one moves it out, because copying the heads inside events is not cheap.
struct EventQueue {
    private var events: [HTTP2Event?] = []
    private var first = 0

    var isEmpty: Bool { first == events.count }

    mutating func append(_ event: consuming HTTP2Event) {
        events.append(event)
    }

    mutating func next() -> HTTP2Event? {
        guard first < events.count else { return nil }
        let event = events[first].take()
        first += 1
        if first == events.count {
            events.removeAll(keepingCapacity: true)
            first = 0
        }
        return event
    }
}
