package import Basics

/// A change of a run, in the order in which changes are published; most are one event of the stream.
package enum RunChange: Sendable, Equatable {
    case started(Run)
    case stepChanged(Step)
    /// `offset` counts UTF-16 units of the run's text, which is what `String.length` counts for the clients.
    case textAppended(run: String, offset: Int, text: String)
    case textReplaced(run: String, text: String)
    case ended(Run)
    /// Replaces a wrong `ended`. Only this may come after a run's end.
    case corrected(Run)
    /// The gateway has the message whose key is the run's id.
    case proven(String, RunProof)
    /// The gateway is busy and answers our send later, in a run of its own.
    case deferred(String, session: SessionKey)
    /// The run `to` answers the deferred send `from`.
    case reassigned(from: String, to: String)
    /// A run of which nothing was shown is not followed any more: nothing goes on under its id.
    case dropped(String, session: SessionKey)
    /// The gateway acknowledged our message and refuses to run it.
    case refused(String, reason: String)
}

/// Shows that the gateway's transcript has a message.
package enum RunProof: Sendable, Equatable {
    /// Its own row was read.
    case row
    /// The gateway said that it wrote the row, into a transcript that is on disk.
    case rowEvent
    /// Its run's end was reported.
    case end
}
