package import Outbox
package import SQLite

/// Why the store did not do what it was asked. Errors that an operation throws itself come through unchanged.
package enum StoreError: Error, Sendable, Equatable {
    /// No space left; nothing of the operation is on disk, everything accepted before still is.
    case storageFull
    case unavailable(String)
    /// More operations wait than are admitted.
    case overloaded
    /// The outbox takes nothing until someone has looked at what happened to it.
    case outboxClosed(String)
    case closed

    package init(_ error: SQLiteError) {
        switch error.kind {
        case .full: self = .storageFull
        default: self = .unavailable(error.description)
        }
    }

    /// As the dispatcher wants to know it.
    package var outboxProblem: OutboxStorageProblem { self == .storageFull ? .full : .unavailable(detail) }

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
