/// Why the store did not do what it was asked. Errors that an operation throws itself come through unchanged. The store
/// throws it, the API tells clients about it.
package enum StoreError: Error, Sendable, Equatable {
    /// No space left; nothing of the operation is on disk, everything accepted before still is.
    case storageFull
    case unavailable(String)
    /// More operations wait than are admitted.
    case overloaded
    /// The outbox takes nothing until someone has looked at what happened to it.
    case outboxClosed(String)
    case closed

    /// For a person.
    package var detail: String {
        switch self {
        case .storageFull: "the disk is full"
        case .unavailable(let detail), .outboxClosed(let detail): detail
        case .overloaded: "too many operations wait for the disk"
        case .closed: "the store is closed"
        }
    }
}
