package import Basics

/// Why a person's command on an entry was not carried out.
package enum OutboxRefusal: Error, Sendable, Equatable {
    case notFound
    /// The entry moved since the caller saw it (`If-Match`).
    case staleVersion(current: Int64)
    /// It is with the gateway; only aborting the run helps.
    case alreadyDispatched(OutboxState)
    /// Only with force: it may have arrived.
    case needsForce
    case notRetryable(OutboxState)
    case storage(StoreError)
}
