package import Basics

/// A change of a run, in the order in which changes are published; most are one event of the stream.
package enum RunChange: Sendable, Equatable {
    case started(Run)
    case stepChanged(Step)
    /// `offset` counts UTF-16 units of the run's text, which is what `String.length` counts for the clients.
    case textAppended(run: String, offset: Int, text: String)
    case textReplaced(run: String, text: String)
    case ended(Run)
    /// The gateway is busy and answers our send later, in a run of its own.
    case deferred(String, session: SessionKey)
    /// The run `to` answers the deferred send `from`.
    case reassigned(from: String, to: String)
}
