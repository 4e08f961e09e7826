/// A message of the broker, as Ladle understands it.
package enum BrokerReading: Sendable, Equatable {
    case command(BrokerCommand)
    /// The verb is nil where the topic names none.
    case refused(BrokerRefusal, verb: BrokerCommand.Verb?, ResultAddress)
    /// No command: another topic, or an empty payload, with which retained messages are deleted.
    case ignored
}
