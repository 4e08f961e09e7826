package import Basics
package import EventLoops
package import Gateway
package import Notifications
package import Observability
package import Outbox
package import Runs
package import Upstream

/// Something that happened in one service and that others react to. Each event comes once, in order, on the loop.
package enum ServiceEvent {
    case linkChanged(LinkStatus)
    /// The connection is ready, with the gateway's hello.
    case linkOpened(Hello)
    case gatewayEvent(GatewayEvent)
    /// Events of a connection that is still open were lost.
    case framesLost
    /// A frame of the link was added to the frame log.
    case frameLogged(LoggedFrame)
    /// A page of a session's transcript shows a new conversation.
    case conversationBegan(session: String)
    /// The first list of sessions since the link was lost has arrived; `before` holds their earlier state.
    case sessionsListed(before: [SessionKey: SessionInfo])
    /// The gateway issued device tokens, which the next start needs.
    case tokensIssued(DeviceTokenStore)
    /// `main` and bare session keys have another meaning now.
    case defaultsChanged(SessionDefaults)
    /// A message is about to be sent under this key.
    case messageDispatched(OutboxEntry, key: String)
    /// The gateway refused the message with this key.
    case messageRefused(key: String)
    /// The gateway has the row of a message and refused to run it.
    case messageNotRun(key: String, reason: String)
    /// A new entry is durable.
    case entryAccepted(OutboxEntry)
    /// A change of an entry is durable.
    case entryChanged(OutboxEntry)
    /// A message from any sender became known; its event is on its way to the streams.
    case messageSaid(ChatMessage, session: String)
    /// The gateway goes on with a run, or answers a message that waited for its turn, in a run with another id.
    case runContinued(run: String, answer: String, session: String, isShared: Bool)
    /// A message of ours begins a run of its own. The other one, which seemed to be its, answers another client's message.
    case runSeparated(key: String, other: String)
    /// A run has begun.
    case runBegan(String)
    /// A run has ended; its event is on its way to the streams.
    case runEnded(Run)
    /// A notification rule, a sink, or the state of a sink has changed.
    case sinksChanged
    /// A sink was disabled after many failures: nothing more is sent to it.
    case sinkDisabled(NotificationSink, reason: String)
    /// The database accepts no writes; reported once until it does again.
    case storeFailed(StoreError)
    /// Too much data waits for the disk: the gateway must pause until this event comes again with `false`.
    case diskFellBehind(Bool)
    /// An event is published to the streams.
    case published(StreamEvent)
}

/// Reacts to events of the services.
package protocol ServiceEventReceiver: AnyObject {
    func receive(_ event: ServiceEvent, on loop: isolated EventLoop)
}

/// Hands each event of a service to the receivers, in the order in which they were added.
package final class ServiceEvents {
    private struct Receiver {
        unowned let object: any ServiceEventReceiver
    }

    private var receivers: [Receiver] = []
    /// Grows with every change that clients might read.
    package private(set) var revision: UInt64 = 0

    package init() {}

    /// - Parameter receiver: must outlive this object.
    package func add(_ receiver: any ServiceEventReceiver) {
        receivers.append(Receiver(object: receiver))
    }

    /// Records a change that no other service needs to know.
    func changed() { revision &+= 1 }

    package func notify(_ event: ServiceEvent, on loop: isolated EventLoop) {
        revision &+= 1
        for receiver in receivers { receiver.object.receive(event, on: loop) }
    }
}
