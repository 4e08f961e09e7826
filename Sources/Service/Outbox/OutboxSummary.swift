package import Outbox

/// The outbox in figures, for the status screen and the metrics.
package struct OutboxSummary: Equatable {
    package var counts = OutboxCounts()
    /// Waiting entries that the gateway acknowledged and then refused to run.
    package var refused = 0
    package var oldestAgeMilliseconds: Int64?
    /// Since the start, by how they ended.
    package var attempts: [AttemptClass: UInt64] = [:]
    /// Why the saved entries could not be read. Until they are, nothing is sent, and the counts leave them out.
    package var fault: String?

    /// Why no message is accepted: the database cannot be written, or was set aside.
    package var closed: String?

    package init() {}
}
