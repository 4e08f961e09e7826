package import Outbox

/// Figures of the outbox for the status screen and the metrics.
package struct OutboxSummary: Equatable {
    package var counts = OutboxCounts()
    /// Entries that wait because the gateway would acknowledge them and then not run them.
    package var refused = 0
    package var oldestAgeMilliseconds: Int64?
    /// Attempts since the start, by their outcome.
    package var attempts: [AttemptClass: UInt64] = [:]
    /// The reason why the saved entries could not be read. Until they are, nothing is sent, and the counts do not
    /// include them.
    package var fault: String?

    /// The reason why no message is accepted: the database cannot be written, or was set aside.
    package var closed: String?

    package init() {}
}
