/// What happened to a run, in the order in which it must be told; each maps to one event of the stream.
package enum RunChange: Sendable, Equatable {
    case started(Run)
    case stepChanged(Step)
    /// `offset` counts UTF-16 units of the run's text, which is what `String.length` counts for the clients.
    case textAppended(run: String, offset: Int, text: String)
    case textReplaced(run: String, text: String)
    case ended(Run)
    /// A busy send is answered later, under a run of the gateway's own.
    case deferred(String, session: SessionKey)
    /// A busy send is answered by a run of the gateway's own: what was sent as `from` is the run `to` from now on.
    case reassigned(from: String, to: String)
}
