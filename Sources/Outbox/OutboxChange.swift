/// A change of one entry that must become durable before its consequences follow.
package struct OutboxChange: Sendable, Equatable {
    /// The version that the change starts from: a compare-and-set.
    package var expectedVersion: Int64
    package var entry: OutboxEntry
    package var attempt: OutboxAttempt?

    package init(expectedVersion: Int64, entry: OutboxEntry, attempt: OutboxAttempt? = nil) {
        self.expectedVersion = expectedVersion
        self.entry = entry
        self.attempt = attempt
    }
}
