package import EventLoops
package import Server
import Service

/// One open stream. Kept small, because ten thousand of them may be idle.
package final class Subscriber: ExchangeOwner {
    enum Standing {
        /// The stream is still reading the log.
        case replaying
        /// The stream has had every event, and no bytes wait.
        case caughtUp
        /// Bytes wait in the connection, so new events go to the backlog.
        case behind
        case over
    }

    package let exchange: Exchange
    let group: SubscriberGroup
    var standing = Standing.replaying
    /// The index in its group's list.
    var place: UInt32 = 0
    /// The waiting events; nil unless the stream is behind.
    var backlog: Backlog?
    /// Goes on with the reading of the log.
    private var goOn: (() -> Void)?

    init(_ exchange: Exchange, in group: SubscriberGroup) {
        self.exchange = exchange
        self.group = group
    }

    package var plan: StreamPlan { group.plan }

    /// Waits until the reader has taken the bytes that wait, or the stream is over.
    func bytesTaken(on loop: isolated EventLoop) async {
        guard standing == .replaying else { return }
        await loop.wait { goOn = $0 }
    }

    /// The stream may go on reading the log, or is over.
    func stopWaiting() {
        let goOn = goOn
        self.goOn = nil
        goOn?()
    }

    package func peerLeft(_ exchange: Exchange, on loop: isolated EventLoop) {
        group.hub.remove(self, on: loop)
    }

    package func drained(_ exchange: Exchange, on loop: isolated EventLoop) {
        if standing == .replaying { stopWaiting() } else { group.hub.drained(self, on: loop) }
    }
}

/// Events that wait for a slow reader, shared with other backlogs; text deltas of one run are joined.
final class Backlog {
    private var events: [EncodedEvent]
    private var start = 0
    /// How many of the events to come are the texts with which the stream began.
    private var first: Int
    /// No later event has been written: a long text may fill the connection.
    private(set) var isBeginning: Bool
    /// The bytes of the events since then: a reader that is slow with a long text is not late yet.
    private(set) var bytes = 0

    init(_ events: [EncodedEvent] = []) {
        self.events = events
        first = events.count
        isBeginning = first > 0
    }

    /// - Parameter joining: false for a stream that counts its events.
    func append(_ event: EncodedEvent, joining: Bool, on loop: isolated EventLoop) {
        if joining, start + first < events.count, let last = events.last,
            let joined = last.event.joined(with: event.event, at: loop.wallClock)
        {
            events[events.count - 1] = EncodedEvent(joined)
            bytes += joined.data.count - last.event.data.count
        } else {
            events.append(event)
            bytes += event.event.data.count
        }
    }

    func next() -> EncodedEvent? {
        guard start < events.count else { return nil }
        let event = events[start]
        start += 1
        if first > 0 {
            first -= 1
        } else {
            isBeginning = false
            bytes -= event.event.data.count
        }
        // A reader may stay behind for days without being cut, so sent events are released now and then.
        if start >= 64, start * 2 >= events.count {
            events.removeFirst(start)
            start = 0
        }
        return event
    }
}
