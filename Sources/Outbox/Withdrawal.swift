/// The reason why an entry must not go out again, although its sender has not taken it back.
enum Withdrawal: Sendable, Equatable {
    /// Its session was reset or deleted since the dispatch. The detail is for people.
    case targetChanged(detail: String)
    /// Its run was to be stopped. If the gateway never had the message, it must not run after all.
    case stopped
}
