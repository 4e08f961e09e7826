/// An input of one entry's delivery.
enum DeliveryInput: Sendable, Equatable {
    case outcome(AttemptID, AttemptOutcome)
    case taken(key: String)
    case proof(key: String, OutboxProof)
    case continued(key: String, as: String)
    case refusedByRun(key: String, OutboxFault)
    /// The entry must not go out again.
    case withdrawn(Withdrawal)
    /// No stop of its run stands any more.
    case mayRunAgain
    case linkOpened
    case cancel(force: Bool, expectedVersion: Int64?, CommandToken)
    case retry(expectedVersion: Int64?, CommandToken)

    /// The token of a command, to which the answer belongs.
    var token: CommandToken? {
        switch self {
        case .cancel(_, _, let token), .retry(_, let token): token
        default: nil
        }
    }
}
