package import Basics
package import EventLoops
package import Gateway
package import Notifications
package import Observability
package import Outbox
package import Runs
package import Upstream

/// Something that happened in one service and that others act on. Each event comes once, in order, on the loop.
package enum ServiceEvent {
    case linkChanged(LinkStatus)
    /// A connection is ready; the gateway introduced itself.
    case linkOpened(Hello)
    case gatewayEvent(GatewayEvent)
    /// Events of a connection that still stands were lost.
    case framesLost
    /// Messages since this time, by the gateway's clock, may have been missed.
    case eventsMissed(since: Timestamp)
    /// A frame of the link was added to the frame log.
    case frameLogged(LoggedFrame)
    /// A session goes on with another conversation, as a page of its transcript shows.
    case conversationBegan(session: String)
    /// A list of the sessions has come, the first since the link was broken. Before it they were known like this.
    case sessionsListed(before: [String: SessionInfo])
    /// The gateway issued device tokens that the next start needs.
    case tokensIssued(DeviceTokenStore)
    /// `main` and bare session keys have another meaning now.
    case defaultsChanged(SessionDefaults)
    /// A message is about to go out under this key.
    case messageDispatched(OutboxEntry, key: String)
    /// The gateway refused the message of this key.
    case messageRefused(key: String)
    /// A new entry is durable.
    case entryAccepted(OutboxEntry)
    /// A change of an entry is durable.
    case entryChanged(OutboxEntry)
    /// A message, of whoever, became known; its event is on its way to the streams.
    case messageSaid(ChatMessage, session: String)
    /// A run has ended; its event is on its way to the streams.
    case runEnded(Run)
    /// A rule or a sink of notifications, or the state of a sink, is another.
    case sinksChanged
    /// A sink failed so long that nothing is sent to it any more.
    case sinkDisabled(NotificationSink, reason: String)
    /// The database takes nothing; told once until it does again.
    case storeFailed(StoreError)
    /// More waits for the disk than should: the gateway has to wait too, until this comes again with `false`.
    case diskFellBehind(Bool)
    /// An event leaves for the streams.
    case published(StreamEvent)
}

/// Acts on what happens in the services.
package protocol ServiceEventReceiver: AnyObject {
    func receive(_ event: ServiceEvent, on loop: isolated EventLoop)
}

/// Hands each event of a service to the receivers, in the order in which they were added.
package final class ServiceEvents {
    private struct Receiver {
        unowned let object: any ServiceEventReceiver
    }

    private var receivers: [Receiver] = []
    /// Another number: something may have changed that clients can read.
    package private(set) var revision: UInt64 = 0

    package init() {}

    /// The receiver has to outlive this object.
    package func add(_ receiver: any ServiceEventReceiver) {
        receivers.append(Receiver(object: receiver))
    }

    /// Something changed of which no other service has to know.
    func changed() { revision &+= 1 }

    package func notify(_ event: ServiceEvent, on loop: isolated EventLoop) {
        revision &+= 1
        for receiver in receivers { receiver.object.receive(event, on: loop) }
    }
}
