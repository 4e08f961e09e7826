/// Where a stream starts, as its `hello` says.
package enum ResumePosition: Sendable, Equatable {
    /// No cursor: from now on.
    case fresh(at: EventID)
    /// Everything after the cursor is still here.
    case recovered(after: EventID)
    /// The cursor is from another log, from the future, or older than what is kept.
    case reset(oldest: EventID?, newest: EventID)
}
