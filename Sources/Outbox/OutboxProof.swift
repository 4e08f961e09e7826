/// The evidence that a command arrived.
package enum OutboxProof: String, Sendable, CaseIterable {
    /// An event of the run that has the command's key.
    case runEvent = "run-event"
    /// A `session.message` event with the key.
    case messageEvent = "message-event"
    /// A row of the gateway's history with the key.
    case history
    /// A row with the same text in the right time, on gateways whose history shows no keys.
    case textMatch = "text-match"
    /// The gateway said that this key runs or has run.
    case gatewayReceipt = "gateway-receipt"
    /// The answer itself: the command starts no run.
    case answer
}
