package import Basics

/// The facts that the database has of a run: how far it is published, and what became of its message. A tracker goes on from them after
/// a restart of Ladle, and where nobody saw the run of a message.
package struct KnownRun: Sendable {
    /// Our message, which the run answers.
    package struct Message: Sendable {
        package enum Delivery: Sendable {
            /// The gateway has the message, or it is given up: it is not sent again.
            case over
            /// The outbox has no proof of it yet and may send it again.
            case open
            /// It left no trace at the gateway and waits to be sent again.
            case lost
        }

        package var text: String
        package var sentAt: Timestamp
        /// How far the gateway's clock was ahead of ours then; nil if unknown.
        package var clockSkewMs: Int64?
        package var delivery: Delivery

        package init(_ text: String, sentAt: Timestamp, clockSkewMs: Int64? = nil, delivery: Delivery = .over) {
            (self.text, self.sentAt, self.clockSkewMs, self.delivery) = (text, sentAt, clockSkewMs, delivery)
        }
    }

    package var id: String
    package var session: SessionKey
    /// Nil if Ladle did not send the message.
    package var message: Message?
    /// The run as the streams have it; nil if they do not.
    package var published: Run?
    /// The gateway said at this time, by our clock, that it stopped the run.
    package var stoppedAt: Timestamp?
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

    /// The last that is known of it. A run in progress was so up to now.
    func knownAt(_ now: Timestamp) -> Timestamp {
        guard let published else { return message?.sentAt ?? now }
        return published.endedAt ?? now
    }
}
