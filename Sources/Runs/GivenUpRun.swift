package import Basics

/// A run that ended because the gateway's process was gone.
package struct GivenUpRun: Sendable {
    package var id: String
    package var session: SessionKey
    /// The text of the message that the run answers. The gateway quotes it when it resumes the run.
    package var message: String
    /// The answer so far.
    package var text: String
    package var startedAt: Timestamp
    package var endedAt: Timestamp
    /// When the process was found gone.
    package var goneAt: Timestamp

    package init(
        id: String,
        session: SessionKey,
        message: String,
        text: String,
        startedAt: Timestamp,
        endedAt: Timestamp,
        goneAt: Timestamp
    ) {
        self.id = id
        self.session = session
        self.message = message
        self.text = text
        self.startedAt = startedAt
        self.endedAt = endedAt
        self.goneAt = goneAt
    }
}
