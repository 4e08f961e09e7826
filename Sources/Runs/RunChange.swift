package import Basics

/// A change of a run. Changes are published in their order; most of them become one event of the stream.
package enum RunChange: Sendable, Equatable {
    case started(Run)
    case stepChanged(Step)
    /// `offset` counts UTF-16 units of the run's text, as `length` does in JavaScript.
    case textAppended(run: String, offset: Int, text: String)
    case textReplaced(run: String, text: String)
    case ended(Run)
    /// Replaces a wrong `ended`. Only this may come after a run's end.
    case corrected(Run)
    /// An event shows that the gateway has the message with this key in memory. That is no proof of delivery.
    case taken(key: String)
    /// The gateway has the message whose key is the run's id.
    case proven(String, RunProof)
    /// The gateway is busy and answers our send later, in another run.
    case deferred(String, session: SessionKey)
    /// The run `to` answers the deferred send `from`, or goes on with the interrupted run `from`. If it is shared, it may answer
    /// another message too, or only that: it was found by the words alone.
    case reassigned(from: String, to: String, isShared: Bool = false)
    /// Ladle stops following a run of which nothing was shown. Nothing more comes under its id.
    case dropped(String, session: SessionKey)
    /// The gateway acknowledged our message and refuses to run it.
    case refused(String, reason: String)
}

/// The reason to believe that the gateway's transcript has a message.
package enum RunProof: Sendable, Equatable {
    /// The message's row was read.
    case row
    /// The gateway reported that it wrote the row, and the transcript is on disk.
    case rowEvent
    /// The end of the message's run was reported.
    case end
}
