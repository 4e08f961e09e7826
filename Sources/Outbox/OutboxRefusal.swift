package import Basics

/// The reason why a person's command on an entry was refused.
package enum OutboxRefusal: Error, Sendable, Equatable {
    case notFound
    /// The entry changed since the caller saw it (`If-Match`).
    case staleVersion(current: Int64)
    /// The gateway has the message; only aborting the run helps.
    case alreadyDispatched(OutboxState)
    /// The message may have arrived, so the command requires force.
    case needsForce
    case notRetryable(OutboxState)
    case storage(StoreError)
}
