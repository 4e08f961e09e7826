/// The reason why the store did not carry out an operation. Errors thrown by the operation itself come through
/// unchanged. The API reports it to clients.
package enum StoreError: Error, Sendable, Equatable {
    /// No space is left; nothing of the operation is on disk, and everything accepted earlier still is.
    case storageFull
    /// The statement is for the log.
    case unavailable(String, statement: String? = nil)
    /// Too many operations are waiting.
    case overloaded
    /// The outbox accepts nothing until a person has looked into its damage, which is in this directory.
    case outboxClosed(String, directory: String)
    case closed

    /// A description for people.
    package var detail: String {
        switch self {
        case .storageFull: "the disk is full"
        case .unavailable(let detail, _), .outboxClosed(let detail, _): detail
        case .overloaded: "too many operations wait for the disk"
        case .closed: "the store is closed"
        }
    }
}

extension StoreError: CustomStringConvertible {
    /// For the log: with the statement that failed.
    package var description: String {
        guard case .unavailable(let detail, let statement?) = self else { return detail }
        return "\(detail) in \(statement)"
    }
}
