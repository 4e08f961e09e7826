package import Access
package import EventLog
import EventLoops
package import Exchanges

/// One open stream. It is caught up (`live`), still reading the log (`replaying`), or behind with a backlog of its own.
package final class Subscriber {
    enum Phase {
        case replaying
        case live
        case over
    }

    package let exchange: Exchange
    package let caller: Caller
    package let filter: EventFilter
    package let format: StreamFormat
    package let heartbeatSeconds: Int
    let heartbeatAsEvent: Bool
    /// Events still to be sent before the stream ends by itself; nil without end.
    var remaining: Int?
    var phase = Phase.replaying
    /// The last durable event sent, or the place it started from.
    var position: EventID
    /// Events that wait for the reader, shared with everyone else's, deltas of one run joined.
    var backlog: [HubEvent] = []
    var backlogStart = 0
    var backlogBytes = 0
    /// Bytes wait in the connection: new events go to the backlog.
    var isBehind = false
    /// Where its group keeps it.
    var place = 0
    weak var group: SubscriberGroup?
    /// Once, when the stream is no more.
    var ended: (() -> Void)?

    package init(
        exchange: Exchange,
        caller: Caller,
        filter: EventFilter,
        format: StreamFormat,
        heartbeatSeconds: Int,
        heartbeatAsEvent: Bool,
        remaining: Int?,
        position: EventID
    ) {
        self.exchange = exchange
        self.caller = caller
        self.filter = filter
        self.format = format
        self.heartbeatSeconds = heartbeatSeconds
        self.heartbeatAsEvent = heartbeatAsEvent
        self.remaining = remaining
        self.position = position
    }

    func admits(_ event: HubEvent) -> Bool {
        Self.admits(event, filter: filter, caller: caller)
    }

    /// A caller bound to sessions sees those; events without a session carry nothing of any.
    static func admits(_ event: HubEvent, filter: EventFilter, caller: Caller) -> Bool {
        guard filter.admits(type: event.type, session: event.session, run: event.run) else { return false }
        guard let session = event.session else { return true }
        return caller.mayUse(session: session)
    }
}
