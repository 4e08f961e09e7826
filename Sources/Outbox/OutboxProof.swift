/// Evidence that the gateway's transcript holds a message, or that its run has ended. An acknowledgement and a run's
/// events show only that the gateway has the message in memory, which is lost with its process.
package enum OutboxProof: String, Sendable, CaseIterable {
    /// The terminal event of the run that has the command's key.
    case runEnd = "run-end"
    /// A stored row with the key, in a `session.message` event.
    case messageEvent = "message-event"
    /// A row of the gateway's history with the key.
    case history
    /// A row with the same text at a matching time, on gateways whose history shows no keys.
    case textMatch = "text-match"
    /// The gateway answered the first dispatch with `ok`: the message is a stop word and starts no run.
    case gatewayReceipt = "gateway-receipt"
    /// The answer itself, for a command that starts no run.
    case answer
}
