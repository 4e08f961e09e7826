package import Basics
package import Ledger

/// A run as the database knows it: how far it was published, and what became of its message. The tracker continues from it after a
/// restart of Ladle, and for a message whose run was never seen.
package struct KnownRun: Sendable {
    /// Our message, which the run answers.
    package struct Message: Sendable {
        package enum Delivery: Sendable {
            /// The message is not sent again: the gateway has it, or it was given up.
            case over
            /// The outbox has no proof that the gateway has the message, and may send it again.
            case open
            /// The gateway refused to run the message, and then the model had it all the same, perhaps with a later one.
            case refused
            /// The message left no trace at the gateway and waits to be sent again.
            case lost
        }

        package var text: String
        package var sentAt: Timestamp
        /// How far the gateway's clock was ahead of ours then; nil if unknown.
        package var clockSkewMs: Int64?
        package var delivery: Delivery
        /// The agent had begun with the message in a process of the gateway that lost it.
        package var hadBegun: Bool
        /// Messages that were on the stream before this one was sent.
        package var earlier: Set<String> = []
        package var deferral: Deferral?

        package init(
            _ text: String,
            sentAt: Timestamp,
            clockSkewMs: Int64? = nil,
            delivery: Delivery = .over,
            hadBegun: Bool = false
        ) {
            (self.text, self.sentAt, self.clockSkewMs) = (text, sentAt, clockSkewMs)
            (self.delivery, self.hadBegun) = (delivery, hadBegun)
        }
    }

    package var id: String
    package var session: SessionKey
    /// Nil if Ladle did not send the message.
    package var message: Message?
    /// The run as it was published on the event stream; nil if it was not.
    package var published: Run?
    /// The gateway said at this time, by our clock, that it stopped the run.
    package var stoppedAt: Timestamp?
    /// After that it said that the message waits.
    package var isPutAside = false
    /// The run began while a message of another client waited, so it may be that one's.
    package var mayBeStrangers = false
    /// The gateway's process that had the run was found gone at this time.
    package var goneAt: Timestamp?

    /// A run on the streams.
    package init(_ published: Run, message: Message? = nil, stoppedAt: Timestamp? = nil, goneAt: Timestamp? = nil) {
        (id, session, self.published) = (published.id, published.session, published)
        (self.message, self.stoppedAt, self.goneAt) = (message, stoppedAt, goneAt)
    }

    /// A run that nobody saw.
    package init(
        _ id: String,
        session: SessionKey,
        message: Message,
        stoppedAt: Timestamp? = nil,
        goneAt: Timestamp? = nil
    ) {
        (self.id, self.session, self.message) = (id, session, message)
        (self.stoppedAt, self.goneAt) = (stoppedAt, goneAt)
    }

    /// The latest time at which the run's state is known: its end; now, for a published run in progress; or the time at which its
    /// message was sent.
    func knownAt(_ now: Timestamp) -> Timestamp {
        guard let published else { return message?.sentAt ?? now }
        return published.endedAt ?? now
    }
}
