package import Basics

/// A run whose end an earlier process of Ladle published, and that is still needed: a restarted gateway may go on with it, or it may
/// answer a message that waits.
package struct PastRun: Sendable {
    package enum End: Sendable {
        /// The gateway's process was found gone at this time.
        case givenUp(goneAt: Timestamp)
        /// The gateway said at this time, by our clock, that it stopped the run.
        case stopped(at: Timestamp)
        /// The gateway itself began the run, perhaps with a message that it had refused before.
        case ofGateway(Run.State)
    }

    package var id: String
    package var session: SessionKey
    package var end: End
    /// The text of the message that the run answers, if Ladle sent it. The gateway quotes it when it resumes the run.
    package var message: String?
    /// The answer so far.
    package var text: String
    package var startedAt: Timestamp
    package var endedAt: Timestamp

    package init(
        id: String,
        session: SessionKey,
        end: End,
        message: String?,
        text: String,
        startedAt: Timestamp,
        endedAt: Timestamp
    ) {
        self.id = id
        self.session = session
        self.end = end
        self.message = message
        self.text = text
        self.startedAt = startedAt
        self.endedAt = endedAt
    }
}
