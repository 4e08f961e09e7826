/// The start of a stream, as named in its `hello`.
package enum ResumePosition: Sendable, Equatable {
    /// Without a cursor: from now on.
    case fresh(at: EventID)
    /// Everything after the cursor is still in the log.
    case recovered(after: EventID)
    /// The cursor is from another log, from the future, or older than the log.
    case reset(oldest: EventID?, newest: EventID)
}
