/// The report behind a change of an entry. The facts say where the message is, and the report why, as people are told it.
enum OutboxSign: Sendable, Equatable {
    /// A page of the transcript, a new connection.
    case facts
    /// An event or an answer shows that the gateway has the message in memory.
    case taken
    /// The transcript has the message, which this run answers.
    case proof(OutboxProof, run: String?)
    /// The transcript has the message, which this run read while it was at work on another one.
    case joined(OutboxProof, run: String)
    /// The gateway has the message and did not run it.
    case refusal(OutboxFault)
    /// The message must not go out again.
    case withdrawal(Withdrawal)

    var proof: OutboxProof? {
        switch self {
        case .proof(let proof, _), .joined(let proof, _): proof
        case .facts, .taken, .refusal, .withdrawal: nil
        }
    }
    var joinedRun: String? { if case .joined(_, let run) = self { run } else { nil } }
    var run: String? { if case .proof(_, let run) = self { run } else { nil } }
    var refusal: OutboxFault? { if case .refusal(let fault) = self { fault } else { nil } }
    var withdrawal: Withdrawal? { if case .withdrawal(let reason) = self { reason } else { nil } }
}
