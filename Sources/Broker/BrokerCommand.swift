/// A command from the broker, ready to be carried out.
package struct BrokerCommand: Sendable, Equatable {
    package enum Verb: String, CaseIterable, Sendable {
        case send, abort, retry, approvals, session
    }

    package enum Action: Sendable, Equatable {
        case request(BrokerRequest)
        /// The caller makes one request of each run, entry or approval.
        case abortAll, retryFailed, denyAll
    }

    /// By which two deliveries are known as one command.
    package enum Key: Sendable, Equatable {
        /// An `Idempotency-Key`.
        case given(String)
        /// The broker repeats a message without a key: it is known by the SHA-256 of topic and payload, for ten
        /// minutes.
        case digestOfDuplicate
        /// A new command, even where it is equal to an earlier one.
        case none
    }

    /// The words of a message, for the guard against loops.
    package struct Message: Sendable, Equatable {
        package let session: String?
        package let text: String
    }

    package let verb: Verb
    package let action: Action
    package let key: Key
    /// A second result is wanted when the run has ended.
    package let waits: Bool
    package let message: Message?
    package let address: ResultAddress
}
